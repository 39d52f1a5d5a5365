"""Selection: what each rule keeps of scores that are written down here, and why it says so."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import (
    Hit,
    Hits,
    InputError,
    Passage,
    Selection,
    build,
    discover,
    make_llm_selector,
    register_strategy,
    select,
)
from shortlist.protocols import Reply
from shortlist.retrieval import select as selecting
from shortlist.retrieval.select import NEAR_ODDS, STRATEGIES, softmax


def hits_of(*scores: float, query: str = "") -> Hits:
    """Hits named h0, h1 ... in the order of the scores given."""
    made = (Hit(Passage(f"h{at}", f"name{at}", f"text of {at}"), score) for at, score in enumerate(scores))
    return Hits(made, query=query)


def relevant(*relevances: float | None) -> Hits:
    """Hits named h0, h1 ... with these relevances and equal scores."""
    return Hits(
        replace(hit, relevance=one) for hit, one in zip(hits_of(*[1.0] * len(relevances)), relevances, strict=True)
    )


def kept(selection: Selection) -> list[str]:
    return [hit.id for hit in selection.selected]


# Adaptive

NEAR = 1 / (1 + math.exp(NEAR_ODDS))  # the lowest relevance that is near one of 0.5


def test_adaptive_keeps_one_that_is_clearly_ahead() -> None:
    selection = select(relevant(0.5, NEAR - 0.001, 0.1), "adaptive")
    assert kept(selection) == ["h0"]
    assert selection.reason == "Kept 1 of 3 candidates: clearly ahead of the others."


def test_adaptive_keeps_those_that_are_nearly_as_relevant_five_at_most() -> None:
    assert kept(select(relevant(0.5, NEAR + 0.001, 0.1, 0.4), "adaptive")) == ["h0", "h1", "h3"]
    assert kept(select(relevant(*[0.9] * 7), "adaptive")) == ["h0", "h1", "h2", "h3", "h4"]


def test_adaptive_compares_with_the_most_relevant_and_always_keeps_the_first() -> None:
    assert kept(select(relevant(0.1, 0.9, 0.2, 0.85), "adaptive")) == ["h0", "h1", "h3"]


def test_adaptive_prefers_distinct_hits_among_more_than_five() -> None:
    hits = relevant(*[0.9] * 6)
    hits[1] = replace(hits[1], passage=replace(hits[0].passage, document_id="copy"))
    assert kept(select(hits, "adaptive")) == ["h0", "h2", "h3", "h4", "h5"]


def test_adaptive_with_max_k_keeps_that_many_whatever_their_relevance() -> None:
    hits = relevant(0.9, 0.01, 0.9, 0.9, 0.9, 0.9, 0.01)
    assert kept(select(hits, "adaptive", max_k=2)) == ["h0", "h1"]
    assert kept(select(hits, "adaptive", max_k=6)) == ["h0", "h1", "h2", "h3", "h4", "h5"]


@pytest.mark.parametrize("relevance", [None, 0.0, 1.0])
def test_adaptive_keeps_five_that_are_equally_relevant_or_have_no_relevance(relevance: float | None) -> None:
    assert kept(select(relevant(*[relevance] * 7), "adaptive")) == ["h0", "h1", "h2", "h3", "h4"]


# Conservative


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((1.0,), ["h0"]),
        ((1.0, 0.9, 0.89), ["h0", "h1"]),
        ((1.0, 0.95, 0.94, 0.93), ["h0", "h1", "h2"]),
        ((10.0, 8.9), ["h0"]),
        ((1e-9, 0.95e-9), ["h0", "h1"]),
        ((0.5, 0.5, 0.5, 0.5), ["h0", "h1", "h2"]),
        ((0.5, -0.5), ["h0"]),
    ],
)
def test_conservative_keeps_the_best_and_what_comes_within_nine_tenths_of_it_three_at_most(
    scores: tuple[float, ...], expected: list[str]
) -> None:
    assert kept(select(hits_of(*scores))) == expected


def test_conservative_takes_another_share_and_another_number() -> None:
    hits = hits_of(1.0, 0.6, 0.5, 0.4)
    assert kept(select(hits, rel=0.5)) == ["h0", "h1", "h2"]
    assert kept(select(hits, rel=0.5, max_k=2)) == ["h0", "h1"]
    assert kept(select(hits, rel=0.0, max_k=10)) == ["h0", "h1", "h2", "h3"]
    assert kept(select(hits, rel=1.0)) == ["h0"]


def test_without_candidates_it_abstains() -> None:
    selection = select([])
    assert selection == Selection([], "No document matches.", selection.signals)
    assert selection.abstained
    assert selection.signals == {"strategy": "conservative", "candidates": 0, "min_score": None}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_best_score_below_the_floor_abstains_in_every_strategy(strategy: str) -> None:
    selection = select(hits_of(0.39, 0.38), strategy, min_score=0.4)
    assert selection.abstained
    assert selection.reason == "The best score, 0.39 (name0), is below the threshold of 0.4."


def test_a_relevance_that_rounds_to_the_threshold_has_more_digits() -> None:
    hit = replace(hits_of(0.2584)[0], relevance=0.2584)
    assert "relevance, 0.2584 (name0)" in selecting.explain_relevance(hit, 0.26)
    assert "relevance, 0.26 (name0)" in selecting.explain_relevance(hit, 0.27)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_best_score_right_at_the_floor_is_kept_in_every_strategy(strategy: str) -> None:
    assert kept(select(hits_of(0.4), strategy, min_score=0.4)) == ["h0"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("best", [0.0, -0.1])
def test_a_best_score_that_is_not_above_zero_keeps_nothing(strategy: str, best: float) -> None:
    selection = select(hits_of(best, best - 0.1), strategy, min_score=-1.0)
    assert selection.abstained
    assert selection.reason == f"The best score, {best:g}, is not above zero."


# The other rules


def test_top_k_keeps_the_first_whatever_they_score() -> None:
    assert kept(select(hits_of(1.0, 0.1, 0.01, 0.001), "top_k")) == ["h0", "h1", "h2"]
    assert kept(select(hits_of(1.0, 0.1), "top_k", max_k=1)) == ["h0"]
    assert kept(select(hits_of(1.0, 0.1), "top_k", max_k=50)) == ["h0", "h1"]


def test_rel_threshold_keeps_all_within_the_share_of_the_best() -> None:
    assert kept(select(hits_of(1.0, 0.95, 0.94, 0.92, 0.9, 0.8), "rel_threshold", max_k=9)) == [
        "h0",
        "h1",
        "h2",
        "h3",
        "h4",
    ]
    assert kept(select(hits_of(1.0, 0.95, 0.5), "rel_threshold", rel=0.5)) == ["h0", "h1", "h2"]


def test_abs_threshold_keeps_all_from_the_floor_on() -> None:
    assert kept(select(hits_of(3.0, 2.0, 1.0, 0.5), "abs_threshold", min_score=1.0)) == ["h0", "h1", "h2"]
    assert kept(select(hits_of(3.0, 0.0, -1.0), "abs_threshold", min_score=0.0)) == ["h0", "h1"]


def test_abs_threshold_needs_a_floor() -> None:
    with pytest.raises(InputError, match="needs min_score"):
        select(hits_of(1.0), "abs_threshold")


@pytest.mark.parametrize(
    ("scores", "ratio", "expected"),
    [
        ((10.0, 9.0, 8.0, 3.0, 2.9), 0.5, 3),
        ((10.0, 4.9, 4.8), 0.5, 1),
        ((10.0, 5.0, 2.5), 0.5, 3),
        ((10.0, 9.0, 8.0), 0.95, 1),
        ((10.0, 1.0, 0.1), 0.0, 3),
        ((10.0, 9.0, -1.0), 0.5, 2),
        ((10.0,), 0.5, 1),
    ],
)
def test_score_gap_keeps_all_before_the_first_great_drop(
    scores: tuple[float, ...], ratio: float, expected: int
) -> None:
    assert kept(select(hits_of(*scores), "score_gap", gap_ratio=ratio)) == [f"h{at}" for at in range(expected)]


def test_softmax_keeps_what_holds_ten_percent_at_half_the_temperature() -> None:
    # e**(score / 0.5) = e**4, e**2, e**0: shares 0.867, 0.117, 0.016
    selection = select(hits_of(2.0, 1.0, 0.0), "softmax")
    shares = [math.exp(4) / (math.exp(4) + math.exp(2)), math.exp(2) / (math.exp(4) + math.exp(2))]
    assert shares == pytest.approx([0.8808, 0.1192], abs=1e-4)
    assert kept(selection) == ["h0", "h1"]
    assert kept(select(hits_of(2.0, 1.0), "softmax", cutoff=11.9)) == ["h0", "h1"]
    assert kept(select(hits_of(2.0, 1.0), "softmax", cutoff=12.0)) == ["h0"]
    nothing = select(hits_of(2.0, 1.0), "softmax", cutoff=88.1)
    assert nothing.abstained
    assert nothing.reason.startswith("Kept none of 2 candidates: none has at least 88.1 % of the softmax")


def test_softmax_at_a_high_temperature_shares_alike() -> None:
    # at temperature 10, e**0.2 and e**0.1: shares 0.525 and 0.475
    assert kept(select(hits_of(2.0, 1.0), "softmax", temperature=10.0, cutoff=47.0)) == ["h0", "h1"]
    assert kept(select(hits_of(2.0, 1.0), "softmax", temperature=10.0, cutoff=48.0)) == ["h0"]


def test_softmax_does_not_overflow() -> None:
    assert softmax([100_000.0, 0.0], 0.1) == [1.0, 0.0]
    assert softmax([], 0.5) == []


def test_softmax_leaves_out_scores_of_zero_and_below_before_it_shares() -> None:
    # among 1.0 alone the share is 100 %, whatever stands below zero
    assert kept(select(hits_of(1.0, 0.0, -5.0), "softmax", cutoff=100.0)) == ["h0"]


def test_a_callable_chooses_for_itself() -> None:
    def last_one(hits: list[Hit]) -> list[Hit]:
        return hits[-1:]

    selection = select(hits_of(3.0, 2.0, 1.0), last_one)
    assert kept(selection) == ["h2"]
    assert selection.reason == "Kept 1 of 3 candidates: chosen by last_one."
    assert selection.signals["strategy"] == "last_one"


def test_a_callable_that_chooses_nothing_abstains() -> None:
    selection = select(hits_of(3.0), lambda hits: [])
    assert selection.abstained
    assert selection.reason == "Kept none of 1 candidate: <lambda> chose none."


def test_a_callable_cannot_change_the_hits_it_was_given() -> None:
    def greedy(hits: list[Hit]) -> list[Hit]:
        hits.clear()
        return []

    hits = hits_of(2.0, 1.0)
    select(hits, greedy)
    assert [hit.id for hit in hits] == ["h0", "h1"]


def test_a_callable_is_not_asked_when_the_floor_already_decided() -> None:
    def fail(hits: list[Hit]) -> list[Hit]:
        raise AssertionError

    assert select(hits_of(0.1), fail, min_score=0.5).abstained
    assert select([], fail).abstained


# Reasons and signals


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        ("conservative", "Kept 2 of 3 candidates: at least 0.9 of the best score, at most 3."),
        ("top_k", "Kept 3 of 3 candidates: the first 3."),
        ("rel_threshold", "Kept 2 of 3 candidates: at least 0.9 of the best score."),
        ("abs_threshold", "Kept 2 of 3 candidates: a score of at least 0.5."),
        ("score_gap", "Kept 2 of 3 candidates: the next score is below 0.5 of the previous one."),
        ("softmax", "Kept 3 of 3 candidates: at least 10 % of the softmax at temperature 0.5."),
    ],
)
def test_the_reason_is_a_sentence(strategy: str, reason: str) -> None:
    assert select(hits_of(1.0, 0.95, 0.4), strategy, min_score=0.5).reason == reason


def test_the_signals_tell_the_numbers_of_the_decision() -> None:
    assert select(hits_of(2.0, 1.5, 1.0)).signals == {
        "strategy": "conservative",
        "candidates": 3,
        "min_score": None,
        "top_score": 2.0,
        "gap": 0.5,
        "runner_up_ratio": 0.75,
        "line": 1.8,
        "selected": 1,
    }


@pytest.mark.parametrize(
    ("strategy", "line"),
    [
        ("conservative", 0.9 * 2.0),
        ("top_k", None),
        ("rel_threshold", 0.9 * 2.0),
        ("abs_threshold", 0.5),
        ("score_gap", 0.5 * 1.5),
        # the score whose softmax at temperature 0.5 is 0.1: 0.5 * (ln 0.1 + ln(e^4 + e^3 + e^0.8))
        ("softmax", 0.5 * (math.log(0.1) + math.log(math.exp(4) + math.exp(3) + math.exp(0.8)))),
    ],
)
def test_the_line_is_the_score_that_divides_what_was_kept_from_the_rest(strategy: str, line: float | None) -> None:
    assert select(hits_of(2.0, 1.5, 0.4), strategy, min_score=0.5).signals["line"] == (
        line if line is None else pytest.approx(line)
    )


def test_below_the_floor_the_line_is_the_floor() -> None:
    assert select(hits_of(0.4), min_score=0.5).signals["line"] == 0.5


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("scores", [(), (0.0,), (0.1, 0.05), (1.0, 0.95, -0.4)])
def test_a_selection_becomes_plain_json(strategy: str, scores: tuple[float, ...]) -> None:
    selection = select(hits_of(*scores), strategy, min_score=0.2)
    written = json.loads(json.dumps(selection.to_dict(), allow_nan=False))
    assert written["abstained"] == (scores != (1.0, 0.95, -0.4))
    assert [hit["id"] for hit in written["selected"]] == kept(selection)
    assert written["reason"] == selection.reason
    assert written["signals"] == selection.signals


# Arguments


@pytest.mark.parametrize("strategy", ["bold", "", "Top_K"])
def test_an_unknown_strategy_is_an_error_that_names_the_known_ones(strategy: str) -> None:
    with pytest.raises(InputError, match="conservative, top_k, rel_threshold, abs_threshold, score_gap, softmax"):
        select(hits_of(1.0), strategy)


@pytest.mark.parametrize("strategy", [None, 5, ["top_k"]])
@pytest.mark.parametrize("hits", [hits_of(), hits_of(1.0)], ids=["none", "one"])
def test_a_strategy_that_is_neither_a_name_nor_callable_is_an_input_error(strategy: Any, hits: Hits) -> None:
    with pytest.raises(InputError):
        select(hits, strategy)


NAN = float("nan")


@pytest.mark.parametrize(
    "numbers",
    [
        {"max_k": 0},
        {"max_k": -1},
        {"max_k": 2.5},
        {"max_k": "3"},
        {"max_k": True},
        {"rel": -0.1},
        {"rel": 1.1},
        {"rel": NAN},
        {"rel": "0.9"},
        {"gap_ratio": 2},
        {"gap_ratio": NAN},
        {"gap_ratio": None},
        {"temperature": 0},
        {"temperature": -1.0},
        {"temperature": NAN},
        {"temperature": "hot"},
        {"cutoff": -1},
        {"cutoff": 101},
        {"cutoff": NAN},
        {"cutoff": None},
        {"min_score": NAN},
        {"min_score": float("inf")},
        {"min_score": -float("inf")},
        {"min_score": "0.4"},
        {"min_score": [0.4]},
    ],
    ids=str,
)
@pytest.mark.parametrize("hits", [hits_of(), hits_of(1.0)], ids=["none", "one"])
def test_a_number_that_means_nothing_is_an_input_error(numbers: dict[str, Any], hits: Hits) -> None:
    with pytest.raises(InputError):
        select(hits, **numbers)


def test_a_rel_that_adaptive_would_ignore_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"rel \(0.5\)"):
        select(hits_of(1.0), "adaptive", rel=0.5)


# Properties

some_scores = st.lists(st.floats(-1, 100, allow_nan=False), max_size=12).map(lambda s: sorted(s, reverse=True))


@given(some_scores, st.sampled_from(sorted(STRATEGIES)), st.integers(1, 5), st.floats(0, 1), st.floats(-1, 2))
def test_what_is_selected_is_always_a_part_of_the_hits_in_their_order(
    scores: list[float], strategy: str, max_k: int, rel: float, floor: float
) -> None:
    hits = hits_of(*scores)
    options = {} if strategy == "adaptive" else {"rel": rel}
    selection = select(hits, strategy, max_k=max_k, gap_ratio=rel, min_score=floor, **options)
    places = [hits.index(hit) for hit in selection.selected]
    assert places == sorted(set(places))
    assert selection.abstained == (not places)
    if strategy in ("conservative", "top_k"):
        assert len(places) <= max_k
    if places:
        assert scores[0] > 0
        assert scores[0] >= floor
        assert strategy == "softmax" or places[0] == 0


@given(some_scores, st.integers(1, 5), st.floats(0, 1))
def test_conservative_selects_what_its_definition_says(scores: list[float], max_k: int, rel: float) -> None:
    expected = []
    if scores and scores[0] > 0:
        near = [at for at, score in enumerate(scores) if score / scores[0] >= rel]
        expected = [f"h{at}" for at in near[:max_k]]
    assert kept(select(hits_of(*scores), max_k=max_k, rel=rel)) == expected


@given(some_scores, st.floats(1e-3, 1e3))
def test_a_rule_that_is_relative_does_not_depend_on_the_scale(scores: list[float], scale: float) -> None:
    scores = [round(score, 2) for score in scores]
    for strategy in ("rel_threshold", "score_gap"):
        # a share of 0.917 lies between the ratios of such scores, so that rounding decides nothing
        one = select(hits_of(*scores), strategy, rel=0.9170001, gap_ratio=0.5170001)
        other = select(hits_of(*(score * scale for score in scores)), strategy, rel=0.9170001, gap_ratio=0.5170001)
        assert kept(one) == kept(other)


# The mode "auto"


def test_rules_of_scores_compare_the_relevances_that_auto_shows_and_adaptive_compares_odds() -> None:
    near_one = [replace(hit, relevance=hit.score) for hit in hits_of(0.99, 0.91, 0.5, 0.2)]
    assert kept(select(near_one, "rel_threshold", max_k=9)) == ["h0", "h1"]
    assert kept(select(near_one, "conservative", max_k=9)) == ["h0", "h1"]
    assert kept(select(near_one, "score_gap", max_k=9)) == ["h0", "h1", "h2"]
    assert kept(select(near_one, "adaptive")) == ["h0"]
    low = [replace(hit, relevance=hit.score) for hit in hits_of(0.3, 0.25, 0.1)]
    assert kept(select(low, "rel_threshold", max_k=9)) == ["h0"]
    assert kept(select(low, "adaptive")) == ["h0", "h1"]
    shares = softmax([hit.score for hit in near_one], 0.5)
    expected = [hit.id for hit, share in zip(near_one, shares, strict=True) if share >= 0.2]
    assert kept(select(near_one, "softmax", max_k=9, cutoff=20.0)) == expected == ["h0", "h1"]


@pytest.mark.parametrize("strategy", ["rel_threshold", "score_gap", "softmax"])
def test_in_auto_the_best_relevance_is_what_the_rule_of_discover_starts_from(strategy: str) -> None:
    documents = {"tea": "brew green tea", "coffee": "brew black coffee", "desk": "book a desk for a day"}
    with build(documents, in_memory=True, embedder="none") as corpus:
        found = discover(corpus, "brew green tea", strategy=strategy, min_relevance=None)
    assert found.signals["top_score"] == found.signals["relevance"] == found.candidates[0].relevance
    assert found.signals["line"] is None or found.signals["line"] < found.signals["top_score"]


# A language model


class ScriptedLLM:
    """Says what it was told to say, and remembers what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []

    def complete(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> Reply:
        self.asked.append("\n".join(str(message["content"]) for message in messages))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("[2]", ["h1"]),
        ("[3, 1]", ["h2", "h0"]),
        ("[1, 1, 2]", ["h0", "h1"]),
        ("The best ones are [1, 3].", ["h0", "h2"]),
        ("```json\n[2]\n```", ["h1"]),
        ("[4, 3, 2, 1]", ["h3", "h2", "h1"]),
        ("[]", []),
        ("None of them fits: []", []),
    ],
)
def test_the_model_picks_by_number_at_most_max_k(reply: str, expected: list[str]) -> None:
    selection = select(hits_of(1.0, 0.5, 0.4, 0.3), make_llm_selector(ScriptedLLM(reply)))
    assert kept(selection) == expected
    assert selection.abstained == (not expected)


