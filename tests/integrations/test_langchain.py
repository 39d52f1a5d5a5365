"""LangChain, LlamaIndex and PydanticAI search with us through their own interfaces, where they are installed."""

from __future__ import annotations

import asyncio
import importlib
import sys
from typing import Any

import pytest

from shortlist import Corpus, Document, InputError, MissingExtra, create_corpus

LONG = " ".join(f"Sentence {at} of the handbook tells about topic{at}." for at in range(60))


@pytest.fixture
def corpus() -> Corpus:
    corpus = create_corpus("shop", in_memory=True, embedder="light")
    corpus.sync(
        [
            Document("track", "track_shipment", "Where is the parcel", metadata={"access": "read"}, kind="tool"),
            Document("send", "send_parcel", "Send the parcel", metadata={"access": "write"}, kind="tool"),
            Document("book", "Handbook", LONG, kind="file", locator="whole"),
        ]
    )
    return corpus


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llamaindex", "llama_index", "llamaindex"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("fastmcp", "fastmcp", "fastmcp"),
    ],
)
def test_a_missing_package_is_an_error_with_the_line_that_installs_it(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"shortlist.integrations.{module}", raising=False)
    with pytest.raises(MissingExtra, match=rf'pip install "shortlist\[{extra}\]"'):
        importlib.import_module(f"shortlist.integrations.{module}")


class TestLangChain:
    hook: Any

    @pytest.fixture(autouse=True)
    def load(self) -> None:
        pytest.importorskip("langchain_core")
        self.hook = importlib.import_module("shortlist.integrations.langchain")

    def test_the_retriever_returns_what_fits_whole_and_with_its_place(self, corpus: Corpus) -> None:
        retriever = self.hook.ShortlistRetriever(corpus, tags=["shop"])
        document = retriever.invoke("where is my parcel")[0]
        assert (document.id, document.page_content) == ("track", "Where is the parcel")
        assert {**document.metadata, "score": 0} == {
            "access": "read",
            "id": "track",
            "name": "track_shipment",
            "kind": "tool",
            "source": "",
            "locator": "whole",
            "corpus": "shop",
            "score": 0,
        }
        assert asyncio.run(retriever.ainvoke("where is my parcel"))[0] == document
        assert retriever.tags == ["shop"]
        assert retriever.invoke("xyzzy plugh") == []

    def test_the_retriever_applies_filters_and_thresholds_and_takes_any_list(self, corpus: Corpus) -> None:
        retriever = self.hook.ShortlistRetriever
        filtered = retriever(corpus, filter={"access": "write"}, mode="lexical")
        assert [one.id for one in filtered.invoke("parcel")] == ["send"]
        assert retriever(corpus, min_score=5.0).invoke("parcel") == []
        assert [one.page_content for one in retriever(["one cat", "two dogs"]).invoke("dog")] == ["two dogs"]

    def test_the_retriever_returns_passages_where_documents_are_long(self, corpus: Corpus) -> None:
        (whole,) = self.hook.ShortlistRetriever(corpus).invoke("topic55")
        (passage,) = self.hook.ShortlistRetriever(corpus, passages=True, max_k=1).invoke("topic55")
        assert whole.page_content == LONG
        assert len(passage.page_content) <= 800 < len(LONG)
        assert "topic55." in passage.page_content
        assert passage.id == f"book#{passage.metadata['locator']}"
        assert self.hook.ShortlistRetriever(corpus, passages=True, min_score=5.0).invoke("topic55") == []

    def test_the_tool_returns_text_for_a_model_and_data_for_a_program(self, corpus: Corpus) -> None:
        tool = self.hook.ShortlistTool(corpus, name="search_shop", filter={"access": "read"})
        assert tool.tool_call_schema.model_json_schema()["required"] == ["query"]
        call = {"type": "tool_call", "id": "1", "name": "search_shop", "args": {"query": "parcel", "top_k": 2}}
        message = tool.invoke(call)
        assert [item["id"] for item in message.artifact["results"]] == ["track"]
        assert '"body": "Where is the parcel"' in message.content
        assert asyncio.run(tool.ainvoke(call)) == message
        assert '"abstained": true' in tool.invoke("xyzzy plugh")
        wrong = tool.invoke(call | {"args": {"query": " "}})
        assert (wrong.status, wrong.content) == (
            "error",
            "'query' must be a non-empty string, not ' '.",
        )

    def test_the_chooser_gives_the_tools_that_fit(self) -> None:
        from langchain_core.tools import tool

        def track_shipment(order_id: str) -> str:
            """Where is the parcel"""
            return order_id

        def refund(order_id: str) -> str:
            """Give the money back"""
            return order_id

        tracking, refunding = tool(track_shipment), tool(refund)
        chooser = self.hook.ToolChooser([tracking, refunding])
        assert chooser.choose("where is the parcel now?") == [tracking]
        assert chooser.choose("xyzzy plugh") == []

    def test_the_example_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        from examples.langchain_search import main

        main()
        assert capsys.readouterr().out.splitlines()[-2:] == ["employee-handbook.md", "['track_shipment']"]


