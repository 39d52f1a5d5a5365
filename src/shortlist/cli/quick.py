"""How is a command line read without waiting? Typer and the pydantic that it needs take 0.15 seconds to load.

Plain command lines are read here, from the declarations that typer gets, too. Whatever is out of the ordinary (help,
a mistake, an abbreviation, completion) is left to typer, which has the words for it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from shortlist.cli.declare import Option

Command = Callable[..., int]


class _Unusual(Exception):
    """Not for this reader."""


class _Parameter(NamedTuple):
    """What a command declares: its name there, how it is written, and what it takes."""

    name: str
    flags: tuple[str, ...]  # none for a positional argument
    type: Any
    many: bool
    least: float | None
    required: bool

    def value(self, text: str) -> Any:
        if get_origin(self.type) is Literal:
            if text not in get_args(self.type):
                raise _Unusual
            return text
        if self.type is int:
            if not text.isdecimal() or (self.least is not None and int(text) < self.least):
                raise _Unusual
            return int(text)
        if self.type is float:
            try:
                return float(text)
            except ValueError:
                raise _Unusual from None
        if get_origin(self.type) is tuple:
            raise _Unusual
        return text


def read(arguments: Sequence[str], commands: Mapping[str, Command]) -> Callable[[], int] | None:
    """The command with its arguments, ready to be called; None if typer should look at it."""
    words = next((count for count in (1, 2) if " ".join(arguments[:count]) in commands), 0)
    if not words or "_SHORTLIST_COMPLETE" in os.environ:
        return None
    function = commands[" ".join(arguments[:words])]
    try:
        return partial(function, **_values(arguments[words:], _declared(function)))
    except _Unusual:
        return None


def _declared(function: Command) -> list[_Parameter]:
    declared = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind, declaration = get_args(parameter.annotation)
        if NoneType in get_args(kind):
            (kind,) = set(get_args(kind)) - {NoneType}
        many = get_origin(kind) is list
        flags, least = (declaration.flags, declaration.least) if isinstance(declaration, Option) else ((), None)
        kind = get_args(kind)[0] if many else kind
        declared.append(_Parameter(name, flags, kind, many, least, parameter.default is parameter.empty))
    return declared


def _values(arguments: Sequence[str], declared: Sequence[_Parameter]) -> dict[str, Any]:
    options = {flag: parameter for parameter in declared for flag in parameter.flags}
    values: dict[str, Any] = {}
    positional: list[str] = []
    rest = iter(arguments)
    for text in rest:
        if text == "--":
            positional += rest
        elif not text.startswith("-") or text == "-":
            positional.append(text)
        else:
            flag, equals, value = text.partition("=")
            if flag not in options:
                raise _Unusual
            parameter = options[flag]
            if equals and (parameter.type is bool or not flag.startswith("--")):
                raise _Unusual
            if parameter.type is bool:
                values[parameter.name] = True
            else:
                _put(values, parameter, value if equals else next(rest, None))
    if any(parameter.required and parameter.name not in values for parameter in options.values()):
        raise _Unusual
    return values | _placed(positional, [parameter for parameter in declared if not parameter.flags])


def _put(values: dict[str, Any], parameter: _Parameter, text: str | None) -> None:
    if text is None:
        raise _Unusual
    value = parameter.value(text)
    values[parameter.name] = [*values.get(parameter.name, []), value] if parameter.many else value


def _placed(texts: Sequence[str], places: Sequence[_Parameter]) -> dict[str, Any]:
    """Positional arguments in the order in which they are declared; one that takes many takes what is left."""
    values: dict[str, Any] = {}
    left = list(texts)
    for place in places:
        if place.many and left:
            values[place.name], left = left, []
        elif left:
            values[place.name] = left.pop(0)
        elif place.required:
            raise _Unusual
    if left:
        raise _Unusual
    return values
