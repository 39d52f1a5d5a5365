"""PydanticAI: agents that find tools with us, where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from shortlist import Corpus, Document, InputError


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
