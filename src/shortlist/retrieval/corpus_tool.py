"""A corpus as a tool that a model can call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import AgentTool
from shortlist.results import Filter, Level, Loader, MinRelevance, Mode, Selector, accept_min_score
from shortlist.retrieval.agent_actions import describe_doubt
from shortlist.retrieval.discover import discover
from shortlist.retrieval.options import CUTOFF, GAP_RATIO, REL, STRATEGY, TEMPERATURE, SearchOptions

MOST = 20


@accept_min_score
def as_tool(
    corpus: Searchable,
    *,
    name: str | None = None,
    description: str | None = None,
    k: int | None = None,
    level: Level = "body",
    mode: Mode = "auto",
    filter: Filter | None = None,
    strategy: str | Selector = STRATEGY,
    min_relevance: MinRelevance = "auto",
    rel: float = REL,
    gap_ratio: float = GAP_RATIO,
    temperature: float = TEMPERATURE,
    cutoff: float = CUTOFF,
    loader: Loader | None = None,
    roots: Sequence[str | Path] | None = None,
) -> AgentTool:
    """Make a search tool for a model: it returns the few documents that match, or reports that none does.

    `k` is the number of results, by default 1 to 5 as in `discover`; a model may ask for another number, up to 20.
    `level` is how much of each result is disclosed. The other options are those of `discover`. The tool stores no
    searches, since it does not see what is used; report that with `Corpus.learn`.
    """
    k = None if k is None else parse_count(k, "k", most=MOST)
    options = SearchOptions(
        mode=mode,
        filter=filter,
        strategy=strategy,
        max_k=k,
        min_relevance=min_relevance,
        rel=rel,
        gap_ratio=gap_ratio,
        temperature=temperature,
        cutoff=cutoff,
        level=level,
    )
    corpora = open_corpora(corpus, needs_vectors=True)
    asked: Searchable = corpus if isinstance(corpus, str | Path) else corpora  # a name is opened again for each call

    def run(query: Any, top_k: Any = None) -> dict[str, Any]:
        if not isinstance(query, str) or not query.strip():
            raise InputError(f"'query' must be a non-empty string, not {query!r}.")
        wanted = k if top_k is None else parse_count(top_k, "top_k", most=MOST)
        found = discover(asked, query, loader=loader, roots=roots, options=replace(options, max_k=wanted))
        return {
            "query": query,
            "abstained": found.abstained,
            "reason": found.reason,
            **describe_doubt(found),
            "results": [item.to_dict() for item in found.results],
            **{name: found.signals[name] for name in ("near_misses", "try") if name in found.signals},
        }

    top_k_text = f"Number of results (default {k or '1 to 5, as many as fit'})."
    parameters = search_parameters("What you need, in words.", top_k_text, k, MOST)
    return AgentTool(name or _name(corpora), description or _description(corpora), parameters, run)


def search_parameters(query: str, top_k: str, default: int | None, most: int) -> dict[str, Any]:
    """The JSON Schema of a query and a number of results, with their descriptions."""
    count = {"type": "integer", "description": top_k, "minimum": 1, "maximum": most}
    count |= {} if default is None else {"default": default}
    return {
        "type": "object",
        "properties": {"query": {"type": "string", "description": query}, "top_k": count},
        "required": ["query"],
        "additionalProperties": False,
    }


def parse_count(value: Any, name: str, *, most: int) -> int:
    """Parse a count as models write it (3, "3" or 3.0), capped at `most`."""
    try:
        number = int(value)
        if isinstance(value, bool) or number < 1 or (isinstance(value, float) and value != number):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be an integer from 1 to {most}, not {value!r}.") from None
    return min(number, most)


def _name(corpora: list[Corpus]) -> str:
    names = "_".join(corpus.name for corpus in corpora)
    plain = re.sub(r"[^A-Za-z0-9]+", "_", names).strip("_")[:57].strip("_")
    return f"search_{plain}" if plain else "search"


def _description(corpora: list[Corpus]) -> str:
    parts = []
    for corpus in corpora:
        counted = ", ".join(f"{count:,} of kind {kind}" for kind, count in corpus.kinds().items())
        parts.append(f"{corpus.name} has {counted or 'no documents yet'}")
    return f"Find the few items that match a need, or report that none does. {'; '.join(parts)}."
