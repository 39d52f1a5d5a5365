"""The root command and its groups, as commands.json lists them.

A command's module is imported when the command runs, so that every other command and --help start fast.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import shortlist
from shortlist.cli import completion
from shortlist.cli.output import write


class Group(click.Group):
    """A group of commands that are listed under headings and imported on use.

    `default` is the command that runs if none is named.
    """

    def __init__(self, name: str, help: str, commands: Mapping[str, Mapping[str, Any]], default: str = "") -> None:
        super().__init__(name, help=help, no_args_is_help=not default)
        self._default = default
        self._headings = commands
        self._entries = {command: entry for heading in commands.values() for command, entry in heading.items()}
        self.commands = {
            command: Group(command, **entry) if "commands" in entry else click.Command(command, help=entry["help"])
            for command, entry in self._entries.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        entry = self._entries.get(name, {})
        if "module" not in entry:
            return self.commands.get(name)
        module = import_module(f"shortlist.cli.commands.{entry['module']}")
        command: click.Command = getattr(module, name.replace("-", "_"))
        command.help = entry["help"]
        command.epilog = "\b\nExamples:\n" + "\n".join(f"  {example}" for example in entry["examples"])
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._default and (not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, entries in self._headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(100)) for name in entries])


def _print_version(ctx: click.Context, param: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        write(f"shortlist {shortlist.__version__}\n")
        ctx.exit()


def _flag(name: str, callback: Callable[..., None], help: str) -> click.Option:
    return click.Option([name], is_flag=True, is_eager=True, expose_value=False, callback=callback, help=help)


app = Group(
    "shortlist",
    "Find the right few tools, skills and documents for an AI agent.",
    json.loads(Path(__file__).with_name("commands.json").read_text("utf-8")),
)
app.context_settings = {"help_option_names": ["-h", "--help"]}
app.params = [
    _flag("--version", _print_version, "Print the version."),
    _flag("--install-completion", completion.set_up, "Install completion for the current shell."),
    _flag("--show-completion", completion.set_up, "Print the completion script of the current shell."),
]
