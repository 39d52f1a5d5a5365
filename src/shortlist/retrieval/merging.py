"""Merging the hits of several corpora."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
    """Merge the hits of several corpora, best first: in "auto" by relevance.

    Lexical scores of several corpora are divided by the score of a perfect match in their corpus.
    """
    hits = [hit for part in found for hit in _rescore(part, mode)]
    if len(found) > 1 or mode == "auto":
        hits.sort(key=lambda hit: -hit.score)
    return Hits(hits[:k], query=query, mode=mode)


def _rescore(found: CorpusHits, mode: str) -> list[Hit]:
    if mode == "auto":  # a service of an earlier version has other scores
        return [hit if hit.score == hit.relevance else replace(hit, score=hit.relevance or 0.0) for hit in found.hits]
    if found.perfect == 1.0:
        return found.hits
    return [replace(hit, score=hit.score / found.perfect) for hit in found.hits]
