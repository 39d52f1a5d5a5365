"""What was used after a search changes later searches: enough to help, never so much that it could be abused."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from shortlist import Corpus, Document, create_corpus, discover, search
from shortlist.index.storage.usage_log import FILE, UsageLog
from shortlist.retrieval.learning import learned
from shortlist.retrieval.learning.learned import MOST_LOST
from shortlist.retrieval.relevance import THRESHOLD

if TYPE_CHECKING:
    from shortlist.results import Vectors


TOOLS = [
    Document("send_email", "send_email", "Send a message to an address.", kind="tool"),
    Document("add_event", "add_event", "Put an appointment into the calendar.", kind="tool"),
    Document("delete_file", "delete_file", "Remove a file from the disk.", kind="tool"),
    Document("list_invoices", "list_invoices", "Show the bills of a customer.", kind="tool"),
]


JARGON, SIMILAR = "ping the whole crew about the offsite", "ping the crew, the offsite moved"


@pytest.fixture(autouse=True)
def _learn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(learned, "RELEARN_AT_ONCE", 1e9)


@pytest.fixture(params=["none", "default"])
def corpus(request: pytest.FixtureRequest) -> Corpus:
    corpus = create_corpus("tools", in_memory=True, embedder=request.param)
    corpus.add(TOOLS)
    return corpus


class Ones:
    """An embedder whose vectors are all the same."""

    name = "ones"

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), self.dim), self.dim**-0.5, np.float32)

    def encode_query(self, text: str) -> Vectors:
        return self.encode_documents([text]).ravel()


def scores(corpus: Corpus, query: str, **options: object) -> dict[str, float]:
    return {hit.id: hit.score for hit in search(corpus, query, **options)}  # type: ignore[arg-type]


WORDINGS = (
    JARGON,
    "ping the crew about the offsite",
    "the whole crew needs a ping on the offsite",
    "offsite news, ping everybody in the crew",
    "ping the crew that the offsite is off",
)


def test_queries_that_led_to_a_tool_find_it_in_other_words(corpus: Corpus) -> None:
    assert discover(corpus, SIMILAR).abstained
    for query in WORDINGS:
        corpus.learn(query, "send_email")
    (hit, *_) = search(corpus, SIMILAR)
    assert hit.id == "send_email"
    assert hit.signals["learned"] > 0
    assert [item.id for item in discover(corpus, SIMILAR).results] == ["send_email"]
    corpus.usage.forget()
    assert discover(corpus, SIMILAR).abstained


def select_ids(corpus: Corpus, query: str) -> list[str]:
    return [item.id for item in discover(corpus, query).results]


def relevance_of(corpus: Corpus, query: str, id: str) -> float:
    return next((hit.relevance or 0.0 for hit in search(corpus, query) if hit.id == id), 0.0)


def test_one_report_never_lifts_a_document_that_does_not_serve_the_query_into_a_selection(corpus: Corpus) -> None:
    queries = (JARGON, "which mayor was the first", "send a message to an address")
    for query in queries:
        corpus.usage.forget()
        before, selected = relevance_of(corpus, query, "list_invoices"), select_ids(corpus, query)
        for _ in range(20):  # however often it is repeated, it counts for two
            corpus.learn(query, "list_invoices")
        after = relevance_of(corpus, query, "list_invoices")
        assert before <= after < THRESHOLD
        assert select_ids(corpus, query) == selected


def test_a_popular_tool_is_not_lifted_for_a_query_that_is_not_like_its_examples(corpus: Corpus) -> None:
    for at in range(30):
        corpus.learn(f"show the bills of customer {at}", "list_invoices", session=str(at))
    corpus.learn(JARGON, "list_invoices")
    assert relevance_of(corpus, JARGON, "list_invoices") < THRESHOLD
    assert discover(corpus, JARGON).abstained


def test_uses_in_one_session_lift_less_than_those_of_different_sessions(corpus: Corpus) -> None:
    for query in WORDINGS:
        corpus.learn(query, "send_email", session="one")
    same = relevance_of(corpus, SIMILAR, "send_email")
    corpus.usage.forget()
    for at, query in enumerate(WORDINGS):
        corpus.learn(query, "send_email", session=str(at))
    assert relevance_of(corpus, SIMILAR, "send_email") > same


def test_a_report_that_a_document_is_wrong_lowers_it_for_that_query_only(corpus: Corpus) -> None:
    query, other = "send a message to an address", "send the message"
    before = [scores(corpus, text)["send_email"] for text in (query, other)]
    corpus.learn(query, "send_email", "wrong", session="one")
    first = [scores(corpus, text)["send_email"] for text in (query, other)]
    assert first[0] < before[0]
    assert first[1] == before[1]
    corpus.learn(query, "send_email", "wrong", session="one")  # the same click again
    assert scores(corpus, query)["send_email"] == pytest.approx(first[0])
    corpus.learn(query, "send_email", "wrong", session="another")
    assert before[0] / 2 < scores(corpus, query)["send_email"] < first[0]


def test_a_report_that_a_document_is_wrong_is_about_its_definition_at_that_time(corpus: Corpus) -> None:
    query = "send a message to an address"
    changed = replace(TOOLS[0], content="Send a message to an address, with attachments.")
    corpus.add([changed])
    before = scores(corpus, query)["send_email"]
    corpus.add([TOOLS[0]])
    corpus.learn(query, "send_email", "wrong")
    lowered = scores(corpus, query)["send_email"]
    corpus.add([changed])
    assert scores(corpus, query)["send_email"] == pytest.approx(before)
    corpus.add([TOOLS[0]])
    assert scores(corpus, query)["send_email"] == pytest.approx(lowered)
    corpus.usage.forget()
    assert scores(corpus, query)["send_email"] > lowered


def test_what_is_passed_over_twice_loses_a_little(corpus: Corpus) -> None:
    query = "put a message into the calendar"
    before = scores(corpus, query)["send_email"]
    corpus.learn(query, "add_event", shown=["send_email", "add_event"], session="one")
    assert scores(corpus, query)["send_email"] == before
    corpus.learn(query, "add_event", shown=["send_email", "add_event"], session="two")
    assert 0.9 * before < scores(corpus, query)["send_email"] < before


def test_ranking_without_a_log_or_without_learning_is_unchanged(corpus: Corpus) -> None:
    queries = ("send a message", "remove the bills", JARGON)
    before = [search(corpus, query).to_dict() for query in queries]
    corpus.usage.add(JARGON, [("send_email", 0.4)])  # a search after which nothing was used
    assert [search(corpus, query).to_dict() for query in queries] == before
    corpus.learn(JARGON, "send_email")
    corpus.learning = "log"
    assert [search(corpus, query).to_dict() for query in queries] == before
    corpus.learning = "on"
    assert search(corpus, JARGON).to_dict() != before[2]


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
def test_other_modes_rank_by_what_they_are_named_after(mode: str) -> None:
    corpus = create_corpus("tools", in_memory=True, embedder="default")
    corpus.add(TOOLS)
    before = scores(corpus, SIMILAR, mode=mode)
    corpus.learn(SIMILAR, "list_invoices")
    assert scores(corpus, SIMILAR, mode=mode) == before


def test_a_filter_applies_to_what_was_learned(corpus: Corpus) -> None:
    corpus.learn(JARGON, "send_email")
    assert "send_email" not in scores(corpus, JARGON, filter={"id": {"$ne": "send_email"}})


def test_documents_without_examples_keep_their_score(corpus: Corpus) -> None:
    query = "show the bills in the calendar"
    before = scores(corpus, query)
    for at in range(50):
        corpus.learn(f"show me invoice {at}", "list_invoices", session=str(at))
    after = scores(corpus, query)
    assert {id: after[id] for id in before if id != "list_invoices"} == {
        id: before[id] for id in before if id != "list_invoices"
    }


def test_a_changed_definition_forgets_and_the_old_one_remembers(corpus: Corpus) -> None:
    corpus.learn(JARGON, "send_email")
    known = scores(corpus, SIMILAR)["send_email"]
    corpus.add([replace(TOOLS[0], content="Send money to an address.")])
    assert scores(corpus, SIMILAR).get("send_email", 0.0) < known
    corpus.add([TOOLS[0]])
    assert scores(corpus, SIMILAR)["send_email"] == pytest.approx(known)
    corpus.remove("send_email")
    assert "send_email" not in scores(corpus, SIMILAR)


def test_it_is_found_again_by_another_process_and_after_a_rebuild(tmp_path: Path) -> None:
    corpus = create_corpus("tools", path=tmp_path / "tools", embedder="default")
    corpus.add(TOOLS)
    corpus.learn(JARGON, "send_email")
    known = scores(corpus, SIMILAR)
    other = create_corpus("tools", path=tmp_path / "tools")
    assert scores(other, SIMILAR) == pytest.approx(known)
    corpus.learn("crew message", "send_email")  # while the other is open
    assert scores(other, SIMILAR) == pytest.approx(scores(corpus, SIMILAR))
    assert scores(other, SIMILAR) != pytest.approx(known)
    corpus.reindex(embedder="light")
    assert search(corpus, SIMILAR)[0].id == "send_email"


def test_an_embedder_with_another_dimension_does_not_use_the_old_vectors(tmp_path: Path) -> None:
    for dim in (8, 16):
        corpus = create_corpus("tools", path=tmp_path / str(dim), embedder=Ones(dim))
        corpus.add(TOOLS)
        corpus.usage = UsageLog(tmp_path / FILE)
        corpus.learn(JARGON, "send_email")
        assert "send_email" in scores(corpus, SIMILAR)


def test_a_damaged_log_does_not_stop_a_search(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    corpus = create_corpus("tools", path=tmp_path / "tools", embedder="default")
    corpus.add(TOOLS)
    (tmp_path / "tools" / FILE).write_bytes(b"this is not a database" * 100)
    with caplog.at_level(logging.WARNING):
        assert search(corpus, "send a message")[0].id == "send_email"
        search(corpus, "send a message")
    assert len(caplog.records) == 1


def test_a_loop_moves_a_score_no_more_than_a_few_uses(corpus: Corpus) -> None:
    for at in range(5):
        corpus.learn(f"ping the crew {at}", "send_email", session="loop")
    few = scores(corpus, SIMILAR)["send_email"]
    for at in range(300):
        corpus.learn(f"ping the crew {at}", "send_email", session="loop")
    assert scores(corpus, SIMILAR)["send_email"] <= few * 1.35


def test_discover_uses_and_reports_the_fitted_threshold() -> None:
    corpus = create_corpus("tools", in_memory=True, embedder="default")
    corpus.add(TOOLS)
    use = corpus.use_of("send_email", "called")
    assert use
    for at in range(200):
        corpus.usage.add(f"message {at}", [("send_email", 0.9)], [use], session=str(at))
        corpus.usage.add(f"weather {at}", [("send_email", 0.3)], session=str(at))
    found = discover(corpus, "which appointment of the mayor was the first")
    assert found.abstained
    assert "below the threshold of 0.332" in found.reason
    assert found.signals["min_relevance"] == 0.332
    assert found.signals["floor"] == "A relevance threshold of 0.332, fitted to earlier use."


def test_a_long_log_is_not_read_after_every_use(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = create_corpus("tools", in_memory=True, embedder="default")
    corpus.add(TOOLS)
    corpus.learn(JARGON, "send_email")
    monkeypatch.setattr(learned, "RELEARN_AT_ONCE", -1.0)
    monkeypatch.setattr(learned, "RELEARN_SHARE", 1e9)
    known = scores(corpus, SIMILAR)
    corpus.learn("crew message", "send_email")
    assert scores(corpus, SIMILAR) == known
    corpus.usage.forget()  # takes effect at once
    assert "learned" not in search(corpus, SIMILAR)[0].signals


def test_vectors_that_are_missing_follow_with_later_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = create_corpus("tools", in_memory=True, embedder=lambda texts: np.ones((len(texts), 4)))  # may be slow
    corpus.add(TOOLS)
    corpus.learn(JARGON, "send_email")
    monkeypatch.setattr(learned, "ENCODE_SECONDS", -1.0)
    assert "learned" not in search(corpus, SIMILAR)[0].signals
    monkeypatch.undo()
    assert search(corpus, SIMILAR)[0].signals["learned"] > 0


def test_many_passages_are_ranked_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a size, only the best are scored; what was learned must give the same hits."""
    corpus = create_corpus("tools", in_memory=True, embedder="default")
    corpus.add([*TOOLS, *(Document(f"t{at}", f"tool {at}", f"Does thing {at} to the crew.") for at in range(300))])
    for id, query in (("send_email", JARGON), ("add_event", "book the offsite"), ("t5", "crew thing")):
        corpus.learn(query, id)
    queries = (SIMILAR, "book an offsite for the crew", "remove a file", "thing 5")
    few = [scores(corpus, query, k=20) for query in queries]
    monkeypatch.setattr("shortlist.index.snapshot.ALL_SCORES_BELOW", 0)
    for query, wanted in zip(queries, few, strict=True):
        found = scores(corpus, query, k=20)
        assert list(found) == list(wanted)
        assert found == pytest.approx(wanted)


