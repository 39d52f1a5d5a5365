"""Search and discovery for asynchronous programs: the work runs in a thread and ends if its caller is canceled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from shortlist._limits import run_in_thread
from shortlist.library.opening import Searchable
from shortlist.protocols import ProgressOption
from shortlist.results import Discovery, Filter, Hits, Level, Loader, MinRelevance, Mode, Selector, accept_min_score
from shortlist.retrieval.discover import discover
from shortlist.retrieval.options import STRATEGY, K, SearchOptions, SelectKeywords
from shortlist.retrieval.search import Reranker, search


async def asearch(
    corpus: Searchable,
    query: str,
    mode: Mode = "auto",
    k: int = K,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    rerank: Reranker | None = None,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
) -> Hits:
    """Search as `search` does, without blocking the event loop. `rerank` and `progress` are called in a thread."""
    return await run_in_thread(
        lambda: search(corpus, query, mode, k, filter, exact=exact, rerank=rerank, progress=progress, options=options)
    )


@accept_min_score
async def adiscover(
    corpus: Searchable,
    query: str,
    mode: Mode = "auto",
    k: int = K,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    strategy: str | Selector = STRATEGY,
    min_relevance: MinRelevance = "auto",
    level: Level = "metadata",
    disclose_level: Level | None = None,
    loader: Loader | None = None,
    roots: Sequence[str | Path] | None = None,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
    **selection: Unpack[SelectKeywords],
) -> Discovery:
    """Discover as `discover` does, without blocking the event loop. Functions passed to it are called in a thread."""
    return await run_in_thread(
        lambda: discover(
            corpus,
            query,
            mode,
            k,
            filter,
            exact=exact,
            strategy=strategy,
            min_relevance=min_relevance,
            level=level,
            disclose_level=disclose_level,
            loader=loader,
            roots=roots,
            progress=progress,
            options=options,
            **selection,
        )
    )
