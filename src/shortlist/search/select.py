"""Which hits do we commit to? A few, or none, always with the reason.

Distractors cost an agent more than a missing candidate, so the default is conservative. Every rule but "abs_threshold"
and the floor is relative to the best score, so one setting serves modes whose scales differ.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import InputError
from shortlist.index.text.analyzers import fold, words
from shortlist.protocols import LLM
from shortlist.results import Hit, Hits, Selection, Selector

if TYPE_CHECKING:
    from shortlist.results import Floats, Positions

log = logging.getLogger("shortlist")

MAX_K = 3
REL = 0.9
GAP_RATIO = 0.5
TEMPERATURE = 0.5
CUTOFF = 10.0

# Two hits are copies if they share so much of all their words, of which so many characters are looked at.
SAME = 0.9
LOOKED_AT = 2_000


def select(
    hits: list[Hit],
    strategy: str | Selector = "conservative",
    max_k: int = MAX_K,
    rel: float = REL,
    gap_ratio: float = GAP_RATIO,
    min_score: float | None = None,
    temperature: float = TEMPERATURE,
    cutoff: float = CUTOFF,
) -> Selection:
    """Commit to a subset of the hits, or abstain.

    `min_score` is the floor: a best hit below it means that nothing fits. Strategies: "conservative" keeps the best
    and what scores at least `rel` of it, at most `max_k`; "top_k" the first `max_k`; "rel_threshold" all within `rel`;
    "abs_threshold" all from `min_score` on; "score_gap" all before the first drop below `gap_ratio` of the score
    before it; "softmax" what holds at least `cutoff` percent of the softmax of score / `temperature`; the name of a
    strategy that was registered with `register_strategy`; or a callable. Hits in any other order are sorted first.
    """
    numbers = _Numbers(max_k, rel, gap_ratio, min_score, temperature, cutoff)
    name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", type(strategy).__name__)
    if isinstance(strategy, str):
        strategy = _registered.get(strategy, strategy)
    if not callable(strategy) and not (isinstance(strategy, str) and strategy in STRATEGIES):
        known = ", ".join([*STRATEGIES, *_registered])
        raise InputError(f"There is no strategy {strategy!r}; the known ones are {known}, or a callable.")
    if strategy == "abs_threshold" and min_score is None:
        raise InputError("The strategy 'abs_threshold' needs min_score, the score from which hits are kept.")
    hits = _sorted(hits)
    signals: dict[str, Any] = {"strategy": name, "candidates": len(hits), "min_score": min_score}
    if not hits:
        return Selection([], "Nothing was found.", signals)
    best = hits[0].score
    signals["top_score"] = best
    if hits[0].relevance is not None:
        signals["relevance"] = hits[0].relevance
    runner_up = next((hit for hit in hits[1:] if not is_duplicate(hit, hits[0])), None)
    if runner_up:
        signals["gap"] = best - runner_up.score
        signals["runner_up_ratio"] = runner_up.score / best if best > 0 else None
    if min_score is not None and best < min_score:
        signals["line"] = min_score
        return Selection(
            [], f"The best score, {best:.4g} ({hits[0].name}), is below the floor of {min_score:.4g}.", signals
        )
    if best <= 0:
        return Selection([], f"The best score, {best:.4g}, is not above zero.", signals)
    if callable(strategy):
        chosen = strategy(copy(hits))
        kept = list(chosen)
        rule = f"chosen by {name}" if kept else f"{name} chose none"
        if isinstance(chosen, _ByFallback):
            rule, signals["fallback"], signals["error"] = chosen.reason, chosen.fallback, chosen.error
    else:
        kept, rule, signals["line"] = STRATEGIES[strategy](list(hits), numbers)
    signals["selected"] = len(kept)
    candidates = "1 candidate" if len(hits) == 1 else f"{len(hits)} candidates"
    if not kept:
        return Selection([], f"None of {candidates} was kept: {rule}.", signals)
    return Selection(kept, f"Kept {len(kept)} of {candidates}: {rule}.", signals)


def _sorted(hits: Iterable[Hit]) -> list[Hit]:
    """A copy of the hits, best first; equal scores stay in their order."""
    ordered = copy(hits) if isinstance(hits, Hits) else list(hits)
    for hit in ordered:
        if not math.isfinite(hit.score):
            raise InputError(f"The hit {hit.id!r} has the score {hit.score!r}; a score must be a finite number.")
    ordered.sort(key=lambda hit: hit.score, reverse=True)
    return ordered


_registered: dict[str, Selector] = {}


def register_strategy(name: str, selector: Selector, *, replace: bool = False) -> None:
    """Make a selector available by name, in this process: `select(hits, strategy=name)`."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"The name of a strategy must be a non-empty string, not {name!r}.")
    if not callable(selector):
        raise InputError(f"The strategy {name!r} must be a callable from hits to hits, not {selector!r}.")
    if name in STRATEGIES:
        raise InputError(f"{name!r} is a built-in strategy. Register yours under another name.")
    if not replace and _registered.get(name, selector) is not selector:
        raise InputError(f"The strategy {name!r} is already registered. Pass replace=True to replace it.")
    _registered[name] = selector


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of the rules."""

    max_k: int
    rel: float
    gap_ratio: float
    min_score: float | None
    temperature: float
    cutoff: float

    def __post_init__(self) -> None:
        for name in ("rel", "gap_ratio", "temperature", "cutoff", "min_score"):
            value = getattr(self, name)
            if name == "min_score" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise InputError(f"{name} is a number, not {value!r}.")
        if isinstance(self.max_k, bool) or not isinstance(self.max_k, int) or self.max_k < 1:
            raise InputError(f"max_k is the most hits to keep, 1 or more, not {self.max_k!r}.")
        if not 0 <= self.rel <= 1 or not 0 <= self.gap_ratio <= 1:
            raise InputError(f"rel and gap_ratio are shares between 0 and 1, not {self.rel!r} and {self.gap_ratio!r}.")
        if self.temperature <= 0 or not 0 <= self.cutoff <= 100:
            raise InputError(
                f"temperature must be above 0 and cutoff a percentage, not {self.temperature!r} and {self.cutoff!r}."
            )


Kept = tuple[list[Hit], str, float | None]  # the hits, the rule in words, and the score that it draws a line at


def _conservative(hits: list[Hit], numbers: _Numbers) -> Kept:
    return (
        _distinct_first(_near(hits, numbers.rel), numbers.max_k),
        f"at least {numbers.rel:g} of the best score, at most {numbers.max_k}",
        numbers.rel * hits[0].score,
    )


def _top_k(hits: list[Hit], numbers: _Numbers) -> Kept:
    return hits[: numbers.max_k], f"the first {numbers.max_k}", None


def _rel_threshold(hits: list[Hit], numbers: _Numbers) -> Kept:
    return _near(hits, numbers.rel), f"at least {numbers.rel:g} of the best score", numbers.rel * hits[0].score


def _abs_threshold(hits: list[Hit], numbers: _Numbers) -> Kept:
    floor = numbers.min_score or 0.0
    return [hit for hit in hits if hit.score >= floor], f"a score of at least {floor:g}", floor


def _score_gap(hits: list[Hit], numbers: _Numbers) -> Kept:
    for at in range(1, len(hits)):
        line = numbers.gap_ratio * hits[at - 1].score
        if hits[at].score < line:
            return hits[:at], f"the next score is below {numbers.gap_ratio:g} of the one before it", line
    return hits, f"no score drops below {numbers.gap_ratio:g} of the one before", None


def _softmax(hits: list[Hit], numbers: _Numbers) -> Kept:
    positive = [hit for hit in hits if hit.score > 0]
    shares = softmax([hit.score for hit in positive], numbers.temperature)
    least = numbers.cutoff / 100
    kept = [hit for hit, share in zip(positive, shares, strict=True) if share >= least]
    # where share = shares[0] * exp((score - best) / temperature) is the least
    line = hits[0].score + numbers.temperature * math.log(least / shares[0]) if least > 0 else None
    who = "each" if kept else "none"
    rule = f"{who} holds at least {numbers.cutoff:g} % of the softmax at temperature {numbers.temperature:g}"
    return kept, rule, line


def softmax(scores: list[float], temperature: float) -> list[float]:
    """Shares that sum to 1; a lower temperature gives more to the best."""
    shares = large_shares(np.array(scores, dtype=np.float64), temperature, 0.0)[1]
    return [float(share) for share in shares]


def large_shares(scores: Floats, temperature: float, least: float) -> tuple[Positions, Floats, int]:
    """Places whose share of the softmax is at least so large, their shares, and how many scores took part.

    A score of minus infinity takes no part.
    """
    places = np.flatnonzero(scores > -np.inf)
    scaled = scores[places] / temperature
    powers = np.exp(scaled - scaled.max(initial=-np.inf))
    shares = powers / powers.sum()
    large = shares >= least
    return places[large], shares[large], len(places)


def _near(hits: list[Hit], rel: float) -> list[Hit]:
    return [hit for hit in hits if hit.score / hits[0].score >= rel]


def _distinct_first(hits: list[Hit], most: int) -> list[Hit]:
    """So many of the hits, in their order; where not all can stay, copies of a better one go first."""
    if len(hits) <= most:
        return hits
    kept: list[int] = []
    for at, hit in enumerate(hits):
        if len(kept) < most and not any(is_duplicate(hit, hits[better]) for better in kept):
            kept.append(at)
    others = (at for at in range(len(hits)) if at not in kept)
    return [hits[at] for at in sorted([*kept, *others][:most])]


def is_duplicate(hit: Hit, other: Hit) -> bool:
    """Whether two hits say the same, but for a word in ten."""
    some, more = ({*words(fold(f"{one.name} {one.text[:LOOKED_AT]}"))} for one in (hit, other))
    return len(some & more) >= SAME * len(some | more)


STRATEGIES: dict[str, Callable[[list[Hit], _Numbers], Kept]] = {
    "conservative": _conservative,
    "top_k": _top_k,
    "rel_threshold": _rel_threshold,
    "abs_threshold": _abs_threshold,
    "score_gap": _score_gap,
    "softmax": _softmax,
}


_PROMPT = """\
A user needs: {query}