@pytest.mark.parametrize(
    "reply",
    [
        "I cannot say.",
        "",
        "[0]",
        "[5]",
        "[1, 99]",
        "[-1]",
        "[one]",
        '["name1"]',
        "[1",
        "{}",
        "[null]",
        TimeoutError("no answer"),
        RuntimeError("quota"),
    ],
)
def test_the_heuristic_answers_where_the_model_fails(reply: str | Exception) -> None:
    selection = select(hits_of(1.0, 0.95, 0.4, 0.3), make_llm_selector(ScriptedLLM(reply)))
    assert kept(selection) == ["h0", "h1"]


def test_another_heuristic_can_be_the_fallback_and_that_it_was_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    selector = make_llm_selector(ScriptedLLM("?"), max_k=4, fallback="top_k")
    assert kept(select(hits_of(1.0, 0.5, 0.4, 0.3, 0.2), selector)) == ["h0", "h1", "h2", "h3"]
    (message,) = caplog.messages
    assert "no list in the reply" in message
    assert "'top_k'" in message


def test_a_model_object_that_answers_something_else_is_a_failure_too() -> None:
    class Broken:
        def complete(self, messages: object, tools: object = ()) -> Any:
            return None

    assert kept(select(hits_of(1.0, 0.5), make_llm_selector(Broken()))) == ["h0"]


