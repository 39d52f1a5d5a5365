"""Evaluation of selection: what is kept, what is dropped, when it abstains; and a sweep over its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from shortlist._plain import Plain, to_plain
from shortlist.errors import InputError
from shortlist.eval.cases import Case
from shortlist.eval.reader import reading
from shortlist.eval.statistics import CONFIDENCE, RESAMPLES, SEED, Estimate, estimates
from shortlist.eval.text_table import Table
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import Progress, track
from shortlist.results import Hit, Hits, Mode, Selector
from shortlist.search.discover import choose, refuse_unknown
from shortlist.search.filters import Filter
from shortlist.search.retrieve import merge
from shortlist.search.select import select

MAX_KS = (1, 2, 3, 5, 10)
RELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for one case, and what retrieval had brought of what should be chosen."""

    case: Case
    retrieved: tuple[str, ...]
    selected: tuple[str, ...]

    @property
    def right(self) -> int:
        return len(set(self.selected) & set(self.case.gold))


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """How well was chosen. A measure to which no case has anything to say is None.

    Given retrieval, over the cases whose gold was among the candidates, so that only the selection is measured:
    conditional_commit_rate  the share that kept one of it
    selection_precision      how much of what was selected is right; cases where nothing was selected do not count
    selection_recall, _f1    against the gold that was retrieved; nothing selected counts 0
    Overall, over the cases that have gold, so that a retrieval miss counts against them:
    precision, recall, f1    of what was selected; nothing selected counts 0
    In general:
    mean_size                how many were selected where anything was
    abstention_accuracy      of the cases to which nothing applies: the share where nothing was selected
    false_abstention_rate    of the cases that have gold: the share where nothing was selected
    """

    strategy: str
    cases: int
    retrieved: int
    """How many cases have gold that was among the candidates."""
    conditional_commit_rate: Estimate | None
    selection_precision: Estimate | None
    selection_recall: Estimate | None
    selection_f1: Estimate | None
    precision: Estimate | None
    recall: Estimate | None
    f1: Estimate | None
    mean_size: Estimate | None
    abstention_accuracy: Estimate | None
    false_abstention_rate: Estimate | None
    choices: Sequence[Choice] = field(default=(), repr=False)

    @property
    def measures(self) -> dict[str, Estimate | None]:
        return {name: getattr(self, name) for name in MEASURES}

    def to_dict(self) -> dict[str, Any]:
        counts = {"strategy": self.strategy, "cases": self.cases, "retrieved": self.retrieved}
        return counts | {name: to_plain(value) for name, value in self.measures.items()}

    def __str__(self) -> str:
        lines = [f"{name:24}{value!r}" for name, value in self.measures.items() if value is not None]
        cases = "1 case" if self.cases == 1 else f"{self.cases} cases"
        return "\n".join([f"{self.strategy}, {cases}", *lines])


def _f1(choice: Choice, wanted: Sequence[str]) -> float:
    return 2 * choice.right / (len(choice.selected) + len(wanted))


# Of each measure: which cases it speaks of, and what one of them adds to the mean.
MEASURES: dict[str, tuple[Callable[[Choice], bool], Callable[[Choice], float]]] = {
    "conditional_commit_rate": (lambda one: bool(one.retrieved), lambda one: float(one.right > 0)),
    "selection_precision": (
        lambda one: bool(one.retrieved and one.selected),
        lambda one: one.right / len(one.selected),
    ),
    "selection_recall": (lambda one: bool(one.retrieved), lambda one: one.right / len(one.retrieved)),
    "selection_f1": (lambda one: bool(one.retrieved), lambda one: _f1(one, one.retrieved)),
    "precision": (lambda one: one.case.in_scope, lambda one: one.right / max(len(one.selected), 1)),
    "recall": (lambda one: one.case.in_scope, lambda one: one.right / len(one.case.gold)),
    "f1": (lambda one: one.case.in_scope, lambda one: _f1(one, one.case.gold)),
    "mean_size": (lambda one: bool(one.selected), lambda one: float(len(one.selected))),
    "abstention_accuracy": (lambda one: not one.case.in_scope, lambda one: float(not one.selected)),
    "false_abstention_rate": (lambda one: one.case.in_scope, lambda one: float(not one.selected)),
}


LOW_IS_GOOD = ("mean_size", "false_abstention_rate")


def _values(name: str, choices: Sequence[Choice]) -> list[float]:
    speaks_of, value = MEASURES[name]
    return [value(one) for one in choices if speaks_of(one)]


