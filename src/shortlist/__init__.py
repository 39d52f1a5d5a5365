"""Finds, for an AI agent, the few right things among many. The names, in the order of the pipeline:

source    Document, CorpusSource
names     register, unregister, registered
index     build, open_corpus, create_corpus, Corpus
retrieve  search
select    select, register_strategy, make_llm_selector
disclose  disclose
all       discover, as_tool
answer    ingest, ask, agent_ask, Chat, OpenAIChat, ScriptedLLM
kits      BM25SRetriever, get_retriever, retrieve_documents; ToolIndex; InMemoryDocs
judge     eval, eval_gen (modules)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from shortlist.documents import Changes, Document, Passage, Problem
from shortlist.errors import (
    CorpusBusy,
    CorpusDamaged,
    CorpusError,
    CorpusMismatch,
    CorpusNotFound,
    EmbedderError,
    EngineError,
    InputError,
    LLMError,
    MissingExtra,
    RegistryDamaged,
    ServiceError,
    ShortlistError,
    SourceError,
)
from shortlist.protocols import LLM, AgentTool, Embedder, Reply
from shortlist.results import Answer, Disclosure, Discovery, Evidence, Hit, Hits, Ranking, Selection

if TYPE_CHECKING:
    from shortlist._settings import BM25SSettings
    from shortlist.answer.agent import agent_ask
    from shortlist.answer.ask import ask
    from shortlist.answer.chat import Chat
    from shortlist.answer.llm import OpenAIChat, ScriptedLLM
    from shortlist.answer.memory import Memory
    from shortlist.answer.prompts import REFUSAL
    from shortlist.index.corpus import Corpus, create_corpus, open_corpus
    from shortlist.index.embedders.named import load_embedder
    from shortlist.index.lexical.bm25 import Scoring
    from shortlist.index.location import delete_corpus
    from shortlist.kits.in_memory_docs import InMemoryDocs
    from shortlist.kits.retriever import BM25SRetriever, get_retriever, retrieve_documents
    from shortlist.kits.tool_index import (
        CosineSimilarity,
        SearchQuery,
        SearchResult,
        SimpleEmbedder,
        ToolIndex,
        ToolRecord,
    )
    from shortlist.library.ingest import ingest
    from shortlist.library.opening import build
    from shortlist.library.registry import register, registered, unregister
    from shortlist.search.corpus_tool import as_tool
    from shortlist.search.disclose import disclose
    from shortlist.search.discover import discover
    from shortlist.search.retrieve import search
    from shortlist.search.select import make_llm_selector, register_strategy, select
    from shortlist.server.client import BM25SClient
    from shortlist.sources import CorpusSource

__version__ = "0.1.0"

# Loaded on first use: importing the package costs no numpy.
_LAZY = {
    "Chat": "shortlist.answer.chat",
    "Memory": "shortlist.answer.memory",
    "OpenAIChat": "shortlist.answer.llm",
    "REFUSAL": "shortlist.answer.prompts",
    "ScriptedLLM": "shortlist.answer.llm",
    "agent_ask": "shortlist.answer.agent",
    "ask": "shortlist.answer.ask",
    "ingest": "shortlist.library.ingest",
    "BM25SClient": "shortlist.server.client",
    "BM25SRetriever": "shortlist.kits.retriever",
    "BM25SSettings": "shortlist._settings",
    "Corpus": "shortlist.index.corpus",
    "CorpusSource": "shortlist.sources",
    "CosineSimilarity": "shortlist.kits.tool_index",
    "InMemoryDocs": "shortlist.kits.in_memory_docs",
    "Scoring": "shortlist.index.lexical.bm25",
    "SearchQuery": "shortlist.kits.tool_index",
    "SearchResult": "shortlist.kits.tool_index",
    "SimpleEmbedder": "shortlist.kits.tool_index",
    "ToolIndex": "shortlist.kits.tool_index",
    "ToolRecord": "shortlist.kits.tool_index",
    "as_tool": "shortlist.search.corpus_tool",
    "build": "shortlist.library.opening",
    "create_corpus": "shortlist.index.corpus",
    "delete_corpus": "shortlist.index.location",
    "disclose": "shortlist.search.disclose",
    "discover": "shortlist.search.discover",
    "get_retriever": "shortlist.kits.retriever",
    "load_embedder": "shortlist.index.embedders.named",
    "make_llm_selector": "shortlist.search.select",
    "open_corpus": "shortlist.index.corpus",
    "register": "shortlist.library.registry",
    "register_strategy": "shortlist.search.select",
    "registered": "shortlist.library.registry",
    "retrieve_documents": "shortlist.kits.retriever",
    "search": "shortlist.search.retrieve",
    "select": "shortlist.search.select",
    "unregister": "shortlist.library.registry",
}
# `search` is a function here and a house below. Loaded once, the house does not take the function's place again.
importlib.import_module("shortlist.search")
globals().pop("search")

__all__ = [
    "LLM",
    "REFUSAL",
    "AgentTool",
    "Answer",
    "BM25SClient",
    "BM25SRetriever",
    "BM25SSettings",
    "Changes",
    "Chat",
    "Corpus",
    "CorpusBusy",
    "CorpusDamaged",
    "CorpusError",
    "CorpusMismatch",
    "CorpusNotFound",
    "CorpusSource",
    "CosineSimilarity",
    "Disclosure",
    "Discovery",
    "Document",
    "Embedder",
    "EmbedderError",
    "EngineError",
    "Evidence",
    "Hit",
    "Hits",
    "InMemoryDocs",
    "InputError",
    "LLMError",
    "Memory",
    "MissingExtra",
    "OpenAIChat",
    "Passage",
    "Problem",
    "Ranking",
    "RegistryDamaged",
    "Reply",
    "Scoring",
    "ScriptedLLM",
    "SearchQuery",
    "SearchResult",
    "Selection",
    "ServiceError",
    "ShortlistError",
    "SimpleEmbedder",
    "SourceError",
    "ToolIndex",
    "ToolRecord",
    "agent_ask",
    "as_tool",
    "ask",
    "build",
    "create_corpus",
    "delete_corpus",
    "disclose",
    "discover",
    "get_retriever",
    "ingest",
    "load_embedder",
    "make_llm_selector",
    "open_corpus",
    "register",
    "register_strategy",
    "registered",
    "retrieve_documents",
    "search",
    "select",
    "unregister",
]


# Houses and rooms that are known by a short name.
_MODULES = {"eval": "shortlist.eval", "eval_gen": "shortlist.eval_gen"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        module = globals()[name] = importlib.import_module(_MODULES[name])
        return module
    if name not in _LAZY:
        raise AttributeError(f"module 'shortlist' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
