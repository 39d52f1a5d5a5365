"""Evaluation with the names of ir's cases and reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist import eval as own
from shortlist.errors import InputError

from .base import Corpus, own_of


@dataclass(frozen=True)
class DiscoveryCase:
    """A query with the expected ids."""

    query: str
    gold: tuple[str, ...] = ()
    source_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def gold_is_none(self) -> bool:
        return not self.gold

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> DiscoveryCase:
        return from_case(own.parse_cases(json.dumps(row))[0])


def from_case(case: own.Case) -> DiscoveryCase:
    meta = dict(case.meta)
    return DiscoveryCase(case.query, case.gold, meta.pop("source_id", None), meta)


def to_case(case: DiscoveryCase) -> own.Case:
    meta = {**case.metadata, **({"source_id": case.source_id} if case.source_id else {})}
    return own.Case(case.query, case.gold, meta=meta)


def load_cases(path: str | Path) -> list[DiscoveryCase]:
    return [from_case(case) for case in own.load_cases(path)]


def save_cases(cases: Sequence[DiscoveryCase], path: str | Path, *, meta: Any = None) -> None:
    own.save_cases([to_case(case) for case in cases], path, meta=meta)


def validate_cases(corpus: Corpus, cases: Sequence[DiscoveryCase]) -> dict[int, list[str]]:
    known = set(own_of(corpus).ids())
    missing = {at: [id for id in case.gold if id not in known] for at, case in enumerate(cases)}
    flaws = own.validate_cases(own_of(corpus), [to_case(case) for case in cases])
    assert bool(flaws) >= any(missing.values())
    return {at: ids for at, ids in missing.items() if ids}


def as_doc_retriever(corpus: Corpus, **options: Any) -> Any:
    return lambda query, *, limit=10: [hit.id for hit in corpus.search(query, k=limit, **options)]


def to_qrels(cases: Sequence[DiscoveryCase]) -> tuple[dict[str, str], dict[str, list[str]]]:
    numbered = {f"q{at:05}": case for at, case in enumerate(cases) if case.gold}
    return {id: case.query for id, case in numbered.items()}, {id: [*case.gold] for id, case in numbered.items()}


class _Metrics:
    def __init__(self, report: Any) -> None:
        self.metrics = {name: float(value) for name, value in report.metrics.items()} if report.in_scope else {}
        self.metrics |= {f"mrr@{k}": self.metrics["mrr"] for k in (1, 3, 5) if "mrr" in self.metrics}
        self.n_queries = len(report.in_scope)
        at = [number for number, one in enumerate(report.outcomes) if one.case.in_scope]
        self.per_query = {f"q{number:05}": None for number in at}

    def primary_at(self, k: int) -> float:
        return float(self.metrics[f"ndcg@{k}"])


class _Report:
    def __init__(self, report: Any, primary_k: int, threshold: float | None) -> None:
        self.own, self.retrieval = report, _Metrics(report)
        self.n_gold, self.n_abstention = len(report.in_scope), len(report.out_of_scope)
        self.primary = self.retrieval.metrics.get(f"ndcg@{primary_k}")
        taxonomy = dict(report.taxonomy)
        refused = taxonomy.pop("abstention_ok", 0)
        self.failure_classes = {**taxonomy, **({"abstention_ok": refused} if refused else {})}
        self.abstention_accuracy = None
        if threshold is None and self.n_abstention:
            self.failure_classes["abstention_unscored"] = self.n_abstention
        elif self.n_abstention:
            self.abstention_accuracy = refused / self.n_abstention

    def __str__(self) -> str:
        return f"DiscoveryReport primary {'n/a' if self.primary is None else self.primary}"


def evaluate_discovery(
    corpus: Corpus, cases: Sequence[DiscoveryCase], mode: Any = "dense", *, primary_k: int = 10,
    k_values: Sequence[int] = (1, 3, 5, 10), metrics: Sequence[str] | None = None,
    abstain_threshold: float | None = None,
) -> _Report:  # fmt: skip
    names = None if metrics is None else [f"{name}@{primary_k}" for name in metrics]
    if names is None:
        ks = sorted({*k_values, primary_k})
        names = [f"{name}@{k}" for name in ("recall", "precision", "ndcg", "hit") for k in ks] + ["mrr", "map"]
    given = [to_case(case) for case in cases]
    try:
        report = own.evaluate_discovery(  # type: ignore[call-arg]
            own_of(corpus), given, mode, max(*k_values, primary_k), metrics=names, min_score=abstain_threshold
        )
    except InputError as error:
        raise ValueError(f"Unknown metric: {error}") from error
    return _Report(report, primary_k, abstain_threshold)


def retrieval_report(corpus: Corpus, cases: Sequence[DiscoveryCase], **options: Any) -> _Metrics:
    found = evaluate_discovery(corpus, cases, **options).retrieval
    if not found.n_queries:
        raise ValueError("no case has an expected result")
    return found


class _Selected:
    def __init__(self, report: Any, k: int) -> None:
        self.own, self.k = report, k
        self.n_gold = sum(choice.case.in_scope for choice in report.choices)
        self.n_abstention = report.cases - self.n_gold
        self.n_gold_retrieved = report.retrieved

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, {"mean_selected_size": "mean_size"}.get(name, name))

    def to_dict(self) -> dict[str, Any]:
        return {**self.own.to_dict(), "k": self.k}

    def __str__(self) -> str:
        return "SelectionReport"


def evaluate_selection(
    corpus: Corpus, cases: Sequence[DiscoveryCase], *, strategy: str = "conservative", mode: Any = "dense", k: int = 10,
    min_score: Any = None, **options: Any,
) -> _Selected:  # fmt: skip
    given = [to_case(case) for case in cases]
    report = own.evaluate_selection(own_of(corpus), given, strategy, mode, k, min_score=min_score, **options)  # type: ignore[call-arg]
    return _Selected(report, k)


def sweep_selector(corpus: Corpus, cases: Sequence[DiscoveryCase], *, mode: Any = "dense", **options: Any) -> Any:
    objective = options.pop("objective", "selection_f1")
    if objective != "selection_f1":
        raise ValueError(objective)
    return _Sweep(own.sweep_selector(own_of(corpus), [to_case(case) for case in cases], mode, **options))


class _Point:
    def __init__(self, point: Any) -> None:
        self.own, self.max_k, self.rel, self.min_score = point, point.max_k, point.rel, point.min_score
        self.report = _Measures(point.measures)


class _Measures:
    def __init__(self, measures: Any) -> None:
        self._measures = measures

    def __getattr__(self, name: str) -> Any:
        return self._measures[{"mean_selected_size": "mean_size"}.get(name, name)]


class _Sweep:
    objective = "selection_f1"

    def __init__(self, sweep: Any) -> None:
        self.own, self.points = sweep, [_Point(point) for point in sweep.points]

    def best(self, by: str = "selection_f1") -> _Point:
        try:
            return _Point(self.own.best(by))
        except InputError as error:
            raise ValueError(str(error)) from error

    def table(self) -> str:
        rows = self.own.table()
        names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
        return " ".join(names)

    def to_dict(self) -> dict[str, Any]:
        return {**self.own.to_dict(), "objective": self.objective}

    def __str__(self) -> str:
        return f"SelectionSweep best (selection_f1) {self.best().max_k}"


SelectionGridPoint = _Point


def distractor_robustness_curve(
    scope: Any, probes: Any, *, sizes: Any = None, trials: int = 5, embedder: Any = "light", mode: Any = "dense"
) -> dict[int, float]:
    curve = own.distractor_robustness_curve(  # type: ignore[call-arg]
        scope, probes, [size for size in sizes if size <= len(scope)], mode, repeats=trials, embedder=embedder,
        strategy="conservative", min_score=None,
    )  # fmt: skip
    return {point.size: float(point.accuracy) for point in curve.points}


def distractor_curve_from_cases(source: Any, cases: Sequence[DiscoveryCase], **options: Any) -> dict[int, float]:
    probes = [(case.query, case.gold) for case in cases]
    return distractor_robustness_curve(source.scope, probes, **options)


class MinScoreCalibration:
    """A calibration with ir's names."""

    def __init__(self, calibration: Any, reason: str = "calibrated") -> None:
        self.own, self.reason, self.mode = calibration, reason, getattr(calibration, "mode", "")
        self.min_score = getattr(calibration, "floor", None)
        inside, outside = getattr(calibration, "in_scope", []), getattr(calibration, "out_of_scope", [])
        self.n_positive, self.n_abstention = len(inside), len(outside)
        self.n_retrieval_miss = getattr(calibration, "not_retrieved", 0)
        self.separable = bool(inside and outside) and min(inside) > max(outside)
        self.positive_scores = {"min": min(inside, default=0.0), "max": max(inside, default=0.0)}
        self.abstention_scores = {"min": min(outside, default=0.0), "max": max(outside, default=0.0)}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    @property
    def grid(self) -> list[dict[str, Any]]:
        return list(self.own.table())


def calibrate_min_score(
    corpus: Corpus, cases: Sequence[DiscoveryCase], *, mode: Any = "dense", **options: Any
) -> MinScoreCalibration:
    given = [to_case(case) for case in cases]
    kinds = {case.in_scope for case in given}
    if len(kinds) < 2:
        reason = "no_cases" if not kinds else "no_abstention_cases" if True in kinds else "no_positive_cases"
        return MinScoreCalibration(None, reason)
    try:
        return MinScoreCalibration(own.calibrate_min_score(own_of(corpus), given, mode, **options))
    except InputError as error:
        words = str(error).replace("one or more", "non-empty")
        raise ValueError(words) from error


def load_calibration(corpus: Corpus, mode: str) -> MinScoreCalibration | None:
    floor = own_of(corpus).config.floors.get(mode)
    if floor is None:
        return None
    found = MinScoreCalibration(None)
    found.min_score = floor
    return found
