from __future__ import annotations

import json
from typing import Any

import pytest

import shortlist
from shortlist import Corpus, Document, InputError
from shortlist.eval import Case, compare, evaluate_discovery, evaluate_selection
from shortlist.eval.retrieval import OUTCOMES
from shortlist.retrieval.relevance import FLOOR
from tests.eval.conftest import CASES, SHOP


def test_every_case_falls_into_the_outcome_that_it_was_made_for(shop: Corpus) -> None:
    report = evaluate_discovery(shop, CASES, mode="lexical")
    assert [one.outcome for one in report.outcomes] == [
        "hit_rank_1",
        "surfaced_low_rank",
        "retrieval_miss",
        "gold_missing",
        "abstention_ok",
        "false_action",
    ]
    assert report.taxonomy == {**dict.fromkeys(OUTCOMES, 1), "false_abstention": 0}
    assert [one.rank for one in report.outcomes] == [1, 2, None, None, None, None]


def test_measures_are_means_over_the_cases_that_have_gold(shop: Corpus) -> None:
    report = evaluate_discovery(shop, CASES, mode="lexical", k=5)
    assert list(report.metrics) == [
        *(f"{name}@{k}" for name in ("recall", "precision", "ndcg", "hit") for k in (1, 3, 5)),
        "mrr",
        "map",
    ]
    assert report["mrr"] == pytest.approx((1 + 1 / 2 + 0 + 0) / 4)
    assert report["recall@1"] == pytest.approx(1 / 4)
    assert report["recall@5"] == pytest.approx(2 / 4)
    assert report["precision@5"] == pytest.approx((1 / 5 + 1 / 5) / 4)
    assert report.values("hit@3") == [1.0, 1.0, 0.0, 0.0]
    assert report["mrr"].low <= report["mrr"] <= report["mrr"].high


def test_a_floor_turns_what_was_found_into_a_false_abstention(shop: Corpus) -> None:
    report = evaluate_discovery(shop, CASES, mode="lexical", min_score=1000.0)
    assert [one.outcome for one in report.outcomes][:2] == ["false_abstention"] * 2
    assert report.taxonomy["abstention_ok"] == 2
    why = report.outcomes[0].why
    assert why is not None
    assert why.cut.endswith("is below the threshold of 1000.")
    shop.set_floor("lexical", 1000.0)
    kept = evaluate_discovery(shop, CASES, mode="lexical", min_score="auto")
    assert kept.taxonomy == report.taxonomy


@pytest.mark.parametrize(
    ("min_score", "calibrated", "threshold"),
    [
        ("auto", None, f"a relevance of {FLOOR:g} (built-in)"),
        ("auto", 1000.0, "a score of 1000 (calibrated)"),
        (1000.0, None, "a score of 1000 (given)"),
        (None, 1000.0, "none"),
    ],
)
def test_a_report_has_the_threshold_and_the_outcomes_without_it(
    shop: Corpus, min_score: Any, calibrated: float | None, threshold: str
) -> None:
    shop.set_floor("lexical", calibrated)
    report = evaluate_discovery(shop, CASES, mode="lexical", min_score=min_score)
    assert report.threshold == threshold
    assert report.taxonomy_without_threshold == evaluate_discovery(shop, CASES, "lexical", min_score=None).taxonomy
    assert (report.taxonomy == report.taxonomy_without_threshold) == ("1000" not in threshold)
    assert report.to_dict()["threshold"] == threshold


def test_the_thresholds_of_several_corpora_are_listed_by_name_if_they_differ(shop: Corpus) -> None:
    with shortlist.build({"a": "an invoice"}, "notes", in_memory=True, embedder="none") as notes:
        both = evaluate_discovery([shop, notes], CASES, mode="lexical")
        assert both.threshold == f"a relevance of {FLOOR:g} (built-in)"
        notes.set_floor("lexical", 2.5)
        both = evaluate_discovery([shop, notes], CASES, mode="lexical")
        assert both.threshold == f"shop: a relevance of {FLOOR:g} (built-in); notes: a score of 2.5 (calibrated)"


def test_decisions_are_those_of_discover(shop: Corpus) -> None:
    options = {"mode": "lexical", "strategy": "conservative", "max_k": 2, "rel": 0.2, "min_score": 0.5}
    report = evaluate_discovery(shop, CASES, **options)  # type: ignore[arg-type]
    for one in report.outcomes:
        found = shortlist.discover(shop, one.case.query, **options)  # type: ignore[arg-type]
        assert one.selected == tuple(item.id for item in found.results)
        assert one.reason == found.reason
        assert one.ranked == tuple(hit.id for hit in found.candidates)


