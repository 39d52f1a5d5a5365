"""A group of commands under headings that imports the module of a command when the command is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from shortlist.cli.command import make_epilog
from shortlist.cli.output import write


class LazyCommand(NamedTuple):
    """The module of a command in `shortlist.cli.commands`, and the first sentence of its help."""

    module: str
    short_help: str


class LazyGroup(click.Group):
    """Commands by heading and name; those under the heading "" are hidden, as former names of others.

    `default` is the command that runs, or `welcome` the text, if none is given.
    """

    def __init__(
        self,
        name: str,
        help: str,
        headings: Mapping[str, Mapping[str, LazyCommand | click.Group]],
        *,
        examples: Sequence[str],
        notes: Sequence[str] = (),
        default: str = "",
        welcome: str = "",
    ) -> None:
        super().__init__(name, help=help, epilog=make_epilog(examples, notes), no_args_is_help=not default)
        self._headings = {heading: entries for heading, entries in headings.items() if heading}
        self._entries = {name: entry for entries in headings.values() for name, entry in entries.items()}
        self._default = default
        self._welcome = welcome
        self.commands = {  # without parameters: enough to list and to suggest them
            name: click.Command(name, help=entry.short_help) if isinstance(entry, LazyCommand) else entry
            for entries in self._headings.values()
            for name, entry in entries.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        entry = self._entries.get(name)
        if not isinstance(entry, LazyCommand):
            return entry
        found: click.Command = getattr(import_module(f"shortlist.cli.commands.{entry.module}"), name.replace("-", "_"))
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if "mean" in error.format_message():  # it suggests a name
                raise
            raise click.UsageError(f"{error.message} List the commands with: {ctx.command_path} --help", ctx) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._welcome and not args and not ctx.resilient_parsing:
            write(self._welcome)
            ctx.exit()
        is_given = bool(args) and (not args[0].startswith("-") or args[0] in ctx.help_option_names)
        if self._default and not is_given and (args or not ctx.resilient_parsing):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, entries in self._headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(200)) for name in entries])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [
            CompletionItem(name, help=command.get_short_help_str())
            for name, command in self.commands.items()
            if name.startswith(incomplete)
        ]
        if default := self.get_command(ctx, self._default):
            return names + default.shell_complete(ctx, incomplete)
        return names + click.Command.shell_complete(self, ctx, incomplete)
