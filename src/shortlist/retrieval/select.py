"""Selection: keep a few hits, or none, always with a reason.

"adaptive" compares the odds of relevances. The others compare scores as they are shown, all except "abs_threshold"
relative to the best one, so that the same settings work for every mode. In "auto" a score is a relevance: `rel` and
`gap_ratio` are then shares of a probability, so between relevances near 1 they keep more than "adaptive" does.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Iterable
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._telemetry import traced
from shortlist._text import count_of
from shortlist.errors import InputError
from shortlist.index.text.word_parts import fold
from shortlist.protocols import LLM
from shortlist.results import Hit, Hits, RawScore, Selection, Selector
from shortlist.retrieval.options import ADAPTIVE_MAX_K, CUTOFF, GAP_RATIO, MAX_K, REL, TEMPERATURE, SearchOptions
from shortlist.retrieval.relevance import log_odds

if TYPE_CHECKING:
    from shortlist.results import Floats, Positions

log = logging.getLogger("shortlist")

NEAR_ODDS = 0.9  # of relevance: exp(-0.9) is 0.4 of the best odds; docs/explanation/ranking.md has the measurement

# Two hits are duplicates if they share this fraction of their words, compared over this many characters.
DUPLICATE_OVERLAP = 0.9
LOOKED_AT = 2_000


@traced("select", lambda chosen: {"selected": len(chosen.selected)})
def select(
    hits: list[Hit],
    strategy: str | Selector = "conservative",
    max_k: int | None = None,
    rel: float = REL,
    gap_ratio: float = GAP_RATIO,
    min_score: float | None = None,
    temperature: float = TEMPERATURE,
    cutoff: float = CUTOFF,
    *,
    min_relevance: float | None = None,
) -> Selection:
    """Select a subset of the hits, or abstain if the best score is below `min_score`.

    `min_score` is a raw score of the mode of the hits; `min_relevance`, a number from 0 to 1, is compared with the
    highest relevance instead.

    No strategy and no function selects more than `max_k` hits (default 3; "adaptive": 5). Strategies:

    - "adaptive": hits that are nearly as relevant as the best, or only the best if it is clearly ahead; with `max_k`,
      the first `max_k`
    - "conservative": hits that score at least `rel` of the best, duplicates last
    - "top_k": the first `max_k`
    - "rel_threshold": hits that score at least `rel` of the best
    - "abs_threshold": hits that score at least `min_score`, or whose relevance is at least `min_relevance`
    - "score_gap": hits before the first drop below `gap_ratio` of the previous score
    - "softmax": hits with at least `cutoff` percent of the softmax of score / `temperature`
    - a name registered with `register_strategy`, or a function from hits to hits

    Hits are sorted by score first.
    """
    for name, value in (("min_score", min_score), ("min_relevance", min_relevance)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InputError(f"{name} must be a number or None, not {value!r}.")
    if min_score is not None and min_relevance is not None:
        raise InputError(
            f"min_score={min_score!r} was passed beside min_relevance={min_relevance!r}. Pass one of them."
        )
    options = SearchOptions(
        strategy=strategy,
        max_k=max_k,
        min_relevance=min_relevance if min_score is None else RawScore(min_score),
        rel=rel,
        gap_ratio=gap_ratio,
        temperature=temperature,
        cutoff=cutoff,
    )
    name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", type(strategy).__name__)
    rule = STRATEGIES.get(strategy) if isinstance(strategy, str) else None
    selector = _registered.get(strategy) if isinstance(strategy, str) else strategy
    if rule is None and not callable(selector):
        known = ", ".join([*STRATEGIES, *_registered])
        raise InputError(f"Unknown strategy {strategy!r}. Use one of {known}, or a function from hits to hits.")
    if strategy == "adaptive" and rel != REL:
        raise InputError(f"The strategy 'adaptive' does not use rel ({rel!r}). Use strategy='conservative' with it.")
    if strategy == "abs_threshold" and options.min_relevance is None:
        raise InputError(
            "The strategy 'abs_threshold' needs min_score, the lowest score to keep, or min_relevance, the lowest "
            "relevance."
        )
    hits = _sort(hits)
    signals: dict[str, Any] = {"strategy": name, "candidates": len(hits), "min_score": min_score}
    if not hits:
        return Selection([], "No document matches.", signals)
    best = hits[0].score
    signals |= _signals(hits)
    if min_score is not None and best < min_score:
        signals["line"] = min_score
        return Selection([], explain_score(hits[0], min_score), signals)
    nearest = max(hits, key=lambda hit: hit.relevance or 0.0)
    if min_relevance is not None and nearest.relevance is not None and nearest.relevance < min_relevance:
        return Selection([], explain_relevance(nearest, min_relevance), signals | {"min_relevance": min_relevance})
    if best <= 0:
        return Selection([], f"The best score, {best:.4g}, is not above zero.", signals)
    if rule is not None:
        kept, why, signals["line"] = rule(list(hits), options)
    else:
        chosen = selector(copy(hits))  # type: ignore[misc]
        kept = list(chosen)
        why = f"chosen by {name}" if kept else f"{name} chose none"
        if isinstance(chosen, _ByFallback):
            why, signals["fallback"], signals["error"] = chosen.reason, chosen.fallback, chosen.error
    if not (strategy == "adaptive" and max_k is None):
        most: int = max_k or getattr(selector, "max_k", None) or MAX_K
        if len(kept) > most:
            kept, why = kept[:most], f"{why}, at most {most}"
    signals["selected"] = len(kept)
    candidates = count_of(len(hits), "candidate")
    return Selection(
        kept, f"Kept {len(kept)} of {candidates}: {why}." if kept else f"Kept none of {candidates}: {why}.", signals
    )


def explain_score(best: Hit, min_score: float) -> str:
    return f"The best score, {best.score:.4g} ({best.name}), is below the threshold of {min_score:.4g}."


def explain_relevance(best: Hit, min_relevance: float) -> str:
    relevance = f"{best.relevance:.2g}"
    if float(relevance) >= min_relevance:  # only by rounding
        relevance = f"{best.relevance:.4g}"
    return f"The highest relevance, {relevance} ({best.name}), is below the threshold of {min_relevance:.4g}."


def _signals(hits: list[Hit]) -> dict[str, Any]:
    """The best score, its relevance, and the gap to the next hit that is not a duplicate."""
    best = hits[0]
    signals: dict[str, Any] = {"top_score": best.score}
    if best.relevance is not None:
        signals["relevance"] = best.relevance
    runner_up = next((hit for hit in hits[1:] if not is_duplicate(hit, best)), None)
    if runner_up:
        signals["gap"] = best.score - runner_up.score
        signals["runner_up_ratio"] = runner_up.score / best.score if best.score > 0 else None
    return signals


def is_built_in(strategy: str | Selector) -> bool:
    return isinstance(strategy, str) and strategy in STRATEGIES


def _sort(hits: Iterable[Hit]) -> list[Hit]:
    """A sorted copy, best first; ties keep their order."""
    ordered = copy(hits) if isinstance(hits, Hits) else list(hits)
    for hit in ordered:
        if not math.isfinite(hit.score):
            raise InputError(f"The hit {hit.id!r} has the score {hit.score!r}. Scores must be finite numbers.")
    ordered.sort(key=lambda hit: hit.score, reverse=True)
    return ordered


_registered: dict[str, Selector] = {}


def register_strategy(name: str, selector: Selector, *, replace: bool = False) -> None:
    """Register a selection function under a name, for this process: `select(hits, strategy=name)`."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"A strategy name must be a non-empty string, not {name!r}.")
    if not callable(selector):
        raise InputError(f"The strategy {name!r} must be a function from hits to hits, not {selector!r}.")
    if name in STRATEGIES:
        raise InputError(f"{name!r} is a built-in strategy. Register yours under another name.")
    if not replace and _registered.get(name, selector) is not selector:
        raise InputError(f"The strategy {name!r} is already registered. Pass replace=True to replace it.")
    _registered[name] = selector


