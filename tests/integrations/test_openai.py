"""Client-executed tool search for OpenAI: shapes as its package declares them, and a talk through its client."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from shortlist.integrations.openai import ToolSearch
from tests.integrations.shapes import check, refund_payment, track_shipment


@pytest.fixture(scope="module")
def search() -> ToolSearch:
    return ToolSearch([track_shipment, refund_payment])


def searching(arguments: Any) -> dict[str, Any]:
    call = {"type": "tool_search_call", "execution": "client", "status": "completed"}
    return {**call, "id": "tsc_1", "call_id": "call_1", "arguments": arguments}


def calling(name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": "call_2", "name": name, "arguments": arguments}


def test_a_request_carries_the_search_and_no_other_tool(search: ToolSearch) -> None:
    (tool,) = search.tools()
    assert (tool["type"], tool["execution"]) == ("tool_search", "client")
    assert tool["description"].startswith("Finds the tools for a task among 2")  # without one it is refused
    assert tool["parameters"]["required"] == ["query"]


@pytest.mark.parametrize("arguments", [{"query": "where is my parcel"}, '{"query": "where is my parcel"}'])
def test_a_search_is_answered_with_the_whole_of_what_fits(search: ToolSearch, arguments: Any) -> None:
    assert search.output(searching(arguments)) == {
        "type": "tool_search_output",
        "execution": "client",
        "call_id": "call_1",
        "status": "completed",
        "tools": [
            {
                "type": "function",
                "name": "track_shipment",
                "description": "Where is the parcel now",
                "parameters": {
                    "type": "object",
                    "properties": {"order_id": {"type": "string"}},
                    "required": ["order_id"],
                },
                "strict": False,
                "defer_loading": True,
            }
        ],
    }


@pytest.mark.parametrize("arguments", [{"query": "xyzzy plugh"}, {"query": " "}, {}, "{", {"paths": ["x"]}])
def test_where_nothing_fits_no_tool_is_loaded(search: ToolSearch, arguments: Any) -> None:
    assert search.output(searching(arguments))["tools"] == []


def test_functions_are_called_and_their_failures_reported(search: ToolSearch) -> None:
    assert search.output(calling("track_shipment", '{"order_id": "7"}')) == {
        "type": "function_call_output",
        "call_id": "call_2",
        "output": '{"order": "7"}',
    }
    failed = search.output(calling("refund_payment", '{"payment_id": "7"}'))
    assert failed["output"] == "Error: refund_payment failed: RuntimeError: the bank is closed"


def test_calls_of_other_tools_and_searches_of_the_server_are_left_alone(search: ToolSearch) -> None:
    others = [calling("mine", "{}"), searching({"query": "x"}) | {"execution": "server"}, {"type": "message"}]
    assert search.outputs(others) == []
    assert [item["type"] for item in search.outputs([calling("track_shipment", "{}"), searching({})])] == [
        "function_call_output",
        "tool_search_output",
    ]


def test_asynchronous_outputs_are_the_same_and_coroutines_are_awaited(search: ToolSearch) -> None:
    items = [
        searching({"query": "where is my parcel"}),
        searching({"query": " "}),
        calling("track_shipment", '{"order_id": "7"}'),
        calling("refund_payment", '{"payment_id": "7"}'),
        calling("mine", "{}"),
        {"type": "message"},
    ]
    assert asyncio.run(search.aoutputs(items)) == search.outputs(items)

    async def wait_for(order_id: str) -> str:
        """Wait until the truck has arrived."""
        await asyncio.sleep(0)
        return order_id

    (output,) = asyncio.run(ToolSearch([wait_for]).aoutputs([calling("wait_for", '{"order_id": "7"}')]))
    assert output == {"type": "function_call_output", "call_id": "call_2", "output": "7"}


def test_shapes_are_those_that_the_package_declares(search: ToolSearch) -> None:
    pytest.importorskip("openai")
    from openai.types.responses import FunctionToolParam, ToolSearchToolParam
    from openai.types.responses.response_input_param import FunctionCallOutput
    from openai.types.responses.response_tool_search_output_item_param_param import (
        ResponseToolSearchOutputItemParamParam,
    )

    check(ToolSearchToolParam, search.tools()[0])
    for query in ("where is my parcel", "xyzzy plugh"):
        output = search.output(searching({"query": query}))
        check(ResponseToolSearchOutputItemParamParam, output)
        for tool in output["tools"]:
            check(FunctionToolParam, tool)
    check(FunctionCallOutput, search.output(calling("track_shipment", "{}")))


def test_the_example_finds_calls_and_answers_through_the_real_client() -> None:
    openai = pytest.importorskip("openai")
    from examples.openai_tool_search import ask

    text = {"type": "output_text", "text": "It is in Leeds.", "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    searched, called = searching({"query": "where is the parcel"}), calling("track_shipment", '{"order_id": "4711"}')
    replies: list[dict[str, Any]] = [searched, called, message]
    asked: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        common = {"id": "resp", "object": "response", "created_at": 1, "model": "gpt", "status": "completed"}
        rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return httpx2.Response(200, json={**common, **rest, "output": [replies[len(asked) - 1]]})

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with openai.OpenAI(api_key="none", http_client=http) as client:
        assert ask(client, "Where is the parcel of order 4711?") == "It is in Leeds."
    assert [tool["type"] for tool in asked[2]["tools"]] == ["tool_search"]
    _, search_call, found, call, output = asked[2]["input"]
    assert (search_call["type"], found["call_id"]) == ("tool_search_call", "call_1")
    assert [tool["name"] for tool in found["tools"]] == ["track_shipment"]
    assert (call["name"], output["output"]) == ("track_shipment", '{"order": "4711", "place": "Leeds"}')
