from __future__ import annotations

import pytest

import shortlist
from shortlist import Corpus, Document
from shortlist.eval import Case, evaluate_discovery, evaluate_selection
from shortlist.eval.explain import explain
from shortlist.index.query_scores import Request, Scores
from shortlist.index.snapshot import Snapshot
from shortlist.retrieval.options import SearchOptions
from shortlist.retrieval.relevance import probability
from tests.eval.conftest import CASES, SHOP


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


def test_in_the_default_mode_signals_of_both_rankers_are_shown() -> None:
    with shortlist.build(SHOP, in_memory=True, embedder="light") as corpus:
        report = evaluate_discovery(corpus, [Case("stop the money of an order", ("refund",))])
        (one,) = report.outcomes
        top = shortlist.search(corpus, one.case.query)[0]
    assert one.why is not None
    assert one.why.above[0].signals == top.signals
    assert set(top.signals) == {"lexical", "dense", "blend", "covered", "named"}
    assert f"cancel {top.score:.3g} (lexical {top.signals['lexical']:.3g}, dense" in one.why.says


@pytest.mark.parametrize(("query", "id"), [("stop the money of an order", "refund"), ("cancel_order", "cancel")])
def test_an_explanation_has_the_one_number_and_what_its_log_odds_are_made_of(query: str, id: str) -> None:
    with shortlist.build(SHOP, in_memory=True) as corpus:
        why = explain(corpus, id, query)
        hit = next(hit for hit in shortlist.search(corpus, query) if hit.id == id)
    assert why.relevance == why.score == hit.relevance
    assert probability(sum(why.odds.values())) == pytest.approx(hit.relevance)
    assert ("named" in why.odds) == (query == "cancel_order")
    assert f"Its relevance is {hit.relevance:.2f}" in why.says
    assert why.to_dict()["odds"] == why.odds


@pytest.mark.parametrize("exact", [True, False])
def test_explanations_and_evaluations_compare_all_vectors_on_request(
    exact: bool, shop: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Request] = []
    score = Snapshot.score

    def score_and_note(self: Snapshot, request: Request) -> dict[str, Scores]:
        requests.append(request)
        return score(self, request)

    monkeypatch.setattr(Snapshot, "score", score_and_note)
    explain(shop, shop.ids()[0], "refund", exact=exact)
    evaluate_discovery(shop, CASES, exact=exact, resamples=10)
    evaluate_selection(shop, CASES, options=SearchOptions(exact=exact), resamples=10)
    assert len(requests) > 2 * len(CASES)
    assert {request.exact for request in requests} == {exact}
