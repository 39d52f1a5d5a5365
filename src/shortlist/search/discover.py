"""The one call of an agent: retrieve, select, disclose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.index.engine import Progress
from shortlist.index.text.query_terms import weight_of
from shortlist.library.opening import Searchable
from shortlist.results import Discovery, Level, Mode, Selection, Selector
from shortlist.search.disclose import Loader, disclose
from shortlist.search.filters import Filter
from shortlist.search.relevance import FLOOR
from shortlist.search.retrieve import Found, merge, retrieve
from shortlist.search.select import select

NEAR_MISSES = 3


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
    loader: Loader | None = None,
    roots: Sequence[str | Path] | None = None,
    progress: Progress | None = None,
    **selection: Any,
) -> Discovery:
    """The few things that fit the query, disclosed, or an abstention.

    `min_score` is the floor under the best score. "auto" takes the one that was calibrated for this corpus and mode,
    else the floor that is shipped for the relevance of the best hit; of several corpora for each its own. An
    abstention tells in its signals what came near, what was searched and what to try. `progress` is that of `search`;
    `level`, `loader` and `roots` are those of `disclose`; further options are those of `select`: max_k, rel,
    gap_ratio, temperature, cutoff.
    """
    if isinstance(min_score, str) and min_score != "auto":
        raise InputError(f"min_score is a number, None or 'auto', not {min_score!r}.")
    found = retrieve(corpus, query, mode, k, filter, progress)
    chosen = choose(found, query, mode, k, strategy, min_score, **selection)
    shown = disclose(chosen, level, loader=loader, roots=roots)
    return Discovery(query, mode, shown, chosen.reason, chosen.signals, merge(found, query, mode, k))


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
    floors = [_floor(one.corpus, mode, min_score) for one in found]
    several = len(found) > 1
    each_its_own = several and min_score == "auto"
    judged = [
        (one, nothing_known(one) or _below(one, floor, each_its_own=each_its_own))
        for one, floor in zip(found, floors, strict=True)
    ]
    fitting = [one for one, refusal in judged if not refusal]
    left_out = {one.corpus.name: refusal for one, refusal in judged if refusal}
    # where nothing fits there is nothing to choose from, but a wrong argument is wrong all the same
    among = merge(fitting, query, mode, k)
    chosen = select(among, strategy, min_score=None if each_its_own else floors[0].score, **selection)
    if left_out and not any(one.hits for one in fitting):
        chosen = _nothing(left_out)
    signals = dict(chosen.signals)
    if left_out and several:
        signals["left_out"] = {name: refusal.reason for name, refusal in left_out.items()}
    if notes := [floor.note for floor in floors if floor.note]:
        signals["floor"] = " ".join(dict.fromkeys(notes))
    if any(floor.relevance for floor in floors):
        signals["min_relevance"] = FLOOR
    if chosen.abstained:
        signals |= _explained(found, query, mode)
    return Selection(chosen.selected, chosen.reason, signals)


class _Floor(NamedTuple):
    """What the best hit of a corpus must reach, by its score or by its relevance, and what is to be said of that."""

    score: float | None = None
    relevance: float | None = None
    note: str = ""


def _floor(corpus: Corpus, mode: str, min_score: float | Literal["auto"] | None) -> _Floor:
    if min_score != "auto":
        return _Floor(min_score)
    calibrated = corpus.floor(mode)
    if calibrated.value is not None:
        return _Floor(calibrated.value, note=calibrated.doubt)
    note = f"A relevance of {FLOOR:g}, which is shipped: none was calibrated for this corpus and mode."
    return _Floor(relevance=FLOOR, note=note)


def _below(found: Found, floor: _Floor, *, each_its_own: bool) -> Selection | None:
    """An abstention of a corpus whose best hit is below its own floor."""
    if not found.hits:
        return None
    best = found.hits[0]
    signals = {"candidates": len(found.hits), "top_score": best.score, "relevance": best.relevance}
    if floor.relevance is not None and best.relevance is not None and best.relevance < floor.relevance:
        return Selection(
            [],
            f"The best candidate, {best.name}, has a relevance of {best.relevance:.2g}, below {floor.relevance:g}.",
            signals,
        )
    if each_its_own and floor.score is not None and best.score < floor.score:
        reason = f"Its best score, {best.score:.4g} ({best.name}), is below its floor of {floor.score:.4g}."
        return Selection([], reason, signals | {"min_score": floor.score})
    return None


def _explained(found: list[Found], query: str, mode: Mode) -> dict[str, Any]:
    """What an abstention tells besides its reason: near misses, what was searched, and what to try."""
    near = merge(found, query, mode, NEAR_MISSES)
    unknown = [set(_unknown(one.corpus, query)) for one in found]
    words = sorted(set.intersection(*unknown)) if unknown else []
    advice = []
    if words:
        advice.append(f"Nothing that was searched holds {', '.join(map(repr, words))}: say it in other words.")
    if near:
        advice.append(f"If {near[0].name} is what was meant, ask for it by its name.")
    searched = {one.corpus.name: len(one.corpus) for one in found}
    if not any(searched.values()):
        advice.append("Nothing is indexed yet: build the corpus first.")
    return {
        "near_misses": [hit.brief() for hit in near],
        "searched": searched,
        "unknown_words": words,
        "try": advice,
    }


def _unknown(corpus: Corpus, query: str) -> Iterator[str]:
    """The words of a query that no passage holds, but for those that a request is merely made with."""
    with corpus.snapshot() as snapshot:
        lexical = snapshot.lexical
        for word in dict.fromkeys(lexical.analyzer.words(query)):
            terms = lexical.analyzer.terms_of(word)
            if terms and weight_of(word) == 1.0 and not lexical.knows(terms):
                yield word


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
