"""How does typer see the commands? It has the words for help, mistakes and completion."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args

import typer

import shortlist
from shortlist.cli.command_list import COMMANDS, GROUPED, GROUPS, PANELS
from shortlist.cli.declare import Option, command_name, with_parameters
from shortlist.cli.output import write

app = typer.Typer(
    name="shortlist",
    help="Finds, for an AI agent, the few right things among many.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        write(f"shortlist {shortlist.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


def _for_typer(function: Callable[..., int]) -> Callable[..., int]:
    """The command with its declarations in typer's words."""

    @functools.wraps(function)
    def run(**arguments: Any) -> int:
        return function(**arguments)

    parameters = inspect.signature(function).parameters.values()
    return with_parameters(run, [each.replace(annotation=_translated(each.annotation)) for each in parameters])


def _translated(annotation: Any) -> Any:
    kind, declared = get_args(annotation)
    if isinstance(declared, Option):
        info = typer.Option(*declared.flags, help=declared.help, metavar=declared.metavar, min=declared.least)
        return Annotated[kind, info]
    info = typer.Argument(
        metavar=declared.metavar, help=declared.help, autocompletion=declared.complete, show_default=False
    )
    return Annotated[kind, info]


for panel, functions in PANELS.items():
    for function in functions:
        app.command(rich_help_panel=panel)(_for_typer(COMMANDS[command_name(function)]))
for name, (text, panel, functions) in GROUPS.items():
    group = typer.Typer(help=text, no_args_is_help=True)
    app.add_typer(group, name=name, rich_help_panel=panel)
    for function in functions:
        group.command()(_for_typer(GROUPED[f"{name} {command_name(function)}"]))
