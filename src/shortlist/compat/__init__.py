"""The names of earlier retrievers, registries and search tools, with the interfaces that their users know.

Each is imported on first use. The types are in __init__.pyi.
"""

import importlib
from typing import Any

_HOMES = {
    "BM25SClient": "shortlist.compat.retriever_client",
    "BM25SRetriever": "shortlist.compat.retriever",
    "BM25SSettings": "shortlist.compat.retriever_settings",
    "CosineSimilarity": "shortlist.compat.tool_index",
    "InMemoryDocs": "shortlist.compat.in_memory_docs",
    "SearchQuery": "shortlist.compat.tool_index",
    "SearchResult": "shortlist.compat.tool_index",
    "SimpleEmbedder": "shortlist.compat.tool_index",
    "ToolIndex": "shortlist.compat.tool_index",
    "ToolRecord": "shortlist.compat.tool_index",
    "get_retriever": "shortlist.compat.retriever",
    "retrieve_documents": "shortlist.compat.retriever",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
