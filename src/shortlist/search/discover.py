"""The one call of an agent: retrieve, select, disclose."""

from __future__ import annotations

import math
from typing import Any, Literal

from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.search.corpora import Searchable, resolve
from shortlist.search.disclose import disclose
from shortlist.search.filter import Filter
from shortlist.search.retrieve import search
from shortlist.search.select import select
from shortlist.types import Discovery, Hits, Level, Mode, Selection, Selector


def discover(
    corpus: Searchable,
    query: str,
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    strategy: str | Selector = "conservative",
    min_score: float | Literal["auto"] | None = None,
    level: Level = "metadata",
    **selection: Any,
) -> Discovery:
    """The few things that fit the query, disclosed, or an abstention.

    `min_score` is the floor under the best score; "auto" takes the one that was calibrated for this corpus and mode.
    Further options are those of `select`: max_k, rel, gap_ratio, temperature, cutoff.
    """
    found = resolve(corpus, needs_vectors=mode != "lexical")
    hits = search(found, query, mode, k, filter)
    floor = _floor(found, mode, min_score)
    unknown = _unknown(found, hits) if hits else None
    # of an unknown query there is nothing to choose from, but a wrong argument is wrong all the same
    chosen = select(Hits() if unknown else hits, strategy, min_score=floor, **selection)
    chosen = unknown or chosen
    signals = dict(chosen.signals)
    if min_score == "auto" and floor is None:
        signals["floor"] = "not calibrated for this corpus and mode"
    return Discovery(query, mode, disclose(chosen, level), chosen.reason, signals, hits)


def _floor(corpus: Corpus, mode: Mode, min_score: float | Literal["auto"] | None) -> float | None:
    if min_score == "auto":
        return corpus.config.floors.get(mode)
    if isinstance(min_score, str):
        raise InputError(f"min_score is a number, None or 'auto', not {min_score!r}.")
    return min_score


def _noise(corpus: Corpus, passages: int) -> float:
    """The cosine that the nearest of so many passages reaches by accident; 0 where it was never measured."""
    among_ten, growth = getattr(corpus.embedder, "noise", (0.0, 0.0))
    return float(among_ten + growth * math.log10(passages / 10))


def _unknown(corpus: Corpus, hits: Hits) -> Selection | None:
    """An abstention when the query holds only stop words, or no word that occurs and no meaning that comes near.

    Any text has some nearest neighbour; below the embedder's noise it is an accident.
    """
    with corpus.snapshot() as snapshot:
        lexical = snapshot.lexical
        named = len(lexical.named(hits.query)) > 0
        known = lexical.knows(lexical.analyzer.terms(hits.query))
    signals = {"candidates": len(hits)}
    if not lexical.analyzer.says_something(hits.query) and not named:
        return Selection([], "There is nothing in the query to search for.", signals)
    noise = _noise(corpus, lexical.live)
    nearest = max(hit.signals.get("dense", 0.0) for hit in hits)
    if not known and not named and nearest <= noise:
        reason = "No word of the query is known here, and nothing comes near its meaning."
        return Selection([], reason, signals | {"nearest": nearest, "noise": noise})
    return None
