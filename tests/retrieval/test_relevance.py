"""How relevant is a hit? The same question in every mode."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from shortlist import Corpus, CorpusSource, Document, build, discover, search
from shortlist.documents import Passage
from shortlist.library.opening import open_states
from shortlist.results import Hit, Mode
from shortlist.retrieval.relevance import (
    CLEAR,
    FITTED_WEIGHTS,
    OTHER_SERVICE,
    THRESHOLD,
    UNLIKELY,
    QueryRelevance,
    Relevance,
    Share,
    describe_confidence,
    log_odds,
    probability,
    weights_for,
)
from shortlist.retrieval.select import is_duplicate, select
from shortlist.retrieval.services import find_unknown_services

TOOLS = [
    Document("refund_payment", "refund_payment", "Send money back to the customer's card after a charge.", kind="tool"),
    Document("track_parcel", "track_parcel", "Show where a parcel is and when it will arrive.", kind="tool"),
    Document("play_music", "play_music", "Play a song, an album or a radio station.", kind="tool"),
]


@pytest.mark.parametrize("mode", get_args(Mode))
def test_every_hit_has_a_relevance_between_0_and_1_and_the_right_one_has_the_greatest(mode: Mode) -> None:
    hits = search(build(TOOLS, in_memory=True), "send money back to a card", mode=mode)
    assert all(hit.relevance is not None and 0.0 < hit.relevance < 1.0 for hit in hits)
    assert max(hits, key=lambda hit: hit.relevance or 0.0).id == "refund_payment"


def test_relevance_grows_with_the_blend_and_falls_with_the_distance_from_the_best() -> None:
    for fitted in FITTED_WEIGHTS.values():
        assert min(fitted.relevance.dense, fitted.relevance.scale) > 0
    weights = Relevance(bias=-2.0, best=2.0, dense=4.0, scale=10.0)
    query = QueryRelevance(weights, best=0.5, dense=0.25, names_other_service=False)
    assert query.of(0.5) == probability(-2.0 + 1.0 + 1.0)
    assert query.of(0.4) == pytest.approx(probability(-1.0))
    assert query.of(0.6) == pytest.approx(probability(1.0))  # with what was learned
    assert replace(query, dense=-0.3).of(0.5) == probability(-2.0 + 1.0)
    assert replace(query, slope=2.0, shift=-0.1).of(0.5) == pytest.approx(probability(-0.1))
    assert list(map(probability, (0.0, -1000.0, 1000.0))) == pytest.approx([0.5, 0.0, 1.0], abs=1e-12)
    assert [log_odds(probability(odds)) for odds in (-20.0, 0.0, 3.5)] == pytest.approx([-20.0, 0.0, 3.5])


def test_a_document_that_the_query_identifies_is_a_perfect_match_and_ahead_of_all_others() -> None:
    for fitted in FITTED_WEIGHTS.values():
        query = QueryRelevance(fitted.relevance, best=0.5, dense=0.25, names_other_service=False)
        perfect = replace(query, best=1.0, dense=1.0)
        assert query.of(query.total(0.0, is_named=True)) == pytest.approx(perfect.of(1.0))
        assert query.total(0.7, is_named=True) > query.total(0.5, is_named=True) > query.total(0.7, is_named=False)


TOOL_FILE = Path(__file__).parents[2] / "examples" / "data" / "tools.yaml"
CATALOG = [document for document in CorpusSource.from_catalog(TOOL_FILE) if isinstance(document, Document)]
WORDS = sorted({word for document in CATALOG for word in re.findall(r"[a-z_]{3,}", document.content.lower())})
IDENTIFIERS = [document.title for document in CATALOG]


@pytest.fixture(scope="module", params=["none", "light", "default", "tools"])
def catalog(request: pytest.FixtureRequest) -> Iterator[Corpus]:
    if request.param == "tools":
        pytest.importorskip("onnxruntime")
    with build(CATALOG, in_memory=True, embedder=request.param) as corpus:
        yield corpus


def test_rank_and_relevance_never_contradict_each_other(catalog: Corpus) -> None:
    chance = random.Random(7)
    for _ in range(15 if catalog.config.embedder == "tools" else 60):  # our model takes 25 milliseconds for a query
        asked = chance.sample(WORDS, chance.randint(1, 9)) + chance.sample(IDENTIFIERS, chance.randint(0, 1))
        query = " ".join(chance.sample([*asked, "Jira"], len(asked)))
        hits = search(catalog, query, k=10)
        assert [hit.score for hit in hits] == [hit.relevance for hit in hits]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert search(catalog, query, k=5) == hits[:5]
        found = discover(catalog, query, min_relevance=None)
        assert [item.score for item in found.results] == sorted((item.score for item in found.results), reverse=True)


def test_an_identifier_has_the_highest_number(catalog: Corpus) -> None:
    for name in IDENTIFIERS:
        for query in (name, f"please call {name} for this order", name.replace("_", " ")):
            first, *others = search(catalog, query)
            assert first.name == name
            assert all((first.relevance or 0) > (other.relevance or 0) for other in others)
            assert (first.relevance or 0) > THRESHOLD


def test_keywords_weigh_more_in_longer_queries_up_to_a_limit() -> None:
    share = Share(least=0.5, per_term=0.01, most=0.75)
    assert [share.of(terms) for terms in (0, 1, 10, 25, 100)] == pytest.approx([0.5, 0.51, 0.6, 0.75, 0.75])


def test_the_weights_are_those_of_the_embedder() -> None:
    assert weights_for("mine") is weights_for("yours")
    assert len({id(weights_for(name)) for name in ("mine", "wordllama-256", "tools#12345678")}) == 3
    for name in ("tools-of-mine", "toolset", "wordllama-1024", "my-tools"):
        assert weights_for(name) is weights_for("mine")


def test_with_such_an_embedder_a_query_of_unknown_words_is_not_served() -> None:
    def count_letters(texts: list[str]) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "aeiou"] for text in texts], dtype=np.float32)

    corpus = build(TOOLS, in_memory=True, embedder=count_letters)
    assert not discover(corpus, "send money back").abstained
    assert discover(corpus, "water my tulips").abstained


def test_where_no_floor_was_calibrated_the_shipped_one_decides_and_the_abstention_explains_itself() -> None:
    corpus = build(TOOLS, in_memory=True)
    assert not discover(corpus, "send money back to a card", min_relevance="auto").abstained
    found = discover(corpus, "which customer painted the sistine chapel", min_relevance="auto")
    assert found.abstained
    assert found.signals["min_relevance"] == THRESHOLD
    near = found.signals["near_misses"]
    assert len(near) == 3
    assert all(0.0 < row["relevance"] < THRESHOLD for row in near)
    assert found.signals["searched"] == {corpus.name: 3}
    assert found.signals["unknown_words"] == ["chapel", "painted", "sistine"]
    assert any("'sistine'" in advice for advice in found.signals["try"])
    assert not discover(corpus, "which customer painted the sistine chapel", min_relevance=None).abstained


def hit(name: str, text: str, score: float) -> Hit:
    return Hit(Passage(name, name, text), score)


def test_copies_do_not_spoil_the_gap_and_do_not_push_others_out() -> None:
    text = "Send an email to one or more people, with a subject, a body and files attached to it, now or later on"
    copies = [hit("send_email", text, 1.0), hit("send_email", f"{text}.", 0.99), hit("send_email", text, 0.98)]
    other = hit("send_message", "Post a message to a channel of the team.", 0.95)
    assert is_duplicate(copies[0], copies[1])
    assert not is_duplicate(copies[0], other)
    chosen = select([*copies, other], max_k=3)
    assert chosen.signals["gap"] == pytest.approx(0.05)
    assert chosen.signals["runner_up_ratio"] == pytest.approx(0.95)
    assert [one.name for one in chosen.selected] == ["send_email", "send_email", "send_message"]
    assert select(copies, max_k=3).selected == copies


@pytest.mark.parametrize(
    ("query", "services"),
    [
        ("add it to the jira board", ["jira"]),
        ("post it in Slack, not in Discord", ["Discord"]),
        ("Resend the invoice, then resend it again", []),  # also a verb
        ("mail it with Resend", ["Resend"]),
        ("a row in Google Sheets", ["Google Sheets"]),
    ],
)
def test_well_known_services_that_no_document_mentions_are_recognized(query: str, services: list[str]) -> None:
    corpus = build([*TOOLS, Document("send", "send_message", "Post to a Slack channel.", kind="tool")], in_memory=True)
    with open_states([corpus]) as [(_, state)]:
        assert find_unknown_services(query, state.lexical) == services


def test_a_query_that_names_another_service_has_lower_odds() -> None:
    corpus = build(TOOLS, in_memory=True, embedder="none")
    (common,), (service,) = search(corpus, "the parcel in notion"), search(corpus, "the parcel in Notion")
    odds = [(hit.relevance or 0) / (1 - (hit.relevance or 0)) for hit in (common, service)]
    assert np.log(odds[1]) == pytest.approx(np.log(odds[0]) + OTHER_SERVICE)


@pytest.mark.parametrize(
    ("best", "abstained", "confidence", "words"),
    [
        (CLEAR, False, "high", "The relevance of refund is 0.50, and a match is clear from 0.5 on."),
        (CLEAR - 0.01, False, "low", "refund may fit: its relevance is 0.49, and a match is clear from 0.5 on."),
        (UNLIKELY - 0.01, False, "low", "refund probably does not fit"),
        (UNLIKELY, True, "low", "refund may fit: its relevance is 0.15, near the threshold of 0.26."),
        (UNLIKELY - 0.01, True, "high", "The highest relevance, 0.14, is below 0.15"),
        (None, True, "high", "No document matches."),
        (None, False, "low", "not known"),
    ],
)
def test_between_unlikely_and_clear_confidence_is_low(
    best: float | None, abstained: bool, confidence: str, words: str
) -> None:
    found, reason = describe_confidence("refund", best, abstained=abstained, threshold=0.26)
    assert found == confidence
    assert words in reason


def test_the_threshold_is_between_unlikely_and_clear() -> None:
    assert UNLIKELY < THRESHOLD < CLEAR
