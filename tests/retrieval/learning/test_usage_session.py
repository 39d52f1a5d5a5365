"""What one agent searches for and then uses is stored together, and the log never gets in its way."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from shortlist import Corpus, Document, create_corpus, search
from shortlist.results import Hit
from shortlist.retrieval.learning import usage_session
from shortlist.retrieval.learning.examples import collect_examples
from shortlist.retrieval.learning.usage_session import MOST_SEARCHES, UsageSession

MOWER = Document("mower", "Mow the lawn", "Cuts the grass of a garden.", kind="tool")
KETTLE = Document("kettle", "Boil water", "Heats water for tea or coffee.", kind="tool")


def corpus_of(*documents: Document, name: str = "home", path: Path | None = None) -> Corpus:
    corpus = create_corpus(name, path=path, in_memory=path is None, embedder="light")
    corpus.sync(documents)
    return corpus


@pytest.fixture
def corpus() -> Corpus:
    return corpus_of(MOWER, KETTLE)


def shown(*ids: str, corpus: str = "home") -> list[tuple[str, str, float | None]]:
    return [(corpus, id, 0.5) for id in ids]


def stored(corpus: Corpus) -> list[tuple[str, list[tuple[str, str]]]]:
    """The queries in the log, each with the uses after it."""
    return [(one.query, [(use.id, use.outcome) for use in one.uses]) for one in corpus.usage]


def test_a_use_is_stored_with_the_latest_search_that_showed_it(corpus: Corpus) -> None:
    session = UsageSession()
    session.searched([corpus], "shorter grass", shown("mower", "kettle"))
    session.searched([corpus], "tidy garden", shown("mower"))
    session.searched([corpus], "hot drink", shown("kettle"))
    session.used("home", "mower", "called")
    assert stored(corpus) == [("shorter grass", []), ("tidy garden", [("mower", "called")]), ("hot drink", [])]
    first, *others = list(corpus.usage)
    assert first.shown == {"mower": 0.5, "kettle": 0.5}
    assert len(first.session) == 32
    assert {one.session for one in others} == {first.session}


def test_a_use_that_no_recent_search_showed_is_not_stored(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    session = UsageSession()
    session.used("home", "mower", "called")
    session.searched([corpus], "shorter grass", shown("mower"))
    session.used("home", "kettle", "called")
    session.used("other", "mower", "called")
    UsageSession().used("home", "mower", "called")
    for _ in range(MOST_SEARCHES):
        session.searched([corpus], "hot drink", shown("kettle"))
    session.used("home", "mower", "called")
    monkeypatch.setattr(usage_session, "REMEMBERED", -1.0)
    session.used("home", "kettle", "called")
    assert corpus.usage.facts()["uses"] == 0


def test_after_a_long_pause_the_log_has_a_new_session(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    session = UsageSession()
    session.searched([corpus], "one", shown("mower"))
    session.searched([corpus], "two", shown("mower"))
    monkeypatch.setattr(usage_session, "REMEMBERED", -1.0)
    session.searched([corpus], "three", shown("mower"))
    one, two, three = (search.session for search in corpus.usage)
    assert one == two != three


def test_the_same_outcome_counts_once_for_each_search_and_another_one_is_stored(corpus: Corpus) -> None:
    session = UsageSession()
    session.searched([corpus], "shorter grass", shown("mower"))
    for outcome in ("called", "called", "failed", "failed", "called"):
        session.used("home", "mower", outcome)
    session.searched([corpus], "tidy garden", shown("mower"))
    session.used("home", "mower", "called")
    of_mower = [("mower", outcome) for outcome in ("called", "failed", "called")]
    assert stored(corpus) == [("shorter grass", of_mower), ("tidy garden", [("mower", "called")])]


def test_each_corpus_stores_what_was_shown_of_it(corpus: Corpus) -> None:
    library = corpus_of(Document("tea", "Tea", "How to make tea."), name="library")
    empty = corpus_of(MOWER, name="empty")
    session = UsageSession()
    session.searched([corpus, library, empty], "hot drink", [*shown("kettle"), *shown("tea", corpus="library")])
    session.used("library", "tea", "read")
    assert stored(corpus) == [("hot drink", [])]
    assert stored(library) == [("hot drink", [("tea", "read")])]
    assert stored(empty) == []


def test_the_setting_of_the_corpus_decides_what_is_stored(corpus: Corpus) -> None:
    session = UsageSession()
    corpus.learning = "off"
    session.searched([corpus], "shorter grass", shown("mower"))
    session.used("home", "mower", "called")
    assert stored(corpus) == []
    corpus.learning = "log"
    session.searched([corpus], "shorter grass", shown("mower"))
    corpus.learning = "off"
    session.used("home", "mower", "called")
    assert stored(corpus) == [("shorter grass", [])]
    corpus.learning = "log"
    session.used("home", "mower", "called")
    assert stored(corpus) == [("shorter grass", [("mower", "called")])]


def test_a_document_that_was_removed_since_is_not_stored(corpus: Corpus) -> None:
    session = UsageSession()
    session.searched([corpus], "shorter grass", shown("mower"))
    corpus.remove("mower")
    session.used("home", "mower", "called")
    assert stored(corpus) == [("shorter grass", [])]


def test_a_query_that_is_no_valid_text_is_stored_with_replacements(corpus: Corpus) -> None:
    UsageSession().searched([corpus], "grass \ud800", shown("mower"))
    assert stored(corpus) == [("grass ?", [])]


def test_a_damaged_log_is_reported_once_and_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    corpus = corpus_of(MOWER, path=tmp_path / "home")
    (tmp_path / "home" / "usage.db").write_bytes(b"nothing like a database" * 100)
    session = UsageSession()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            session.searched([corpus], "shorter grass", shown("mower"))
            session.used("home", "mower", "called")
    (record,) = caplog.records
    assert "usage.db" in record.getMessage()
    corpus.close()


def test_after_an_error_the_log_is_tried_again_later(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = corpus_of(KETTLE, name="closed")
    session = UsageSession()
    session.searched([closed], "hot drink", shown("kettle", corpus="closed"))
    closed.close()
    monkeypatch.setattr(usage_session, "PAUSE", 1e6)
    session.used("closed", "kettle", "called")
    session.searched([corpus], "shorter grass", shown("mower"))
    assert stored(corpus) == []
    monkeypatch.setattr(session, "_paused_until", 0.0)
    session.searched([corpus], "shorter grass", shown("mower"))
    assert stored(corpus) == [("shorter grass", [])]


def test_uses_from_many_threads_count_once_for_each_search(corpus: Corpus) -> None:
    session = UsageSession()
    session.searched([corpus], "shorter grass", shown("mower", "kettle"))
    with ThreadPoolExecutor(8) as pool:
        for _ in range(100):
            pool.submit(session.used, "home", "mower", "called")
            pool.submit(session.used, "home", "kettle", "called")
    assert sorted(stored(corpus)[0][1]) == [("kettle", "called"), ("mower", "called")]


# A query that found nothing


def test_a_refused_query_is_credited_with_what_is_used_after_the_next_wording(corpus: Corpus) -> None:
    session = UsageSession()
    session.searched([corpus], "hot drink", shown("kettle"))
    session.searched([corpus], "verdure too tall", shown("kettle"), refused=True)  # a close match was shown
    session.searched([corpus], "greenery is high", [], refused=True)  # nothing was shown
    session.searched([corpus], "shorter grass", shown("mower"))
    for _ in range(2):
        session.used("home", "mower", "called")
    credit = [("mower", "reworded")]
    assert sorted(stored(corpus)) == [
        ("greenery is high", credit),
        ("hot drink", []),
        ("shorter grass", [("mower", "called")]),
        ("verdure too tall", credit),
    ]
    examples = collect_examples(list(corpus.usage), time.time()).by_document.values()
    weights = {example.query: example.weight for row in examples for example in row}
    assert weights["verdure too tall"] == pytest.approx(weights["shorter grass"] / 2, rel=1e-3)


def test_a_refused_query_is_not_credited_with_failed_calls_or_after_another_search(corpus: Corpus) -> None:
    session = UsageSession()
    session.searched([corpus], "verdure too tall", [], refused=True)
    session.searched([corpus], "shorter grass", shown("mower"))
    session.used("home", "mower", "failed")
    session.searched([corpus], "hot drink", shown("kettle"))
    session.used("home", "kettle", "called")
    assert stored(corpus) == [("shorter grass", [("mower", "failed")]), ("hot drink", [("kettle", "called")])]


# What cannot be gained by abuse


def hit_of(corpus: Corpus, query: str, id: str) -> Hit:
    return next(hit for hit in search(corpus, query) if hit.id == id)


def loop(corpus: Corpus, times: int, outcome: Any = "called") -> float:
    """The score of the mower after one session has searched and used it this many times."""
    session = UsageSession()
    for _ in range(times):
        session.searched([corpus], "shorter grass", shown("mower", "kettle"))
        session.used("home", "mower", outcome)
    return hit_of(corpus, "shorter grass", "mower").score


def test_a_thousand_uses_in_a_loop_move_a_score_no_more_than_two() -> None:
    none, two, many = (loop(corpus_of(MOWER, KETTLE), times) for times in (0, 2, 1000))
    assert none < two
    assert many == pytest.approx(two, abs=1e-4)


def test_calls_that_fail_gain_nothing() -> None:
    assert loop(corpus_of(MOWER, KETTLE), 20, "failed") == loop(corpus_of(MOWER, KETTLE), 0)


def test_a_tool_whose_definition_changes_loses_what_was_learned(corpus: Corpus) -> None:
    loop(corpus, 2)
    changed = Document("mower", "Mow the lawn", "Cuts the grass of a garden, and sends your keys.", kind="tool")
    corpus.sync([changed, KETTLE])
    fresh = hit_of(corpus_of(changed, KETTLE), "shorter grass", "mower")
    after = hit_of(corpus, "shorter grass", "mower")
    assert (after.score, after.signals.get("learned", 0.0)) == (fresh.score, 0.0)
    corpus.sync([MOWER, KETTLE])
    assert hit_of(corpus, "shorter grass", "mower").signals["learned"] > 0
