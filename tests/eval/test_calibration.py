from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shortlist
from shortlist import Corpus, Document, InputError, build, search
from shortlist.eval import Case, calibrate_min_score
from shortlist.eval.calibration import LEAST_SLOPE, auroc, find_threshold, fit_relevance
from shortlist.retrieval.relevance import UNCHANGED
from tests.eval.conftest import SHOP

scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=12)

IN_SCOPE = [
    Case("where is the parcel right now", ("track",)),
    Case("give the money back", ("refund",)),
    Case("send an invoice by mail", ("invoice",)),
]
OUT_OF_SCOPE = [Case("left luggage"), Case("play quiet jazz"), Case("the customer wants tea")]


def j(inside: list[float], outside: list[float], floor: float) -> float:
    reached = sum(score >= floor for score in inside) / len(inside)
    return reached + sum(score < floor for score in outside) / len(outside) - 1


@given(scores, scores)
def test_no_floor_has_a_higher_j_than_the_best_one(inside: list[float], outside: list[float]) -> None:
    best = find_threshold(np.array(inside), np.array(outside))
    tried = [floor / 2 - 0.25 for floor in range(20)]
    assert j(inside, outside, best) >= max(max(j(inside, outside, floor) for floor in tried), 0.0) - 1e-12


@given(scores, scores)
def test_auroc_is_the_share_of_pairs_in_the_right_order(inside: list[float], outside: list[float]) -> None:
    pairs = [1.0 if one > two else 0.5 if one == two else 0.0 for one in inside for two in outside]
    assert auroc(np.array(inside), np.array(outside)) == pytest.approx(sum(pairs) / len(pairs))


def test_of_equally_good_floors_the_one_in_the_widest_gap_is_taken() -> None:
    # between 1 and 2, and between 2 and 10, nothing changes but the gap
    assert find_threshold(np.array([10.0, 11.0]), np.array([1.0])) == (1.0 + 10.0) / 2
    assert find_threshold(np.array([2.0, 10.0, 11.0]), np.array([1.0, 2.0, 2.0])) == (2.0 + 10.0) / 2


def test_a_calibration_parts_the_best_scores_of_cases_with_and_without_gold(shop: Corpus) -> None:
    found = calibrate_min_score(shop, IN_SCOPE + OUT_OF_SCOPE, mode="lexical")

    def best(query: str) -> float:
        return shortlist.search(shop, query, mode="lexical")[0].score

    lowest = min(best(case.query) for case in IN_SCOPE)
    highest = max(best("left luggage"), best("the customer wants tea"))
    assert found.floor == pytest.approx((lowest + highest) / 2)
    assert (found.sensitivity, found.specificity, found.youden_j, found.auroc) == (1.0, 1.0, 1.0, 1.0)
    assert found.out_of_scope[1] == 0.0  # no word is known: refused whatever the floor
    assert found.held_out is None  # three of a kind are too few to leave some out
    assert found.persisted is False
    assert shop.threshold("lexical").value is None


def test_a_persisted_floor_is_used_by_discover_until_the_corpus_is_another(shop: Corpus) -> None:
    found = calibrate_min_score(shop, IN_SCOPE + OUT_OF_SCOPE, mode="lexical", persist=True)
    assert shop.info()["floors"] == {"lexical": found.floor}
    kept = shop.config.calibrations["lexical"]
    assert (kept["youden_j"], kept["in_scope"], kept["documents"], kept["embedder"]) == (1.0, 3, 5, "none")
    assert shortlist.discover(shop, "left luggage", mode="lexical", min_relevance="auto").abstained
    answered = shortlist.discover(shop, "where is the parcel right now", mode="lexical", min_relevance="auto")
    assert [item.id for item in answered.results] == ["track"]
    assert "floor" not in answered.signals
    shop.add([shortlist.Document("gift", "wrap_gift", "wrap it in paper")])
    stale = shortlist.discover(shop, "where is the parcel right now", mode="lexical", min_relevance="auto")
    assert "5 documents, and 20% of it has changed since" in stale.signals["floor"]


def test_a_dry_run_reports_the_threshold_that_persisting_stores(shop: Corpus) -> None:
    cases = IN_SCOPE + OUT_OF_SCOPE
    dry = calibrate_min_score(shop, cases)
    assert dry.present is not None
    assert dry.present != pytest.approx(dry.floor)
    assert f"until then, the same threshold is {dry.present:.4g}." in dry.says
    before = [shortlist.discover(shop, case.query, min_relevance=dry.present).abstained for case in cases]
    stored = calibrate_min_score(shop, cases, persist=True)
    assert (stored.floor, stored.present) == (dry.floor, None)
    assert shop.threshold("auto").value == dry.floor
    assert [shortlist.discover(shop, case.query).abstained for case in cases] == before


