"""The texts that the retrievers of frameworks return: whole documents or passages, also asynchronously."""

from __future__ import annotations

import asyncio

import pytest

from shortlist import Corpus, InputError, build
from shortlist.integrations.retrieved_texts import SHOWN, Texts
from tests.integrations.conftest import LONG


def test_a_document_is_whole_and_has_its_metadata_and_its_place(corpus: Corpus) -> None:
    first = Texts(corpus).find("where is my parcel")[0]
    assert (first.id, first.text, first.metadata["access"]) == ("track", "Where is the parcel", "read")
    assert {*SHOWN} <= first.metadata.keys()
    assert first.score == first.metadata["score"] > 0


def test_a_passage_is_a_part_of_its_document_and_has_an_id_of_its_own(corpus: Corpus) -> None:
    (passage,) = Texts(corpus, passages=True, max_k=1).find("topic55")
    assert passage.text in LONG
    assert len(passage.text) < len(LONG)
    assert passage.id == f"book#{passage.metadata['locator']}"


@pytest.mark.parametrize("passages", [False, True])
def test_without_a_match_there_are_none(corpus: Corpus, passages: bool) -> None:
    assert Texts(corpus, passages=passages).find("xyzzy plugh") == []
    assert Texts(corpus, passages=passages, min_relevance=1.0).find("parcel") == []


def test_an_invalid_option_is_an_error_at_once(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="best"):
        Texts(corpus, mode="best")  # type: ignore[arg-type]


def test_a_name_means_the_corpus_that_has_it_when_it_is_searched() -> None:
    texts = Texts("shop", mode="lexical")
    with build({"a": "A red apple."}, "shop", embedder="none"):
        assert [text.id for text in texts.find("apple")] == ["a"]
    with build({"b": "A green apple."}, "shop", embedder="none"):
        assert [text.id for text in texts.find("apple")] == ["b"]


def test_asynchronous_searches_find_the_same(corpus: Corpus) -> None:
    async def find_all() -> list[list[str]]:
        queries = ("where is my parcel", "topic55", "xyzzy plugh")
        found = await asyncio.gather(*(texts.afind(query) for query in queries))
        return [[text.id for text in each] for each in found]

    texts = Texts(corpus)
    assert asyncio.run(find_all()) == [
        [text.id for text in texts.find(query)] for query in ("where is my parcel", "topic55", "xyzzy plugh")
    ]