Kept = tuple[list[Hit], str, float | None]  # the hits, the rule in words, and the cutoff score


def _keep_adaptively(hits: list[Hit], options: SearchOptions) -> Kept:
    if options.max_k is not None:
        return _keep_first(hits, options)
    best = max(map(_log_odds, hits))
    near: list[Hit] = []
    for hit in (hit for hit in hits if hit.score > 0):
        is_copy = any(hit.corpus != other.corpus and is_duplicate(hit, other) for other in near)
        if hit is hits[0] or (_log_odds(hit) >= best - NEAR_ODDS and not is_copy):
            near.append(hit)
    if len(near) == 1:
        return near, "clearly ahead of the others", None
    return _prefer_distinct(near, ADAPTIVE_MAX_K), f"nearly as relevant as the best, at most {ADAPTIVE_MAX_K}", None


def _log_odds(hit: Hit) -> float:
    """Log odds of the relevance; a hit without one counts as equally relevant."""
    return log_odds(0.5 if hit.relevance is None else hit.relevance)


def _keep_conservatively(hits: list[Hit], options: SearchOptions) -> Kept:
    near, rule, line = _keep_near(hits, options)
    most = options.max_k or MAX_K
    return _prefer_distinct(near, most), f"{rule}, at most {most}", line


def _keep_first(hits: list[Hit], options: SearchOptions) -> Kept:
    most = options.max_k or MAX_K
    return hits[:most], f"the first {most}" if most > 1 else "the first", None


