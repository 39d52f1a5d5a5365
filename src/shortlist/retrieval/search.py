"""Search: check the query, open the corpora, retrieve from each and merge their hits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

from shortlist._limits import check_length
from shortlist._telemetry import traced
from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.library.opening import CorpusState, Searchable, open_corpora, open_states
from shortlist.protocols import ProgressOption
from shortlist.results import Hit, Hits, Mode
from shortlist.retrieval.corpus_hits import (
    CorpusHits,
    read_best,
    refuse_unknown,
    retrieve,
    retrieve_from_state,
    retrieve_many,
    retrieve_masked,
)
from shortlist.retrieval.filters import Filter, allowed
from shortlist.retrieval.merging import check_comparable, merge
from shortlist.retrieval.options import SearchOptions, check_count, check_mode, combine_options

# Number of candidates that a reranker sees: this many times k, but at least the second number.
RERANKED_TIMES_K = 5
RERANKED_AT_LEAST = 50

# From this many passages with vectors on, queries of a batch run in several threads.
PARALLEL_FROM = 50_000

Reranker = Callable[[str, list[Hit]], Sequence[Hit]]


@traced("search", lambda hits: {"mode": hits.mode, "hits": len(hits)})
def search(
    corpus: Searchable,
    query: str,
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    rerank: Reranker | None = None,
    language: str | None = None,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
) -> Hits:
    """Find the k documents that match the query best.

    `corpus` is a Corpus, its name or path, a tuple of these, or a list or mapping of texts or Documents. `mode` is
    "lexical" (BM25), "dense" (cosine), "hybrid" (reciprocal rank fusion of both) or "auto" (a blend of both, the best
    in our measurements). `filter` is a condition on metadata, such as {"access": "read"}. With `exact`, all vectors are
    compared; by default, among 100,000 or more, about one in a hundred of the nearest may be missing. `language` is the
    code of the language of a list or mapping of texts; by default that of each one is detected. `progress` is called
    while a named corpus is built on first use. `options` are `mode`, `k`, `filter` and `exact` in one object.

    `rerank(query, hits)` gets at least 50 candidates and returns those to keep, best first: with new scores
    (`dataclasses.replace(hit, score=...)`), or in a new order, which then scores 1/rank. The original score stays in
    `hit.signals["retrieved"]`.
    """
    options = combine_options(options, mode=mode, k=k, filter=filter, exact=exact)
    mode, k, filter, exact = options.mode, options.k, options.filter, options.exact
    with open_query(corpus, query, mode, k, progress, language) as states:
        depth = max(RERANKED_TIMES_K * k, RERANKED_AT_LEAST) if rerank and k else k
        hits = _conclude(retrieve(states, query, mode, depth, filter, exact=exact), query, mode, depth)
    if rerank:
        hits[:] = _rerank(rerank, hits)[:k]
    return hits


def search_many(
    corpus: Searchable,
    queries: Iterable[str],
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
) -> list[Hits]:
    """Search for several queries: the hits of each, in the order of the queries, as `search` finds them.

    All queries read one state of each corpus. Keyword rankings of local corpora and semantic searches of large ones run
    on all processor cores.
    """
    if isinstance(queries, str):
        raise InputError(f"search_many takes a list of queries, not {queries!r}. Use search for one query.")
    queries = list(queries)
    options = combine_options(options, mode=mode, k=k, filter=filter, exact=exact)
    mode, k, filter, exact = options.mode, options.k, options.filter, options.exact
    for query in queries:
        check_query(query, mode, k)
    with open_query(corpus, "", mode, k, progress) as states:
        masks = [allowed(state, filter) for _, state in states]

        def search_one(query: str) -> Hits:
            return _conclude(retrieve_masked(states, masks, query, mode, k, exact=exact), query, mode, k)

        # Python runs in one thread at a time, so threads gain only if most of the time is spent comparing vectors.
        can_share = all(state.can_share_threads for _, state in states)
        is_large = mode != "lexical" and sum(state.size for _, state in states if state.has_vectors) >= PARALLEL_FROM
        threads = min(len(queries), os.cpu_count() or 1)
        if can_share and is_large and threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                return list(pool.map(search_one, queries))
        found = retrieve_many(states, masks, queries, mode, k, exact=exact)
        return [_conclude(parts, query, mode, k) for query, parts in zip(queries, found, strict=True)]


def _conclude(found: Sequence[CorpusHits], query: str, mode: Mode, k: int) -> Hits:
    """The merged hits, with a note if every corpus with hits refuses the query."""
    hits = merge(found, query, mode, k)
    reasons = [refusal.reason if (refusal := refuse_unknown(part)) else "" for part in found if part.hits]
    hits.note = reasons[0] if all(reasons) and reasons else ""
    return hits


def _rerank(rerank: Reranker, hits: Hits) -> list[Hit]:
    found = {(hit.corpus, hit.id): hit for hit in hits}
    kept = list(rerank(hits.query, list(hits)))
    for hit in kept:
        if not isinstance(hit, Hit) or (hit.corpus, hit.id) not in found:
            raise InputError(f"rerank must return hits from the list it received, not {hit!r}.")
    if any(after.score > before.score for before, after in pairwise(kept)):
        kept = [replace(hit, score=1 / rank) for rank, hit in enumerate(kept, 1)]
    return [replace(hit, signals={**hit.signals, "retrieved": found[hit.corpus, hit.id].score}) for hit in kept]


@contextmanager
def open_query(
    corpus: Searchable,
    query: str,
    mode: Mode,
    k: int,
    progress: ProgressOption = None,
    language: str | None = None,
) -> Iterator[list[CorpusState]]:
    """Open the corpora, each in the one state that the whole query reads."""
    check_query(query, mode, k)
    opened = open_corpora(corpus, needs_vectors=mode != "lexical", progress=progress, language=language)
    with open_states(opened) as states:
        check_comparable(states, mode)
        yield states


def check_query(query: str, mode: str, k: int) -> None:
    check_mode(mode)
    check_count("k", k, least=0)
    if not isinstance(query, str):
        raise InputError(f"A query must be a string, not {type(query).__name__}.")
    check_length(query)


def search_with_facts(
    corpus: Corpus, query: str, mode: Mode, k: int, filter: Filter | None, *, exact: bool = False
) -> dict[str, Any]:
    """The hits of one corpus, as plain data, and what makes them comparable with those of other corpora."""
    with open_query(corpus, query, mode, k) as ((_, state),):
        mask = allowed(state, filter)
        (found,) = read_best(
            [retrieve_from_state(corpus, state, query, mode, k, mask, beside_others=True, exact=exact)], k
        )
        return found.hits.to_dict() | {"facts": found.describe().to_dict()}
