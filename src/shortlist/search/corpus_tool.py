"""A corpus as a tool that a model can call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import AgentTool
from shortlist.results import Level
from shortlist.search.discover import discover

K = 3
MOST = 20


def as_tool(
    corpus: Searchable,
    *,
    name: str | None = None,
    description: str | None = None,
    k: int = K,
    level: Level = "body",
    **options: Any,
) -> AgentTool:
    """Whatever `search` takes, as a tool that returns the few things that fit, or says that nothing does.

    A model may ask for another number of results than `k`, up to 20. `level` is how much it is shown of each. Further
    options are those of `discover`: mode, filter, strategy, min_score, rel and so on.
    """
    k = parse_count(k, "k", most=MOST)
    corpora = open_corpora(corpus, needs_vectors=True)
    asked: Searchable = corpus if isinstance(corpus, str | Path) else corpora  # a name may mean a new corpus later

    def run(query: Any, top_k: Any = None) -> dict[str, Any]:
        if not isinstance(query, str) or not query.strip():
            raise InputError(f"The argument 'query' says in words what is needed; it is not {query!r}.")
        wanted = k if top_k is None else parse_count(top_k, "top_k", most=MOST)
        found = discover(asked, query, k=max(wanted, 10), level=level, max_k=wanted, **{"min_score": "auto", **options})
        return {
            "query": query,
            "abstained": found.abstained,
            "reason": found.reason,
            "results": [item.to_dict() for item in found.results],
            **{name: found.signals[name] for name in ("near_misses", "try") if name in found.signals},
        }

    top_k_text = f"The most results to return; {k} if left out."
    parameters = search_parameters("What is needed, in words.", top_k_text, k, MOST)
    return AgentTool(name or _name(corpora), description or _description(corpora), parameters, run)


def search_parameters(query: str, top_k: str, default: int, most: int) -> dict[str, Any]:
    """The JSON Schema of a query and a number of results, with their descriptions."""
    count = {"type": "integer", "description": top_k, "minimum": 1, "maximum": most, "default": default}
    return {
        "type": "object",
        "properties": {"query": {"type": "string", "description": query}, "top_k": count},
        "required": ["query"],
        "additionalProperties": False,
    }


def parse_count(value: Any, name: str, *, most: int) -> int:
    """A number as a model may write it, "3" or 3.0, and no more than there can be; below 1 or no number is an error."""
    try:
        number = int(value)
        if isinstance(value, bool) or number < 1 or (isinstance(value, float) and value != number):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is a whole number from 1 to {most}, not {value!r}.") from None
    return min(number, most)


def _name(corpora: list[Corpus]) -> str:
    names = "_".join(corpus.name for corpus in corpora)
    plain = re.sub(r"[^A-Za-z0-9]+", "_", names).strip("_")[:57].strip("_")
    return f"search_{plain}" if plain else "search"


def _description(corpora: list[Corpus]) -> str:
    parts = []
    for corpus in corpora:
        counted = ", ".join(f"{count:,} of kind {kind}" for kind, count in corpus.kinds().items())
        parts.append(f"{corpus.name} holds {counted or 'nothing yet'}")
    return f"Finds the few things that fit a need among many, or says that nothing does. {'; '.join(parts)}."
