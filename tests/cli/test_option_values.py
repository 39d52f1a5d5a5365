"""Values of options: scores, conditions, lists and names."""

from __future__ import annotations

import click
import pytest

from shortlist.cli.option_values import (
    join_conditions,
    parse_condition,
    parse_integers,
    parse_score,
    parse_scores,
    split_names,
)

CONTEXT, PARAM = click.Context(click.Command("x")), click.Option(["--filter"])


def test_a_score_is_a_number_auto_or_none() -> None:
    assert [parse_score(text) for text in ("0.5", "-1", "auto", "none")] == [0.5, -1.0, "auto", None]
    with pytest.raises(click.BadParameter, match="'high' is not a number, auto or none"):
        parse_score("high")


def test_a_condition_is_a_pair_or_json_and_a_number_may_be_stored_as_text() -> None:
    assert parse_condition("access = read") == {"access": " read"}
    assert parse_condition("year=2020") == {"year": {"$in": [2020, "2020"]}}
    assert parse_condition('{"year": {"$gte": 2020}}') == {"year": {"$gte": 2020}}
    for text in ("nonsense", "=x", "{"):
        with pytest.raises(click.BadParameter):
            parse_condition(text)


def test_conditions_are_joined_with_and() -> None:
    assert join_conditions(CONTEXT, PARAM, []) is None
    assert join_conditions(CONTEXT, PARAM, [{"a": 1}]) == {"a": 1}
    assert join_conditions(CONTEXT, PARAM, [{"a": 1}, {"b": 2}]) == {"$and": [{"a": 1}, {"b": 2}]}


def test_lists_are_separated_by_commas_and_finite() -> None:
    assert parse_integers("1,2, 3") == [1, 2, 3]
    assert parse_scores("none,2") == [None, 2.0]
    for text in ("", "1,x", "1.5", "inf"):
        with pytest.raises(click.BadParameter, match="integers"):
            parse_integers(text)


def test_names_are_distinct_and_urls_stay_whole() -> None:
    assert split_names(["a, b", "b", " ,c"]) == ("a", "b", "c")
    assert split_names(["https://host/handbook,docs:."]) == ("https://host/handbook", "docs:.")
