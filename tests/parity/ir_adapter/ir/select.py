"""Selection and disclosure with the names of ir; the words of its reasons are derived from our signals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import shortlist
from shortlist import Disclosure, Hit
from shortlist.errors import InputError

from .base import own_of

__all__ = ["Disclosure", "DiscoveryResult", "Selection", "disclose", "discover", "make_llm_selector", "select"]

Selector = Callable[[list[Hit]], list[Hit]]


def _selector(strategy: str, **options: Any) -> Selector:
    return lambda hits: shortlist.select(hits, strategy, **{"max_k": len(hits) or 1} | options).selected


def top_k(k: int = 3) -> Selector:
    return _selector("top_k", max_k=k)


def abs_threshold(min_score: float) -> Selector:
    return _selector("abs_threshold", min_score=min_score)


def rel_threshold(ratio: float = 0.9) -> Selector:
    return _selector("rel_threshold", rel=ratio)


def score_gap(gap_ratio: float = 0.5) -> Selector:
    return _selector("score_gap", gap_ratio=gap_ratio)


@dataclass
class Selection:
    """The selected hits with ir's words for the reason."""

    selected: list[Hit]
    reason: str
    signals: dict[str, Any] = field(default_factory=dict)

    @property
    def selected_ids(self) -> list[str]:
        return [hit.id for hit in self.selected]

    @property
    def abstained(self) -> bool:
        return not self.selected

    def to_dict(self) -> dict[str, Any]:
        shown = [{"artifact_id": hit.id, "score": hit.score} for hit in self.selected]
        return {"selected": shown, "selected_ids": self.selected_ids, "abstained": self.abstained}


def select(hits: list[Hit], strategy: Any = "conservative", *, max_k: int | None = None, **options: Any) -> Selection:
    try:
        ours = shortlist.select(hits, strategy, max_k=max_k, **options)
    except InputError as error:
        raise ValueError(str(error)) from error
    floor = options.get("min_score")
    if not hits:
        reason = "abstain:no_candidates"
    elif floor is not None and not ours.selected:
        reason = "abstain:below_floor"
    elif not isinstance(strategy, str):
        reason = "custom"
    elif strategy != "conservative":
        reason = strategy
    elif len(hits) == 1:
        reason = "single"
    elif len(ours.selected) == (max_k or 3) < len(hits):
        reason = "max_k"
    else:
        reason = "exhausted" if len(ours.selected) == len(hits) else "rel_threshold"
    best = max((hit.score for hit in hits), default=0.0)
    ratios = [hit.score / best for hit in ours.selected] if best > 0 else []
    signals = {**ours.signals, "n_selected": len(ours.selected), "min_ratio": min(ratios, default=1.0)}
    return Selection(ours.selected, reason, signals)


def make_llm_selector(query: str, *, chooser: Callable[..., list[str]]) -> Selector:
    """ir passes query and candidates to a function that returns ids; ours passes a prompt and reads the reply."""

    def reply(prompt: str) -> str:
        ids = chooser(query=query, candidates=prompt)
        if not ids:
            raise ValueError("nothing was chosen")
        return "\n".join(ids)

    return shortlist.make_llm_selector(reply)


@dataclass
class _Shown:
    """A disclosure with ir's names."""

    own: Disclosure
    summary: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    @property
    def pointer(self) -> Any:
        return self.own.metadata.get("skill_path") or self.own.metadata.get("path")

    def to_dict(self) -> dict[str, Any]:
        return self.own.to_dict()


def disclose(selection: Selection, level: Any = "metadata", *, loader: Any = None) -> list[_Shown]:
    try:
        shown = shortlist.disclose(selection.selected, level, loader=loader, roots=["/"])
    except InputError as error:
        raise ValueError(str(error)) from error
    return [_Shown(one, hit.text) for one, hit in zip(shown, selection.selected, strict=True)]


class DiscoveryResult:
    """A discovery with ir's names."""

    def __init__(self, own: shortlist.Discovery, reason: str) -> None:
        self.own, self.reason, self.results, self.abstained = own, reason, own.results, own.abstained
        self.n_retrieved = len(own.candidates)

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.results]

    def to_dict(self) -> dict[str, Any]:
        data = self.own.to_dict()
        for row in data["results"]:
            row["artifact_id"] = row["id"]
        return {**data, "n_selected": len(self.results)}


def discover(
    corpus: Any, query: str, *, mode: Any = "dense", min_score: Any = None, k: int = 10, **options: Any
) -> DiscoveryResult:
    if isinstance(min_score, str) and min_score != "auto":
        raise ValueError(f"invalid min_score {min_score!r}")
    chosen = {"strategy": "conservative", **options}
    found = shortlist.discover(own_of(corpus), query, mode=mode, k=k, min_score=min_score, **chosen)  # type: ignore[call-arg]
    return DiscoveryResult(found, "abstain:below_floor" if found.abstained else "kept")
