"""Arguments and options of commands, made from how the help writes them.

An argument is written `PATH`, `[PATH]` or `PATH...`; an option `--flag -f METAVAR = default`, with a lowercase word for
another name in Python, `METAVAR...` if it is repeatable and `METAVAR!` if it is required. The metavar means a type: `N`
or `N>=0` an integer, `X` a number, `[A|B]` a choice. An option without one is a flag.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

from shortlist.errors import ShortlistError


def make_argument(name: str, metavar: str) -> click.Argument:
    count, is_required = -1 if metavar.endswith("...") else 1, not metavar.startswith("[")
    complete = _complete_corpus if "CORPUS" in metavar else None
    return click.Argument([name], nargs=count, required=is_required, metavar=metavar, shell_complete=complete)


def make_option(text: str, help: str) -> click.Option:
    left, _, default = text.partition(" = ")
    words = left.split()
    names = [word for word in words if word.startswith("-") or (word.isidentifier() and word.islower())]
    metavar = " ".join(words[len(names) :])
    if not metavar:
        return click.Option(names, is_flag=True, help=help)
    is_repeatable, is_required = metavar.endswith("..."), metavar.endswith("!")
    metavar, _, least = metavar.rstrip(".!").partition(">=")
    more: dict[str, Any] = {"default": default} if default else {}
    kind: Any = TYPES.get(metavar, str)
    if metavar == "N":
        kind = click.IntRange(min=int(least or 1))
    elif metavar.startswith("["):
        kind = click.Choice(metavar.strip("[]").split("|"))
    return click.Option(
        names,
        type=kind,
        nargs=1 + metavar.count(" "),
        multiple=is_repeatable,
        required=is_required,
        metavar=None if metavar.startswith("[") else metavar,
        show_default=True,
        callback=CALLBACKS.get(metavar) if is_repeatable else None,
        shell_complete=_complete_corpus if metavar == "CORPUS" else None,
        help=f"{help} Repeatable." if is_repeatable else help,
        **more,
    )


def parse_score(text: str) -> float | str | None:
    """A score threshold: a number, or None for none. auto is left to the library."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number, auto or none.") from None


def parse_condition(text: str) -> dict[str, Any]:
    """A condition on metadata from key=value or JSON."""
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise click.BadParameter(f"{text!r} is not valid JSON: {error}.") from None
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise click.BadParameter(f"{text!r} is neither key=value nor JSON.")
    try:
        return {key.strip(): {"$in": [json.loads(value), value]}}  # a number may be stored as text
    except ValueError:
        return {key.strip(): value}


def _join_conditions(ctx: click.Context, param: click.Parameter, given: Sequence[Any]) -> dict[str, Any] | None:
    return given[0] if len(given) == 1 else {"$and": list(given)} if given else None


def split_names(texts: Sequence[str]) -> list[str]:
    """The distinct names in texts that may each contain several, separated by commas."""
    return list(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))


def _make_list_parser(parse: Callable[[str], Any], kind: str) -> Callable[[str], list[Any]]:
    def read(text: str) -> list[Any]:
        with suppress(ValueError, TypeError):
            values = [parse(part) for part in text.split(",")]
            if all(value is None or math.isfinite(value) for value in values):
                return values
        raise click.BadParameter(f"{text!r} is not a list of {kind} separated by commas.")

    return read


def _complete_corpus(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from shortlist.library import registry  # noqa: PLC0415  # only for the shell

    with suppress(ShortlistError):
        return [name for name in registry.names() if name.startswith(incomplete)]
    return []


CALLBACKS: dict[str, Callable[[click.Context, click.Parameter, Any], Any]] = {
    "CONDITION": _join_conditions,
    "CORPUS": lambda ctx, param, given: split_names(given),
    "AGENT": lambda ctx, param, given: split_names(given),
    "SERVER": lambda ctx, param, given: split_names(given),
}
TYPES: dict[str, Callable[[str], Any]] = {
    "X": float,
    "SCORE": parse_score,
    "CONDITION": parse_condition,
    "N,N": _make_list_parser(int, "integers"),
    "X,X": _make_list_parser(float, "numbers"),
    "SCORE,SCORE": _make_list_parser(parse_score, "scores"),
}