def _keep_near(hits: list[Hit], options: SearchOptions) -> Kept:
    best, rel = hits[0].score, options.rel
    return [hit for hit in hits if hit.score / best >= rel], f"at least {rel:g} of the best score", rel * best


def _keep_above(hits: list[Hit], options: SearchOptions) -> Kept:
    line = options.min_relevance
    least = 0.0 if line is None or isinstance(line, str) else float(line)
    if isinstance(line, RawScore):
        return [hit for hit in hits if hit.score >= least], f"a score of at least {least:g}", least
    kept = [hit for hit in hits if hit.relevance is None or hit.relevance >= least]
    return kept, f"a relevance of at least {least:g}", None


def _keep_before_gap(hits: list[Hit], options: SearchOptions) -> Kept:
    for at in range(1, len(hits)):
        line = options.gap_ratio * hits[at - 1].score
        if hits[at].score < line or hits[at - 1].score <= 0:
            return hits[:at], f"the next score is below {options.gap_ratio:g} of the previous one", line
    return hits, f"no score is below {options.gap_ratio:g} of the previous one", None


def _keep_by_softmax(hits: list[Hit], options: SearchOptions) -> Kept:
    positive = [hit for hit in hits if hit.score > 0]
    shares = softmax([hit.score for hit in positive], options.temperature)
    least = options.cutoff / 100
    kept = [hit for hit, share in zip(positive, shares, strict=True) if share >= least]
    # the score at which shares[0] * exp((score - best) / temperature) equals the cutoff
    line = hits[0].score + options.temperature * math.log(least / shares[0]) if least > 0 else None
    rule = f"at least {options.cutoff:g} % of the softmax at temperature {options.temperature:g}"
    return kept, rule if kept else f"none has {rule}", line


STRATEGIES: dict[str, Callable[[list[Hit], SearchOptions], Kept]] = {
    "adaptive": _keep_adaptively,
    "conservative": _keep_conservatively,
    "top_k": _keep_first,
    "rel_threshold": _keep_near,
    "abs_threshold": _keep_above,
    "score_gap": _keep_before_gap,
    "softmax": _keep_by_softmax,
}


def softmax(scores: list[float], temperature: float) -> list[float]:
    """Shares that sum to 1; a lower temperature favors the best."""
    shares: list[float] = large_shares(np.array(scores, dtype=np.float64), temperature, 0.0)[1].tolist()
    return shares


def large_shares(scores: Floats, temperature: float, least: float) -> tuple[Positions, Floats, int]:
    """Indices with a softmax share of at least `least`, their shares, and the number of finite scores."""
    places = np.flatnonzero(scores > -np.inf)
    scaled = scores[places] / temperature
    powers = np.exp(scaled - scaled.max(initial=-np.inf))
    shares = powers / powers.sum()
    is_large = shares >= least
    return places[is_large], shares[is_large], len(places)