def test_the_model_is_told_the_query_the_names_the_texts_and_the_number_wanted() -> None:
    llm = ScriptedLLM("[1]")
    select(hits_of(1.0, 0.9, query="send {money} back"), make_llm_selector(llm, max_k=7))
    (prompt,) = llm.asked
    for part in ("send {money} back", "1. name0: text of 0", "2. name1: text of 1", "at most\n7"):
        assert part in prompt


def test_the_model_is_not_asked_when_there_is_nothing_to_choose_from() -> None:
    llm = ScriptedLLM()
    assert select(hits_of(), make_llm_selector(llm)).abstained
    assert llm.asked == []


# What a user may get wrong or bring along


def test_e4_hits_in_any_order_are_selected_as_if_they_were_sorted() -> None:
    selection = select(hits_of(0.214, 0.274), rel=0.95)
    assert kept(selection) == ["h1"]
    assert selection.signals["top_score"] == 0.274
    assert kept(select(hits_of(0.2, 0.9, 0.2), "top_k", max_k=2)) == ["h1", "h0"]


def test_e4_a_callable_sees_the_best_hit_first_and_the_hits_given_stay_as_they_are() -> None:
    hits = hits_of(0.1, 0.3, query="tea")
    assert kept(select(hits, lambda given: given[:1])) == ["h1"]
    assert [hit.id for hit in hits] == ["h0", "h1"]


