"""The root command, its groups and shell completion.

commands.json describes every command. A command's module is imported when the command runs, so that the others and
--help start fast.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

import shortlist
from shortlist.cli.output import OK, Output, write
from shortlist.cli.parameters import make_argument, make_option

COMPLETION_VARIABLE = "_SHORTLIST_COMPLETE"
# The file of each shell's completion script, and the startup file and line that load it if the shell does not.
COMPLETION_FILES = {
    "bash": (".bash_completions/shortlist.sh", ".bashrc", "source ~/.bash_completions/shortlist.sh"),
    "zsh": (".zfunc/shortlist.zsh", ".zshrc", "autoload -Uz compinit; compinit; source ~/.zfunc/shortlist.zsh"),
    "fish": (".config/fish/completions/shortlist.fish", "", ""),
}
TEXTS = json.loads(Path(__file__).with_name("commands.json").read_text("utf-8"))


class Group(click.Group):
    """Commands under headings. `default` is the command that runs if none is given."""

    def __init__(
        self, name: str, help: str, examples: Sequence[str], commands: Mapping[str, Mapping[str, Any]], **more: Any
    ) -> None:
        self._default, self._headings = more.get("default", ""), commands
        super().__init__(name, help=help, epilog=_make_epilog(examples, more.get("notes", ())))
        self.no_args_is_help = not self._default
        self._entries = {command: entry for heading in commands.values() for command, entry in heading.items()}
        self.commands = {
            command: Group(command, **entry) if "commands" in entry else click.Command(command, help=entry["help"])
            for command, entry in self._entries.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        entry = self._entries.get(name, {})
        return _make_command(name, **entry) if "module" in entry else self.commands.get(name)

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
                formatter.write_dl([(name, self.commands[name].get_short_help_str(100)) for name in entries])


def _make_command(
    name: str,
    module: str,
    help: str,
    examples: Sequence[str],
    arguments: Mapping[str, str] = {},
    options: Mapping[str, str] = {},
    shared: Sequence[str] = (),
) -> click.Command:
    """A command with its own and shared options, which calls the function of the same name with an Output first."""

    def call(as_json: bool, quiet: bool, debug: bool, **values: Any) -> int:
        function = getattr(import_module(f"shortlist.cli.commands.{module}"), name.replace("-", "_"))
        return function(Output(as_json, quiet), **values) or OK

    for group in (*shared, "common"):
        options = {**options, **TEXTS["shared"][group]}
    params: list[click.Parameter] = [make_argument(*argument) for argument in arguments.items()]
    params += [make_option(*option) for option in options.items()]
    metavars = " ".join(str(param.metavar) for param in params)
    terms = [text for term, text in TEXTS["terms"].items() if re.search(rf"\b{term}\b", metavars)]
    return click.Command(name, None, call, params, "\n\n".join([help, *terms]), _make_epilog(examples))


def _make_epilog(examples: Sequence[str], notes: Sequence[str] = ()) -> str:
    blocks = [*([notes] if notes else []), ["Examples:", *(f"  {example}" for example in examples)]]
    return "\n\n".join("\n".join(["\b", *block]) for block in blocks)


def _print_version(ctx: click.Context, param: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        write(f"shortlist {shortlist.__version__}\n")
        ctx.exit()


def _set_up_completion(ctx: click.Context, param: click.Parameter, is_wanted: bool) -> None:
    """Print or install the completion script of the current shell, depending on the option."""
    if not is_wanted:
        return
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in COMPLETION_FILES:
        shells = ", ".join(COMPLETION_FILES)
        raise click.UsageError(f"Completion does not support the shell {shell!r}. Set SHELL to one of {shells}.")
    kind = get_completion_class(shell)
    assert kind
    script = kind(ctx.command, {}, "shortlist", COMPLETION_VARIABLE).source()
    write(f"{script}\n" if param.name == "show_completion" else _install_completion(shell, script))
    ctx.exit()


def _install_completion(shell: str, script: str) -> str:
    place, startup, line = COMPLETION_FILES[shell]
    file = Path.home() / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{script}\n", "utf-8")
    profile = Path.home() / startup
    text = profile.read_text("utf-8") if startup and profile.exists() else ""
    if line not in text:
        profile.write_text(f"{text.rstrip()}\n{line}\n".lstrip(), "utf-8")
    return f"Installed {shell} completion in {file}. Restart the shell to use it.\n"


def _flag(name: str, callback: Callable[..., None], help: str) -> click.Option:
    return click.Option([name], is_flag=True, is_eager=True, expose_value=False, callback=callback, help=help)


app = Group("shortlist", **TEXTS["root"])
app.context_settings = {"help_option_names": ["-h", "--help"]}
app.params = [
    _flag("--version", _print_version, "Print the version."),
    _flag("--install-completion", _set_up_completion, "Install completion for the current shell."),
    _flag("--show-completion", _set_up_completion, "Print the completion script of the current shell."),
]
