"""Cases from the log of use, and what learning from the other searches brings."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import shortlist
from shortlist import Corpus
from shortlist.eval.usage_cases import evaluate_with_lessons, evaluate_without_lessons, make_cases
from shortlist.index.storage.usage_log import Outcome, Search, Use

KNOWN = {"refund", "track", "cancel", "stock", "invoice"}


def made(query: str, *uses: tuple[str, Outcome], session: str = "one") -> Search:
    return Search(0.0, session, query, {"refund": 0.5}, [Use(id, b"hash", outcome) for id, outcome in uses])


def expected(searches: Sequence[Search]) -> dict[str, tuple[str, ...]]:
    return {case.query: case.gold for case in make_cases(searches, KNOWN)}


def test_a_query_that_led_to_documents_is_a_case_that_no_one_has_reviewed() -> None:
    (case,) = make_cases([made("money back", ("refund", "called")), made("Money back", ("refund", "called"))], KNOWN)
    assert (case.query, case.gold, case.is_reviewed) == ("money back", ("refund",), False)
    assert case.meta["searches"] == 2


@pytest.mark.parametrize(
    ("searches", "gold"),
    [
        ([[("refund", "called"), ("track", "called")]], ("refund", "track")),
        ([[("refund", "read")]], ("refund",)),
        ([[("track", "read"), ("refund", "called")]], ("refund",)),  # it was only looked at
        ([[("refund", "failed"), ("refund", "called")]], ("refund",)),  # the second attempt was right
        ([[("refund", "called")], [("refund", "called")], [("track", "called")]], ("refund",)),
        ([[("refund", "called")], []], ("refund",)),
    ],
)
def test_expected_is_what_succeeded_in_most_searches(
    searches: list[list[tuple[str, Outcome]]], gold: tuple[str, ...]
) -> None:
    ((query, ids),) = expected([made("query", *uses) for uses in searches]).items()
    assert (query, sorted(ids)) == ("query", sorted(gold))


@pytest.mark.parametrize(
    "searches",
    [
        [[("refund", "failed")]],
        [[("refund", "called")], [("refund", "failed")]],
        [[("refund", "called")], [("track", "called")]],
        [[("gone", "called")]],  # no longer in the corpus
    ],
)
def test_a_query_without_consistent_success_is_no_case(searches: list[list[tuple[str, Outcome]]]) -> None:
    assert expected([made("query", *uses, session=str(at)) for at, uses in enumerate(searches)]) == {}


def test_a_query_after_which_nothing_was_used_in_two_sessions_may_have_no_answer() -> None:
    searches = [made("play jazz"), made("play jazz", session="two"), made("once"), made("once")]
    assert expected(searches) == {"play jazz": ()}


def test_a_query_is_evaluated_with_the_lessons_of_others_and_never_with_its_own(shop: Corpus) -> None:
    for query in ("zebra giraffe", "giraffe and zebra", "purple elephant"):  # words that no document has
        shop.learn(query, "invoice", session=query)
    shop.learn("where is the parcel", "track")
    cases = make_cases(shop.usage, set(shop.ids()))
    before = evaluate_without_lessons([shop], cases)
    after = evaluate_with_lessons([shop], cases, shop.usage)
    ranks = [{one.case.query: one.rank for one in report.outcomes} for report in (before, after)]
    assert ranks[0] == {
        "zebra giraffe": None, "giraffe and zebra": None, "purple elephant": None, "where is the parcel": 1
    }  # fmt: skip
    assert ranks[1] == ranks[0] | {"zebra giraffe": 1, "giraffe and zebra": 1}
    assert (before["hit@1"], after["hit@1"]) == (1 / 4, 3 / 4)
    assert sum(after.taxonomy.values()) == sum(after.taxonomy_without_threshold.values()) == 4


def test_an_evaluation_leaves_the_corpus_as_it_was(shop: Corpus) -> None:
    shop.learn("zebra giraffe", "invoice")
    log, cases = shop.usage, make_cases(shop.usage, set(shop.ids()))
    assert [hit.id for hit in shortlist.search(shop, "giraffe")] == ["invoice"]
    evaluate_without_lessons([shop], cases)
    evaluate_with_lessons([shop], cases, log)
    assert shop.usage is log
    assert shop.learning == "on"
    assert [hit.id for hit in shortlist.search(shop, "giraffe")] == ["invoice"]
    shop.learning = "off"
    evaluate_with_lessons([shop], cases, log)
    assert shop.learning == "off"