@pytest.mark.parametrize("score", [NAN, float("inf")])
def test_e4_a_score_that_is_not_a_number_is_an_input_error(score: float) -> None:
    with pytest.raises(InputError, match="'h1' has the score"):
        select(hits_of(1.0, score))


def test_e4_the_reason_says_that_the_fallback_chose_after_the_model_failed() -> None:
    selection = select(hits_of(1.0, 0.95, 0.4), make_llm_selector(ScriptedLLM(TimeoutError("no answer"))))
    assert kept(selection) == ["h0", "h1"]
    assert selection.reason == (
        "Kept 2 of 3 candidates: the language model failed (TimeoutError: no answer); "
        "selected by the fallback strategy 'conservative'."
    )
    assert selection.signals["fallback"] == "conservative"
    worked = select(hits_of(1.0, 0.95), make_llm_selector(ScriptedLLM("[2]")))
    assert worked.reason == "Kept 1 of 2 candidates: chosen by llm_selector."
    assert "fallback" not in worked.signals


def test_e4_the_model_may_be_a_plain_function_from_prompt_to_reply() -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "[2]"

    assert kept(select(hits_of(1.0, 0.9, query="send money"), make_llm_selector(model))) == ["h1"]
    assert "send money" in asked[0]


@pytest.mark.parametrize("wrong", [{"llm": 7}, {"fallback": "bold"}, {"max_k": 0}], ids=str)
def test_e4_a_wrong_argument_of_an_llm_selector_is_an_error_before_the_model_is_asked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        make_llm_selector(**{"llm": ScriptedLLM(), **wrong})


