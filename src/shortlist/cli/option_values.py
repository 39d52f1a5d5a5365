"""Parsers of the values of options: scores, conditions on metadata, lists, and names separated by commas."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

if TYPE_CHECKING:
    from shortlist.results import MinRelevance
    from shortlist.retrieval.filters import Filter

T = TypeVar("T")


class WholeNumber(click.IntRange):
    """A whole number in a range, which errors name so."""

    name = "whole number"


def parse_score(text: str) -> MinRelevance:
    """A threshold of scores: a number, or None for none. auto is left to the library."""
    auto: Literal["auto"] = "auto"
    if text in (auto, "none"):
        return None if text == "none" else auto
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number, auto or none.") from None


def parse_relevance(text: str) -> MinRelevance:
    """A threshold of relevance: a number from 0 to 1, or None for none. auto is left to the library."""
    with suppress(click.BadParameter):
        value = parse_score(text)
        if value is None or value == "auto" or 0 <= value <= 1:
            return value
    raise click.BadParameter(f"{text!r} is not a number from 0 to 1, auto or none.")


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


def join_conditions(ctx: click.Context, param: click.Parameter, given: Sequence[Filter]) -> Filter | None:
    """One filter from the conditions of a repeatable option; None if there is none."""
    return given[0] if len(given) == 1 else {"$and": list(given)} if given else None


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The distinct names in texts that may each contain several, separated by commas."""
    return tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))


def split_corpora(texts: Iterable[str]) -> tuple[str, ...]:
    """The distinct names and paths of corpora; a path that exists may contain commas."""
    parts = [[text] if os.path.exists(text) else split_names([text]) for text in texts]
    return tuple(dict.fromkeys(name for names in parts for name in names))


def split_given_names(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """The names of a repeatable option."""
    return split_names(given)


def _make_list_parser(parse: Callable[[str], T], kind: str) -> Callable[[str], list[T]]:
    def parse_list(text: str) -> list[T]:
        with suppress(ValueError, TypeError):
            values = [parse(part) for part in text.split(",")]
            if all(value is None or math.isfinite(value) for value in values):  # type: ignore[arg-type]
                return values
        raise click.BadParameter(f"{text!r} is not a list of {kind} separated by commas.")

    return parse_list


parse_integers = _make_list_parser(int, "integers")
parse_numbers = _make_list_parser(float, "numbers")
parse_scores = _make_list_parser(parse_score, "scores")
