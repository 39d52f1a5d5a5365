"""Finds, for an AI agent, the few right things among many. The names, in the order of the pipeline:

source    Document, CorpusSource
names     register, unregister, registered
index     build, open_corpus, create_corpus, Corpus
retrieve  search
select    select, make_llm_selector
disclose  disclose
all       discover
judge     eval, eval_gen (modules)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from shortlist.errors import (
    CorpusBusy,
    CorpusDamaged,
    CorpusError,
    CorpusMismatch,
    CorpusNotFound,
    EmbedderError,
    InputError,
    MissingExtra,
    RegistryDamaged,
    ShortlistError,
    SourceError,
)
from shortlist.types import (
    Changes,
    Disclosure,
    Discovery,
    Document,
    Embedder,
    Hit,
    Hits,
    Passage,
    Problem,
    Ranking,
    Selection,
)

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus, create_corpus, delete_corpus, open_corpus
    from shortlist.index.embed import load_embedder
    from shortlist.index.formulas import Scoring
    from shortlist.search.corpora import build
    from shortlist.search.disclose import disclose
    from shortlist.search.discover import discover
    from shortlist.search.registry import register, registered, unregister
    from shortlist.search.retrieve import search
    from shortlist.search.select import make_llm_selector, select
    from shortlist.sources import CorpusSource

__version__ = "0.1.0"

# Loaded on first use: importing the package costs no numpy.
_LAZY = {
    "Corpus": "shortlist.index.corpus",
    "CorpusSource": "shortlist.sources",
    "Scoring": "shortlist.index.formulas",
    "build": "shortlist.search.corpora",
    "create_corpus": "shortlist.index.corpus",
    "delete_corpus": "shortlist.index.corpus",
    "disclose": "shortlist.search.disclose",
    "discover": "shortlist.search.discover",
    "load_embedder": "shortlist.index.embed",
    "make_llm_selector": "shortlist.search.select",
    "open_corpus": "shortlist.index.corpus",
    "register": "shortlist.search.registry",
    "registered": "shortlist.search.registry",
    "search": "shortlist.search.retrieve",
    "select": "shortlist.search.select",
    "unregister": "shortlist.search.registry",
}
# `search` is a function here and a house below. Loaded once, the house does not take the function's place again.
importlib.import_module("shortlist.search")
globals().pop("search")

__all__ = [
    "Changes",
    "Corpus",
    "CorpusBusy",
    "CorpusDamaged",
    "CorpusError",
    "CorpusMismatch",
    "CorpusNotFound",
    "CorpusSource",
    "Disclosure",
    "Discovery",
    "Document",
    "Embedder",
    "EmbedderError",
    "Hit",
    "Hits",
    "InputError",
    "MissingExtra",
    "Passage",
    "Problem",
    "Ranking",
    "RegistryDamaged",
    "Scoring",
    "Selection",
    "ShortlistError",
    "SourceError",
    "build",
    "create_corpus",
    "delete_corpus",
    "disclose",
    "discover",
    "load_embedder",
    "make_llm_selector",
    "open_corpus",
    "register",
    "registered",
    "search",
    "select",
    "unregister",
]


# Houses and rooms that are known by a short name.
_MODULES = {"eval": "shortlist.eval", "eval_gen": "shortlist.eval.generate"}


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