class TestLlamaIndex:
    hook: Any

    @pytest.fixture(autouse=True)
    def load(self) -> None:
        pytest.importorskip("llama_index.core")
        self.hook = importlib.import_module("shortlist.integrations.llamaindex")

    def test_the_retriever_returns_nodes_with_their_scores(self, corpus: Corpus) -> None:
        retriever = self.hook.ShortlistRetriever(corpus)
        found = retriever.retrieve("where is my parcel")[0]
        assert (found.node.node_id, found.node.text) == ("track", "Where is the parcel")
        assert found.node.get_content("llm") == "name: track_shipment\n\nWhere is the parcel"
        assert (found.score, found.node.metadata["access"]) == (found.node.metadata["score"], "read")
        assert asyncio.run(retriever.aretrieve("where is my parcel"))[0] == found
        assert retriever.retrieve("xyzzy plugh") == []

    def test_the_retriever_applies_options(self, corpus: Corpus) -> None:
        retriever = self.hook.ShortlistRetriever
        found = retriever(corpus, filter={"access": "write"}, mode="lexical").retrieve("parcel")
        assert [one.node.node_id for one in found] == ["send"]
        passages = retriever(corpus, passages=True, strategy="top_k", max_k=2).retrieve("handbook sentence")
        assert len({one.node.node_id for one in passages}) == 2

    def test_the_example_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        from examples.llamaindex_search import main

        main()
        assert "  returns-policy.md#whole;offset=" in capsys.readouterr().out


class TestPydanticAI:
    hook: Any

    @pytest.fixture(autouse=True)
    def load(self, monkeypatch: pytest.MonkeyPatch) -> None:
        models = pytest.importorskip("pydantic_ai.models")
        monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)
        self.hook = importlib.import_module("shortlist.integrations.pydantic_ai")

    def scripted(self, *calls: tuple[str, dict[str, Any]]) -> tuple[Any, list[list[str]]]:
        """A model that makes these calls, one a turn, and then answers; and the tools that it saw at each turn."""
        from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import AgentInfo, FunctionModel

        seen: list[list[str]] = []

        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            seen.append(sorted(tool.name for tool in info.function_tools))
            if len(seen) > len(calls):
                return ModelResponse([TextPart(str(getattr(messages[-1].parts[-1], "content", None)))])
            return ModelResponse([ToolCallPart(*calls[len(seen) - 1])])

        return FunctionModel(answer), seen

    def test_an_agent_finds_among_its_own_tools(self) -> None:
        from pydantic_ai import Agent, Tool
        from pydantic_ai.capabilities import ToolSearch

        def track_shipment(order_id: str) -> str:
            """Where is the parcel"""
            return f"{order_id} is in Leeds"

        def refund(order_id: str) -> str:
            """Give the money back"""
            return order_id

        tools = [Tool(one, defer_loading=True) for one in (track_shipment, refund)]
        agent = Agent(tools=tools, capabilities=[ToolSearch(strategy=self.hook.tool_search())])
        model, seen = self.scripted(
            ("search_tools", {"queries": ["parcel", " ", "where is it"]}), ("track_shipment", {"order_id": "7"})
        )
        assert agent.run_sync("Where is my parcel?", model=model).output == "7 is in Leeds"
        assert seen == [["search_tools"], ["search_tools", "track_shipment"], ["search_tools", "track_shipment"]]
        model, seen = self.scripted(("search_tools", {"queries": ["xyzzy plugh"]}))
        assert "No matching tools" in agent.run_sync("?", model=model).output
        assert seen[-1] == ["search_tools"]

    def test_an_agent_finds_and_calls_the_tools_of_a_corpus(self, corpus: Corpus) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.capabilities import ToolSearch

        called = []

        async def call(document: Document, arguments: Any) -> str:
            called.append((document.id, arguments))
            if not arguments:
                raise InputError("track_shipment needs the argument 'order'.")
            return f"{document.id}: {arguments['order']}"

        agent = Agent(
            toolsets=[self.hook.toolset(corpus, call)],
            capabilities=[ToolSearch(strategy=self.hook.tool_search(corpus, filter={"access": "read"}))],
        )
        model, seen = self.scripted(
            ("search_tools", {"queries": ["send or track a parcel"]}),
            ("track_shipment", {}),
            ("track_shipment", {"order": "7"}),
        )
        assert agent.run_sync("Where is my parcel?", model=model).output == "track: 7"
        assert seen[1] == ["search_tools", "track_shipment"]
        assert called == [("track", {}), ("track", {"order": "7"})]
        (search,) = corpus.usage
        assert search.query == "send or track a parcel"
        assert [(use.id, use.outcome) for use in search.uses] == [("track", "called")]

    def test_the_example_runs(self) -> None:
        from examples.pydantic_ai_search import agent

        model, seen = self.scripted(
            ("search_tools", {"queries": ["money back for the customer"]}),
            ("refund_payment", {"payment_id": "P-17", "amount": 40}),
        )
        answer = agent().run_sync("Give the money back.", model=model).output
        assert answer == "refund_payment on payments: done with {'payment_id': 'P-17', 'amount': 40}"
        assert {"refund_payment", "search_tools"} <= set(seen[1])