def _prefer_distinct(hits: list[Hit], most: int) -> list[Hit]:
    """At most `most` of the hits, in order, dropping duplicates first."""
    distinct: list[int] = []
    for at, hit in enumerate(hits if len(hits) > most else ()):
        if len(distinct) < most and not any(is_duplicate(hit, hits[better]) for better in distinct):
            distinct.append(at)
    others = (at for at in range(len(hits)) if at not in distinct)
    return [hits[at] for at in sorted([*distinct, *others][:most])]


def is_duplicate(hit: Hit, other: Hit) -> bool:
    """Whether two hits share at least 90 percent of their words."""
    some, more = (_distinct_words(f"{one.name} {one.text[:LOOKED_AT]}") for one in (hit, other))
    return len(some & more) >= DUPLICATE_OVERLAP * len(some | more)


@lru_cache(maxsize=64)  # a hit is compared with several others
def _distinct_words(text: str) -> frozenset[str]:
    return frozenset(fold(text).split())


_PROMPT = """\
A user needs: {query}

Candidates:
{candidates}

Which candidates, if any, truly serve this need? Fewer are better. Reply with a JSON list of their numbers, at most
{max_k}, best first, or [] if none does. Reply with the list alone."""


class _ByFallback(list[Hit]):
    """Hits selected by the fallback strategy because the language model failed."""

    def __init__(self, hits: Iterable[Hit], fallback: str, error: str) -> None:
        super().__init__(hits)
        self.fallback = fallback
        self.error = error
        self.reason = f"the language model failed ({error}); selected by the fallback strategy {fallback!r}"


def make_llm_selector(
    llm: LLM | Callable[[str], str], *, max_k: int = MAX_K, fallback: str = "conservative"
) -> Selector:
    """A selection function that asks a language model, and uses the fallback strategy if that fails.

    `llm` is an LLM, or a function from prompt to reply.
    """
    ask = as_prompt_function(llm)
    select([], fallback, max_k=max_k)  # raises now if an argument is wrong

    def llm_selector(hits: list[Hit]) -> list[Hit]:
        candidates = "\n".join(f"{at}. {hit.name}: {hit.text[:300]}" for at, hit in enumerate(hits, 1))
        prompt = _PROMPT.format(query=getattr(hits, "query", ""), candidates=candidates, max_k=max_k)
        try:
            return _parse_choice(ask(prompt), hits)[:max_k]
        except Exception as error:  # any failure of the model uses the fallback
            kept = select(hits, fallback, max_k=max_k).selected
            chosen = _ByFallback(kept, fallback, f"{type(error).__name__}: {error}")
            log.warning("llm_selector: %s.", chosen.reason)
            return chosen

    llm_selector.max_k = max_k  # type: ignore[attr-defined]  # `select` caps at it unless it has a cap of its own
    return llm_selector


def as_prompt_function(llm: LLM | Callable[[str], str]) -> Callable[[str], str]:
    """Turn a language model into a function from prompt to reply."""
    complete = getattr(llm, "complete", None)
    if complete is not None:
        return lambda prompt: str(complete([{"role": "user", "content": prompt}]).text)
    if callable(llm):
        return lambda prompt: str(llm(prompt))
    raise InputError(f"llm must be an LLM or a function from prompt to reply, not {llm!r}.")


def _parse_choice(text: str, hits: list[Hit]) -> list[Hit]:
    """The hits that a reply names, by number or by id: a JSON list, or one id per line."""
    by_choice: dict[Any, Hit] = {str(at): hit for at, hit in enumerate(hits, 1)} | {hit.id: hit for hit in hits}
    found = re.search(r"\[[^\[\]]*\]", text)
    if found:
        choices = [str(choice) for choice in json.loads(found.group())]
    elif not (choices := [line.strip(" -\t") for line in text.splitlines() if line.strip(" -\t") in by_choice]):
        raise ValueError("no list in the reply")
    unknown = [choice for choice in choices if choice not in by_choice]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is neither a number nor an id of a candidate")
    return [by_choice[choice] for choice in dict.fromkeys(choices)]