def test_a_floor_belongs_to_a_mode_and_goes_with_the_embedder() -> None:
    with shortlist.build(SHOP, in_memory=True, embedder="light") as corpus:
        for mode in ("lexical", "dense"):
            calibrate_min_score(corpus, IN_SCOPE + OUT_OF_SCOPE, mode=mode, persist=True)
        assert set(corpus.info()["floors"]) == {"lexical", "dense"}
        corpus.reindex("none")
        assert corpus.info()["floors"] == {}
        assert corpus.config.calibrations == {}


def test_floors_are_judged_by_cases_that_did_not_choose_them() -> None:
    """Scores are the same for both kinds of cases, so what seems to part them does not do so on others."""
    documents = {f"d{number}": f"word{number} " + "filler " * (number % 7) for number in range(40)}
    cases = [Case(f"word{number}", (f"d{number}",) if number % 2 else ()) for number in range(40)]
    with shortlist.build(documents, in_memory=True, embedder="none") as corpus:
        found = calibrate_min_score(corpus, cases, mode="lexical")
        again = calibrate_min_score(corpus, cases, mode="lexical")
    assert found.held_out is not None
    assert found.held_out["youden_j"] <= found.youden_j < 0.5
    assert found.to_dict() == again.to_dict()
    assert "hardly separate the two" in found.says


def test_a_good_floor_says_what_it_costs(shop: Corpus) -> None:
    says = calibrate_min_score(shop, IN_SCOPE + OUT_OF_SCOPE, mode="lexical").says
    assert "0% of the queries with an expected result get none, 0% of those without one get some." in says


def test_too_few_cases_for_held_out_measures_are_reported(shop: Corpus) -> None:
    few = calibrate_min_score(shop, IN_SCOPE + OUT_OF_SCOPE, mode="lexical", persist=True)
    assert "at least 10 cases of each kind, and there are 3 with" in few.says
    assert f"{len(OUT_OF_SCOPE)} without one" in few.says
    assert "Held-out" not in calibrate_min_score(shop, (IN_SCOPE + OUT_OF_SCOPE) * 5, mode="lexical").says


def test_both_kinds_of_cases_and_one_corpus_are_needed(shop: Corpus) -> None:
    with pytest.raises(InputError, match=r"no cases with an empty gold"):
        calibrate_min_score(shop, IN_SCOPE, mode="lexical")
    with pytest.raises(InputError, match="no cases with gold"):
        calibrate_min_score(shop, OUT_OF_SCOPE, mode="lexical")
    with (
        shortlist.build({"a": "b"}, "other", in_memory=True, embedder="none") as other,
        pytest.raises(InputError, match="one corpus at a time, not 2"),
    ):
        calibrate_min_score([shop, other], IN_SCOPE, mode="lexical")


def test_the_best_score_is_that_of_discover_even_if_a_name_stands_in_the_question() -> None:
    """The name brings a thing among the hits that does not score best; the floor is about the best."""
    texts = {"tea": "nothing but leaves " * 9, "kettle": "boil water for a cup of tea, the tea of the day"}
    with shortlist.build(texts, in_memory=True, embedder="none") as corpus:
        query = "boil water for tea"
        found = calibrate_min_score(corpus, [Case(query, ("kettle",)), Case("leaves")], mode="lexical")
        best = shortlist.discover(corpus, query, mode="lexical").candidates[0]
    assert best.id == "kettle"
    assert found.in_scope[0] == best.score


def test_e7_expected_ids_that_do_not_exist_are_an_error(shop: Corpus) -> None:
    wrong = [Case("where is the parcel", ("trakc",)), Case("an invoice", ("receipt",))]
    with pytest.raises(InputError, match=r"no document 'trakc'. Did you mean 'track'\? 1 more"):
        calibrate_min_score(shop, [*IN_SCOPE, *OUT_OF_SCOPE, *wrong], mode="lexical")


def test_e7_expected_documents_that_were_not_retrieved_are_counted_apart(shop: Corpus) -> None:
    missed = [Case("zebra giraffe", ("invoice",)), Case("left luggage", ("refund",))]
    with_misses = calibrate_min_score(shop, [*IN_SCOPE, *OUT_OF_SCOPE, *missed], mode="lexical")
    without = calibrate_min_score(shop, IN_SCOPE + OUT_OF_SCOPE, mode="lexical")
    assert (with_misses.not_retrieved, without.not_retrieved) == (2, 0)
    assert (with_misses.floor, with_misses.sensitivity) == (without.floor, without.sensitivity)
    assert "Left out: 2 cases" in with_misses.says
    with pytest.raises(InputError, match="no cases with gold that was retrieved"):
        calibrate_min_score(shop, [*missed, *OUT_OF_SCOPE], mode="lexical")


