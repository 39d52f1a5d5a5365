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
from tests.display.test_html_tables import tags_of

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


HOSTILE = "<script>alert(1)</script>"


def make_hit(id: str, relevance: float | None, text: str = "A text.") -> Hit:
    return Hit(Passage(id, id, text), 3.25, relevance=relevance)


def make_discovery(*ids: str) -> Discovery:
    hits = Hits([make_hit(id, 0.81) for id in ids], query="moons", mode="auto")
    results = [Disclosure(id, id, 3.25, "text", "", "whole", {}, "metadata", relevance=0.81) for id in ids]
    return Discovery("moons", "auto", results, "A reason.", {}, hits)


def make_answer(text: str = "Two moons. [m:1] They are small. [m:2]") -> Answer:
    first = Citation(1, "[m:1]", "m", "1", spans=((0, 3),), places=((11, 16),))
    second = Citation(2, "[m:2]", "m", "2", places=((16, 21),))
    claims = [Claim(text[:16], (first,)), Claim(text[17:], (second,))]
    evidence = [Evidence(number, "m", HOSTILE, str(number), "Two moons are there.", 0.5) for number in (1, 2, 3)]
    dropped = [Dropped(HOSTILE, "It is not supported.")]
    return Answer("How many?", text, claims, evidence, False, "", "extract", dropped, confidence=0.8, span=(0, 3))


def test_a_repr_is_one_short_line() -> None:
    hits = Hits([make_hit("a", 0.93), make_hit("b", None)], query="refund " * 40, mode="auto")
    assert repr(make_discovery("a", "b")) == "Discovery('moons': 2 results, relevance 0.81, high confidence)"
    assert repr(make_discovery()) == "Discovery('moons': no match, high confidence)"
    assert repr(hits).startswith("Hits(2 for 'refund refund")
    assert repr(hits).endswith(", best 'a' 0.93)")
    assert repr(Hits()) == "Hits(0 for '')"
    assert repr(hits[1]) == "Hit('b' 3.25: 'A text.')"
    assert repr(Selection(list(hits), "Two.")) == "Selection(2 hits, best 'a' 0.93)"
    assert repr(make_answer()) == "Answer('How many?': 'Two moons. [m:1] They are small. [m:2]')"
    for one in (hits, make_discovery("x\ny" * 500).results[0], make_answer("Two moons. [m:1] " + "Long. " * 900)):
        assert len(repr(one).replace("x\\ny" * 500, "")) < 250


def test_hits_stay_a_list() -> None:
    hits = Hits([make_hit("a", 0.9), make_hit("b", 0.8)], query="q")
    assert ([*hits], hits[1:], hits == [*hits], len(hits), bool(Hits())) == (
        [hits[0], hits[1]],
        [hits[1]],
        True,
        2,
        False,
    )


@pytest.mark.parametrize(
    "shown",
    [
        Hits([make_hit(HOSTILE, None, HOSTILE), make_hit("b", 0.5)], query=HOSTILE, mode=HOSTILE, note=HOSTILE),
        Selection([make_hit(HOSTILE, 0.5, HOSTILE)], HOSTILE),
        Selection([], HOSTILE),
        make_discovery(HOSTILE),
        make_discovery(),
        make_answer(),
        Answer(HOSTILE, HOSTILE, [], [], True, HOSTILE, "gate"),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_a_hostile_text_adds_no_html_to_a_notebook(shown: Any) -> None:
    page = shown._repr_html_()
    assert set(tags_of(page)) <= {
        "div",
        "span",
        "strong",
        "table",
        "tr",
        "th",
        "td",
        "br",
        "details",
        "summary",
        "sup",
        "mark",
    }


def test_an_answer_in_a_notebook_cites_by_number_and_folds_its_evidence() -> None:
    page = make_answer()._repr_html_()
    tags = tags_of(page)
    assert "[m:1]" not in page
    assert page.index("moons.") < page.index("[1]") < page.index("They are small.") < page.index("[2]")
    assert tags.count("sup") == 2
    assert tags.count("mark") == 2  # what was asked for, and what is quoted from the evidence
    assert tags.count("details") == 3 + 1 + 1  # passages, those that are not cited, and removed sentences
    assert ">80%<" in page
    assert "&lt;script&gt;" in page
