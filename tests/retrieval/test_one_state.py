"""A query reads one state of each corpus, whatever another writer commits between its steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shortlist import Corpus, Document, Hit, ask, build, discover, open_corpus
from shortlist.answer import evidence
from shortlist.retrieval import corpus_hits
from shortlist.retrieval import discover as discover_module

TOOLS = [
    Document("mail", "Send mail", "Send an email message to a person."),
    Document("sum", "Add numbers", "Compute the sum of a list of numbers."),
    Document("rain", "Weather", "Report the weather forecast of a city."),
]
FACTS = {
    "mars.txt": "Mars has two moons. Asaph Hall discovered the moons of Mars in 1877.",
    "venus.txt": "Venus has no moon. It is the hottest planet.",
}
Write = Callable[[Corpus], Any]


def empty(corpus: Corpus) -> None:
    corpus.sync([])


def rewrite(corpus: Corpus) -> None:
    corpus.add([Document(one.id, one.title, f"Something else about {one.id}.") for one in TOOLS])


@pytest.fixture
def stored(tmp_path: Path) -> Corpus:
    return build(TOOLS, path=tmp_path / "tools", embedder="light")


def commit(corpus: Corpus, write: Write) -> None:
    """Another writer, as another process would have it."""
    assert corpus.path
    with open_corpus(corpus.path) as other:
        write(other)


def commit_before(monkeypatch: pytest.MonkeyPatch, module: Any, step: str, *changes: tuple[Corpus, Write]) -> None:
    """Let another writer commit each time right before a step."""
    run = getattr(module, step)

    def disturbed(*values: Any, **options: Any) -> Any:
        for corpus, write in changes:
            commit(corpus, write)
        return run(*values, **options)

    monkeypatch.setattr(module, step, disturbed)


@pytest.mark.parametrize("write", [empty, rewrite])
@pytest.mark.parametrize("step", ["merge", "refuse_unknown", "select", "disclose"])
def test_what_is_discovered_is_of_the_state_that_was_searched(
    stored: Corpus, monkeypatch: pytest.MonkeyPatch, step: str, write: Write
) -> None:
    query = "send an email message"
    expected = discover(stored, query, level="body", min_relevance="auto")
    assert [item.body for item in expected.results] == [TOOLS[0].content]
    commit_before(monkeypatch, discover_module, step, (stored, write))
    assert discover(stored, query, level="body", min_relevance="auto") == expected


def test_an_abstention_explains_the_state_that_was_searched(stored: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "zebra"
    expected = discover(stored, query, min_relevance="auto")
    assert (expected.signals["unknown_words"], expected.signals["searched"]) == (["zebra"], {"list": 3})
    zoo = [Document("zoo", "Zoo", "Where every zebra lives.")]
    commit_before(monkeypatch, discover_module, "select", (stored, lambda corpus: corpus.add(zoo)))
    assert discover(stored, query, min_relevance="auto") == expected


def test_a_threshold_that_is_set_meanwhile_counts_from_the_next_query_on(
    stored: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.set_threshold("auto", 0.01)
    expected = discover(stored, "send mail", min_relevance="auto")
    assert expected.results
    commit_before(
        monkeypatch, corpus_hits, "retrieve_from_state", (stored, lambda corpus: corpus.set_threshold("auto", 1.0))
    )
    assert discover(stored, "send mail", min_relevance="auto") == expected
    monkeypatch.undo()
    assert discover(stored, "send mail", min_relevance="auto").abstained


def test_every_one_of_several_corpora_is_read_in_one_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpora = [build([tool], path=tmp_path / tool.id, embedder="light") for tool in TOOLS]
    for query in ("send an email message", "zebra"):
        expected = discover(corpora, query, level="body", min_relevance="auto")
        with monkeypatch.context() as patch:
            commit_before(patch, corpus_hits, "retrieve_from_state", *((corpus, rewrite) for corpus in corpora))
            assert discover(corpora, query, level="body", min_relevance="auto") == expected
        for corpus, tool in zip(corpora, TOOLS, strict=True):
            corpus.sync([tool])


@pytest.mark.parametrize("query", ["send an email message", "zebra numbers"])
def test_a_selector_that_writes_to_the_corpus_does_not_change_what_is_found(tmp_path: Path, query: str) -> None:
    corpus = build(TOOLS, in_memory=True, embedder="light")
    expected = discover(corpus, query, level="body", strategy=lambda hits: hits[:1])

    def select_and_write(hits: list[Hit]) -> list[Hit]:
        rewrite(corpus)
        return hits[:1]

    select_and_write.__name__ = "<lambda>"
    assert discover(corpus, query, level="body", strategy=select_and_write) == expected


def test_corpora_in_memory_are_opened_in_one_order_so_that_two_queries_never_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpora = [build([tool], tool.id, in_memory=True, embedder="none") for tool in TOOLS]
    order: list[str] = []
    snapshot = Corpus.snapshot

    def noted(corpus: Corpus) -> Any:
        order.append(corpus.name)
        return snapshot(corpus)

    monkeypatch.setattr(Corpus, "snapshot", noted)
    discover(corpora, "send mail", mode="lexical")
    discover(corpora[::-1], "send mail", mode="lexical")
    assert order[:3] == order[3:]


def test_an_answer_is_of_the_state_that_was_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = build(FACTS, path=tmp_path / "facts", embedder="light")
    question = "Who discovered the moons of Mars?"
    expected = ask(corpus, question)
    assert "Asaph Hall" in expected.text
    assert ask(corpus, question, on_evidence=lambda _: commit(corpus, empty)) == expected
    corpus.sync([Document(name, "", text) for name, text in FACTS.items()])
    expected = ask(corpus, question)
    for write in (empty, lambda one: one.set_threshold("auto", 0.99)):
        with monkeypatch.context() as patch:
            commit_before(patch, evidence, "merge", (corpus, write))
            commit_before(patch, evidence, "_keep_relevant", (corpus, write))
            assert ask(corpus, question) == expected
        corpus.set_threshold("auto", None)
        corpus.sync([Document(name, "", text) for name, text in FACTS.items()])
