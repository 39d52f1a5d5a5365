"""Discovery: retrieve, select and disclose in one call, from one state of each corpus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from shortlist.errors import InputError
from shortlist.index.config import Floor
from shortlist.index.engine import State
from shortlist.index.text.query_terms import weight_of
from shortlist.library.opening import Searchable
from shortlist.protocols import Progress
from shortlist.results import Discovery, Hit, Hits, Level, Mode, Selection, Selector
from shortlist.search.disclose import Loader, disclose
from shortlist.search.filters import Filter
from shortlist.search.relevance import FLOOR
from shortlist.search.retrieve import Found, merge, open_query, retrieve
from shortlist.search.select import is_built_in, select

NEAR_MISSES = 3
SHIPPED = f"A relevance of {FLOOR:g}, which is shipped: none was calibrated for this corpus and mode."

MinScore = float | Literal["auto"] | None


def discover(
    corpus: Searchable,
    query: str,
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    strategy: str | Selector = "conservative",
    min_score: MinScore = None,
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
    reads = level != "metadata"
    chosen, candidates = find(
        corpus, query, mode, k, filter, strategy, min_score, progress=progress, reads_documents=reads, **selection
    )
    shown = disclose(chosen, level, loader=loader, roots=roots)
    return Discovery(query, mode, shown, chosen.reason, chosen.signals, candidates)


def find(
    corpus: Searchable,
    query: str,
    mode: Mode,
    k: int,
    filter: Filter | None,
    strategy: str | Selector,
    min_score: MinScore,
    *,
    progress: Progress | None = None,
    whole: bool = True,
    reads_documents: bool = False,
    **selection: Any,
) -> tuple[Selection, Hits]:
    """What `discover` commits to, and the candidates. With `reads_documents`, the hits hold their documents.

    All of it is read from one state, which is closed before a strategy of the caller runs.
    """
    if isinstance(min_score, str) and min_score != "auto":
        raise InputError(f"min_score is a number, None or 'auto', not {min_score!r}.")
    chosen: Selection | None = None
    with open_query(corpus, query, mode, k, progress) as states:
        found = retrieve(states, query, mode, k, filter, whole=whole)
        candidates = merge(found, query, mode, k)
        judged = _judge(found, query, mode, k, min_score)
        if is_built_in(strategy):
            chosen = judged.select(strategy, selection)
        else:
            judged.read_ahead()
        documents = _read_documents(found, chosen.selected if chosen else candidates) if reads_documents else {}
    chosen = chosen or judged.select(strategy, selection)
    selected = [
        replace(hit, load=partial(documents.get, hit.load)) if hit.load in documents else hit for hit in chosen.selected
    ]
    return replace(chosen, selected=selected), candidates


def _read_documents(found: Sequence[Found], hits: Sequence[Hit]) -> dict[Any, Any]:
    """The documents of hits, by the function that would read them later."""
    wanted = {hit.load for hit in hits}
    return {hit.load: one.state.get(hit.id) for one in found for hit in one.hits if hit.load in wanted}


def choose(
    found: Sequence[Found],
    query: str,
    mode: Mode,
    k: int,
    strategy: str | Selector,
    min_score: MinScore,
    **selection: Any,
) -> Selection:
    """What `discover` commits to of what was found; the states must be open."""
    return _judge(found, query, mode, k, min_score).select(strategy, selection)


@dataclass(frozen=True)
class _Judged:
    """What was found, the hits of the corpora that reach their thresholds, and why the others do not."""

    found: Sequence[Found]
    query: str
    mode: Mode
    fitting: Hits
    left_out: Mapping[str, Selection]
    min_score: float | None  # for all corpora together
    signals: Mapping[str, Any]

    def select(self, strategy: str | Selector, options: Mapping[str, Any]) -> Selection:
        # without any fitting hit there is nothing to select, but a wrong argument is still an error
        chosen = select(self.fitting, strategy, min_score=self.min_score, **options)
        if self.left_out and not self.fitting:
            chosen = _abstain(self.left_out)
        signals = {**chosen.signals, **self.signals, **(self._explanation if chosen.abstained else {})}
        return Selection(chosen.selected, chosen.reason, signals)

    def read_ahead(self) -> None:
        """Read what an abstention would need, since the state will be closed."""
        _ = self._explanation

    @cached_property
    def _explanation(self) -> dict[str, Any]:
        """What an abstention reports besides its reason: closest matches, what was searched, and what to try."""
        near = merge(self.found, self.query, self.mode, NEAR_MISSES)
        unknown = [set(_unknown_words(one.state, self.query)) for one in self.found]
        words = sorted(set.intersection(*unknown)) if unknown else []
        searched = {one.corpus.name: one.state.count() for one in self.found}
        advice = []
        if words:
            advice.append(f"Nothing that was searched holds {', '.join(map(repr, words))}: say it in other words.")
        if near:
            advice.append(f"If {near[0].name} is what was meant, ask for it by its name.")
        if not any(searched.values()):
            advice.append("Nothing is indexed yet: build the corpus first.")
        return {
            "near_misses": [hit.brief() for hit in near],
            "searched": searched,
            "unknown_words": words,
            "try": advice,
        }


def _judge(found: Sequence[Found], query: str, mode: Mode, k: int, min_score: MinScore) -> _Judged:
    """Compare each corpus with the threshold: the given one or, with "auto", its own."""
    is_auto = min_score == "auto"
    several = len(found) > 1
    floors = [one.state.config.floor(mode, one.state.since) if is_auto else Floor(min_score) for one in found]  # type: ignore[arg-type]
    fitting, left_out = [], {}
    for one, floor in zip(found, floors, strict=True):
        refusal = refuse_unknown(one) or (_refuse_below(one, floor.value, several=several) if is_auto else None)
        if refusal:
            left_out[one.corpus.name] = refusal
        else:
            fitting.append(one)
    hits = merge(fitting, query, mode, k)
    is_shipped = [is_auto and floor.value is None for floor in floors]
    notes = dict.fromkeys(SHIPPED if used else floor.doubt for used, floor in zip(is_shipped, floors, strict=True))
    signals = {
        "left_out": several and {name: refusal.reason for name, refusal in left_out.items()},
        "floor": " ".join(filter(None, notes)),
        "min_relevance": any(is_shipped) and FLOOR,
    }
    told = {name: value for name, value in signals.items() if value}
    return _Judged(found, query, mode, hits, left_out, None if is_auto and several else floors[0].value, told)


def _refuse_below(found: Found, floor: float | None, *, several: bool) -> Selection | None:
    """An abstention of a corpus whose best hit is below its own threshold, or without one below the shipped one."""
    if not found.hits:
        return None
    best = found.hits[0]
    signals = {"candidates": len(found.hits), "top_score": best.score, "relevance": best.relevance}
    if floor is None and best.relevance is not None and best.relevance < FLOOR:
        reason = f"The best candidate, {best.name}, has a relevance of {best.relevance:.2g}, below {FLOOR:g}."
        return Selection([], reason, signals)
    if several and floor is not None and best.score < floor:
        reason = f"Its best score, {best.score:.4g} ({best.name}), is below its floor of {floor:.4g}."
        return Selection([], reason, signals | {"min_score": floor})
    return None


def _unknown_words(state: State, query: str) -> Iterator[str]:
    """The words of a query that no passage holds, except those that a request is merely made with."""
    lexical = state.lexical
    for word in dict.fromkeys(lexical.analyzer.words(query)):
        terms = lexical.analyzer.terms_of(word)
        if terms and weight_of(word) == 1.0 and not lexical.knows(terms):
            yield word


def _abstain(refused: Mapping[str, Selection]) -> Selection:
    """The abstention of one corpus, or of several."""
    if len(refused) == 1:
        return next(iter(refused.values()))
    reasons = " ".join(f"{name}: {refusal.reason}" for name, refusal in refused.items())
    return Selection([], f"Nothing fits in any of {len(refused)} corpora. {reasons}", {"corpora": len(refused)})


def refuse_unknown(found: Found) -> Selection | None:
    """An abstention when the query holds only stop words, or no word that occurs and no meaning that comes near.

    Any text has some nearest neighbor; below the embedder's noise it is an accident.
    """
    lexical, hits = found.state.lexical, found.hits
    if not hits:
        return None
    says_something = lexical.analyzer.says_something(hits.query)
    known = lexical.knows(lexical.analyzer.terms(hits.query))
    if (says_something and known) or len(lexical.named(hits.query)):
        return None
    signals = {"candidates": len(hits)}
    if not says_something:
        return Selection([], "There is nothing in the query to search for.", signals)
    nearest = max(hit.signals.get("dense", 0.0) for hit in hits)
    among_ten, growth = getattr(found.embedder, "noise", (0.0, 0.0))  # the cosine that is reached by accident
    noise = float(among_ten + growth * math.log10(lexical.live / 10))
    if nearest > noise:
        return None
    reason = "No word of the query is known here, and nothing comes near its meaning."
    return Selection([], reason, signals | {"nearest": nearest, "noise": noise})
