"""Find the right few tools, skills and documents for an AI agent.

`__all__` lists the names to learn, in the order of the pipeline. Modules beside them: `shortlist.errors` (all errors),
`shortlist.eval` (evaluation) and `shortlist.compat` (the interfaces of earlier retrievers and registries).
"""

import importlib
import os
import warnings
from typing import Any

import lazy_loader

from shortlist import compat

__version__ = "0.2.0"

# transformers, which some embedders use, would otherwise load TensorFlow if that is installed.
os.environ.setdefault("USE_TF", "0")

# The types and homes of all names are in __init__.pyi; each is imported on first use, so that importing the package
# stays fast. Names that are not in __all__ still work: data types that are rarely written, and errors.
_load, _, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [  # noqa: RUF022  # in the order of the pipeline
    # Documents and corpora
    "Document",
    "CorpusSource",
    "Corpus",
    "build",
    "ingest",
    "create_corpus",
    "open_corpus",
    "delete_corpus",
    "register",
    "registered",
    "unregister",
    # Search
    "search",
    "search_many",
    "select",
    "disclose",
    "discover",
    "as_tool",
    "register_strategy",
    "make_llm_selector",
    "Hit",
    "Hits",
    "Selection",
    "Disclosure",
    "Discovery",
    "AgentTool",
    "Embedder",
    # Answers
    "ask",
    "agent_ask",
    "Chat",
    "Memory",
    "Answer",
    "REFUSAL",
    "LLM",
    "OpenAIChat",
    "ScriptedLLM",
    # Evaluation and errors
    "eval",
    "ShortlistError",
    "InputError",
    "CorpusNotFound",
]

_MOVED = {name: "shortlist.compat" for name in compat.__all__} | {"Ranking": "shortlist.results"}


def __getattr__(name: str) -> Any:
    home = _MOVED.get(name)
    if home is None:
        return _load(name)
    warnings.warn(f"shortlist.{name} is deprecated. Use {home}.{name}.", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(home), name)  # not stored here, so that every use warns


def __dir__() -> list[str]:
    return [*__all__, "compat", "errors"]
