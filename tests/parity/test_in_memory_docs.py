"""Seed 003: a search tool from a list of passages (D1 and D2)."""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
from typing import Any

import pytest

from shortlist import InMemoryDocs
from shortlist.compat.in_memory_docs import build_index, search, tokenize

DOCS: list[Any] = [
    {"text": "BM25 scores documents by term frequency and inverse document frequency."},
    {"text": "Tools self-describe via name, description, and a parameters_schema."},
    {"text": "Council members can call tools mid-completion to retrieve evidence."},
]


@pytest.fixture
def search_docs() -> InMemoryDocs:
    return InMemoryDocs(
        name="search_docs",
        description="Search project docs for relevant passages.",
        docs=DOCS,
        top_k=4,
    )


def test_d1_the_documented_tool_describes_itself(search_docs: InMemoryDocs) -> None:
    assert search_docs.name == "search_docs"
    assert search_docs.description == "Search project docs for relevant passages."
    schema = search_docs.parameters_schema
    assert schema["required"] == ["query"]
    assert schema["properties"]["query"]["type"] == "string"
    assert schema["properties"]["top_k"]["type"] == "integer"
    assert schema["properties"]["top_k"]["maximum"] == 3


def test_d1_a_call_returns_passages_by_falling_score(search_docs: InMemoryDocs) -> None:
    found = search_docs(query="call tools for evidence")
    assert [set(item) for item in found] == [{"text", "meta", "score"}] * 2
    assert [item["text"].split()[0] for item in found] == ["Council", "Tools"]
    assert found[0]["score"] > found[1]["score"] > 0
    assert search_docs(query="zebra") == []


def test_d1_top_k_defaults_to_four_and_is_capped_at_the_corpus_size(search_docs: InMemoryDocs) -> None:
    many = InMemoryDocs(name="many", description="Many.", docs=[f"shared number{at}" for at in range(6)])
    assert len(many(query="shared")) == 4
    assert len(many(query="shared", top_k=99)) == 6
    assert len(search_docs(query="tools", top_k=1)) == 1


def test_d1_passages_are_strings_or_mappings_with_meta() -> None:
    tool = InMemoryDocs(
        name="mixed", description="Mixed.", docs=["plain words", {"text": "words with meta", "meta": {"page": 7}}]
    )
    found = {item["text"]: item["meta"] for item in tool(query="words")}
    assert found == {"plain words": {}, "words with meta": {"page": 7}}


def test_d2_the_index_has_the_documented_fields() -> None:
    index = build_index(["Red fox, red FOX!", {"text": "the fox", "meta": {"n": 1}}, "a"])
    assert index.docs == [
        {"text": "Red fox, red FOX!", "meta": {}},
        {"text": "the fox", "meta": {"n": 1}},
        {"text": "a", "meta": {}},
    ]
    assert index.tf == [{"red": 2, "fox": 2}, {"fox": 1}, {}]
    assert index.df == {"red": 1, "fox": 2}
    assert index.dl == [4, 1, 0]
    assert index.avgdl == pytest.approx(5 / 3)
    assert index.n == len(index) == 3
    assert {name: index[name] for name in index} == {name: getattr(index, name) for name in dict(index)}
    assert list(index) == ["docs", "tf", "df", "dl", "avgdl", "n"]
    with pytest.raises(KeyError, match="idf"):
        index["idf"]
    empty = build_index([])
    assert (empty.docs, empty.tf, empty.df, empty.dl, empty.avgdl, empty.n) == ([], [], {}, [], 0.0, 0)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda tool: pickle.loads(pickle.dumps(tool))])
def test_d1_a_tool_can_be_copied_after_a_search(search_docs: InMemoryDocs, duplicate: Any) -> None:
    found = search_docs(query="tools")
    assert found
    again = duplicate(search_docs)
    assert again(query="tools") == found
    assert again.to_openai() == search_docs.to_openai()


def test_d1_a_tool_searches_in_another_process(search_docs: InMemoryDocs) -> None:
    found = search_docs(query="tools")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(search_docs, ("tools",)) == found


def test_d2_scores_are_bm25_over_these_fields() -> None:
    index = build_index(["red fox red fox", "fox den", "blue whale song"])
    k1, b = 1.2, 0.75

    def score(at: int, *words: str) -> float:
        total = 0.0
        for word in words:
            idf = math.log(1 + (index.n - index.df[word] + 0.5) / (index.df[word] + 0.5))
            tf = index.tf[at].get(word, 0)
            total += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * index.dl[at] / index.avgdl))
        return total

    found = search(index, "the red fox", 3)
    assert [item["text"] for item in found] == ["red fox red fox", "fox den"]
    assert [item["score"] for item in found] == pytest.approx(
        [score(0, "red", "fox"), score(1, "red", "fox")], rel=1e-5
    )
    assert len(search(index, "red fox", 1)) == 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Split-on NON_word, characters!", ["split", "non_word", "characters"]),
        ("a I x 2 42", ["42"]),
        ("the and of is", []),
        ("", []),
    ],
)
def test_d2_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens
