"""Results survive the way through JSON: `from_dict` is the inverse of `to_dict`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.documents import Changes, Document, Passage, Problem
from shortlist.results import (
    Answer,
    Citation,
    Claim,
    Disclosure,
    Discovery,
    Dropped,
    Evidence,
    Hit,
    Hits,
    Selection,
)

TEXTS = st.text(max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.integers(0, 1000)
VALUES: st.SearchStrategy[Any] = st.none() | st.booleans() | COUNTS | NUMBERS | TEXTS
METADATA = st.dictionaries(TEXTS, VALUES | st.lists(VALUES, max_size=2), max_size=3)
SIGNALS = st.dictionaries(TEXTS, NUMBERS, max_size=3)
SPANS = st.lists(st.tuples(COUNTS, COUNTS), max_size=2).map(tuple)


def tuples(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=2).map(tuple)


def few(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, max_size=2)


PASSAGES = st.builds(Passage, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, METADATA, TEXTS)
HITS = st.builds(Hit, PASSAGES, NUMBERS, SIGNALS, st.none(), TEXTS, st.none() | NUMBERS)
HIT_LISTS = st.builds(Hits, few(HITS), query=TEXTS, mode=TEXTS, note=TEXTS)
DISCLOSURES = st.builds(
    Disclosure, TEXTS, TEXTS, NUMBERS, TEXTS, TEXTS, TEXTS, METADATA, st.just("body"), st.none() | TEXTS,
    tuples(TEXTS), st.booleans(), TEXTS, TEXTS, st.none() | NUMBERS, TEXTS, tuples(TEXTS), TEXTS, TEXTS,
)  # fmt: skip
EVIDENCE = st.builds(Evidence, COUNTS, TEXTS, TEXTS, TEXTS, TEXTS, NUMBERS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)
CITATIONS = st.builds(Citation, COUNTS, TEXTS, TEXTS, TEXTS, SPANS, SPANS)
CLAIMS = st.builds(Claim, TEXTS, tuples(CITATIONS), st.just("quoted"), TEXTS, TEXTS)
DROPPED = st.builds(Dropped, TEXTS, TEXTS, TEXTS, COUNTS)
ANSWERS = st.builds(
    Answer, TEXTS, TEXTS, few(CLAIMS), few(EVIDENCE), st.booleans(), TEXTS, TEXTS, few(DROPPED),
    st.dictionaries(TEXTS, COUNTS), few(METADATA), TEXTS,
)  # fmt: skip
DOCUMENTS = st.builds(
    Document, TEXTS, TEXTS, TEXTS, few(TEXTS), METADATA,
    kind=TEXTS, source=TEXTS, locator=TEXTS, payload=st.none() | TEXTS,
)  # fmt: skip
PROBLEMS = st.builds(Problem, TEXTS, TEXTS, TEXTS)
CHANGES = st.builds(Changes, COUNTS, COUNTS, COUNTS, COUNTS, tuples(PROBLEMS), COUNTS, tuples(TEXTS))
DISCOVERIES = st.builds(
    Discovery,
    TEXTS,
    TEXTS,
    few(DISCLOSURES),
    TEXTS,
    METADATA,
    HIT_LISTS,
    st.sampled_from(["high", "low"]),
    TEXTS,
)
SELECTIONS = st.builds(Selection, few(HITS), TEXTS, METADATA)


@pytest.mark.parametrize(
    "results",
    [HITS, DISCLOSURES, EVIDENCE, CITATIONS, CLAIMS, DROPPED, ANSWERS, DOCUMENTS, PROBLEMS, CHANGES, SELECTIONS],
    ids=["hit", "disclosure", "evidence", "citation", "claim", "dropped", "answer", "document", "problem", "changes",
         "selection"],
)  # fmt: skip
def test_the_round_trip_through_json_is_the_identity(results: st.SearchStrategy[Any]) -> None:
    @given(results)
    def comes_back(result: Any) -> None:
        copy = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
        assert copy == result
        assert copy.to_dict() == result.to_dict()

    comes_back()


@given(HIT_LISTS)
def test_hits_keep_their_query_mode_and_note(hits: Hits) -> None:
    copy = Hits.from_dict(json.loads(json.dumps(hits.to_dict())))
    assert copy == hits
    assert (copy.query, copy.mode, copy.note) == (hits.query, hits.mode, hits.note)


@given(DISCOVERIES)
def test_a_discovery_keeps_everything_that_it_shows(discovery: Discovery) -> None:
    copy = Discovery.from_dict(json.loads(json.dumps(discovery.to_dict())))
    assert copy.to_dict() == discovery.to_dict()
    assert copy.results == discovery.results
    whole = discovery.to_dict() | {"candidates": [hit.to_dict() for hit in discovery.candidates]}
    assert Discovery.from_dict(json.loads(json.dumps(whole))) == discovery


def test_keys_that_are_not_fields_are_ignored_and_missing_ones_are_errors() -> None:
    assert Changes.from_dict({"added": 2, "message": "2 added."}) == Changes(added=2)
    for kind in (Evidence, Hit, Answer):
        with pytest.raises((TypeError, KeyError)):
            kind.from_dict({"message": "nothing else"})
