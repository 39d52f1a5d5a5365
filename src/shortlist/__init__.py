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

from __future__ import annotations

import functools
import importlib
import os

TYPE_CHECKING = False  # importing typing takes 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__version__ = "0.3.0"

# transformers, which some embedders use, would otherwise load TensorFlow if that is installed.
os.environ.setdefault("USE_TF", "0")

# Names that work but need not be learned: modules, types that are rarely written, and errors that are rarely caught.
_OTHERS = {
    *("compat", "errors", "eval_gen", "gateway_app", "load_embedder", "migrate", "sign_in"),
    *("Changes", "Evidence", "Passage", "Problem", "Reply", "Scoring"),
    *("CorpusBusy", "CorpusDamaged", "CorpusError", "CorpusMismatch", "EmbedderError", "EngineError", "LLMError"),
    *("MissingExtra", "QueryTooLong", "RegistryDamaged", "ServiceError", "SourceError"),
}


@functools.cache
def _attach() -> tuple[Callable[[str], Any], list[str], dict[str, str]]:
    """What loads a name, all names, and the home of each name that has moved.

    The names and their homes are in __init__.pyi, which takes 10 ms to read: the command line does without.
    """
    import lazy_loader  # noqa: PLC0415

    load, _, names = lazy_loader.attach_stub(__name__, __file__)
    moved = dict.fromkeys(importlib.import_module("shortlist.compat").__all__, "shortlist.compat")
    return load, names, moved | {"Ranking": "shortlist.results"}


def __getattr__(name: str) -> Any:
    if name.startswith("_") and name != "__all__":  # a module of ours that is imported for the first time
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    load, names, moved = _attach()
    if name == "__all__":
        return [one for one in names if one not in _OTHERS and one not in moved]
    if name not in moved:
        return load(name)
    import warnings  # noqa: PLC0415

    home = moved[name]
    warnings.warn(f"shortlist.{name} is deprecated. Use {home}.{name}.", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(home), name)  # not stored here, so that every use warns


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "compat", "errors"]
