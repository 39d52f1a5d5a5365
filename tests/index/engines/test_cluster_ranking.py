"""Rankings on every engine are those of the reference in memory."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

import shortlist
from shortlist import Corpus, Document
from shortlist.index.engine import State
from shortlist.index.engines import cluster_ranking
from shortlist.index.query_scores import Request
from shortlist.results import Hits, Mode, Ranking
from shortlist.retrieval.corpus_hits import retrieve
from shortlist.retrieval.filters import allowed
from shortlist.retrieval.merging import merge
from shortlist.retrieval.naming import MOST_NAMED
from shortlist.retrieval.search import open_query
from tests.index.engines.conftest import Make, assert_same_hits, ids_of, notes, on_servers, persistent

QUERIES = ("a cup of oolong in the garden", "sencha tea 7", "tax and trade", "send_email", "größe 日本語")


MODES = get_args(Mode)


def scores_of(state: State, ranking: Ranking) -> dict[tuple[str, str], float]:
    """The score of each passage in a ranking. The order of passages with equal scores is up to the engine."""
    assert np.all(np.diff(ranking.scores) <= 0)
    passages = state.passages(ranking.positions)
    keys = [(passage.document_id, passage.locator) for passage in passages]
    return dict(zip(keys, ranking.scores.tolist(), strict=True))


def test_use_changes_the_ranking_as_in_the_reference(library: Corpus, reference: Corpus) -> None:
    queries = ("write to my boss", "write a note to the boss", "a cup of oolong in the garden")
    before = [shortlist.search(library, query, k=8) for query in queries]
    for corpus in (library, reference):
        for at, query in enumerate(("write to the boss", "write my boss", "a letter to my boss", "write to a boss")):
            corpus.learn(query, "send_email", session=str(at))
            corpus.learn(query, "send_email", session=f"{at} again")
        corpus.learn("a book on kettles", "book.pdf#2")
    try:
        for query in queries:
            found = [(hit.id, hit.score, hit.relevance) for hit in shortlist.search(library, query, k=8)]
            wanted = [(hit.id, hit.score, hit.relevance) for hit in shortlist.search(reference, query, k=8)]
            assert [row[0] for row in found] == [row[0] for row in wanted]
            assert [row[1:] for row in found] == [pytest.approx(row[1:], abs=1e-3) for row in wanted]
        assert shortlist.search(library, queries[0], k=8)[0].id == "send_email"
    finally:
        for corpus in (library, reference):
            corpus.usage.forget()
    assert [shortlist.search(library, query, k=8) for query in queries] == before


def test_term_statistics_are_those_of_the_reference(library: Corpus, reference: Corpus) -> None:
    with library.snapshot() as state, reference.snapshot() as expected:
        terms = [term for query in QUERIES for term in expected.lexical.analyzer.terms(query)]
        assert state.lexical.live == expected.lexical.live
        assert state.lexical.languages == expected.lexical.languages
        assert state.lexical.frequency(terms) == expected.lexical.frequency(terms)
        assert state.lexical.ideal(terms) == pytest.approx(expected.lexical.ideal(terms))
        assert [state.lexical.knows([term]) for term in ("tea", "xqzvw")] == [True, False]


def rank(state: State, part: str, query: str, allowed: Any) -> Ranking:
    terms = state.lexical.analyzer.terms(query)
    lexical, dense = (20, 0) if part == "lexical" else (0, 20)
    return state.score(Request(query, terms, lexical, dense, allowed))[part].ranking(20).cut(20)


@persistent
@pytest.mark.parametrize("part", ["lexical", "dense"])
def test_passage_ranking_is_that_of_the_reference(library: Corpus, reference: Corpus, part: str) -> None:
    with library.snapshot() as state, reference.snapshot() as expected:
        for query in QUERIES:
            for condition in ({}, {"kind": "file"}):
                found, wanted = (
                    scores_of(one, rank(one, part, query, allowed(one, condition))) for one in (state, expected)
                )
                assert found == pytest.approx(wanted, abs=1e-6), query


@persistent
@pytest.mark.parametrize("mode", MODES)
def test_search_is_that_of_the_reference(library: Corpus, reference: Corpus, mode: Mode) -> None:
    # Hybrid search adds up ranks. A cluster may rank vectors with the same cosine one after the other.
    tolerance = 1 / 61 - 1 / 62 if mode == "hybrid" else 1e-6
    for query in QUERIES:
        found, expected = (shortlist.search(one, query, mode) for one in (library, reference))
        assert_same_hits(found, expected, tolerance)
    few = {"n": {"$exists": False}}
    found, expected = (shortlist.search(one, "kettle", mode, 5, few) for one in (library, reference))
    assert_same_hits(found, expected, tolerance)
    found, expected = (search_passages(one, "kettle", mode, 5, few) for one in (library, reference))
    assert_same_hits(found, expected, tolerance)


def search_passages(corpus: Corpus, query: str, mode: Mode, k: int, filter: dict[str, Any]) -> Hits:
    with open_query(corpus, query, mode, k) as states:
        return merge(retrieve(states, query, mode, k, filter, whole=False), query, mode, k)


def test_documents_with_equal_scores_are_in_the_order_of_their_ids(library: Corpus) -> None:
    hits = shortlist.search(library, "the very same words", k=4)
    assert ids_of(hits) == ["twin0", "twin1", "twin2", "twin3"]
    assert len({hit.score for hit in hits}) == 1


def test_document_named_in_the_query_is_among_the_hits(library: Corpus) -> None:
    assert "read_email" in ids_of(shortlist.search(library, "garden river leaf with read_email", k=2))


def test_query_without_known_words_finds_nothing(library: Corpus) -> None:
    for query in ("", "?!", "the of", "xqzvw blorfnik", "\0"):
        for mode in MODES:
            assert shortlist.discover(library, query, mode=mode).results == [], (query, mode)


def test_k_may_be_zero_or_more_than_there_are(library: Corpus) -> None:
    assert shortlist.search(library, "tea", k=0) == []
    assert len(shortlist.search(library, "same words", "lexical", k=5000)) == 4


def test_name_in_a_sentence_identifies_its_document(shelf: Corpus) -> None:
    names = ["Quarterly Garden Harvest Report", "rotate_access_keys", "Tea"]
    shelf.add([Document(str(at), name, f"number {at}") for at, name in enumerate(names)])
    shelf.add([Document(f"m{at}", "Notes", "garden access tea " * 3) for at in range(60)])
    for query, expected in (
        ("where is the quarterly garden harvest report of tea", {"0"}),
        ("please rotate_access_keys of the garden", {"1"}),
        ("rotate access keys", {"1"}),
        ("garden tea", set()),
    ):
        hits = shortlist.search(shelf, query, "auto", k=5)
        assert {hit.id for hit in hits if hit.signals["named"]} == expected, query


def test_stop_word_or_number_in_a_query_is_no_name(shelf: Corpus) -> None:
    shelf.add([Document("it", "", "pour it slowly"), Document("7", "Kettle", "pour slowly")])
    hits = shortlist.search(shelf, "pour it 7 times slowly", "auto")
    assert {hit.id: hit.signals["named"] for hit in hits} == {"it": 0.0, "7": 0.0}


def test_name_that_very_many_passages_share_identifies_none(shelf: Corpus) -> None:
    shelf.add([Document(f"r{at}", "annual budget report", f"part {at}") for at in range(MOST_NAMED + 1)])
    assert not any(hit.signals["named"] for hit in shortlist.search(shelf, "annual budget report", "auto"))
    shelf.remove("r0")
    assert all(hit.signals["named"] for hit in shortlist.search(shelf, "annual budget report", "auto"))


@on_servers
def test_scores_follow_what_another_process_has_changed(address: str, make: Make, monkeypatch: Any) -> None:
    monkeypatch.setattr(cluster_ranking, "STATISTICS_SECONDS", 0.0)  # read again with each query
    corpus = make("followed")
    corpus.add(notes(*range(20)))
    with shortlist.open_corpus("followed", engine=address) as reader:
        before = shortlist.search(reader, "tea number 7", "lexical", k=1)
        corpus.add(notes(*range(20, 60), word="milk"))
        after = shortlist.search(reader, "tea number 7", "lexical", k=1)
        assert after[0].score > before[0].score  # "tea" is rarer now
        with shortlist.create_corpus(in_memory=True, embedder="none") as reference:
            reference.add([*notes(*range(20)), *notes(*range(20, 60), word="milk")])
            assert after[0].score == pytest.approx(shortlist.search(reference, "tea number 7", "lexical", k=1)[0].score)
