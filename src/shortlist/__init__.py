"""Find the right few tools, skills and documents for an AI agent.

`__all__` lists the names to learn:

corpora    build, open_corpus, create_corpus, delete_corpus, ingest, register, registered, unregister
search     search, search_many, select, disclose, discover, as_tool; their settings are SearchOptions
answers    ask, agent_ask, Chat
async      asearch, adiscover, aask
seams      CorpusSource, Embedder, LLM, OpenAIChat, ScriptedLLM, register_strategy, make_llm_selector
data       Document, Corpus, Hit, Hits, Selection, Disclosure, Discovery, Answer, Memory, AgentTool, REFUSAL

Beside them are `shortlist.errors` (all errors), `shortlist.eval` (evaluation) and `shortlist.compat` (the interfaces of
earlier retrievers and registries).
"""

import importlib
import os
import warnings
from typing import Any

import lazy_loader

from shortlist import compat

__version__ = "0.3.0"

# transformers, which some embedders use, would otherwise load TensorFlow if that is installed.
os.environ.setdefault("USE_TF", "0")

# The names and their homes are in __init__.pyi; each is imported on first use, so that importing the package is fast.
_load, _, _names = lazy_loader.attach_stub(__name__, __file__)

# Names that work but need not be learned: modules, types that are rarely written, and errors that are rarely caught.
_OTHERS = {
    *("compat", "errors", "eval_gen", "gateway_app", "load_embedder", "migrate", "sign_in"),
    *("Changes", "Evidence", "Passage", "Problem", "Reply", "Scoring"),
    *("CorpusBusy", "CorpusDamaged", "CorpusError", "CorpusMismatch", "EmbedderError", "EngineError", "LLMError"),
    *("MissingExtra", "QueryTooLong", "RegistryDamaged", "ServiceError", "SourceError"),
}
_MOVED = dict.fromkeys(compat.__all__, "shortlist.compat") | {"Ranking": "shortlist.results"}

__all__ = [name for name in _names if name not in _OTHERS and name not in _MOVED]


def __getattr__(name: str) -> Any:
    home = _MOVED.get(name)
    if home is None:
        return _load(name)
    warnings.warn(f"shortlist.{name} is deprecated. Use {home}.{name}.", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(home), name)  # not stored here, so that every use warns


def __dir__() -> list[str]:
    return [*__all__, "compat", "errors"]