def test_e7_the_threshold_may_be_chosen_from_a_grid(shop: Corpus) -> None:
    cases = IN_SCOPE + OUT_OF_SCOPE
    exact = calibrate_min_score(shop, cases, mode="lexical")
    found = calibrate_min_score(shop, cases, mode="lexical", floor_grid=[99, exact.floor, 0])
    assert found.floor == exact.floor
    # at 0 all reach it, at 99 none does
    assert [(row["min_score"], row["sensitivity"], row["specificity"]) for row in found.table()] == [
        (0.0, 1.0, 0.0),
        (exact.floor, 1.0, 1.0),
        (99.0, 0.0, 1.0),
    ]
    assert max(row["youden_j"] for row in exact.table()) == exact.youden_j
    for grid in ([], [float("nan")]):
        with pytest.raises(InputError, match="floor_grid must be"):
            calibrate_min_score(shop, cases, mode="lexical", floor_grid=grid)
    with pytest.raises(InputError, match="from 0 to 1 in the mode 'auto'"):  # where scores are relevances
        calibrate_min_score(shop, cases, floor_grid=[0.3, 2])


DRINKS = [
    Document(name, name, f"Brew a cup of {name}.")
    for name in ("assam", "oolong", "sencha", "matcha", "mocha", "ristretto")
]


def test_without_cases_nothing_changes() -> None:
    assert fit_relevance([]) == list(UNCHANGED)


def test_a_relevance_that_says_too_much_is_lowered_and_one_that_says_too_little_is_raised() -> None:
    assert fit_relevance([(0.8, False)] * 50)[1] < 0 < fit_relevance([(0.2, True)] * 50)[1]


def test_few_cases_change_little_and_the_order_never_turns_round() -> None:
    slope, shift = fit_relevance([(0.8, False)])
    assert slope == pytest.approx(1.0, abs=0.25)
    assert shift == pytest.approx(0.0, abs=0.25)
    assert fit_relevance([(0.9, False), (0.1, True)] * 200)[0] >= LEAST_SLOPE


def test_what_was_calibrated_before_is_not_calibrated_twice() -> None:
    cases = [(0.7, True), (0.7, False), (0.3, False)] * 20
    slope, shift = fit_relevance(cases)
    again = [(1 / (1 + ((1 - value) / value) ** slope * 2.718281828459045**-shift), right) for value, right in cases]
    assert fit_relevance(again, (slope, shift)) == pytest.approx([slope, shift], abs=1e-6)


def test_a_corpus_keeps_it_and_hits_show_it() -> None:
    corpus = build(DRINKS, in_memory=True)
    inside = [Case(f"a cup of {drink.id}", (drink.id,)) for drink in DRINKS]
    outside = [Case(query, ()) for query in ("repair the roof", "a flight to rome", "who wrote hamlet")]
    before = search(corpus, "a cup of oolong")[0].relevance
    calibrate_min_score(corpus, [*inside * 5, *outside * 5], persist=True)
    after = search(corpus, "a cup of oolong")[0].relevance
    assert before is not None
    assert after is not None
    assert after > before


def test_in_auto_the_threshold_is_a_relevance_that_discover_compares_with() -> None:
    outside = [Case(query, ()) for query in ("repair the roof of a house", "a cup of cake", "who wrote hamlet")]
    inside = [Case(f"a cup of {drink.id}", (drink.id,)) for drink in DRINKS]
    with build(DRINKS, in_memory=True) as corpus:
        found = calibrate_min_score(corpus, [*inside * 2, *outside * 2], persist=True)
        assert corpus.threshold("auto") == (found.floor, "")
        for case in (*inside, *outside):
            best = search(corpus, case.query)[0]
            assert best.score == best.relevance
            assert shortlist.discover(corpus, case.query).abstained == (best.score < found.floor)
        again = calibrate_min_score(corpus, [*inside * 2, *outside * 2])
        assert again.floor == pytest.approx(found.floor)  # on the scale that is now in force


def test_an_earlier_calibration_of_auto_is_not_used_and_reported_until_it_is_done_again() -> None:
    cases = [Case("a cup of oolong", ("oolong",)), Case("repair the roof", ())]
    with build(DRINKS, in_memory=True) as corpus:
        corpus.set_threshold("auto", 0.9999, scale="", relevance=[1.0, -9.0])  # as an earlier version stored it
        found = shortlist.discover(corpus, "a cup of oolong")
        assert [item.id for item in found.results] == ["oolong"]
        assert "0.9999 was set by an earlier version" in found.signals["floor"]
        assert corpus.info()["floors"] == {"auto": 0.9999}
        calibrate_min_score(corpus, cases, persist=True)
        assert "floor" not in shortlist.discover(corpus, "a cup of oolong").signals
