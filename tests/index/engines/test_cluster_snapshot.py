"""What a reader sees on every engine: passages, neighbors, sources and filters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import Corpus
from shortlist.index.text.query_terms import analyze
from shortlist.retrieval.filters import allowed
from tests.index.engines.conftest import LIBRARY, MIXED, Place, ids_of, notes, passages_of, persistent


@persistent
def test_open_snapshot_during_a_change(place: Place, shelf: Corpus) -> None:
    """The embedded engine keeps the snapshot. A cluster shows the new version, and no text of a removed passage."""
    shelf.add(notes(1, 2))
    with shelf.snapshot() as state:
        positions = state.lexical.rank("tea", 10).positions
        shelf.sync(notes(1, word="coffee"))
        texts = {passage.document_id: passage.text for passage in state.passages(positions)}
    if place.is_cluster:
        assert texts == {"n1": "coffee number 1", "n2": ""}
    else:
        assert texts == {"n1": "tea number 1", "n2": "tea number 2"}
    assert ids_of(shortlist.search(shelf, "tea coffee")) == ["n1"]


@persistent
def test_passages_and_their_offsets_are_those_of_the_reference(library: Corpus, reference: Corpus) -> None:
    expected = passages_of(reference)
    assert passages_of(library) == expected
    assert library.info()["passages"] == reference.info()["passages"] == len(expected) > len(LIBRARY)
    assert any(";offset=" in passage.locator for passage in expected)


def test_neighbors_stay_within_one_document(library: Corpus) -> None:
    with library.snapshot() as state:
        pages = [passage for passage in state.walk() if passage.document_id == "book.pdf#2"]
        assert len(pages) > 3
        assert state.neighbors("/shelf/book.pdf", pages[1].locator, 1, 1) == pages[:3]
        assert state.neighbors("/shelf/book.pdf", "page=2", 5, 2) == pages[:3]
        assert state.neighbors("/shelf/book.pdf", "page=9", 1, 1) == []
        assert [passage.document_id for passage in state.neighbors("flags", "whole", 3, 3)] == ["flags"]


def test_sources_places_and_files(library: Corpus) -> None:
    with library.snapshot() as state:
        tools = allowed(state, {"kind": {"$in": ["tool", "page"]}})
        assert state.sources(tools) == {"/shelf/book.pdf", "send_email", "read_email"}
        assert state.sources() == {document.source or document.id for document in LIBRARY}
        assert state.ids_of_file("book.pdf", "/shelf/book.pdf") == {"book.pdf#1", "book.pdf#2"}
        assert state.places() == [(document.id, document.source, document.locator) for document in LIBRARY]


def test_siblings_are_all_passages_of_a_document(library: Corpus) -> None:
    with library.snapshot() as state:
        (named,) = state.lexical.named([analyze(state.lexical.analyzer, "tea 7")])
        first = np.array([*named])
        for id, positions in zip(state.ids(first), state.siblings(first), strict=True):
            assert state.passages(positions) == [passage for passage in state.walk() if passage.document_id == id]
            assert len(positions) > 1
            assert len(set(state.documents(positions).tolist())) == 1
        assert sorted(state.ids(first)) == ["d157", "d7"]


@persistent
def test_documents_are_found_by_id_with_their_passages_and_hash(library: Corpus, reference: Corpus) -> None:
    ids = ["send_email", "id/with #?", "book.pdf#1", "missing"]
    hashes = []
    for corpus in (library, reference):
        with corpus.snapshot() as state:
            found = state.find_documents(ids)
            assert set(found) == set(ids[:3])
            for id, (positions, _) in found.items():
                assert set(state.ids(positions)) == {id}
                assert len(positions) == len([one for one in passages_of(corpus) if one.document_id == id])
            hashes.append({id: one.hash for id, one in found.items()})
    assert hashes[0] == hashes[1]


FILTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "plain value": ({"access": "read"}, {"read_email"}),
    "boolean": ({"n": True}, {"flags"}),
    "item of a list": ({"tags": "green"}, {"flags"}),
    "whole list": ({"tags": ["red", "green"]}, {"flags"}),
    "dotted key": ({"deep.list": 2.5}, {"id/with #?"}),
    "source": ({"source": "/shelf/book.pdf"}, {"book.pdf#1", "book.pdf#2"}),
    "$eq": ({"n": {"$eq": 1}}, {"send_email"}),
    "$ne, $exists": ({"n": {"$exists": True, "$ne": 1}}, {"read_email", "id/with #?", "flags"}),
    "$gt": ({"n": {"$gt": 1}}, {"read_email", "id/with #?"}),
    "$gte, $lt": ({"n": {"$gte": 1, "$lt": 2}}, {"send_email", "id/with #?"}),
    "$lte of a string": ({"access": {"$lte": "read"}}, {"read_email"}),
    "$in": ({"access": {"$in": ["read", "write"]}}, {"read_email", "send_email"}),
    "$nin": ({"n": {"$exists": True, "$nin": [1, 2]}}, {"id/with #?", "flags"}),
    "$and, $not": ({"$and": [{"kind": "tool"}, {"$not": {"access": "read"}}]}, {"send_email"}),
    "$or": ({"$or": [{"id": "twin1"}, {"title": "Flags"}]}, {"twin1", "flags"}),
    "no match": ({"access": "none"}, set()),
}


SHARED_BY_MIXED = "message page same true zeile"  # each document with metadata contains one of these words


@pytest.mark.parametrize("name", FILTERS)
def test_filter(library: Corpus, name: str) -> None:
    condition, expected = FILTERS[name]
    with library.snapshot() as state:
        mask = allowed(state, condition)
        assert {passage.document_id for passage in state.walk(mask)} == expected
        assert {document.id for document in MIXED if state.permits(document.id, mask)} == expected
        ranking = state.lexical.rank(SHARED_BY_MIXED, 200)
        ids = state.ids(ranking.positions)
        assert mask[ranking.positions].tolist() == [id in expected for id in ids]
    assert set(ids_of(shortlist.search(library, SHARED_BY_MIXED, filter=condition, k=50))) == expected
