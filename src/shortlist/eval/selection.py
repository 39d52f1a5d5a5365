"""Evaluation of selection: precision, recall, size and abstentions of what is selected; and a sweep over settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Unpack

from shortlist._plain import Plain, to_plain
from shortlist._text import count_of
from shortlist.display.html_tables import card, muted
from shortlist.errors import InputError
from shortlist.eval.cases import Case
from shortlist.eval.reader import open_reader
from shortlist.eval.statistics import CONFIDENCE, RESAMPLES, SEED, Estimate, Table, draw_estimates, estimate_mean
from shortlist.library.opening import Searchable
from shortlist.protocols import ProgressOption
from shortlist.results import Filter, Hit, MinRelevance, Mode, Selector, accept_min_score
from shortlist.retrieval.options import STRATEGY, SearchOptions, SelectKeywords, combine_options
from shortlist.retrieval.select import select

MAX_KS = (1, 2, 3, 5, 10)
RELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class CaseSelection:
    """What was selected for one case, and the expected results that were retrieved."""

    case: Case
    retrieved: tuple[str, ...]
    selected: tuple[str, ...]

    @property
    def correct(self) -> int:
        return len(set(self.selected) & set(self.case.gold))

    def f1(self, expected: Sequence[str]) -> float:
        return 2 * self.correct / (len(self.selected) + len(expected))


# For each measure: the cases that it covers, and the value of one of them.
MEASURES: dict[str, tuple[Callable[[CaseSelection], Any], Callable[[CaseSelection], float]]] = {
    "conditional_commit_rate": (lambda one: one.retrieved, lambda one: one.correct > 0),
    "selection_precision": (lambda one: one.retrieved and one.selected, lambda one: one.correct / len(one.selected)),
    "selection_recall": (lambda one: one.retrieved, lambda one: one.correct / len(one.retrieved)),
    "selection_f1": (lambda one: one.retrieved, lambda one: one.f1(one.retrieved)),
    "precision": (lambda one: one.case.in_scope, lambda one: one.correct / max(len(one.selected), 1)),
    "recall": (lambda one: one.case.in_scope, lambda one: one.correct / len(one.case.gold)),
    "f1": (lambda one: one.case.in_scope, lambda one: one.f1(one.case.gold)),
    "mean_size": (lambda one: one.selected, lambda one: len(one.selected)),
    "abstention_accuracy": (lambda one: not one.case.in_scope, lambda one: not one.selected),
    "false_abstention_rate": (lambda one: one.case.in_scope, lambda one: not one.selected),
}
LOW_IS_GOOD = ("mean_size", "false_abstention_rate")


def _values(name: str, choices: Sequence[CaseSelection]) -> list[float]:
    covers, value = MEASURES[name]
    return [float(value(one)) for one in choices if covers(one)]


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """How well results were selected; a measure that covers no case is None.

    docs/guides/evaluate.md defines the measures. Those named selection_* and the conditional_commit_rate are over the
    cases with an expected result among the candidates, so that only selection is measured.
    """

    strategy: str
    cases: int
    retrieved: int  # cases with an expected result among the candidates
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
    choices: Sequence[CaseSelection] = field(default=(), repr=False)

    @property
    def measures(self) -> dict[str, Estimate | None]:
        return {name: getattr(self, name) for name in MEASURES}

    def __repr__(self) -> str:
        shown = {"f1": self.f1, "abstention_accuracy": self.abstention_accuracy}
        values = "".join(f", {name} {value:.3f}" for name, value in shown.items() if value is not None)
        return f"SelectionReport({self.strategy!r}: {count_of(self.cases, 'case')}{values})"

    def _repr_html_(self) -> str:
        known = {name: value for name, value in self.measures.items() if value is not None}
        facts = [muted(f"{self.strategy}, {count_of(self.cases, 'case')}")]
        return card("Evaluation of selection", facts, draw_estimates(known))

    def to_dict(self) -> dict[str, Any]:
        counts = {"strategy": self.strategy, "cases": self.cases, "retrieved": self.retrieved}
        return {**counts, **to_plain(self.measures)}


@accept_min_score
def evaluate_selection(
    corpus: Searchable,
    cases: Sequence[Case],
    strategy: str | Selector = STRATEGY,
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    min_relevance: MinRelevance = "auto",
    exact: bool = False,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
    **selection: Unpack[SelectKeywords],
) -> SelectionReport:
    """Select for every case as `discover` would, and evaluate the selections; options are those of `discover`."""
    options = combine_options(
        options, mode=mode, k=k, filter=filter, exact=exact, strategy=strategy, min_relevance=min_relevance, **selection
    )
    k, strategy = options.candidates, options.strategy
    with open_reader(corpus, options.mode, options.filter, exact=options.exact) as reader:
        choices = [
            _make_choice(case, found.rank(k), found.choose(options).selected)
            for case, found in reader.run(cases, k, progress)
        ]
    name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", type(strategy).__name__)
    measures = {
        each: estimate_mean(_values(each, choices), confidence=confidence, resamples=resamples, seed=seed)
        for each in MEASURES
    }
    return SelectionReport(name, len(cases), sum(bool(one.retrieved) for one in choices), **measures, choices=choices)


def _make_choice(case: Case, hits: Sequence[Hit], selected: Sequence[Hit]) -> CaseSelection:
    ids = {hit.id for hit in hits}
    return CaseSelection(case, tuple(id for id in case.gold if id in ids), tuple(hit.id for hit in selected))


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of the selector and its measures."""

    max_k: int
    rel: float
    min_score: float | None
    measures: Mapping[str, float | None]

    @property
    def recall_and_precision(self) -> tuple[float, float]:
        return self.measures["recall"] or 0.0, self.measures["precision"] or 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"max_k": self.max_k, "rel": self.rel, "min_score": self.min_score, **self.measures}


