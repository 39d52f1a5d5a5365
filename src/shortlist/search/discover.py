"""The one call of an agent: retrieve, select, disclose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.index.engines import Progress
from shortlist.search.corpora import Searchable
from shortlist.search.disclose import disclose
from shortlist.search.filter import Filter
from shortlist.search.retrieve import Found, merge, retrieve
from shortlist.search.select import select
from shortlist.types import Discovery, Level, Mode, Selection, Selector


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
    progress: Progress | None = None,
    **selection: Any,
) -> Discovery:
    """The few things that fit the query, disclosed, or an abstention.

    `min_score` is the floor under the best score; "auto" takes the one that was calibrated for this corpus and mode,
    of several corpora for each its own. `progress` is that of `search`, further options are those of `select`: max_k,
    rel, gap_ratio, temperature, cutoff.
    """
    if isinstance(min_score, str) and min_score != "auto":
        raise InputError(f"min_score is a number, None or 'auto', not {min_score!r}.")
    found = retrieve(corpus, query, mode, k, filter, progress)
    chosen = choose(found, query, mode, k, strategy, min_score, **selection)
    return Discovery(query, mode, disclose(chosen, level), chosen.reason, chosen.signals, merge(found, query, mode, k))


def choose(
    found: list[Found],
    query: str,
    mode: Mode,
    k: int,
    strategy: str | Selector,
    min_score: float | Literal["auto"] | None,
    **selection: Any,
) -> Selection:
    """What `discover` commits to of what was found."""
    calibrated = [one.corpus.floor(mode) for one in found] if min_score == "auto" else []
    floors = [floor.value for floor in calibrated] if min_score == "auto" else [min_score for _ in found]
    each_its_own = min_score == "auto" and len(found) > 1
    judged = [
        (one, nothing_known(one) or _below(one, floor if each_its_own else None))
        for one, floor in zip(found, floors, strict=True)
    ]
    fitting = [one for one, refusal in judged if not refusal]
    left_out = {one.corpus.name: refusal for one, refusal in judged if refusal}
    # where nothing fits there is nothing to choose from, but a wrong argument is wrong all the same
    among = merge(fitting, query, mode, k)
    chosen = select(among, strategy, min_score=None if each_its_own else floors[0], **selection)
    if not fitting:
        chosen = _nothing(left_out)
    signals = dict(chosen.signals)
    if left_out and len(found) > 1:
        signals["left_out"] = {name: refusal.reason for name, refusal in left_out.items()}
    if min_score == "auto" and None in floors:
        signals["floor"] = "not calibrated for this corpus and mode"
    elif doubts := [floor.doubt for floor in calibrated if floor.doubt]:
        signals["floor"] = " ".join(doubts)
    return Selection(chosen.selected, chosen.reason, signals)


def _below(found: Found, floor: float | None) -> Selection | None:
    """An abstention of one corpus among several when its best hit is below its own floor."""
    if not found.hits or floor is None or found.hits[0].score >= floor:
        return None
    best = found.hits[0]
    return Selection([], f"Its best score, {best.score:.4g} ({best.name}), is below its floor of {floor:.4g}.")


def _nothing(refused: Mapping[str, Selection]) -> Selection:
    """The abstention of a corpus, or of several."""
    if len(refused) == 1:
        return next(iter(refused.values()))
    reasons = " ".join(f"{name}: {refusal.reason}" for name, refusal in refused.items())
    return Selection([], f"Nothing fits in any of {len(refused)} corpora. {reasons}", {"corpora": len(refused)})


def _noise(corpus: Corpus, passages: int) -> float:
    """The cosine that the nearest of so many passages reaches by accident; 0 where it was never measured."""
    among_ten, growth = getattr(corpus.embedder, "noise", (0.0, 0.0))
    return float(among_ten + growth * math.log10(passages / 10))


def nothing_known(found: Found) -> Selection | None:
    """An abstention when the query holds only stop words, or no word that occurs and no meaning that comes near.

    Any text has some nearest neighbour; below the embedder's noise it is an accident.
    """
    corpus, hits = found.corpus, found.hits
    if not hits:
        return None
    with corpus.snapshot() as snapshot:
        lexical = snapshot.lexical
        says_something = lexical.analyzer.says_something(hits.query)
        known = lexical.knows(lexical.analyzer.terms(hits.query))
        named = not (says_something and known) and len(lexical.named(hits.query)) > 0
    signals = {"candidates": len(hits)}
    if not says_something and not named:
        return Selection([], "There is nothing in the query to search for.", signals)
    noise = _noise(corpus, lexical.live)
    nearest = max(hit.signals.get("dense", 0.0) for hit in hits)
    if not known and not named and nearest <= noise:
        reason = "No word of the query is known here, and nothing comes near its meaning."
        return Selection([], reason, signals | {"nearest": nearest, "noise": noise})
    return None
