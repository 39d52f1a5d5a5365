"""All measurements of an evaluation that are worth a plot, made on the same cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shortlist.eval.calibration import calibrate_min_score
from shortlist.eval.cases import Case
from shortlist.eval.distractors import distractor_robustness_curve
from shortlist.eval.reporting.html_report import Study
from shortlist.eval.retrieval import Comparison, DiscoveryReport
from shortlist.eval.selection import evaluate_selection, sweep_selector
from shortlist.eval.statistics import SEED
from shortlist.index.corpus import Corpus
from shortlist.protocols import Progress
from shortlist.results import Selector
from shortlist.search.discover import MinScore
from shortlist.search.filters import Filter

MOST_DOCUMENTS = 20_000  # for a curve of distractors, which indexes them all again


@dataclass(frozen=True, slots=True)
class Step:
    """The progress of a study: the current step, and how much of it is done."""

    name: str
    done: int
    total: int
    share: float  # of the whole study


def study(
    corpus: Corpus,
    report: DiscoveryReport,
    comparison: Comparison | None = None,
    *,
    filter: Filter | None = None,
    strategy: str | Selector = "conservative",
    min_score: MinScore = None,
    curve: bool = True,
    seed: int = SEED,
    tell: Callable[[Step], None] | None = None,
) -> Study:
    """Run the cases of a report again to measure selection, its settings, the threshold and the cost of growth.

    `tell` is called with each step.
    """
    cases = [one.case for one in report.outcomes]
    mode, k = report.mode, report.k
    ids = set(corpus.ids())
    known = [Case(case.query, tuple(id for id in case.gold if id in ids)) for case in cases]
    known = [case for case in known if case.in_scope]
    out_of_scope = [case for case in cases if not case.in_scope]
    has_retrieved = any(one.rank is not None and one.rank <= k for one in report.outcomes)
    with_sweep, with_threshold = bool(report.in_scope), has_retrieved and bool(out_of_scope)
    with_curve = curve and bool(known) and len(corpus) <= MOST_DOCUMENTS
    steps = 1 + with_sweep + with_threshold + with_curve
    begun = 0

    def track_step(name: str) -> Progress:
        nonlocal begun
        at, begun = begun, begun + 1

        def progress(done: int, total: int | None) -> None:
            if tell:
                tell(Step(name, done, total or 1, (at + done / (total or 1)) / steps))

        return progress

    progress = track_step("evaluating selection")
    selection = evaluate_selection(
        corpus, cases, strategy, mode, k, filter, min_score=min_score, seed=seed, progress=progress
    )
    sweep = calibration = growth = None
    if with_sweep:
        sweep = sweep_selector(corpus, cases, mode, k, filter, progress=track_step("sweeping settings"))
    if with_threshold:
        progress = track_step("calibrating the threshold")
        calibration = calibrate_min_score(
            corpus, [*known, *out_of_scope], mode, k, filter, seed=seed, progress=progress
        )
    if with_curve:
        progress = track_step("adding distractors")
        growth = distractor_robustness_curve(corpus, known, mode=mode, k=k, seed=seed, progress=progress)
    return Study(report, comparison, selection, sweep, calibration, growth)
