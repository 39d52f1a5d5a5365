"""A list of passages as a tool: what it finds is BM25 as a dozen lines of Python compute it."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import InputError
from shortlist.compat import InMemoryDocs
from shortlist.compat.in_memory_docs import build_index, search, tokenize

PASSAGES = [
    {"text": "BM25 scores documents by term frequency and inverse document frequency."},
    {"text": "Tools describe themselves by name, description and parameters.", "meta": {"page": 2, "tags": ["a"]}},
    "Council members can call tools to retrieve evidence.",
]
WORDS = ["apple", "berry", "Cherry", "the", "of", "x", "größe", "42"]


def tool(docs: Any = PASSAGES, **options: Any) -> InMemoryDocs:
    return InMemoryDocs(name="search_docs", description="Search project docs.", docs=docs, **options)


def naive(texts: list[str], query: str, k1: float = 1.2, b: float = 0.75) -> dict[int, float]:
    """Robertson's BM25, with the 1 in the logarithm that keeps frequent words above zero."""
    counts = [Counter(tokenize(text)) for text in texts]
    average = sum(count.total() for count in counts) / len(texts)
    scores = {}
    for at, count in enumerate(counts):
        score = 0.0
        for word in tokenize(query):
            df = sum(word in other for other in counts)
            if tf := count[word]:
                idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * count.total() / average))
        if score > 0:
            scores[at] = score
    return scores


texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=8), texts, st.integers(1, 9))
def test_a_search_is_bm25(docs: list[str], query: str, k: int) -> None:
    expected = naive(docs, query)
    order = sorted(expected, key=lambda at: (-round(expected[at], 9), at))[:k]
    found = search(build_index([{"text": text, "meta": {"at": at}} for at, text in enumerate(docs)]), query, k)
    assert [item["meta"]["at"] for item in found] == order
    assert [item["score"] for item in found] == pytest.approx([expected[at] for at in order], rel=1e-9)
    assert [item["text"] for item in found] == [docs[at] for at in order]


def test_words_are_lower_case_two_characters_long_and_no_stop_words() -> None:
    assert tokenize("The Quick-brown FOX, a b c; it's 42 über_alles!") == ["quick", "brown", "fox", "42", "über_alles"]
    assert tokenize("") == tokenize("the of and") == []


def test_a_call_returns_text_meta_and_score_best_first() -> None:
    found = tool()("which tools have parameters")
    assert [list(item) for item in found] == [["text", "meta", "score"]] * 2
    assert [item["meta"] for item in found] == [{"page": 2, "tags": ["a"]}, {}]
    assert found[0]["score"] > found[1]["score"] > 0
    assert json.loads(json.dumps(found)) == found


def test_no_more_than_top_k_come_and_never_more_than_there_are() -> None:
    many = tool([f"same {at}" for at in range(10)], top_k=3)
    assert len(many("same")) == 3
    assert len(many("same", top_k=5)) == 5
    assert len(many(query="same", top_k=1_000_000)) == 10
    assert len(tool([f"same {at}" for at in range(10)])("same")) == 4
    assert [item["text"] for item in many("same", 2)] == ["same 0", "same 1"]


def test_the_schema_says_what_a_call_takes() -> None:
    schema = tool().parameters_schema
    assert schema["type"] == "object"
    assert schema["required"] == ["query"]
    assert schema["properties"]["query"]["type"] == "string"
    top_k = schema["properties"]["top_k"]
    assert (top_k["type"], top_k["minimum"], top_k["maximum"], top_k["default"]) == ("integer", 1, 3, 3)
    assert tool(["one"] * 9).parameters_schema["properties"]["top_k"]["default"] == 4


def test_what_is_returned_and_what_was_given_are_copies() -> None:
    meta: dict[str, Any] = {"tags": ["a"]}
    made = tool([{"text": "apple", "meta": meta}])
    meta["tags"].append("b")
    made("apple")[0]["meta"]["tags"].append("c")
    assert made("apple")[0]["meta"] == {"tags": ["a"]}


@pytest.mark.parametrize("docs", [[], [""], ["the the", "!!!"]])
def test_nothing_to_search_finds_nothing(docs: list[str]) -> None:
    assert tool(docs)("apple the") == []
    assert tool(docs)("") == []


@pytest.mark.parametrize(
    ("docs", "reason"),
    [
        (["fine", 3], "Passage 2"),
        (["fine", {"meta": {}}], "Passage 2"),
        ([{"text": "fine", "title": "x"}], "Passage 1 .* 'title'"),
        ([{"text": "fine", "meta": "x"}], "'meta' of passage 1"),
        ("one text", "list of passages"),
        ({"text": "one"}, "list of passages"),
        (None, "list of passages"),
    ],
)
def test_a_passage_that_is_none_is_named(docs: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        tool(docs)


@pytest.mark.parametrize("top_k", [0, -1, "many", 1.5, True, [], float("nan"), float("inf")])
def test_a_number_of_results_that_makes_no_sense_is_refused_with_the_range(top_k: Any) -> None:
    with pytest.raises(InputError, match="top_k must be an integer from 1 to 3"):
        tool()("tools", top_k=top_k)
    with pytest.raises(InputError, match="top_k must be an integer"):
        tool(top_k=top_k)


def test_what_a_model_gets_wrong_is_an_error_in_a_sentence() -> None:
    made = tool()
    assert made("tools", "2") == made.invoke({"query": "tools", "top_k": 2.0}) == made.invoke('{"query": "tools"}')
    for wrong, reason in (
        ({}, "needs the argument 'query'"),
        ({"query": None}, "needs the argument 'query'"),
        ({"query": ["tools"]}, "string, not list"),
        ({"query": "tools", "limit": 3}, "takes query, top_k, not 'limit'"),
        ("{query}", "not valid JSON"),
        ("[1]", "must be an object"),
    ):
        with pytest.raises(InputError, match=reason):
            made.invoke(wrong)
    with pytest.raises(InputError, match="takes query, top_k, not 'more'"):
        made("tools", 3, "more")


def test_it_is_handed_over_in_the_shape_of_each_vendor() -> None:
    made = tool()
    openai, anthropic, mcp = made.to_openai(), made.to_anthropic(), made.as_tool().to_mcp()
    about = {"name": "search_docs", "description": "Search project docs."}
    schema = made.parameters_schema
    assert openai == {"type": "function", "function": {**about, "parameters": schema}}
    assert anthropic == {**about, "input_schema": schema}
    assert mcp == {**about, "inputSchema": schema, "annotations": {"readOnlyHint": True, "openWorldHint": False}}
    mcp["inputSchema"]["properties"].clear()
    assert made.parameters_schema["properties"]


def test_the_mcp_shape_is_what_the_protocols_own_package_takes() -> None:
    from mcp.types import Tool

    taken = Tool.model_validate(tool().to_mcp())
    assert (taken.name, taken.annotations and taken.annotations.read_only_hint) == ("search_docs", True)


@pytest.mark.parametrize("name", ["", "search docs", "x" * 65, "söarch", None])
def test_a_name_that_a_vendor_would_refuse_is_refused(name: Any) -> None:
    with pytest.raises(InputError, match="A tool name"):
        InMemoryDocs(name=name, description="", docs=[])