Candidates:
{candidates}

Which candidates, if any, truly serve this need? Fewer are better. Reply with a JSON list of their numbers, at most
{max_k}, best first, or [] if none does. Reply with the list alone."""


class _ByFallback(list[Hit]):
    """Hits that a heuristic chose because a language model failed."""

    def __init__(self, hits: Iterable[Hit], fallback: str, error: str) -> None:
        super().__init__(hits)
        self.fallback = fallback
        self.error = error

    @property
    def reason(self) -> str:
        return f"the language model failed ({self.error}), so the fallback strategy {self.fallback!r} chose"


def make_llm_selector(
    llm: LLM | Callable[[str], str], *, max_k: int = MAX_K, fallback: str = "conservative"
) -> Selector:
    """A selector that asks a language model, and falls back to a heuristic on any failure.

    `llm` is an LLM or any function from prompt to reply.
    """
    ask = prompt_function(llm)
    select([], fallback, max_k=max_k)  # a wrong argument is an error now, not when the model fails

    def llm_selector(hits: list[Hit]) -> list[Hit]:
        candidates = "\n".join(f"{at}. {hit.name}: {hit.text[:300]}" for at, hit in enumerate(hits, 1))
        prompt = _PROMPT.format(query=getattr(hits, "query", ""), candidates=candidates, max_k=max_k)
        try:
            return _chosen(ask(prompt), hits)[:max_k]
        except Exception as error:  # whatever a model or its network may do, there is an answer
            chosen = _ByFallback(
                select(hits, fallback, max_k=max_k).selected, fallback, f"{type(error).__name__}: {error}"
            )
            log.warning("In llm_selector %s.", chosen.reason)
            return chosen

    return llm_selector


def prompt_function(llm: LLM | Callable[[str], str]) -> Callable[[str], str]:
    """A language model as a function from prompt to reply; a function stays as it is."""
    complete = getattr(llm, "complete", None)
    if complete is not None:
        return lambda prompt: str(complete([{"role": "user", "content": prompt}]).text)
    if callable(llm):
        return lambda prompt: str(llm(prompt))
    raise InputError(f"llm is an LLM or a function from prompt to reply, not {llm!r}.")


def _chosen(text: str, hits: list[Hit]) -> list[Hit]:
    found = re.search(r"\[[^\[\]]*\]", text)
    if not found:
        raise ValueError("no list in the reply")
    numbers = dict.fromkeys(int(number) for number in json.loads(found.group()))
    if any(not 1 <= number <= len(hits) for number in numbers):
        raise ValueError("a number that stands for no candidate")
    return [hits[number - 1] for number in numbers]
