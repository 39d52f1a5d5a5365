from __future__ import annotations

import json

import pytest

import shortlist
from shortlist import Corpus, Document, InputError
from shortlist.eval import Case, compare, evaluate_discovery, evaluate_selection
from shortlist.eval.retrieval import OUTCOMES
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
    report = evaluate_discovery(shop, CASES, mode="lexical", min_relevance=1.0)
    assert [one.outcome for one in report.outcomes][:2] == ["false_abstention"] * 2
    assert report.taxonomy["abstention_ok"] == 2
    why = report.outcomes[0].why
    assert why is not None
    assert why.cut.endswith("is below the threshold of 1.")
    shop.set_threshold("lexical", 1000.0)
    kept = evaluate_discovery(shop, CASES, mode="lexical", min_relevance="auto")
    assert kept.taxonomy == report.taxonomy


def test_more_results_than_candidates_are_evaluated_as_discover_returns_them() -> None:
    documents = [Document(f"n{number}", "", "tea " + "leaf " * number) for number in range(30)]
    with shortlist.build(documents, in_memory=True, embedder="none") as corpus:
        results = [item.id for item in shortlist.discover(corpus, "tea", max_k=15).results]
        (outcome,) = evaluate_discovery(corpus, [Case("tea", ("n12",))], max_k=15).outcomes
        (choice,) = evaluate_selection(corpus, [Case("tea", ("n12",))], max_k=15).choices
    assert len(results) == 15
    assert list(outcome.selected) == list(choice.selected) == results


def test_grades_count_in_ndcg(shop: Corpus) -> None:
    query = "the warehouse sends pieces of an order"  # cancel, then stock
    graded = Case(query, grades={"cancel": 1.0, "stock": 2.0})
    report = evaluate_discovery(shop, [graded], mode="lexical", metrics=["ndcg@1", "hit@1"])
    assert report["ndcg@1"] == pytest.approx(1 / 2)
    assert report["hit@1"] == 1.0


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


def test_a_case_without_a_query_finds_nothing(shop: Corpus) -> None:
    report = evaluate_discovery(shop, [Case("", ("track",)), Case("  ")], mode="lexical")
    assert [one.outcome for one in report.outcomes] == ["retrieval_miss", "abstention_ok"]


def test_reports_have_short_reprs_and_tables_with_their_intervals(shop: Corpus) -> None:
    report, selection = evaluate_discovery(shop, CASES, mode="lexical"), evaluate_selection(shop, CASES, mode="lexical")
    comparison = compare(report, report)
    for one in (report, selection, comparison):
        assert len(repr(one)) < 300
        assert type(one).__name__ in repr(one)
    recall = report["recall@10"]
    assert f"recall@10 {recall:.3f}" in repr(report)
    assert f"[{recall.low:.3f}, {recall.high:.3f}]" in report._repr_html_()
    assert selection.f1 is not None
    assert f"[{selection.f1.low:.3f}, {selection.f1.high:.3f}]" in selection._repr_html_()
    assert f"{comparison.metrics['mrr'].p_value:.3f}" in comparison._repr_html_()


def test_a_query_in_a_report_cannot_add_html(shop: Corpus) -> None:
    report = evaluate_discovery(shop, [Case("<img src=x> qqq", ("nothing",))], mode="lexical")
    assert "&lt;img src=x&gt;" in report._repr_html_()
    assert "<img" not in report._repr_html_()
