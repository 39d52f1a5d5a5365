"""A corpus as a tool of an agent: what it says of itself, what it takes, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import AgentTool, Corpus, CorpusNotFound, Document, InputError, as_tool, build, create_corpus
from shortlist.retrieval.corpus_tool import MOST

TOOLS = [
    Document("refund", "refund_payment", "Give a customer the money back", kind="tool"),
    Document("track", "track_shipment", "Where is the parcel now", metadata={"access": "read"}, kind="tool"),
    Document("note", "Opening hours", "The shop opens at nine", kind="file"),
]


@pytest.fixture
def corpus() -> Corpus:
    made = create_corpus("shop", in_memory=True, embedder="light")
    made.sync(TOOLS)
    return made


def names(answer: dict[str, Any]) -> list[str]:
    return [item["id"] for item in answer["results"]]


def test_a_call_returns_what_fits_with_its_body_as_plain_data(corpus: Corpus) -> None:
    answer = corpus.as_tool()("where is my parcel")
    assert list(answer) == ["query", "abstained", "reason", "confidence", "results"]
    assert (answer["abstained"], names(answer)) == (False, ["track"])
    assert answer["results"][0]["body"] == "Where is the parcel now"
    assert answer["results"][0]["metadata"] == {"access": "read"}
    assert json.loads(json.dumps(answer)) == answer


def test_options_of_discover_hold_for_the_tool(corpus: Corpus) -> None:
    assert names(corpus.as_tool(filter={"kind": "file"})("parcel or opening hours")) == ["note"]
    assert set(names(corpus.as_tool(mode="lexical", strategy="top_k")("money or parcel"))) == {"refund", "track"}
    assert corpus.as_tool(min_relevance=1)("parcel")["reason"].endswith("is below the threshold of 1.")
    corpus.set_threshold("auto", 0.99)
    assert corpus.as_tool(min_relevance="auto")("parcel")["abstained"]


def test_where_nothing_fits_it_says_so(corpus: Corpus) -> None:
    answer = corpus.as_tool()(query="of the and")
    assert (answer["abstained"], answer["results"]) == (True, [])
    assert answer["reason"] == "No document matches."


def test_it_says_what_the_corpus_holds(corpus: Corpus) -> None:
    tool = corpus.as_tool()
    assert tool.name == "search_shop"
    assert "shop has 2 of kind tool, 1 of kind file" in tool.description
    assert "no documents yet" in create_corpus(in_memory=True, embedder="none").as_tool().description
    named = corpus.as_tool(name="find_tools", description="Finds tools.", k=1, level="metadata")
    assert (named.name, named.description) == ("find_tools", "Finds tools.")
    assert named.parameters["properties"]["top_k"]["default"] == 1
    assert named("where is my parcel")["results"][0]["body"] is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("docs:~/a b", "search_docs_a_b"), ("天气", "search"), ("x" * 90, f"search_{'x' * 57}")],
)
def test_any_name_of_a_corpus_makes_a_name_that_vendors_take(name: str, expected: str) -> None:
    assert create_corpus(name, in_memory=True, embedder="none").as_tool().name == expected


def test_no_more_come_than_are_asked_for_and_never_more_than_the_most() -> None:
    corpus = create_corpus(in_memory=True, embedder="none")
    corpus.sync([Document(str(at), "", "same words") for at in range(30)])
    tool = as_tool(corpus)
    assert len(tool("same words")["results"]) == 5
    assert len(tool("same words", top_k="3")["results"]) == 3
    assert len(tool("same words", top_k=10_000)["results"]) == MOST


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "needs the argument 'query'"),
        ({"query": ""}, "'query' must be a non-empty string"),
        ({"query": 3}, "'query' must be a non-empty string"),
        ({"query": "x", "top_k": -1}, "top_k must be an integer from 1 to 20, not -1"),
        ({"query": "x", "top_k": "three"}, "top_k must be an integer from 1 to 20, not 'three'"),
        ({"query": "x", "k": 3}, "takes query, top_k, not 'k'"),
    ],
)
def test_what_a_model_gets_wrong_is_told_in_a_sentence(corpus: Corpus, arguments: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        corpus.as_tool().invoke(arguments)


def test_whatever_can_be_searched_can_be_a_tool(tmp_path: Path) -> None:
    build(TOOLS, "kept", embedder="light").close()
    for searchable in ("kept", ["one cat", "the parcel of today"], {"a": "parcel"}, ("kept",)):
        assert not as_tool(searchable)("parcel")["abstained"]
    with pytest.raises(CorpusNotFound, match="nothing_here"):
        as_tool("nothing_here")


def test_a_tool_of_a_name_follows_the_corpus_that_bears_it() -> None:
    build(TOOLS, "kept", embedder="none").close()
    tool = as_tool("kept")
    assert names(tool("parcel")) == ["track"]
    with shortlist.open_corpus("kept") as corpus:
        corpus.remove("track")
    assert names(tool("parcel")) == []
    shortlist.delete_corpus("kept")
    build([Document("new", "", "another parcel")], "kept", embedder="none").close()
    assert names(tool("parcel")) == ["new"]


def test_several_corpora_are_one_tool(corpus: Corpus) -> None:
    other = create_corpus("post", in_memory=True, embedder="light")
    other.sync([Document("stamp", "buy_stamp", "Buy a stamp", kind="tool")])
    tool = as_tool([corpus, other])
    assert tool.name == "search_shop_post"
    assert tool.description.endswith("shop has 2 of kind tool, 1 of kind file; post has 1 of kind tool.")
    assert names(tool("buy a stamp")) == ["stamp"]


def test_it_is_handed_over_in_the_shape_of_each_vendor(corpus: Corpus) -> None:
    tool = corpus.as_tool(description="Finds tools.")
    assert isinstance(tool, AgentTool)
    assert tool.to_openai()["function"] == {
        "name": "search_shop",
        "description": "Finds tools.",
        "parameters": tool.parameters,
    }
    assert tool.to_anthropic()["input_schema"] == tool.to_mcp()["inputSchema"] == tool.parameters