def evaluate_selection(
    corpus: Searchable,
    cases: Sequence[Case],
    strategy: str | Selector = "conservative",
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    min_score: float | Literal["auto"] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: Progress | None = None,
    **selection: Any,
) -> SelectionReport:
    """Choose for every case as `discover` would, and judge the choices; options are those of `discover`."""
    _check(cases)
    corpora = open_corpora(corpus, needs_vectors=mode != "lexical")
    choices = []
    with reading(corpora, mode, filter) as reader:
        for case in track(cases, progress):
            found = reader.look(case.query, k)
            chosen = choose(found, case.query, mode, k, strategy, min_score, **selection)
            choices.append(_choice(case, merge(found, case.query, mode, k), chosen.selected))
    name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", type(strategy).__name__)
    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    found_measures = {each: _estimate(_values(each, choices), **options) for each in MEASURES}
    retrieved = sum(bool(one.retrieved) for one in choices)
    return SelectionReport(name, len(cases), retrieved, **found_measures, choices=choices)


def _choice(case: Case, hits: Sequence[Hit], selected: Sequence[Hit]) -> Choice:
    found = {hit.id for hit in hits}
    return Choice(case, tuple(id for id in case.gold if id in found), tuple(hit.id for hit in selected))


def _estimate(values: Sequence[float], **options: Any) -> Estimate | None:
    return estimates({"": values}, **options).get("")


def _check(cases: Sequence[Case]) -> None:
    if not cases:
        raise InputError("There are no cases to evaluate.")


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of the selector and what it reaches."""

    max_k: int
    rel: float
    min_score: float | None
    measures: Mapping[str, float | None]

    def to_dict(self) -> dict[str, Any]:
        return {"max_k": self.max_k, "rel": self.rel, "min_score": self.min_score, **self.measures}


@dataclass(frozen=True, slots=True)
class Sweep(Plain):
    """Every setting of a grid, judged on the same candidates."""

    mode: str
    strategy: str
    points: Sequence[Point]

    def best(self, by: str = "f1") -> Point:
        """The setting that reaches most, or least of what should be low; of equals the one that selects fewer, then the
        first of the grid."""
        if by not in MEASURES or all(point.measures[by] is None for point in self.points):
            raise InputError(f"The sweep cannot be judged by {by!r}; the measures are {', '.join(MEASURES)}.")
        sign = -1.0 if by in LOW_IS_GOOD else 1.0

        def reached(point: Point) -> tuple[float, float]:
            return sign * (point.measures[by] or 0.0), -(point.measures["mean_size"] or 0.0)

        return max(self.points, key=reached)

    def frontier(self) -> list[Point]:
        """The settings that no other beats in precision and recall at once, by rising recall; one of equals."""
        found: list[Point] = []
        for point in sorted(self.points, key=lambda one: _place(one), reverse=True):
            if not found or _place(point)[1] > _place(found[-1])[1]:
                found.append(point)
        return found[::-1]

    def table(self) -> Table:
        """A row for every setting; printed, it is a table."""
        return Table(point.to_dict() for point in self.points)

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"best": self.best().to_dict(), "frontier": to_plain(self.frontier())}


def _place(point: Point) -> tuple[float, float]:
    return point.measures["recall"] or 0.0, point.measures["precision"] or 0.0


def sweep_selector(
    corpus: Searchable,
    cases: Sequence[Case],
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    strategy: str = "conservative",
    max_k_grid: Sequence[int] = MAX_KS,
    rel_grid: Sequence[float] = RELS,
    min_score_grid: Sequence[float | None] = (None,),
    progress: Progress | None = None,
) -> Sweep:
    """Judge every max_k x rel (x min_score) of a grid on candidates that are retrieved once."""
    _check(cases)
    if not any(case.in_scope for case in cases):
        raise InputError("A sweep needs cases with gold.")
    corpora = open_corpora(corpus, needs_vectors=mode != "lexical")
    candidates: list[tuple[Case, Hits, Hits]] = []  # of a case: all that were found, and those that may be chosen
    with reading(corpora, mode, filter) as reader:
        for case in track(cases, progress):
            found = reader.look(case.query, k)
            known = [one for one in found if not refuse_unknown(one)]
            candidates.append((case, merge(found, case.query, mode, k), merge(known, case.query, mode, k)))
    points = []
    for max_k, rel, min_score in product(max_k_grid, rel_grid, min_score_grid):
        choices = [
            _choice(case, hits, select(known, strategy, max_k=max_k, rel=rel, min_score=min_score).selected)
            for case, hits, known in candidates
        ]
        points.append(Point(max_k, rel, min_score, {name: _mean(_values(name, choices)) for name in MEASURES}))
    return Sweep(mode, strategy, points)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
