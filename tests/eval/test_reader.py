from __future__ import annotations

from typing import Any

import pytest

import shortlist
from shortlist import Corpus, InputError
from shortlist.eval import evaluate_discovery
from shortlist.results import RawScore
from shortlist.retrieval.relevance import THRESHOLD
from tests.eval.conftest import CASES


@pytest.mark.parametrize(
    ("min_relevance", "calibrated", "threshold"),
    [
        ("auto", None, f"a relevance of {THRESHOLD:g} (built-in)"),
        ("auto", 1000.0, "a score of 1000 (calibrated)"),
        (RawScore(1000.0), None, "a score of 1000 (given)"),
        (1.0, None, "a relevance of 1 (given)"),
        (None, 1000.0, "none"),
    ],
)
def test_a_report_has_the_threshold_and_the_outcomes_without_it(
    shop: Corpus, min_relevance: Any, calibrated: float | None, threshold: str
) -> None:
    shop.set_threshold("lexical", calibrated)
    report = evaluate_discovery(shop, CASES, mode="lexical", min_relevance=min_relevance)
    assert report.threshold == threshold
    assert report.taxonomy_without_threshold == evaluate_discovery(shop, CASES, "lexical", min_relevance=None).taxonomy
    assert (report.taxonomy == report.taxonomy_without_threshold) == (
        "given" not in threshold and "calibrated" not in threshold
    )
    assert report.to_dict()["threshold"] == threshold


def test_the_thresholds_of_several_corpora_are_listed_by_name_if_they_differ(shop: Corpus) -> None:
    with shortlist.build({"a": "an invoice"}, "notes", in_memory=True, embedder="none") as notes:
        both = evaluate_discovery([shop, notes], CASES, mode="lexical")
        assert both.threshold == f"a relevance of {THRESHOLD:g} (built-in)"
        notes.set_threshold("lexical", 2.5)
        both = evaluate_discovery([shop, notes], CASES, mode="lexical")
        assert both.threshold == f"shop: a relevance of {THRESHOLD:g} (built-in); notes: a score of 2.5 (calibrated)"


def test_decisions_are_those_of_discover(shop: Corpus) -> None:
    options = {"mode": "lexical", "strategy": "conservative", "max_k": 2, "rel": 0.2, "min_relevance": 0.3}
    report = evaluate_discovery(shop, CASES, **options)  # type: ignore[arg-type]
    for one in report.outcomes:
        found = shortlist.discover(shop, one.case.query, **options)  # type: ignore[arg-type]
        assert one.selected == tuple(item.id for item in found.results)
        assert one.reason == found.reason
        assert one.ranked == tuple(hit.id for hit in found.candidates)


def test_a_mode_that_does_not_exist_or_cannot_be_compared_is_a_sentence(shop: Corpus) -> None:
    with pytest.raises(InputError, match="Unknown mode 'best'"):
        evaluate_discovery(shop, CASES, mode="best")  # type: ignore[arg-type]
    with (
        shortlist.build({"a": "tea"}, "light", in_memory=True, embedder="light") as light,
        pytest.raises(InputError, match="different embedders"),
    ):
        evaluate_discovery([shop, light], CASES, mode="dense")
