"""LlamaIndex: the retriever behind its own interface, where it is installed."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

import pytest

from shortlist import Corpus


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

    def test_asynchronous_retrieval_applies_the_same_options(self, corpus: Corpus) -> None:
        retriever = self.hook.ShortlistRetriever(corpus, filter={"access": "write"}, mode="lexical")
        found = asyncio.run(retriever.aretrieve("parcel"))
        assert [one.node.node_id for one in found] == ["send"]
        assert asyncio.run(retriever.aretrieve("xyzzy plugh")) == []

    def test_the_example_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        from examples.llamaindex_search import main

        main()
        assert "  returns-policy.md#whole;offset=" in capsys.readouterr().out