def test_old_logs_of_another_corpus_are_not_mixed_up() -> None:
    corpus = create_corpus("tools", in_memory=True, embedder="default")
    corpus.add(TOOLS)
    corpus.learn(JARGON, "send_email")
    first = scores(corpus, SIMILAR)
    other = UsageLog(None)
    use = corpus.use_of("delete_file", "called")
    assert use
    other.add(JARGON, [], [use], at=time.time())
    corpus.usage = other  # with the same version
    assert search(corpus, SIMILAR)[0].id == "delete_file"
    assert first != scores(corpus, SIMILAR)


def test_a_large_corpus_whose_used_documents_have_all_changed_ranks_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.index.snapshot.ALL_SCORES_BELOW", 0)
    corpus = create_corpus("tools", in_memory=True, embedder="default")
    corpus.add(TOOLS)
    before = scores(corpus, SIMILAR)
    corpus.learn(SIMILAR, "send_email")
    corpus.remove("send_email")
    assert scores(corpus, SIMILAR) == {id: score for id, score in before.items() if id != "send_email"}


def test_a_document_used_for_other_things_is_still_found_in_its_own_words() -> None:
    corpus = create_corpus("tools", in_memory=True, embedder="default")
    corpus.add(TOOLS)
    before = search(corpus, "send a message to an address")[0]
    for at in range(60):
        corpus.learn(f"{('crew', 'offsite', 'friday', 'lunch', 'party')[at % 5]} plan number {at}", "send_email")
    after = search(corpus, "send a message to an address")[0]
    assert before.id == after.id == "send_email"
    assert after.signals["blend"] == pytest.approx(before.signals["blend"])
    assert after.signals["learned"] == pytest.approx(-MOST_LOST)
    assert [item.id for item in discover(corpus, "send a message to an address").results] == ["send_email"]