@dataclass(frozen=True, slots=True)
class Sweep(Plain):
    """All settings of a grid, evaluated on the same candidates."""

    mode: str
    strategy: str
    points: Sequence[Point]

    def best(self, by: str = "f1") -> Point:
        """The setting with the highest measure, or lowest if low is good; of ties the one that selects fewer."""
        if by not in MEASURES or all(point.measures[by] is None for point in self.points):
            raise InputError(f"{by!r} is not a measure of this sweep. Use one of {', '.join(MEASURES)}.")
        sign = -1.0 if by in LOW_IS_GOOD else 1.0
        return max(self.points, key=lambda one: (sign * (one.measures[by] or 0.0), -(one.measures["mean_size"] or 0.0)))

    def frontier(self) -> list[Point]:
        """The settings that no other beats in both precision and recall, by rising recall; one of each tie."""
        best: list[Point] = []
        for point in sorted(self.points, key=lambda one: one.recall_and_precision, reverse=True):
            if not best or point.recall_and_precision[1] > best[-1].recall_and_precision[1]:
                best.append(point)
        return best[::-1]

    def table(self) -> Table:
        """One row for each setting."""
        return Table(point.to_dict() for point in self.points)

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"best": self.best().to_dict(), "frontier": to_plain(self.frontier())}


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
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
) -> Sweep:
    """Evaluate every combination of max_k, rel and min_score on candidates that are retrieved once.

    `options` are `mode`, `k` and `filter` in one object.
    """
    options = combine_options(options, mode=mode, k=k, filter=filter)
    mode, k, filter = options.mode, options.k, options.filter
    if cases and not any(case.in_scope for case in cases):
        raise InputError("No case has gold. A sweep needs cases with gold.")
    with open_reader(corpus, mode, filter) as reader:
        candidates = [(case, found.rank(k), found.rank_selectable(k)) for case, found in reader.run(cases, k, progress)]
    points = []
    for max_k, rel, min_score in product(max_k_grid, rel_grid, min_score_grid):
        choices = [
            _make_choice(case, hits, select(selectable, strategy, max_k=max_k, rel=rel, min_score=min_score).selected)
            for case, hits, selectable in candidates
        ]
        values = {name: _values(name, choices) for name in MEASURES}
        means = {name: sum(each) / len(each) if each else None for name, each in values.items()}
        points.append(Point(max_k, rel, min_score, means))
    return Sweep(mode, strategy, points)
