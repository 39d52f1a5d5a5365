"""Programs written against the interfaces that the kits promise run with no more than the import name changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from shortlist import Document
from shortlist.compat import (
    BM25SRetriever,
    BM25SSettings,
    CosineSimilarity,
    InMemoryDocs,
    SearchQuery,
    SimpleEmbedder,
    ToolIndex,
    ToolRecord,
    get_retriever,
)
from shortlist.compat import retriever as module

CATALOG = [
    {
        "id": "order",
        "title": "Place Order",
        "content": "Place a limit buy order",
        "metadata": {"access_level": "admin"},
    },
    {
        "id": "quote",
        "title": "Get Quote",
        "content": "Trading tools: last price",
        "metadata": {"access_level": "public"},
    },
    {"id": "report", "title": "Report", "content": "Financial analysis of a quarter", "keywords": ["analysis"]},
]


@pytest.fixture
def retriever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BM25SRetriever:
    (tmp_path / "source_files").mkdir()
    (tmp_path / "source_files" / "tools_list.yaml").write_text(yaml.safe_dump({"documents": CATALOG}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_retriever", None)
    return BM25SRetriever()


def test_documents_are_retrieved_with_the_defaults_and_with_other_numbers(retriever: BM25SRetriever) -> None:
    results = retriever.retrieve_documents("place a limit buy order")
    assert [f"{doc['title']}: {doc['softmax_score']:.2%}" for doc in results["documents"]] == ["Place Order: 100.00%"]
    narrow = retriever.retrieve_documents(
        "financial analysis", temperature=0.3, llm_tools_cutoff=15.0, ignore_zero=True
    )
    assert [doc["id"] for doc in narrow["documents"]] == ["report"]
    broad = retriever.retrieve_documents("trading tools", temperature=2.0, llm_tools_cutoff=5.0, ignore_zero=False)
    assert [doc["id"] for doc in broad["documents"]] == ["quote", "order", "report"]


def test_documents_found_at_run_time_are_added(retriever: BM25SRetriever) -> None:
    discovered = Document(
        id="mcp_get_account_summary",
        title="Get Account Summary",
        content="Retrieve account balances",
        keywords=["account", "balances", "mcp"],
        metadata={"source": "mcp", "server": "brokerage"},
    )
    retriever.add_documents([discovered])
    (found,) = retriever.retrieve_documents("account balances")["documents"]
    assert (found["id"], found["metadata"]["server"]) == ("mcp_get_account_summary", "brokerage")
    retriever.rebuild_index()
    assert retriever.get_document_count() == 4
    retriever.rebuild_index([discovered])
    assert retriever.get_document_count() == 1


def test_settings_are_managed(retriever: BM25SRetriever) -> None:
    assert (retriever.get_settings().temperature, retriever.get_settings().llm_tools_cutoff) == (0.5, 10.0)
    retriever.update_settings(BM25SSettings(temperature=2.0, ignore_zero=True, llm_tools_cutoff=30.0))
    assert retriever.retrieve_documents("order")["settings"]["llm_tools_cutoff"] == 30.0


def test_the_global_retriever_reads_the_same_catalog_and_metadata_route(retriever: BM25SRetriever) -> None:
    results = get_retriever().retrieve_documents("trading order", temperature=5.0)
    by_level = {doc["metadata"].get("access_level"): doc["id"] for doc in results["documents"]}
    assert by_level == {"admin": "order", "public": "quote"}


def test_a_registry_of_tools_is_searched() -> None:
    tool = ToolRecord(
        tool_id="web_search",
        name="Web Search",
        description="Search the internet for current information",
        tags=["search"],
        capabilities=["keyword search"],
    )
    assert ToolRecord.model_validate(tool.model_dump(mode="json")) == tool
    index = ToolIndex()
    index.add_tool(tool)
    index.build_index()
    (found,) = index.search(SearchQuery(query_text="find information online"))
    assert (found.rank, found.tool.name, 0 < found.score <= 1) == (1, "Web Search", True)
    assert index.search(SearchQuery(query_text="notify the team", tags_filter=["email"], top_k=3)) == []
    assert [one.tool_id for one in index.search_by_tags(["Search", "messaging"])] == ["web_search"]


def test_texts_are_embedded_and_compared() -> None:
    embedder = SimpleEmbedder()
    embedder.fit(["search the web", "send an email", "run a database query"])
    web, lookup, mail = (embedder.embed(text) for text in ("search online", "web lookup search", "send email now"))
    assert sum(value * value for value in web) ** 0.5 == pytest.approx(1.0)
    assert CosineSimilarity.compute(web, lookup) > CosineSimilarity.compute(web, mail) == 0.0


def test_a_list_becomes_a_tool() -> None:
    search_docs = InMemoryDocs(
        name="search_docs",
        description="Search project docs for relevant passages.",
        docs=[
            {"text": "BM25 scores documents by term frequency and inverse document frequency."},
            {"text": "Tools self-describe via name, description, and a parameters_schema."},
            {"text": "Council members can call tools mid-completion to retrieve evidence."},
        ],
        top_k=4,
    )
    assert [item["text"].split()[0] for item in search_docs(query="retrieve evidence with tools")] == [
        "Council",
        "Tools",
    ]
