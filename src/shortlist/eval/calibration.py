"""Calibration of the score threshold ("floor") that best separates queries with expected results from those without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._plain import Plain
from shortlist._text import count_of
from shortlist.display.html_tables import badge, bar, card, muted, table
from shortlist.errors import InputError
from shortlist.eval.cases import Case, validate_cases
from shortlist.eval.reader import open_one, open_reader
from shortlist.eval.statistics import SEED, Table
from shortlist.library.opening import Searchable
from shortlist.protocols import ProgressOption
from shortlist.results import Filter, Mode
from shortlist.retrieval.options import SearchOptions, combine_options
from shortlist.retrieval.relevance import STORED, UNCHANGED, calibration_of, log_odds, probability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats

FOLDS = 5
LEAST_HELD_OUT = 2 * FOLDS  # cases of each kind

# The built-in relevance weighs as much as this number of cases, and calibration never reverses its order.
PRIOR_CASES = 5.0
LEAST_SLOPE = 0.1

WEAK = 0.2  # Youden's J below which a threshold does more harm than good


@dataclass(frozen=True, slots=True)
class Calibration(Plain):
    """A threshold, and how well it separates cases with expected results ("in scope") from those without.

    Cases whose expected results were not retrieved say nothing about a threshold; `not_retrieved` counts them.
    """

    _shown = (
        "corpus mode floor present sensitivity specificity youden_j auroc held_out in_scope out_of_scope "
        "not_retrieved persisted says"
    )

    corpus: str
    mode: str
    floor: float
    sensitivity: float  # the share of cases in scope whose top score reaches the threshold
    specificity: float  # the share of cases out of scope whose top score is below it
    youden_j: float  # sensitivity + specificity - 1: 0 is chance, 1 is perfect
    auroc: float  # how often a case in scope scores higher than one out of scope, whatever the threshold
    held_out: dict[str, float] | None  # the first three by five-fold cross-validation
    persisted: bool
    in_scope: Sequence[float] = field(repr=False)  # top scores; 0 where the search itself abstains
    out_of_scope: Sequence[float] = field(repr=False)
    not_retrieved: int = 0
    floors: Sequence[float] = field(default=(), repr=False)  # all thresholds that were tried
    present: float | None = None  # in "auto": this threshold as long as it is not persisted, on the scale of now

    @property
    def says(self) -> str:
        """The result in sentences."""
        lost, passed = 1 - self.sensitivity, 1 - self.specificity
        parts = [
            f"Below {self.floor:.4g} nothing fits: {lost:.0%} of the queries with an expected result get none, "
            f"{passed:.0%} of those without one get some."
        ]
        if self.present is not None:
            parts.append(
                f"Persisting it also recalibrates relevance: until then, the same threshold is {self.present:.4g}."
            )
        if self.not_retrieved:
            parts.append(f"Left out: {count_of(self.not_retrieved, 'case')} whose expected results were not retrieved.")
        if self.held_out is None:
            parts.append(
                f"Held-out measures need at least {LEAST_HELD_OUT} cases of each kind, and there are "
                f"{len(self.in_scope)} with an expected result that was retrieved and {len(self.out_of_scope)} without "
                "one: the threshold may not hold for other questions."
            )
        if (self.held_out or {"youden_j": self.youden_j})["youden_j"] < WEAK:
            parts.append(
                "Scores of this mode hardly separate the two here: try another mode, add words that people use to "
                "the descriptions, or add cases."
            )
        return " ".join(parts)

    def __repr__(self) -> str:
        return f"Calibration({self.corpus!r}, {self.mode}: threshold {self.floor:.4g}, Youden's J {self.youden_j:.3f})"

    def _repr_html_(self) -> str:
        measured = {"sensitivity": self.sensitivity, "specificity": self.specificity, "AUROC": self.auroc}
        others = self.held_out or {}
        rows = [
            (name, bar(value, f"{value:.3f}"), bar(others[name], f"{others[name]:.3f}") if name in others else "-")
            for name, value in measured.items()
        ]
        facts = [muted(f"{self.corpus}, {self.mode}"), badge("saved" if self.persisted else "not saved")]
        counts = f"{count_of(len(self.in_scope), 'case')} with an expected result, {len(self.out_of_scope)} without"
        measures = table(("Measure", "These cases", "Held out"), rows)
        return card(f"Threshold {self.floor:.4g}", facts, measures, muted(counts), self.says)

    def table(self) -> Table:
        """One row for each threshold that was tried."""
        inside, outside = np.array(self.in_scope), np.array(self.out_of_scope)
        return Table({"min_score": floor, **_measure(inside >= floor, outside < floor)} for floor in self.floors)

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"in_scope": len(self.in_scope), "out_of_scope": len(self.out_of_scope)}


def calibrate_min_score(
    corpus: Searchable,
    cases: Sequence[Case],
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    floor_grid: Sequence[float] | None = None,
    persist: bool = False,
    seed: int = SEED,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
) -> Calibration:
    """The threshold that maximizes Youden's J over the cases; `persist` saves it for min_relevance="auto".

    A threshold belongs to a corpus with its embedder and to a mode. It is midway between two scores, of ties in the
    widest gap; or the lowest of the best in `floor_grid`. Expected ids that the corpus does not have are an error.
    In "auto" the scores are relevances as they will be with this calibration, also without `persist`; `present` is the
    threshold as long as it is not persisted. `options` are `mode`, `k` and `filter` in one object.
    """
    options = combine_options(options, mode=mode, k=k, filter=filter)
    mode, k, filter = options.mode, options.k, options.filter
    grid = None if floor_grid is None else np.unique(np.array(list(floor_grid), dtype=np.float64))
    if grid is not None and (not len(grid) or not np.isfinite(grid).all()):
        raise InputError(f"floor_grid must be one or more finite numbers, not {floor_grid!r}.")
    if grid is not None and mode == "auto" and not (grid[0] >= 0 and grid[-1] <= 1):
        raise InputError(f"floor_grid must be numbers from 0 to 1 in the mode 'auto', not {floor_grid!r}.")
    scores: dict[bool, list[float]] = {True: [], False: []}
    not_retrieved = 0
    judgments: list[tuple[float, bool]] = []  # the relevance of the top hit, and whether it is correct
    only = open_one(corpus, "calibrate_min_score", needs_vectors=mode != "lexical")
    if wrong := [flaw.says for flaw in validate_cases(only, cases) if flaw.problem == "unknown_gold"]:
        more = f" {len(wrong) - 1} more: see validate_cases." if len(wrong) > 1 else ""
        raise InputError(f"{wrong[0]}{more}")
    with open_reader(only, mode, filter) as reader:
        for case, found in reader.run(cases, k, progress):
            best = next(iter(found.rank_selectable(k)), None)
            if case.in_scope and not any(hit.id in case.gold for hit in found.rank(k)):
                not_retrieved += 1
            else:
                scores[case.in_scope].append(max(best.score, 0.0) if best else 0.0)
            if best and best.relevance is not None:
                judgments.append((best.relevance, best.id in case.gold))
    calibrated = fit_relevance(judgments, before := calibration_of(only.config, mode))
    if mode == "auto":  # the threshold is one of the relevances that follow
        scores = {
            kind: [_recalibrate(value, before, calibrated) for value in values] for kind, values in scores.items()
        }
    inside, outside = np.array(scores[True]), np.array(scores[False])
    if not len(inside) or not len(outside):
        retrieved = "with gold that was retrieved" if not_retrieved else "with gold"
        lacking = "with an empty gold" if len(inside) else retrieved
        raise InputError(f"There are no cases {lacking}. Calibration needs both cases with gold and cases without.")
    floor = find_threshold(inside, outside, grid)
    measures = _measure(inside >= floor, outside < floor)
    calibration = Calibration(
        only.name,
        mode,
        floor,
        **measures,
        auroc=auroc(inside, outside),
        held_out=_cross_validate(inside, outside, seed, grid),
        persisted=persist,
        in_scope=inside.tolist(),
        out_of_scope=outside.tolist(),
        not_retrieved=not_retrieved,
        present=_recalibrate(floor, calibrated, before) if mode == "auto" and not persist else None,
        floors=(_midpoints(inside, outside) if grid is None else grid).tolist(),
    )
    if persist:
        counts = {"in_scope": len(inside), "out_of_scope": len(outside)}
        only.set_threshold(mode, floor, youden_j=measures["youden_j"], **counts, **{STORED: calibrated})
    return calibration


def _recalibrate(relevance: float, before: Sequence[float], after: Sequence[float]) -> float:
    """What a relevance with one calibration is with another; 0, where the search abstains, stays 0."""
    if not relevance:
        return 0.0
    return probability(after[0] * (log_odds(relevance) - before[1]) / before[0] + after[1])


def fit_relevance(judgments: Sequence[tuple[float, bool]], before: Sequence[float] = UNCHANGED) -> list[float]:
    """The slope and shift of the log odds that turn relevances into how often hits are correct.

    A logistic regression by Newton's method; the prior is `PRIOR_CASES` cases that confirm the built-in relevance.
    """
    if not judgments:
        return list(UNCHANGED)
    odds = (np.array([log_odds(relevance) for relevance, _ in judgments]) - before[1]) / before[0]
    correct = np.array([is_correct for _, is_correct in judgments], dtype=np.float64)
    table = np.stack([odds, np.ones(len(odds))], axis=1)
    start = np.array(UNCHANGED)
    weights = start.copy()
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        gradient = table.T @ (chance - correct) + PRIOR_CASES * (weights - start)
        hessian = (table * (chance * (1 - chance))[:, None]).T @ table + PRIOR_CASES * np.eye(2)
        weights -= np.linalg.solve(hessian, gradient)
    return [max(float(weights[0]), LEAST_SLOPE), float(weights[1])]


def _midpoints(inside: Floats, outside: Floats) -> Floats:
    levels = np.unique(np.concatenate([inside, outside]))
    midpoints: Floats = (levels[:-1] + levels[1:]) / 2
    return midpoints


def find_threshold(inside: Floats, outside: Floats, grid: Floats | None = None) -> float:
    """The midpoint of two neighboring scores that maximizes sensitivity + specificity; of ties in the widest gap.

    With a grid: the lowest of its best.
    """
    levels = np.unique(np.concatenate([inside, outside]))
    tried = _midpoints(inside, outside) if grid is None else grid
    if not len(tried):
        return float(levels[0])
    sensitivity = 1 - np.searchsorted(np.sort(inside), tried) / len(inside)
    specificity = np.searchsorted(np.sort(outside), tried) / len(outside)
    total = sensitivity + specificity
    best = np.flatnonzero(total >= total.max() - 1e-12)
    if grid is not None:
        return float(grid[best[0]])
    if total.max() <= 1:  # no threshold is better than none
        return float(levels[0])
    return float(tried[best[np.argmax(np.diff(levels)[best])]])


def _measure(reached: NDArray[np.bool_], below: NDArray[np.bool_]) -> dict[str, float]:
    sensitivity, specificity = float(reached.mean()), float(below.mean())
    return {"sensitivity": sensitivity, "specificity": specificity, "youden_j": sensitivity + specificity - 1}


def auroc(inside: Floats, outside: Floats) -> float:
    """The share of pairs in which the case with an expected result scores higher; equal scores count half."""
    ordered = np.sort(outside)
    below = np.searchsorted(ordered, inside, side="left")
    equal = np.searchsorted(ordered, inside, side="right") - below
    return float((below + equal / 2).sum() / (len(inside) * len(outside)))


def _cross_validate(inside: Floats, outside: Floats, seed: int, grid: Floats | None) -> dict[str, float] | None:
    """The measures of thresholds on the fold that did not choose them; None with fewer than ten cases of a kind."""
    if min(len(inside), len(outside)) < LEAST_HELD_OUT:
        return None
    random = np.random.default_rng(seed)
    folds, outside_folds = (random.permutation(len(values)) % FOLDS for values in (inside, outside))
    reached, below = np.empty(len(inside), np.bool_), np.empty(len(outside), np.bool_)
    for fold in range(FOLDS):
        own, own_outside = folds == fold, outside_folds == fold
        floor = find_threshold(inside[~own], outside[~own_outside], grid)
        reached[own], below[own_outside] = inside[own] >= floor, outside[own_outside] < floor
    return _measure(reached, below)
