"""Merging the hits of several corpora."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from shortlist.errors import InputError
from shortlist.library.opening import CorpusState
from shortlist.results import Hit, Hits, Mode
from shortlist.retrieval.corpus_hits import CorpusHits


def check_comparable(states: Sequence[CorpusState], mode: Mode) -> None:
    if mode == "dense" and len(models := {one.state.config.embedder_name for one in states}) > 1:
        raise InputError(
            f"These corpora use different embedders ({', '.join(sorted(models))}), whose cosines cannot be compared. "
            f"Use mode 'auto' or 'hybrid', or search them one at a time."
        )


def merge(found: Sequence[CorpusHits], query: str, mode: str, k: int) -> Hits:
    """Merge the hits of several corpora, best first. Documents that the query names are always included.

    Lexical scores of several corpora are divided by the score of a perfect match in their corpus. The scores of "auto"
    are compared directly if the corpora have the same embedder; else the score of a hit becomes the best relevance
    from it on, so that every corpus keeps its order.
    """
    if len(found) == 1 and not found[0].named and found[0].perfect == 1.0:
        return Hits(found[0].hits[:k], query=query, mode=mode)
    embedders = {one.embedder_name for one in found if one.hits}
    rescore = _score_by_relevance if mode == "auto" and len(embedders) > 1 else _score_by_share
    hits = [(hit, hit.id in one.named) for one in found for hit in rescore(one)]
    hits.sort(key=lambda pair: -pair[0].score)
    kept = sorted(hits, key=lambda pair: not pair[1])[:k]
    return Hits(sorted((hit for hit, _ in kept), key=lambda hit: -hit.score), query=query, mode=mode)


def _score_by_relevance(found: CorpusHits) -> list[Hit]:
    best = list(accumulate((hit.relevance or 0.0 for hit in reversed(found.hits)), max))[::-1]
    scores = (best[at] if hit.score > 0 else hit.score for at, hit in enumerate(found.hits))  # at 0, nothing matches
    return [replace(hit, score=score) for hit, score in zip(found.hits, scores, strict=True)]


def _score_by_share(found: CorpusHits) -> list[Hit]:
    if found.perfect == 1.0:
        return found.hits
    return [replace(hit, score=hit.score / found.perfect) for hit in found.hits]
