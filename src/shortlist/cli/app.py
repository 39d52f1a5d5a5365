"""The root command, its groups and shell completion.

commands.json describes every command. A command's module is imported when the command runs, so that the others and
--help start fast.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

import shortlist
from shortlist.cli.output import OK, Output, write
from shortlist.cli.parameters import make_argument, make_option

COMPLETION_VARIABLE = "_SHORTLIST_COMPLETE"
TEXTS = json.loads(Path(__file__).with_name("commands.json").read_text("utf-8"))


class Group(click.Group):
    """Commands under headings. `default` is the command that runs if none is given."""

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self._default, self._headings = entry.get("default", ""), entry["commands"]
        super().__init__(name, help=entry["help"], epilog=_make_epilog(entry), no_args_is_help=not self._default)
        self._entries = {command: entry for heading in self._headings.values() for command, entry in heading.items()}
        self.commands = {
            command: Group(command, entry) if "commands" in entry else click.Command(command, help=entry["help"])
            for command, entry in self._entries.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        entry = self._entries.get(name, {})
        return _make_command(name, entry) if "module" in entry else self.commands.get(name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and self is app:
            write("\n".join(TEXTS["welcome"]) + "\n")
            ctx.exit()
        if self._default and (not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, entries in self._headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(200)) for name in entries])


def _make_command(name: str, entry: Mapping[str, Any]) -> click.Command:
    """A command with its own and shared options, which calls the function of the same name with an Output first."""

    def call(as_json: bool, quiet: bool, debug: bool, **values: Any) -> int:
        given = click.get_current_context().params
        for group in entry.get("conflicts", ()):
            used = [param.opts[0] for param in params if param.opts[0] in group and given[str(param.name)]]
            if len(used) > 1:
                raise click.UsageError(f"{used[0]} cannot be combined with {used[1]}.")
        module = import_module(f"shortlist.cli.commands.{entry['module']}")
        return getattr(module, name.replace("-", "_"))(Output(as_json, quiet), **values) or OK

    options = dict(entry.get("options", {}))
    for group in (*entry.get("shared", ()), "common"):
        options |= TEXTS["shared"][group]
    params: list[click.Parameter] = [make_argument(*argument) for argument in entry.get("arguments", {}).items()]
    params += [make_option(*option) for option in options.items()]
    metavars = " ".join(str(param.metavar) for param in params)
    terms = [text for term, text in TEXTS["terms"].items() if re.search(rf"\b{term}\b", metavars)]
    return click.Command(name, None, call, params, "\n\n".join([entry["help"], *terms]), _make_epilog(entry))


def _make_epilog(entry: Mapping[str, Any]) -> str:
    blocks = (entry.get("notes", ()), ["Examples:", *(f"  {example}" for example in entry["examples"])])
    return "\n\n".join("\n".join(["\b", *block]) for block in blocks if block)


def _set_up_completion(ctx: click.Context, param: click.Parameter, is_wanted: bool) -> None:
    """Print or install the completion script of the current shell, depending on the option."""
    if not is_wanted:
        return
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in TEXTS["completion"]:
        shells = ", ".join(TEXTS["completion"])
        raise click.UsageError(f"Completion does not support the shell {shell!r}. Set SHELL to one of {shells}.")
    kind = get_completion_class(shell)
    assert kind
    script = kind(ctx.command, {}, "shortlist", COMPLETION_VARIABLE).source()
    write(f"{script}\n" if param.name == "show_completion" else _install_completion(shell, script))
    ctx.exit()


def _install_completion(shell: str, script: str) -> str:
    # The file of the script, and the startup file and the line that load it if the shell does not
    place, startup, line = TEXTS["completion"][shell]
    file = Path.home() / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{script}\n", "utf-8")
    profile = Path.home() / startup
    text = profile.read_text("utf-8") if startup and profile.exists() else ""
    if line not in text:
        profile.write_text(f"{text.rstrip()}\n{line}\n".lstrip(), "utf-8")
    return f"Installed {shell} completion in {file}. Restart the shell to use it.\n"


app = Group("shortlist", TEXTS["root"])
app.context_settings = {"help_option_names": ["-h", "--help"]}
for name, text in (
    ("--install-completion", "Install completion for the current shell."),
    ("--show-completion", "Print the completion script of the current shell."),
):
    click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=_set_up_completion, help=text)(app)
click.version_option(shortlist.__version__, message="%(prog)s %(version)s", help="Print the version.")(app)
