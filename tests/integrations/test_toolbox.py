"""Toolboxes: the names and descriptions of tools, and what a query finds."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from shortlist import (
    AgentTool,
    Corpus,
    CorpusNotFound,
    Document,
    InputError,
    ShortlistError,
    build,
    create_corpus,
    search,
)
from shortlist.integrations.toolbox import Toolbox

DATA = Path(__file__).parents[2] / "examples" / "data"


def refund_payment(payment_id: str, amount: float = 0.0) -> str:
    """Give a customer the money back."""
    return f"{payment_id}: {amount}"


def track_shipment(order_id: str) -> dict[str, str]:
    """Where is the parcel now"""
    return {"order": order_id}


async def wait_for(order_id: str) -> str:
    """Wait until the truck has arrived."""
    return order_id


SCHEMAS: list[Any] = [
    {"name": "anthropic_style", "description": "Water the flowers", "input_schema": {"properties": {"litres": {}}}},
    {"type": "function", "function": {"name": "openai_style", "description": "Mow the lawn", "parameters": None}},
    {"name": "mcp_style", "description": "Feed the cat", "inputSchema": {"type": "object", "required": ["cat"]}},
]


def names(toolbox: Toolbox, query: str, **more: Any) -> list[str]:
    return [tool.name for tool in toolbox.find({"query": query, **more}).tools]


def corpus_of(*documents: Document, name: str = "shop") -> Corpus:
    corpus = create_corpus(name, in_memory=True, embedder="light")
    corpus.sync(documents)
    return corpus


def test_a_list_may_hold_functions_schemas_of_any_vendor_tools_and_documents() -> None:
    other = AgentTool("agent_tool", "Ring the bell", {"type": "object", "properties": {}}, lambda: "ding")
    listed = Document("plain", "Paint a fence", "Paint the fence green", kind="tool")
    toolbox = Toolbox([refund_payment, track_shipment, *SCHEMAS, other, listed])
    assert [tool.name for tool in toolbox] == [
        *("refund_payment", "track_shipment", "anthropic_style", "openai_style", "mcp_style", "agent_tool", "plain")
    ]
    assert names(toolbox, "where is my parcel") == ["track_shipment"]
    assert names(toolbox, "ring a bell") == ["agent_tool"]
    assert names(toolbox, "paint the fence") == ["plain"]
    assert toolbox["mcp_style"].parameters == {"type": "object", "required": ["cat"], "properties": {}}
    assert toolbox["anthropic_style"].parameters == {"type": "object", "properties": {"litres": {}}}
    assert toolbox["openai_style"].parameters == {"type": "object", "properties": {}}
    assert toolbox.call("agent_tool", "{}") == "ding"


def test_functions_are_called_and_what_goes_wrong_is_a_sentence() -> None:
    toolbox = Toolbox([refund_payment, track_shipment, wait_for, SCHEMAS[0]])
    assert toolbox.call("refund_payment", {"payment_id": "P", "amount": 2}) == "P: 2"
    assert toolbox.call("track_shipment", '{"order_id": "Ü"}') == '{"order": "Ü"}'
    with pytest.raises(InputError, match="needs the argument 'payment_id'"):
        toolbox.call("refund_payment", {})
    with pytest.raises(ShortlistError, match="refund_payment failed: TypeError"):
        Toolbox([AgentTool("refund_payment", "", {"properties": {}}, lambda: 1 + "1")]).call("refund_payment", {})  # type: ignore[operator]
    with pytest.raises(InputError, match="anthropic_style is not a Python function"):
        toolbox.call("anthropic_style", {})
    with pytest.raises(InputError, match="wait_for is asynchronous"):
        toolbox.call("wait_for", {"order_id": "1"})
    with pytest.raises(InputError, match=r"no tool 'track_shipmnt' here. Did you mean 'track_shipment'"):
        toolbox.call("track_shipmnt", {})


def test_a_catalog_says_in_its_metadata_what_a_tool_takes() -> None:
    toolbox = Toolbox(f"tools:{DATA / 'tools.yaml'}")
    assert len(list(toolbox)) == 90
    found = toolbox.find('{"query": "money back for the customer"}').tools[0]
    assert found.name == "refund_payment"
    assert found.parameters["required"] == ["payment_id", "amount"]
    assert "search_customers" in toolbox  # whose title, "Find a customer", is not valid as a name


def test_an_operation_of_an_interface_takes_its_parameters_and_its_body(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    operation = {
        "operationId": "addNote",
        "summary": "Add a note to an order",
        "parameters": [{"name": "order", "in": "path", "required": True, "schema": {"type": "integer"}}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }
    (tmp_path / "api.json").write_text(
        json.dumps({"openapi": "3.1.0", "paths": {"/orders/{order}": {"post": operation}}})
    )
    (tool,) = Toolbox(f"tools:{tmp_path / 'api.json'}")
    assert (tool.name, tool.description) == ("addNote", "Add a note to an order")
    assert tool.parameters == {
        "type": "object",
        "properties": {"order": {"type": "integer"}, "body": schema},
        "required": ["order", "body"],
    }


def test_alternatives_at_the_top_of_a_schema_which_vendors_refuse_are_laid_over_each_other() -> None:
    schema = {
        "anyOf": [{"properties": {"id": {"type": "string"}}, "required": ["id"]}, {"required": ["mail"]}],
        "properties": {"mail": {"type": "string"}},
        "$defs": {"kept": {}},
    }
    tool = Toolbox([{"name": "find", "description": "Find one", "parameters": schema}])["find"]
    assert tool.parameters == {
        "type": "object",
        "properties": {"id": {"type": "string"}, "mail": {"type": "string"}},
        "$defs": {"kept": {}},
    }


@pytest.mark.parametrize(
    ("id", "title", "expected"),
    [
        ("github/create_issue", "create_issue", "github__create_issue"),
        ("get customer", "get customer", "get_customer"),
        ("7", "Find a customer", "7"),
        ("a.b", "a.b", "a_b"),
    ],
)
def test_a_tool_gets_a_name_that_every_vendor_takes(id: str, title: str, expected: str) -> None:
    assert [tool.name for tool in Toolbox(corpus_of(Document(id, title, "text", kind="tool")))] == [expected]


def test_names_are_unique_whatever_tools_are_called() -> None:
    called = ["a.b", "a_b", "A_b", "天气", "x" * 90, "x" * 91, "search_tools", "a_b_0123456789"]
    documents = [Document(f"{at} {name}", name, f"word{at}", kind="tool") for at, name in enumerate(called)]
    toolbox = Toolbox(corpus_of(*documents))
    given = [tool.name for tool in toolbox]
    assert len(set(given)) == len(called)
    assert "A_b" in given
    assert "search_tools" not in given
    assert "a_b_0123456789" not in given  # it might have been chosen to stand for a marked one
    assert all(0 < len(name) <= 64 and name.isascii() for name in given)
    assert [toolbox.document(name).title for name in given] == called
    again = Toolbox(corpus_of(*reversed(documents)))
    assert {tool.name for tool in again} == set(given)  # whatever the order
    for at, name in enumerate(given):
        assert names(toolbox, f"word{at}", top_k=1) == [name]


def test_tools_that_come_and_go_are_followed() -> None:
    build([Document("a", "alpha", "the first letter", kind="tool")], "letters", embedder="none").close()
    toolbox = Toolbox("letters", mode="lexical")
    assert names(toolbox, "second letter") == ["alpha"]
    build([Document("b", "beta", "the second letter", kind="tool")], "letters").close()
    assert names(toolbox, "second letter") == ["beta"]
    assert "alpha" not in toolbox
    with pytest.raises(InputError, match="no tool 'alpha' here"):
        toolbox["alpha"]


def test_only_tools_are_found_among_other_things_and_filters_hold() -> None:
    corpus = corpus_of(
        Document("note", "parcel", "parcel parcel parcel", kind="file"),
        Document("read", "track_parcel", "Where is the parcel", metadata={"access": "read"}, kind="tool"),
        Document("write", "send_parcel", "Send the parcel", metadata={"access": "write"}, kind="tool"),
    )
    assert set(names(Toolbox(corpus, strategy="top_k"), "parcel")) == {"track_parcel", "send_parcel"}
    assert names(Toolbox(corpus, filter={"access": "write"}, strategy="top_k"), "parcel") == ["send_parcel"]
    assert Toolbox(corpus).search.description.startswith("Finds the tools for a task among 2 ")


def test_a_calibrated_floor_makes_it_abstain() -> None:
    corpus = corpus_of(Document("a", "track", "where is the parcel", kind="tool"))
    assert names(Toolbox(corpus), "parcel") == ["track"]
    corpus.set_threshold("auto", 0.99)
    found = Toolbox(corpus).find({"query": "something with a parcel"})
    assert found.tools == []
    assert "below the threshold of 0.99" in found.reason
    assert names(Toolbox(corpus, min_relevance=None), "parcel") == ["track"]


def test_several_corpora_are_searched_together() -> None:
    shop = corpus_of(Document("a", "track", "where is the parcel", kind="tool"))
    post = corpus_of(Document("a", "track", "buy a stamp", kind="tool"), name="post")
    toolbox = Toolbox([shop, post])
    (stamp,) = toolbox.find({"query": "buy a stamp"}).tools
    assert stamp.name.startswith("track_")
    assert toolbox.document(stamp.name).content == "buy a stamp"
    with pytest.raises(InputError, match="distinct names"):
        Toolbox([shop, corpus_of(name="shop")])


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ([refund_payment, refund_payment, refund_payment], "Two tools of the list"),
        ([refund_payment, "text"], "entry 2 of the list"),
        ({"name": "x"}, "Tools are a corpus, its name, or a list"),
        (3, "Tools are a corpus, its name, or a list"),
    ],
)
def test_what_is_not_a_list_of_tools_is_an_error(tools: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Toolbox(tools)


def test_a_corpus_without_tools_is_an_error_and_an_empty_one_may_still_get_some() -> None:
    with pytest.raises(InputError, match=r"no tools, .* 1 of kind file. shortlist.as_tool\(\)"):
        Toolbox(corpus_of(Document("a", "", "text", kind="file")))
    with pytest.raises(CorpusNotFound, match="nothing_here"):
        Toolbox(["nothing_here"])
    empty = corpus_of()
    toolbox = Toolbox(empty)
    assert names(toolbox, "parcel") == []
    empty.add([Document("a", "track", "where is the parcel", kind="tool")])
    assert names(toolbox, "parcel") == ["track"]


# Learning from use


def uses(toolbox: Toolbox) -> list[tuple[str, list[str], list[tuple[str, str]]]]:
    """The searches in the log, each with what it showed and what was then used."""
    (corpus,) = toolbox._open().values()
    return [(one.query, list(one.shown), [(use.id, use.outcome) for use in one.uses]) for one in corpus.usage]


def test_functions_that_are_called_after_a_search_are_found_by_similar_queries() -> None:
    toolbox = Toolbox([refund_payment, track_shipment])
    assert names(toolbox, "bring back the cash") == ["refund_payment"]
    toolbox.call("refund_payment", {"payment_id": "P"})
    toolbox.call("track_shipment", {"order_id": "1"})  # which no search showed
    (search,) = uses(toolbox)
    assert search[2] == [("refund_payment", "called")]
    (corpus,) = toolbox._open().values()
    assert search_signals(corpus, "bring me back my cash")["refund_payment"] > 0


def search_signals(corpus: Corpus, query: str) -> dict[str, float]:
    return {hit.id: hit.signals["learned"] for hit in search(corpus, query)}


def test_failures_are_stored_and_invalid_arguments_are_not() -> None:
    def water_plants(litres: int) -> str:
        """Water the plants."""
        raise OSError("the tap is closed")

    toolbox = Toolbox([water_plants])
    names(toolbox, "water the plants")
    with pytest.raises(InputError):
        toolbox.call("water_plants", {})
    assert uses(toolbox)[0][2] == []
    with pytest.raises(ShortlistError, match="the tap is closed"):
        toolbox.call("water_plants", {"litres": 1})
    assert uses(toolbox)[0][2] == [("water_plants", "failed")]


def test_a_found_function_may_also_be_called_directly_or_awaited() -> None:
    toolbox = Toolbox([refund_payment, wait_for])
    (found,) = toolbox.find({"query": "give the customer the money back"}).tools
    assert found.invoke({"payment_id": "P"}) == "P: 0.0"
    (found,) = toolbox.find({"query": "wait until the truck has arrived"}).tools
    assert asyncio.run(found.invoke({"order_id": "7"})) == "7"
    assert [used for _, _, used in uses(toolbox)] == [[("refund_payment", "called")], [("wait_for", "called")]]


def test_searches_for_tools_that_are_called_elsewhere_are_not_stored() -> None:
    toolbox = Toolbox(SCHEMAS)
    assert names(toolbox, "mow the lawn") == ["openai_style"]
    assert uses(toolbox) == []
    toolbox = Toolbox([refund_payment, *SCHEMAS])
    assert names(toolbox, "mow the lawn") == ["openai_style"]
    assert {*names(toolbox, "give the money back, mow the lawn", top_k=2)} == {"refund_payment", "openai_style"}
    assert [shown for _, shown, _ in uses(toolbox)] == [["refund_payment"]]


def test_a_search_tool_alone_stores_nothing() -> None:
    corpus = corpus_of(Document("refund", "Refund a payment", "Give the money back", kind="tool"))
    assert corpus.as_tool()("refund a payment")["results"]
    assert list(corpus.usage) == []


def test_tools_are_found_and_called_asynchronously() -> None:
    toolbox = Toolbox([refund_payment, track_shipment, wait_for, SCHEMAS[0]])
    threads = []

    def count_threads() -> str:
        """Count the threads."""
        threads.append(threading.current_thread())
        return "2"

    async def use() -> None:
        found = await toolbox.afind({"query": "wait until the truck has arrived"})
        assert [tool.name for tool in found.tools] == ["wait_for"]
        assert await toolbox.acall("wait_for", {"order_id": "7"}) == "7"
        assert await toolbox.acall("track_shipment", '{"order_id": "Ü"}') == '{"order": "Ü"}'
        assert await Toolbox([count_threads]).acall("count_threads", {}) == "2"
        assert threads[0] is not threading.current_thread()  # which serves the event loop
        with pytest.raises(InputError, match="needs the argument 'payment_id'"):
            await toolbox.acall("refund_payment", {})
        with pytest.raises(InputError, match="anthropic_style is not a Python function"):
            await toolbox.acall("anthropic_style", {})
        with pytest.raises(InputError, match="no tool 'nothing' here"):
            await toolbox.acall("nothing", {})

    asyncio.run(use())
    assert ("wait_for", "called") in [use for _, _, used in uses(toolbox) for use in used]


def test_an_asynchronous_function_that_fails_is_a_sentence() -> None:
    async def water_plants(litres: float) -> None:
        """Give the plants water."""
        raise RuntimeError("the tap is closed")

    toolbox = Toolbox([water_plants])
    assert asyncio.run(toolbox.afind({"query": "give the plants water"})).tools
    with pytest.raises(ShortlistError, match="water_plants failed: RuntimeError: the tap is closed"):
        asyncio.run(toolbox.acall("water_plants", {"litres": 1}))
    assert uses(toolbox)[0][2] == [("water_plants", "failed")]
