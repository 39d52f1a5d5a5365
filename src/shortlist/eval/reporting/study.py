"""Everything worth plotting about an evaluation, measured on the same cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

from shortlist.eval.calibration import Calibration, calibrate_min_score
from shortlist.eval.cases import Case
from shortlist.eval.distractors import Curve, distractor_robustness_curve
from shortlist.eval.reporting.html_report import figures, html_page
from shortlist.eval.reporting.plots import Figure
from shortlist.eval.retrieval import Comparison, DiscoveryReport
from shortlist.eval.selection import SelectionReport, Sweep, evaluate_selection, sweep_selector
from shortlist.eval.statistics import SEED
from shortlist.index.corpus import Corpus
from shortlist.protocols import Progress
from shortlist.results import Selector
from shortlist.search.filters import Filter

# With more documents there is no curve of distractors: it would index them all again.
CURVE_UP_TO = 20_000


@dataclass(frozen=True, slots=True)
class Step:
    """How far a study is: what is being done, and how much of it."""

    name: str
    done: int
    total: int
    share: float  # of the whole study


Tell = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Study:
    """An evaluation and what its cases say beside; what they say nothing about is None."""

    report: DiscoveryReport
    comparison: Comparison | None
    selection: SelectionReport
    sweep: Sweep | None
    calibration: Calibration | None
    curve: Curve | None

    def figures(self) -> list[Figure]:
        return figures(
            self.report, sweep=self.sweep, calibration=self.calibration, curve=self.curve, comparison=self.comparison
        )

    def html(self) -> str:
        return html_page(
            self.report,
            selection=self.selection,
            sweep=self.sweep,
            calibration=self.calibration,
            curve=self.curve,
            comparison=self.comparison,
        )

    def to_dict(self) -> dict[str, Any]:
        """The report without the cases that went well, and everything else."""
        floor = self.calibration
        scores = floor and {"scores": {"in_scope": list(floor.in_scope), "out_of_scope": list(floor.out_of_scope)}}
        return {
            **self.report.to_dict(cases=False),
            "recall_at": [{"k": k, "recall": recall} for k, recall in self.report.recall_curve()],
            "misses": [one.to_dict() for one in self.report.misses],
            "comparison": self.comparison.to_dict() if self.comparison else None,
            "selection": self.selection.to_dict(),
            "sweep": self.sweep.to_dict() if self.sweep else None,
            "calibration": floor.to_dict() | scores if floor and scores else None,
            "curve": self.curve.to_dict() if self.curve else None,
            "plots": [figure.to_dict() for figure in self.figures()],
        }


def study(
    corpus: Corpus,
    report: DiscoveryReport,
    comparison: Comparison | None = None,
    *,
    filter: Filter | None = None,
    strategy: str | Selector = "conservative",
    min_score: float | Literal["auto"] | None = None,
    curve: bool = True,
    seed: int = SEED,
    tell: Tell | None = None,
) -> Study:
    """Ask the cases of a report again, in the same way, for the choice, the floor and the cost of growth."""
    cases = [one.case for one in report.outcomes]
    mode, k = report.mode, report.k
    known = _without_missing(cases, set(corpus.ids()))
    nothing = [case for case in cases if not case.in_scope]
    some_retrieved = any(one.rank is not None and one.rank <= k for one in report.outcomes)
    with_sweep, with_floor = bool(report.in_scope), bool(some_retrieved and nothing)
    with_curve = bool(curve and known and len(corpus) <= CURVE_UP_TO)
    steps = 1 + with_sweep + with_floor + with_curve
    begun = 0

    def step(name: str) -> Progress:
        nonlocal begun
        at, begun = begun, begun + 1

        def progress(done: int, total: int | None) -> None:
            if tell:
                tell(Step(name, done, total or 1, (at + done / (total or 1)) / steps))

        return progress

    chosen = evaluate_selection(
        corpus, cases, strategy, mode, k, filter, min_score=min_score, seed=seed, progress=step("choosing")
    )
    sweep = floor = growth = None
    if with_sweep:
        sweep = sweep_selector(corpus, cases, mode, k, filter, progress=step("trying settings"))
    if with_floor:
        floor = calibrate_min_score(
            corpus, [*known, *nothing], mode, k, filter, seed=seed, progress=step("looking for the floor")
        )
    if with_curve:
        growth = distractor_robustness_curve(
            corpus, known, mode=mode, k=k, seed=seed, progress=step("adding distractors")
        )
    return Study(report, comparison, chosen, sweep, floor, growth)


def _without_missing(cases: Sequence[Case], ids: Set[str]) -> list[Case]:
    """The cases with the gold that there is, of which a catalog can be made; without those that have none."""
    found = [Case(case.query, tuple(id for id in case.gold if id in ids)) for case in cases]
    return [case for case in found if case.in_scope]