def test_more_results_than_candidates_are_evaluated_as_discover_returns_them() -> None:
    documents = [Document(f"n{number}", "", "tea " + "leaf " * number) for number in range(30)]
    with shortlist.build(documents, in_memory=True, embedder="none") as corpus:
        results = [item.id for item in shortlist.discover(corpus, "tea", max_k=15).results]
        (outcome,) = evaluate_discovery(corpus, [Case("tea", ("n12",))], max_k=15).outcomes
        (choice,) = evaluate_selection(corpus, [Case("tea", ("n12",))], max_k=15).choices
    assert len(results) == 15
    assert list(outcome.selected) == list(choice.selected) == results


def test_a_miss_says_which_words_matched_which_did_not_and_what_stood_above_by_which_signals(shop: Corpus) -> None:
    low = evaluate_discovery(shop, CASES, mode="lexical").outcomes[1].why
    assert low is not None
    assert (low.id, low.rank) == ("stock", 2)
    assert low.matched == ("warehouse", "pieces")
    assert low.elsewhere == ("sends", "order")
    assert low.unknown == ()
    (above,) = low.above
    assert (above.id, above.rank, above.matched) == ("cancel", 1, ("warehouse", "sends", "order"))
    assert above.signals["lexical"] == above.score
    assert above.score > (low.score or 0.0) > 0
    assert (
        "It contains 'warehouse', 'pieces'. It does not contain 'sends', 'order'. Ranked above it: cancel" in low.says
    )


def test_unknown_words_are_listed_apart_from_words_of_other_documents(shop: Corpus) -> None:
    why = evaluate_discovery(shop, CASES, mode="lexical").outcomes[2].why
    assert why is not None
    assert (why.rank, why.score, why.matched, why.elsewhere) == (None, None, (), ())
    assert why.unknown == ("zebra", "giraffe")
    assert why.says.startswith("invoice is not among the 0 hits. It contains no word of the query.")


def test_gold_that_does_not_exist_and_things_returned_for_nothing_are_explained(shop: Corpus) -> None:
    outcomes = evaluate_discovery(shop, CASES, mode="lexical").outcomes
    missing, wrong = outcomes[3].why, outcomes[5].why
    assert missing is not None
    assert wrong is not None
    assert missing.says == "The corpus has no document 'receipt'."
    assert wrong.says == (
        "Nothing is expected, but stock was returned. It contains 'left'. Not in the corpus: 'luggage'."
    )


def test_an_explanation_names_the_share_of_the_top_score_that_was_too_low(shop: Corpus) -> None:
    query = "the warehouse sends pieces of an order"
    why = (
        evaluate_discovery(shop, [Case(query, ("stock",))], mode="lexical", strategy="conservative", rel=1.0)
        .outcomes[0]
        .why
    )
    hits = shortlist.search(shop, query, mode="lexical")
    assert why is not None
    assert why.cut == (
        f"It has {hits[1].score / hits[0].score:.2f} of the top score. "
        f"Kept 1 of 3 candidates: at least 1 of the best score, at most 3."
    )


def test_the_rank_of_what_stands_beyond_k_is_known() -> None:
    """All hold the word once; the longer the text, the lower: n0 first, n29 last."""
    documents = [Document(f"n{number}", "", "tea " + "leaf " * number) for number in range(30)]
    with shortlist.build(documents, in_memory=True, embedder="none") as corpus:
        report = evaluate_discovery(corpus, [Case("tea", ("n20", "n5"))], mode="lexical", k=3, metrics=["mrr", "map"])
    (one,) = report.outcomes
    assert one.outcome == "retrieval_miss"
    assert one.ranks == (6, 21)
    assert one.values == {"mrr": 1 / 6, "map": pytest.approx((1 / 6 + 2 / 21) / 2)}
    assert one.ranked == ("n0", "n1", "n2")
    assert dict(report.recall_curve()) == {k: 0.0 if k < 6 else 0.5 if k < 21 else 1.0 for k in range(1, 31)}


def test_grades_count_in_ndcg(shop: Corpus) -> None:
    query = "the warehouse sends pieces of an order"  # cancel, then stock
    graded = Case(query, grades={"cancel": 1.0, "stock": 2.0})
    report = evaluate_discovery(shop, [graded], mode="lexical", metrics=["ndcg@1", "hit@1"])
    assert report["ndcg@1"] == pytest.approx(1 / 2)
    assert report["hit@1"] == 1.0


def test_in_the_default_mode_signals_of_both_rankers_are_shown() -> None:
    with shortlist.build(SHOP, in_memory=True, embedder="light") as corpus:
        report = evaluate_discovery(corpus, [Case("stop the money of an order", ("refund",))])
        (one,) = report.outcomes
        top = shortlist.search(corpus, one.case.query)[0]
    assert one.why is not None
    assert one.why.above[0].signals == top.signals
    assert set(top.signals) == {"lexical", "dense", "covered", "named"}
    assert f"cancel {top.score:.3g} (lexical {top.signals['lexical']:.3g}, dense" in one.why.says