def test_e4_a_strategy_can_be_registered_under_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "_registered", {})
    register_strategy("last", lambda hits: hits[-1:])
    selection = select(hits_of(2.0, 1.0), "last")
    assert (kept(selection), selection.signals["strategy"]) == (["h1"], "last")
    assert [item.id for item in discover(["tea leaves", "tea"], "tea", strategy="last", mode="lexical").results] == [
        "0"
    ]
    with pytest.raises(InputError, match="'last' is already registered"):
        register_strategy("last", lambda hits: hits)
    register_strategy("last", lambda hits: hits[:1], replace=True)
    assert kept(select(hits_of(2.0, 1.0), "last")) == ["h0"]
    with pytest.raises(InputError, match="softmax, last"):
        select(hits_of(1.0), "first")


@pytest.mark.parametrize(("name", "selector"), [("top_k", list), ("", list), (None, list), ("mine", "top_k")])
def test_e4_a_strategy_that_cannot_be_registered_is_an_input_error(name: Any, selector: Any) -> None:
    with pytest.raises(InputError):
        register_strategy(name, selector)


def test_adaptive_selects_a_document_of_two_corpora_once() -> None:
    passage = Passage("a", "refund", "Give the money back.")
    twin = Passage("b", "refund", "Give the money back.")
    hits = [Hit(passage, 0.9, corpus="one", relevance=0.8), Hit(twin, 0.8, corpus="two", relevance=0.79)]
    assert [hit.id for hit in select(hits, "adaptive").selected] == ["a"]
    same = [Hit(passage, 0.9, corpus="one", relevance=0.8), Hit(twin, 0.8, corpus="one", relevance=0.79)]
    assert [hit.id for hit in select(same, "adaptive").selected] == ["a", "b"]
