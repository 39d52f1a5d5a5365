"""LangChain: the retriever, the tool and the chooser behind its own interfaces, where it is installed."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

import pytest

from shortlist import Corpus
from tests.integrations.conftest import LONG


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
        assert retriever(corpus, min_relevance=1.0).invoke("parcel") == []
        assert [one.page_content for one in retriever(["one cat", "two dogs"]).invoke("dog")] == ["two dogs"]

    def test_the_retriever_returns_passages_where_documents_are_long(self, corpus: Corpus) -> None:
        (whole,) = self.hook.ShortlistRetriever(corpus).invoke("topic55")
        (passage,) = self.hook.ShortlistRetriever(corpus, passages=True, max_k=1).invoke("topic55")
        assert whole.page_content == LONG
        assert len(passage.page_content) <= 800 < len(LONG)
        assert "topic55." in passage.page_content
        assert passage.id == f"book#{passage.metadata['locator']}"
        assert self.hook.ShortlistRetriever(corpus, passages=True, min_relevance=1.0).invoke("topic55") == []

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

    def test_the_asynchronous_methods_find_the_same(self, corpus: Corpus) -> None:
        from langchain_core.tools import tool

        def track_shipment(order_id: str) -> str:
            """Where is the parcel"""
            return order_id

        tracking = tool(track_shipment)
        chooser = self.hook.ToolChooser([tracking])
        retriever = self.hook.ShortlistRetriever(corpus, passages=True, max_k=1)

        async def find() -> None:
            assert await chooser.achoose("where is the parcel now?") == [tracking]
            assert await chooser.achoose("xyzzy plugh") == []
            assert await retriever.ainvoke("topic55") == retriever.invoke("topic55")
            assert await retriever.ainvoke("xyzzy plugh") == []
            results = await retriever.abatch(["topic55", "topic3"])
            assert ["topic55." in results[0][0].page_content, "topic3." in results[1][0].page_content] == [True, True]

        asyncio.run(find())

    def test_wrong_arguments_of_an_asynchronous_call_are_reported_to_the_model(self, corpus: Corpus) -> None:
        tool = self.hook.ShortlistTool(corpus, name="search_shop")
        call = {"type": "tool_call", "id": "1", "name": "search_shop", "args": {"query": " "}}
        assert asyncio.run(tool.ainvoke(call)).status == "error"

    def test_the_example_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        from examples.langchain_search import main

        main()
        assert capsys.readouterr().out.splitlines()[-2:] == ["employee-handbook.md", "['track_shipment']"]
