"""Discovery: retrieve, select and disclose in one call, on one state of each corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from shortlist._telemetry import traced
from shortlist.index.config import ScoreThreshold
from shortlist.index.corpus import Corpus
from shortlist.index.embedders.tools_model import suggest_embedder
from shortlist.index.engine import State
from shortlist.library.opening import Searchable
from shortlist.protocols import ProgressOption
from shortlist.results import (
    Confidence,
    Discovery,
    Filter,
    Hit,
    Hits,
    Level,
    Loader,
    MinRelevance,
    Mode,
    RawScore,
    Selection,
    Selector,
    accept_min_score,
)
from shortlist.retrieval.corpus_hits import CorpusHits, refuse_unknown, retrieve
from shortlist.retrieval.disclose import disclose
from shortlist.retrieval.learning.learned import find_threshold
from shortlist.retrieval.merging import merge
from shortlist.retrieval.options import (
    CUTOFF,
    GAP_RATIO,
    REL,
    STRATEGY,
    TEMPERATURE,
    K,
    SearchOptions,
    SelectKeywords,
    combine_options,
)
from shortlist.retrieval.relevance import THRESHOLD, describe_confidence
from shortlist.retrieval.search import open_query
from shortlist.retrieval.select import explain_relevance, explain_score, is_built_in, select
from shortlist.sources.tools.tool_catalogs import describe_tool

NEAR_MISSES = 3
WORTH_NAMING = 0.1  # the relevance from which the closest match may be what was meant
SHIPPED = f"The built-in relevance threshold of {THRESHOLD:g}; this corpus has none calibrated for this mode."
LEARNED = "A relevance threshold of {:g}, fitted to earlier use."


@accept_min_score
@traced("discover", lambda found: {"mode": found.mode, "selected": len(found.results)})
def discover(
    corpus: Searchable,
    query: str,
    mode: Mode = "auto",
    k: int = K,
    filter: Filter | None = None,
    *,
    exact: bool = False,
    strategy: str | Selector = STRATEGY,
    max_k: int | None = None,
    min_relevance: MinRelevance = "auto",
    rel: float = REL,
    gap_ratio: float = GAP_RATIO,
    temperature: float = TEMPERATURE,
    cutoff: float = CUTOFF,
    level: Level = "metadata",
    disclose_level: Level | None = None,
    loader: Loader | None = None,
    roots: Sequence[str | Path] | None = None,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
) -> Discovery:
    """Return the few documents that match the query, or abstain.

    By default the best document is returned, with up to four others that are nearly as relevant. `max_k` asks for that
    number of results instead; `strategy` for another rule of `select`. They are chosen among the `k` candidates that
    `search` finds with the same `corpus`, `mode` and `filter`.

    Abstains if the highest relevance is below `min_relevance`, a number from 0 to 1, in every mode. With "auto", each
    corpus uses the threshold calibrated for it and the mode, or else the built-in one; with None it never abstains
    while anything matches. `signals` of an abstention has the closest matches, what was searched and what to try.
    `confidence` is "low" if it is not clear that the best document matches, or that nothing does. `exact` and
    `progress` are passed to `search`; `level`, `loader` and `roots` to `disclose`; `rel`, `gap_ratio`, `temperature`
    and `cutoff` to `select`. `disclose_level` is another name of `level`. `options` are all of these in one object,
    except `loader`, `roots` and `progress`.
    """
    options = combine_options(
        options,
        mode=mode,
        k=k,
        filter=filter,
        exact=exact,
        strategy=strategy,
        max_k=max_k,
        min_relevance=min_relevance,
        rel=rel,
        gap_ratio=gap_ratio,
        temperature=temperature,
        cutoff=cutoff,
        level=disclose_level or level,
    )
    level, mode = options.level, options.mode
    chosen, candidates = find(corpus, query, options, progress=progress, reads_all=level != "metadata")
    shown = disclose(chosen, level, loader=loader, roots=roots)
    shown = [replace(item, needs=_needs(hit)) for item, hit in zip(shown, chosen.selected, strict=True)]
    confidence = _rate_confidence(chosen, candidates)
    return Discovery(query, mode, shown, chosen.reason, chosen.signals, candidates, *confidence)


def _rate_confidence(chosen: Selection, candidates: Hits) -> tuple[Confidence, str]:
    """How sure the selection is, by its best hit or, without one, by the closest candidate."""
    if chosen.abstained and candidates and "top_score" not in chosen.signals:  # nothing is known about the query
        return "high", chosen.reason
    hits = chosen.selected or candidates
    best = max(hits, key=lambda hit: hit.relevance or 0.0, default=None)
    return describe_confidence(
        best.name if best else "",
        best.relevance if best else None,
        abstained=chosen.abstained,
        threshold=chosen.signals.get("min_relevance"),
    )


def _needs(hit: Hit) -> tuple[str, ...]:
    """The required arguments of a tool."""
    document = hit.load() if hit.kind == "tool" and hit.load else None
    required = describe_tool(document)[1].get("required") if document else None
    return tuple(name for name in required if isinstance(name, str)) if isinstance(required, list) else ()


def find(
    corpus: Searchable,
    query: str,
    options: SearchOptions,
    *,
    progress: ProgressOption = None,
    whole: bool = True,
    reads_all: bool = False,
) -> tuple[Selection, Hits]:
    """Select from the candidates, and return both. Selected tools carry their documents; with `reads_all`, all hits.

    Everything is read from one state, which is closed before a strategy of the caller runs.
    """
    mode, k, filter = options.mode, options.candidates, options.filter
    strategy, selection = options.strategy, options.selection
    chosen: Selection | None = None
    with open_query(corpus, query, mode, k, progress) as states:
        found = retrieve(states, query, mode, k, filter, whole=whole, exact=options.exact)
        candidates = merge(found, query, mode, k)
        thresholded = _apply_thresholds(found, query, mode, k, options.min_relevance)
        if is_built_in(strategy):
            chosen = thresholded.select(strategy, selection)
        else:
            thresholded.read_ahead()
        selectable = chosen.selected if chosen else candidates
        documents = _read_documents(found, [hit for hit in selectable if reads_all or hit.kind == "tool"])
    chosen = chosen or thresholded.select(strategy, selection)
    selected = [
        replace(hit, load=partial(documents.get, hit.load)) if hit.load in documents else hit for hit in chosen.selected
    ]
    return replace(chosen, selected=selected), candidates


def _read_documents(found: Sequence[CorpusHits], hits: Sequence[Hit]) -> dict[Any, Any]:
    """Read the documents of the hits, by their `load` function."""
    wanted = {hit.load for hit in hits}
    return {hit.load: one.get(hit.id) for one in found for hit in one.hits if hit.load in wanted}


def choose(found: Sequence[CorpusHits], query: str, options: SearchOptions) -> Selection:
    """Select as `discover` does. The states must be open."""
    thresholded = _apply_thresholds(found, query, options.mode, options.candidates, options.min_relevance)
    return thresholded.select(options.strategy, options.selection)


@dataclass(frozen=True)
class _Thresholded:
    """The hits of the corpora whose best hit reaches the threshold, and the abstentions of the others."""

    found: Sequence[CorpusHits]
    query: str
    mode: Mode
    fitting: Hits
    left_out: Mapping[str, Selection]
    min_score: float | None  # for the best hit of all corpora together
    min_relevance: float | None  # which the fitting hits of a corpus reach together, and "abs_threshold" asks of each
    signals: Mapping[str, Any]

    def select(self, strategy: str | Selector, options: SelectKeywords) -> Selection:
        # also called without hits, so that a wrong argument is an error
        chosen = select(self.fitting, strategy, min_score=self.min_score, min_relevance=self.min_relevance, **options)
        if self.left_out and not self.fitting:
            chosen = _abstain(self.left_out)
        signals = {**chosen.signals, **self.signals, **(self._explanation if chosen.abstained else {})}
        return Selection(chosen.selected, chosen.reason, signals)

    def read_ahead(self) -> None:
        """Read what an abstention reports while the state is open."""
        _ = self._explanation

    @cached_property
    def _explanation(self) -> dict[str, Any]:
        """Closest matches, what was searched, and what to try."""
        near = merge(self.found, self.query, self.mode, NEAR_MISSES)
        unknown = [set(one.unknown_words()) for one in self.found]
        words = sorted(set.intersection(*unknown)) if unknown else []
        searched = {one.corpus.name: one.count() for one in self.found}
        advice = []
        if not self.query.strip():
            advice.append("The query is empty.")
        if words:
            advice.append(f"No indexed document contains {' or '.join(map(repr, words))}. Try different terms.")
        if near and (near[0].relevance is None or near[0].relevance >= WORTH_NAMING):
            advice.append(f"If you meant {near[0].name}, search for it by name.")
        if not any(searched.values()):
            advice.append("The corpus is empty." if len(self.found) == 1 else "The corpora are empty.")
        kinds = {hit.kind for hit in near}
        advice += dict.fromkeys(note for one in self.found if (note := suggest_embedder(kinds, one.embedder_name)))
        return {
            "near_misses": [hit.brief() for hit in near],
            "searched": searched,
            "unknown_words": words,
            "try": advice,
        }


def _apply_thresholds(
    found: Sequence[CorpusHits], query: str, mode: Mode, k: int, min_relevance: MinRelevance
) -> _Thresholded:
    """Compare the best hit of each corpus with the threshold: the given one or, with "auto", its own."""
    is_auto = min_relevance == "auto"
    several = len(found) > 1
    given = None if isinstance(min_relevance, str) else min_relevance
    is_raw = isinstance(given, RawScore) and mode != "auto"
    thresholds = [one.score_threshold(mode) if is_auto else ScoreThreshold(given if is_raw else None) for one in found]
    if mode == "auto":  # a calibrated threshold is a relevance
        scores: list[float | None] = [None] * len(found)
        own = [
            one.threshold if threshold.value is None else min(threshold.value, 1.0)
            for one, threshold in zip(found, thresholds, strict=True)
        ]
    else:
        scores = [threshold.value for threshold in thresholds]
        own = [one.threshold for one in found]
    relevances = [
        None if score is not None or is_raw else line if is_auto else given
        for score, line in zip(scores, own, strict=True)
    ]
    fitting, lines, left_out = [], [], {}
    for one, score, relevance in zip(found, scores, relevances, strict=True):
        refusal = refuse_unknown(one) if is_auto else None
        refusal = refusal or _refuse_below(one, score if is_auto and several else None, relevance)
        if refusal:
            left_out[one.corpus.name] = refusal
        else:
            fitting.append(one)
            lines.append(relevance)
    hits = merge(fitting, query, mode, k)
    notes = dict.fromkeys(
        note
        for one, threshold in zip(found, thresholds, strict=True)
        for note in (threshold.doubt, _note_threshold(one.threshold) if is_auto and threshold.value is None else "")
    )
    least = min((line for line in lines or relevances if line is not None), default=None)
    signals = {
        "left_out": several and {name: refusal.reason for name, refusal in left_out.items()},
        "floor": " ".join(filter(None, notes)),
        "min_relevance": least,
    }
    signals = {name: value for name, value in signals.items() if value}
    min_score = None if is_auto and several else scores[0]
    return _Thresholded(found, query, mode, hits, left_out, min_score, least, signals)


def _note_threshold(threshold: float) -> str:
    return SHIPPED if threshold == THRESHOLD else LEARNED.format(threshold)


def describe_threshold(corpus: Corpus, state: State, mode: Mode, min_relevance: MinRelevance) -> str:
    """What a hit must reach so that `discover` does not abstain."""
    if min_relevance is None:
        return "none"
    if min_relevance != "auto":
        is_raw = isinstance(min_relevance, RawScore) and mode != "auto"
        return f"a {'score' if is_raw else 'relevance'} of {min_relevance:.4g} (given)"
    if (calibrated := state.config.threshold(mode, state.since).value) is not None:
        return f"a {'relevance' if mode == 'auto' else 'score'} of {calibrated:.4g} (calibrated)"
    threshold = find_threshold(corpus, state, mode)
    return f"a relevance of {threshold:g} ({'built-in' if threshold == THRESHOLD else 'fitted to earlier use'})"


def _refuse_below(found: CorpusHits, min_score: float | None, min_relevance: float | None) -> Selection | None:
    """Abstain if all hits of a corpus are below the threshold of scores or of relevance that applies to it."""
    if not found.hits:
        return None
    best = found.hits[0] if min_relevance is None else max(found.hits, key=lambda hit: hit.relevance or 0.0)
    signals = {"candidates": len(found.hits), "top_score": best.score, "relevance": best.relevance}
    if min_relevance is not None and best.relevance is not None and best.relevance < min_relevance:
        return Selection([], explain_relevance(best, min_relevance), signals)
    if min_score is not None and best.score < min_score:
        return Selection([], explain_score(best, min_score), signals | {"min_score": min_score})
    return None


def _abstain(refused: Mapping[str, Selection]) -> Selection:
    """Combine the abstentions of all corpora; the reason is that of the corpus that comes closest."""
    name = max(refused, key=lambda name: refused[name].signals.get("relevance") or 0.0)
    closest = refused[name]
    if len(refused) == 1:
        return closest
    reason = f"No match in any of {len(refused)} corpora. {name}: {closest.reason}"
    return Selection([], reason, {**closest.signals, "corpora": len(refused)})
