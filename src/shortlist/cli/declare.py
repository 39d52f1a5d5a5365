"""What does a command take? Declarations that cost nothing to load; typer's are made from them when it is needed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from shortlist.cli.output import OK, Output


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument."""

    metavar: str
    help: str = ""
    complete: Callable[[str], list[str]] | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """An option; one of type bool is a flag."""

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    least: int | None = None


def option(*flags: str, help: str, metavar: str | None = None, least: int | None = None) -> Option:
    return Option(flags, help, metavar, least)


_COMMON = {
    "as_json": option("--json", help="Print one JSON document."),
    "quiet": option("--quiet", help="Print only what a script needs."),
    "debug": option("--debug", help="Show where an error comes from."),
}


def command(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that every one has, and hand it the Output that they ask for as its first argument."""

    @functools.wraps(function)
    def run(as_json: bool = False, quiet: bool = False, debug: bool = False, **arguments: Any) -> int:
        return function(Output(as_json=as_json, quiet=quiet), **arguments) or OK

    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    only = inspect.Parameter.KEYWORD_ONLY
    common = [
        inspect.Parameter(name, only, default=False, annotation=Annotated[bool, declared])
        for name, declared in _COMMON.items()
    ]
    return with_parameters(run, [parameter.replace(kind=only) for parameter in own] + common)


def command_name(function: Callable[..., int]) -> str:
    """How a command is called on the command line."""
    return function.__name__.replace("_", "-")


def with_parameters(function: Callable[..., int], parameters: list[inspect.Parameter]) -> Callable[..., int]:
    """The function, made to declare these."""
    function.__dict__["__signature__"] = inspect.Signature(parameters, return_annotation=int)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function
