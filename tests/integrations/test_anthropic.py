"""Tool search for Claude: shapes as its package declares them, and a conversation through its own client."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from shortlist import Document, create_corpus
from shortlist.integrations.anthropic import ToolSearch
from tests.integrations.shapes import check, refund_payment, track_shipment


@pytest.fixture(scope="module")
def search() -> ToolSearch:
    return ToolSearch([track_shipment, refund_payment])


def use(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}


def test_all_tools_but_the_search_are_held_back(search: ToolSearch) -> None:
    first, *others = search.tools()
    assert (first["name"], "defer_loading" in first) == ("search_tools", False)
    assert [(tool["name"], tool["defer_loading"]) for tool in others] == [
        ("track_shipment", True),
        ("refund_payment", True),
    ]
    assert others[0]["input_schema"] == {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    }


def test_a_search_is_answered_with_references_to_what_fits(search: ToolSearch) -> None:
    assert search.result(use("search_tools", query="where is my parcel")) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "tool_reference", "tool_name": "track_shipment"}],
    }


def test_without_a_match_the_reason_is_shown_as_an_empty_list_is_refused(search: ToolSearch) -> None:
    result = search.result(use("search_tools", query="xyzzy plugh"))
    assert result["content"].startswith("No tool fits. None of the query terms are in the index")
    assert "is_error" not in result


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (use("search_tools"), "search_tools needs the argument 'query'."),
        (use("track_shipment"), "track_shipment needs the argument 'order_id'."),
        (use("track_shipmen"), "There is no tool 'track_shipmen' here. Did you mean 'track_shipment'?"),
        (use("refund_payment", payment_id="P"), "refund_payment failed: RuntimeError: the bank is closed"),
    ],
)
def test_what_goes_wrong_goes_back_to_the_model(search: ToolSearch, call: dict[str, Any], text: str) -> None:
    assert search.result(call) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": text,
        "is_error": True,
    }


def test_asynchronous_results_are_the_same_and_coroutines_are_awaited(search: ToolSearch) -> None:
    calls = [
        use("search_tools", query="where is my parcel"),
        use("search_tools", query="xyzzy plugh"),
        use("search_tools", query=" "),
        use("track_shipment", order_id="7"),
        use("refund_payment", payment_id="7"),
        use("nothing"),
    ]
    for call in calls:
        assert asyncio.run(search.aresult(call)) == search.result(call)

    async def wait_for(order_id: str) -> str:
        """Wait until the truck has arrived."""
        await asyncio.sleep(0)
        return order_id

    found = asyncio.run(ToolSearch([wait_for]).aresult(use("wait_for", order_id="7")))
    assert found == {"type": "tool_result", "tool_use_id": "toolu_1", "content": "7"}


def test_with_the_messages_only_what_was_found_in_them_is_sent(search: ToolSearch) -> None:
    found = search.result(use("search_tools", query="where is my parcel"))
    gone: dict[str, Any] = {
        "type": "tool_result",
        "content": [{"type": "tool_reference", "tool_name": "tool_of_yesterday"}],
    }
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [gone, found, found]},
    ]
    assert [tool["name"] for tool in search.tools(messages)] == ["search_tools", "track_shipment"]
    assert [tool["name"] for tool in search.tools([])] == ["search_tools"]


def test_a_corpus_of_tools_is_searched_with_its_filters() -> None:
    corpus = create_corpus("shop", in_memory=True, embedder="light")
    corpus.add([Document("post/track", "track", "where is the parcel", metadata={"access": "read"}, kind="tool")])
    corpus.add([Document("post/send", "send", "send the parcel", metadata={"access": "write"}, kind="tool")])
    search = ToolSearch(corpus, filter={"access": "write"}, name="find", description="Finds.")
    assert search.tools()[0]["name"] == "find"
    assert search.result(use("find", query="parcel"))["content"] == [
        {"type": "tool_reference", "tool_name": "post__send"}
    ]


def test_shapes_are_those_that_the_package_declares(search: ToolSearch) -> None:
    types = pytest.importorskip("anthropic").types
    for tool in search.tools():
        check(types.ToolParam, tool)
    for query in ("where is my parcel", "xyzzy plugh", ""):
        result = search.result(use("search_tools", query=query))
        check(types.ToolResultBlockParam, result)
        for block in result["content"] if isinstance(result["content"], list) else []:
            check(types.ToolReferenceBlockParam, block)


def test_the_example_finds_calls_and_answers_through_the_real_client() -> None:
    anthropic = pytest.importorskip("anthropic")
    from examples.anthropic_tool_search import ask

    searched = use("search_tools", query="give a customer the money back")
    called = use("refund_payment", payment_id="P-17", amount=40) | {"id": "toolu_2"}
    replies: list[list[dict[str, Any]]] = [[searched], [called], [{"type": "text", "text": "It is on its way."}]]
    asked: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        usage = {"input_tokens": 1, "output_tokens": 1}
        reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "usage": usage}
        return httpx2.Response(200, json={**reply, "stop_reason": "tool_use", "content": replies[len(asked) - 1]})

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with anthropic.Anthropic(api_key="none", http_client=http) as client:
        assert ask(client, "Give the money back.") == "It is on its way."
    sent = [[tool["name"] for tool in request["tools"]] for request in asked]
    assert sent[0] == ["search_tools"]
    assert sent[1][:2] == sent[2][:2] == ["search_tools", "refund_payment"]
    references = asked[1]["messages"][-1]["content"][0]["content"]
    assert references[0] == {"type": "tool_reference", "tool_name": "refund_payment"}
    assert [one["tool_name"] for one in references] == sent[1][1:]
    assert asked[2]["messages"][-1]["content"][0]["content"].startswith("refund_payment on payments: done")