def test_several_corpora_are_judged_together(shop: Corpus) -> None:
    with shortlist.build({"tea": "green tea"}, "drinks", in_memory=True, embedder="none") as drinks:
        report = evaluate_discovery([shop, drinks], [Case("tea", ("tea",)), Case("parcel", ("track",))], "lexical")
    assert report.corpus == "shop, drinks"
    assert report["mrr"] == 1.0
    assert report.documents == 6


def test_a_filter_holds_for_every_question() -> None:
    documents = [
        Document("a", "", "green tea", metadata={"hot": True}),
        Document("b", "", "green tea cold", metadata={"hot": False}),
    ]
    report = evaluate_discovery(documents, [Case("tea", ("b",))], mode="lexical", filter={"hot": False})
    assert report.outcomes[0].ranked == ("b",)


def test_the_same_evaluation_twice_is_the_same(shop: Corpus) -> None:
    one, two = (evaluate_discovery(shop, CASES, mode="lexical").to_dict() for _ in range(2))
    assert {**one, "seconds": 0} == {**two, "seconds": 0}
    assert json.loads(json.dumps(one, allow_nan=False))["in_scope"] == 4
    assert "outcomes" not in evaluate_discovery(shop, CASES, mode="lexical").to_dict(cases=False)


def test_progress_is_reported_for_each_case(shop: Corpus) -> None:
    reported: list[tuple[int, int | None]] = []
    evaluate_discovery(shop, CASES, mode="lexical", progress=lambda done, total: reported.append((done, total)))
    assert reported == [(done, 6) for done in range(1, 7)]


def test_cases_without_gold_have_no_measures_but_outcomes(shop: Corpus) -> None:
    report = evaluate_discovery(shop, [Case("play quiet jazz")], mode="lexical")
    assert report.metrics == {}
    assert report.recall_curve() == []
    assert report.taxonomy["abstention_ok"] == 1


def test_arguments_that_make_no_sense_are_sentences(shop: Corpus) -> None:
    with pytest.raises(InputError, match="There are no cases"):
        evaluate_discovery(shop, [])
    with pytest.raises(InputError, match="k must be an integer of 1 or more, not 0"):
        evaluate_discovery(shop, CASES, k=0)
    with pytest.raises(InputError, match="'bleu' is not a metric"):
        evaluate_discovery(shop, CASES, metrics=["bleu"])


def test_two_set_ups_are_compared_case_by_case() -> None:
    """The second corpus knows that pieces are called items, so one case is first that was not found at all."""
    cases = [Case("where is the parcel", ("track",)), Case("items", ("stock",)), Case("jazz")]
    better = [Document(one.id, one.title, one.content, ["items"] if one.id == "stock" else []) for one in SHOP]
    first = evaluate_discovery(SHOP, cases, mode="lexical")
    second = evaluate_discovery(better, cases, mode="lexical")
    found = compare(first, second, ["mrr", "hit@1"])
    assert list(found.metrics) == ["mrr", "hit@1"]
    mrr = found.metrics["mrr"]
    assert (mrr.first, mrr.second, mrr.wins, mrr.losses, mrr.ties) == (0.5, 1.0, 1, 0, 1)
    assert mrr.p_value == 1.0  # one case that moved proves nothing
    assert [(one.case.query, one.rank, two.rank) for one, two in found.better] == [("items", None, 1)]
    assert found.worse == []
    back = compare(second, first)
    assert [one.case.query for one, _ in back.worse] == ["items"]
    assert found.to_dict()["better"] == [{"query": "items", "first": None, "second": 1}]


def test_reports_about_other_cases_cannot_be_compared(shop: Corpus) -> None:
    one = evaluate_discovery(shop, CASES, mode="lexical")
    with pytest.raises(InputError, match="the same cases in the same order"):
        compare(one, evaluate_discovery(shop, CASES[::-1], mode="lexical"))
    nothing = evaluate_discovery(shop, [Case("jazz")], mode="lexical")
    with pytest.raises(InputError, match="no case has gold"):
        compare(nothing, nothing)


def test_a_mode_that_does_not_exist_or_cannot_be_compared_is_a_sentence(shop: Corpus) -> None:
    with pytest.raises(InputError, match="Unknown mode 'best'"):
        evaluate_discovery(shop, CASES, mode="best")  # type: ignore[arg-type]
    with (
        shortlist.build({"a": "tea"}, "light", in_memory=True, embedder="light") as light,
        pytest.raises(InputError, match="different embedders"),
    ):
        evaluate_discovery([shop, light], CASES, mode="dense")


def test_a_case_without_a_query_finds_nothing(shop: Corpus) -> None:
    report = evaluate_discovery(shop, [Case("", ("track",)), Case("  ")], mode="lexical")
    assert [one.outcome for one in report.outcomes] == ["retrieval_miss", "abstention_ok"]
