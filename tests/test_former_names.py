"""Former names of keyword arguments."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import pytest

from shortlist import Document, SearchOptions, as_tool
from shortlist.client import operations
from shortlist.client.exchange import ServiceRequest
from shortlist.errors import InputError, rename_keyword
from shortlist.eval import Case, evaluate_selection
from shortlist.integrations.toolbox import Toolbox
from shortlist.results import RawScore, to_raw_score

DOCUMENTS = [Document("track", "track", "Where a parcel is.", kind="tool")]


@rename_keyword("old", "new", default=0, convert=lambda value: value * 2)
def double(new: int = 0) -> int:
    """Doubles a former value."""
    return new


def test_a_former_name_is_accepted_with_a_warning_at_the_line_of_the_caller() -> None:
    with pytest.warns(DeprecationWarning, match=r"old is deprecated. Use new\.") as warned:
        assert double(old=4) == 8  # type: ignore[call-arg]
    assert [warning.filename for warning in warned] == [__file__]
    assert (double.__name__, double.__doc__) == ("double", "Doubles a former value.")


def test_the_name_of_now_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (double(new=4), double()) == (4, 0)


def test_both_names_are_an_error() -> None:
    with pytest.raises(InputError, match="old=1 was passed beside new"):
        double(old=1, new=2)  # type: ignore[call-arg]


@pytest.mark.parametrize(("given", "kind"), [(2, RawScore), (0.5, RawScore), ("auto", str), (None, type(None))])
def test_only_a_number_becomes_a_raw_score(given: Any, kind: type) -> None:
    assert to_raw_score(given) == given
    assert type(to_raw_score(given)) is kind


def test_options_accept_min_score_and_keep_it_when_replaced() -> None:
    with pytest.deprecated_call():
        options = SearchOptions(mode="lexical", min_score=7.5)  # type: ignore[call-arg]
    assert options.min_relevance == RawScore(7.5)
    assert isinstance(replace(options, max_k=2).min_relevance, RawScore)
    with pytest.deprecated_call():
        assert replace(SearchOptions(), min_score=None).min_relevance is None  # type: ignore[call-arg]
    with pytest.deprecated_call(), pytest.raises(InputError, match="min_score must be a finite number"):
        SearchOptions(min_score=float("inf"))  # type: ignore[call-arg]


@pytest.mark.parametrize("given", [100.0, "auto", None])
def test_tools_and_toolboxes_accept_min_score(given: Any) -> None:
    for make in (as_tool, Toolbox):
        with pytest.warns(DeprecationWarning, match="min_score is deprecated") as warned:
            made = make(DOCUMENTS, mode="lexical", min_score=given)  # type: ignore[call-arg]
        assert warned[0].filename == __file__
        search = made.search if isinstance(made, Toolbox) else made
        assert search("parcel")["abstained"] is (given == 100.0)


def test_evaluations_accept_min_score() -> None:
    cases = [Case("parcel", ("track",))]
    with pytest.deprecated_call():
        report = evaluate_selection(DOCUMENTS, cases, mode="lexical", min_score=100.0)  # type: ignore[call-arg]
    assert report.choices[0].selected == ()


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({}, {}),
        ({"min_relevance": None}, {"min_relevance": None}),
        ({"min_relevance": 0.4}, {"min_relevance": 0.4}),
        ({"min_score": 4}, {"min_score": 4}),
        ({"min_score": None}, {"min_relevance": None}),
    ],
)
@pytest.mark.filterwarnings("ignore:min_score is deprecated")
def test_a_client_sends_the_threshold_by_the_name_that_its_meaning_has(
    options: dict[str, Any], sent: dict[str, Any]
) -> None:
    request = next(operations.discover("shop", "parcel", **options))
    assert isinstance(request, ServiceRequest)
    body = json.loads(str(request.body))
    assert {name: value for name, value in body.items() if name.startswith("min_")} == sent
