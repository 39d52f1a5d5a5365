"""The options of a search: their defaults, limits and descriptions, for Python, CLI, HTTP, MCP and evaluation alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from shortlist.errors import InputError
from shortlist.protocols import RuleKeywords
from shortlist.results import Filter, Level, Loader, MinRelevance, Mode, RawScore, Selector, accept_min_score

MODES: tuple[Mode, ...] = get_args(Mode)
LEVELS: tuple[Level, ...] = get_args(Level)

K = 10  # candidates
STRATEGY = "adaptive"
ADAPTIVE_MAX_K = 5  # results of the strategy "adaptive", unless `max_k` is given
MAX_K = 3  # results of the other strategies
REL = 0.9
GAP_RATIO = 0.5
TEMPERATURE = 0.5
CUTOFF = 10.0


class SelectKeywords(RuleKeywords, total=False):
    """The options of a search that only the selection uses, as keyword arguments."""

    max_k: int | None


class SearchKeywords(SelectKeywords, total=False):
    """The options of a search, except the level of disclosure, as keyword arguments."""

    mode: Mode
    k: int
    filter: Filter | None
    strategy: str | Selector
    min_relevance: MinRelevance


class DiscoverKeywords(SearchKeywords, total=False):
    """The keyword arguments of `discover`, except `options`, `progress` and the other name of `level`."""

    exact: bool
    level: Level
    loader: Loader | None
    roots: Sequence[str | Path] | None


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search, select and disclose. What takes `options` takes the same ones as keyword arguments.

    `search` uses `mode`, `k`, `filter` and `exact`; `select` uses those from `strategy` to `cutoff`.
    """

    mode: Mode = "auto"
    k: int = K
    filter: Filter | None = None
    strategy: str | Selector = STRATEGY
    max_k: int | None = None
    min_relevance: MinRelevance = "auto"
    rel: float = REL
    gap_ratio: float = GAP_RATIO
    temperature: float = TEMPERATURE
    cutoff: float = CUTOFF
    level: Level = "metadata"
    exact: bool = False

    def __post_init__(self) -> None:
        check_mode(self.mode)
        check_count("k", self.k, least=0)
        check_level(self.level)
        if not isinstance(self.exact, bool):
            raise InputError(f"exact must be True or False, not {self.exact!r}.")
        if self.max_k is not None:
            check_count("max_k", self.max_k, least=1)
        check_min_relevance(self.min_relevance)
        for name in ("rel", "gap_ratio", "temperature", "cutoff"):
            if not _is_number(value := getattr(self, name)):
                raise InputError(f"{name} must be a number, not {value!r}.")
        if not 0 <= self.rel <= 1 or not 0 <= self.gap_ratio <= 1:
            raise InputError(f"rel and gap_ratio must be between 0 and 1, not {self.rel!r} and {self.gap_ratio!r}.")
        if self.temperature <= 0 or not 0 <= self.cutoff <= 100:
            raise InputError(
                f"temperature must be above 0 and cutoff from 0 to 100, not {self.temperature!r} and {self.cutoff!r}."
            )

    @property
    def candidates(self) -> int:
        """The number of candidates: k, or max_k if that is more."""
        return max(self.k, self.max_k) if self.k and self.max_k else self.k

    @property
    def selection(self) -> SelectKeywords:
        """The options of `select`, except the strategy and the threshold."""
        return {
            "max_k": self.max_k,
            "rel": self.rel,
            "gap_ratio": self.gap_ratio,
            "temperature": self.temperature,
            "cutoff": self.cutoff,
        }


SearchOptions.__init__ = accept_min_score(SearchOptions.__init__)  # type: ignore[method-assign]

DESCRIPTIONS = {
    "mode": "Ranking: lexical (BM25), dense (cosine), hybrid (both, by rank) or auto (a blend of both).",
    "k": "Number of candidates.",
    "filter": "Metadata that documents must have, such as {'kind': 'tool'}.",
    "strategy": "Selection rule: a built-in or registered name, or a function from hits to hits.",
    "max_k": "Maximum number of results to select; the strategy 'adaptive' returns this number.",
    "min_relevance": "Abstain if the highest relevance is below this number from 0 to 1. 'auto' uses the calibrated or "
    "built-in threshold.",
    "rel": "Keep hits with at least this fraction of the top score (conservative, rel_threshold).",
    "gap_ratio": "Cut before the first score below this fraction of the previous one (score_gap).",
    "temperature": "Temperature of the softmax over the scores (softmax).",
    "cutoff": "Keep hits with at least this percentage of the softmax (softmax).",
    "level": "How much of each result to disclose: metadata, body, or bundled (with the files beside it).",
    "exact": "Compare all vectors, even if there are 100,000 or more.",
}
"""What each option does, for help texts and schemas."""

_DEFAULTS = {each.name: each.default for each in fields(SearchOptions)}


def combine_options(options: SearchOptions | None, **keywords: Any) -> SearchOptions:
    """The given options or, without any, those of the keywords. Both together are an error."""
    if options is None:
        return SearchOptions(**keywords)
    if not isinstance(options, SearchOptions):
        raise InputError(f"options must be SearchOptions, not {options!r}.")
    for name, value in keywords.items():
        if value != _DEFAULTS[name]:
            raise InputError(f"{name}={value!r} was passed beside options. Set {name} in the options instead.")
    return options


def check_mode(mode: str) -> None:
    if mode not in MODES:
        raise InputError(f"Unknown mode {mode!r}. Use one of {', '.join(MODES)}.")


def check_min_relevance(value: MinRelevance) -> None:
    if value in (None, "auto"):
        return
    if isinstance(value, RawScore):
        if not math.isfinite(value):
            raise InputError(f"min_score must be a finite number, 'auto' or None, not {float(value)!r}.")
    elif not _is_number(value) or not 0 <= float(value) <= 1:
        raise InputError(f"min_relevance must be a number from 0 to 1, 'auto' or None, not {value!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_level(level: str) -> None:
    if level not in LEVELS:
        raise InputError(f"Unknown level {level!r}. Use one of {', '.join(LEVELS)}.")


def check_count(name: str, value: int, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} must be an integer of {least} or more, not {value!r}.")
