"""Which commands are there? Each lives in the module of its concern; here they are gathered, in the order of use."""

from __future__ import annotations

from typing import Annotated

import typer

import shortlist
from shortlist.serve.cli import care, find, keep
from shortlist.serve.cli.output import command, write

app = typer.Typer(
    name="shortlist",
    help="Finds, for an AI agent, the few right things among many.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config = typer.Typer(help="Where settings come from.", no_args_is_help=True)


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


PANELS = {
    "Find": (find.search, find.discover, find.read),
    "Corpora": (keep.build, keep.ls, keep.info, keep.status, keep.register, keep.rm),
    "Care": (care.doctor, care.warm, care.download),
}
COMMANDS = {function.__name__: command(function) for functions in PANELS.values() for function in functions}
for panel, functions in PANELS.items():
    for function in functions:
        app.command(rich_help_panel=panel)(COMMANDS[function.__name__])
app.add_typer(config, name="config", rich_help_panel="Care")
config.command()(command(care.show))
