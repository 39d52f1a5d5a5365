"""Calibration of the score threshold that best separates queries with an expected result from those without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._plain import Plain
from shortlist.errors import InputError
from shortlist.eval.cases import Case, validate_cases
from shortlist.eval.reader import reading
from shortlist.eval.statistics import SEED
from shortlist.eval.text_table import Table
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import Progress, track
from shortlist.results import Mode
from shortlist.search.discover import refuse_unknown
from shortlist.search.filters import Filter
from shortlist.search.relevance import UNCHANGED, calibration_of, probability

if TYPE_CHECKING:
    from shortlist.results import Floats

FOLDS = 5

# What is shipped weighs as much as so many cases, and a greater relevance never becomes a smaller one.
PRIOR_CASES = 5.0
LEAST_SLOPE = 0.1

# A floor that reaches less beyond chance does more harm than good.
WEAK = 0.2


@dataclass(frozen=True, slots=True)
class Calibration(Plain):
    """A floor, and how well it parts the cases that have gold from those to which nothing applies.

    Cases whose gold was not retrieved say nothing about a floor: they are counted in `not_retrieved` and left out.

    sensitivity  the share of cases with retrieved gold whose best score reaches the floor
    specificity  the share of the others whose best score is below it
    youden_j     sensitivity + specificity - 1: 0 is chance, 1 is perfect
    auroc        how often a case with gold scores higher than one without, whatever the floor
    held_out     the three of floors that were chosen without the cases they are judged by, in five parts
    """

    _shown = (
        "corpus mode floor sensitivity specificity youden_j auroc held_out in_scope out_of_scope not_retrieved "
        "persisted says"
    )

    corpus: str
    mode: str
    floor: float
    sensitivity: float
    specificity: float
    youden_j: float
    auroc: float
    held_out: dict[str, float] | None
    persisted: bool
    in_scope: Sequence[float] = field(repr=False)  # best scores; 0 where the search itself refuses
    out_of_scope: Sequence[float] = field(repr=False)
    not_retrieved: int = 0
    floors: Sequence[float] = field(default=(), repr=False)  # all that were tried

    @property
    def says(self) -> str:
        """What to make of it, in words."""
        judged = self.held_out or {"youden_j": self.youden_j}
        lost = f"{1 - self.sensitivity:.0%} of the questions that something fits are lost"
        passed = f"{1 - self.specificity:.0%} of those that nothing fits are answered"
        said = f"Below {self.floor:.4g} nothing fits: {lost}, {passed}."
        if self.not_retrieved:
            left_out = "1 case was" if self.not_retrieved == 1 else f"{self.not_retrieved} cases were"
            said += f" {left_out} left out: what should be found was not retrieved."
        if judged["youden_j"] < WEAK:
            said += (
                " Scores of this mode hardly tell the two apart here: try another mode, add words that people use to "
                "the descriptions, or add cases."
            )
        return said

    def table(self) -> Table:
        """A row for every floor that was tried; printed, it is a table."""
        inside, outside = np.array(self.in_scope), np.array(self.out_of_scope)
        rows = ((floor, *_shares(inside, outside, floor)) for floor in self.floors)
        return Table(
            {"min_score": floor, "sensitivity": reached, "specificity": below, "youden_j": reached + below - 1}
            for floor, reached, below in rows
        )

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
    progress: Progress | None = None,
) -> Calibration:
    """The floor that maximises Youden's J over the cases; with `persist` the corpus keeps it for min_score="auto".

    A floor belongs to a corpus with its embedder and to a mode. It lies in the middle between two scores, of equally
    good places in the widest gap; or it is one of `floor_grid`, of equally good ones the lowest. Gold that the corpus
    does not have is an error.
    """
    grid = _checked(floor_grid)
    corpora = open_corpora(corpus, needs_vectors=mode != "lexical")
    if len(corpora) != 1:
        raise InputError(f"A floor belongs to one corpus: calibrate the {len(corpora)} corpora one by one.")
    (only,) = corpora
    if wrong := [flaw.says for flaw in validate_cases(only, cases) if flaw.problem == "unknown_gold"]:
        more = f" {len(wrong) - 1} more: see validate_cases." if len(wrong) > 1 else ""
        raise InputError(f"{wrong[0]}{more}")
    scores: dict[bool, list[float]] = {True: [], False: []}
    not_retrieved = 0
    judged: list[tuple[float, bool]] = []  # the relevance of the best hit, and whether it is right
    with reading(corpora, mode, filter) as reader:
        for case in track(cases, progress):
            (found,) = reader.look(case.query, k)
            refused = not found.hits or refuse_unknown(found)
            if case.in_scope and not any(hit.id in case.gold for hit in found.hits):
                not_retrieved += 1
            else:
                scores[case.in_scope].append(0.0 if refused else max(found.hits[0].score, 0.0))
            if not refused and (said := found.hits[0].relevance) is not None:
                judged.append((said, found.hits[0].id in case.gold))
    inside, outside = np.array(scores[True]), np.array(scores[False])
    if not len(inside) or not len(outside):
        retrieved = "with gold that was retrieved" if not_retrieved else "with gold"
        lacking = "to which nothing applies (an empty gold)" if len(inside) else retrieved
        raise InputError(f"A floor parts cases with gold from cases without any; there are none {lacking}.")
    floor = best_floor(inside, outside, grid)
    sensitivity, specificity = _shares(inside, outside, floor)
    calibration = Calibration(
        only.name,
        mode,
        floor,
        sensitivity,
        specificity,
        sensitivity + specificity - 1,
        auroc(inside, outside),
        _held_out(inside, outside, seed, grid),
        persist,
        inside.tolist(),
        outside.tolist(),
        not_retrieved,
        (_between(inside, outside) if grid is None else grid).tolist(),
    )
    if persist:
        facts = calibration.to_dict()
        kept = {name: facts[name] for name in ("youden_j", "in_scope", "out_of_scope")}
        relevance = recalibrated(judged, calibration_of(only.config, mode))
        only.set_floor(mode, floor, **kept, relevance=relevance)
    return calibration


def recalibrated(judged: Sequence[tuple[float, bool]], before: Sequence[float] = UNCHANGED) -> list[float]:
    """By what the log odds of a relevance are multiplied, and what is added, so that it says how often it is right.

    Few cases change little: as much as if five more had confirmed what is shipped.
    """
    if not judged:
        return list(UNCHANGED)
    relevance = np.clip([value for value, _ in judged], 1e-9, 1 - 1e-9)
    odds = (np.log(relevance / (1 - relevance)) - before[1]) / before[0]
    right = np.array([is_right for _, is_right in judged], dtype=np.float64)
    table = np.stack([odds, np.ones(len(odds))], axis=1)
    start = np.array(UNCHANGED)
    weights = start.copy()
    for _ in range(30):
        chance = probability(table @ weights)
        slope = table.T @ (chance - right) + PRIOR_CASES * (weights - start)
        bend = (table * (chance * (1 - chance))[:, None]).T @ table + PRIOR_CASES * np.eye(2)
        weights -= np.linalg.solve(bend, slope)
    return [max(float(weights[0]), LEAST_SLOPE), float(weights[1])]


def _checked(grid: Sequence[float] | None) -> Floats | None:
    if grid is None:
        return None
    found = np.unique(np.array(list(grid), dtype=np.float64))
    if not len(found) or not np.isfinite(found).all():
        raise InputError(f"floor_grid must hold one or more finite numbers, not {grid!r}.")
    return found


def _levels(inside: Floats, outside: Floats) -> Floats:
    return np.unique(np.concatenate([inside, outside]))


def _between(inside: Floats, outside: Floats) -> Floats:
    """The middle between each two neighbours among the scores."""
    levels = _levels(inside, outside)
    return (levels[:-1] + levels[1:]) / 2


def best_floor(inside: Floats, outside: Floats, grid: Floats | None = None) -> float:
    """The score between two neighbours that maximises sensitivity + specificity; of equals in the widest gap.

    With a grid: the lowest of its best.
    """
    tried = _between(inside, outside) if grid is None else grid
    levels = _levels(inside, outside)
    if not len(tried):
        return float(levels[0])
    reached = 1 - np.searchsorted(np.sort(inside), tried) / len(inside)
    kept_out = np.searchsorted(np.sort(outside), tried) / len(outside)
    j = reached + kept_out
    best = np.flatnonzero(j >= j.max() - 1e-12)
    if grid is not None:
        return float(grid[best[0]])
    if j.max() <= 1:  # no floor is better than none
        return float(levels[0])
    return float(tried[best[np.argmax(np.diff(levels)[best])]])


def _shares(inside: Floats, outside: Floats, floor: float) -> tuple[float, float]:
    return float((inside >= floor).mean()), float((outside < floor).mean())


def auroc(inside: Floats, outside: Floats) -> float:
    """The share of pairs in which the case with gold scores higher; equal scores count half."""
    ordered = np.sort(outside)
    below = np.searchsorted(ordered, inside, side="left")
    equal = np.searchsorted(ordered, inside, side="right") - below
    return float((below + equal / 2).sum() / (len(inside) * len(outside)))


def _held_out(inside: Floats, outside: Floats, seed: int, grid: Floats | None) -> dict[str, float] | None:
    """What floors reach on the fifth of the cases that did not choose them; None with fewer than ten of a kind."""
    if min(len(inside), len(outside)) < 2 * FOLDS:
        return None
    random = np.random.default_rng(seed)
    parts = [random.permutation(len(values)) % FOLDS for values in (inside, outside)]
    reached, kept_out = 0, 0
    for fold in range(FOLDS):
        mine, theirs = parts[0] == fold, parts[1] == fold
        floor = best_floor(inside[~mine], outside[~theirs], grid)
        reached += int((inside[mine] >= floor).sum())
        kept_out += int((outside[theirs] < floor).sum())
    sensitivity, specificity = reached / len(inside), kept_out / len(outside)
    return {"sensitivity": sensitivity, "specificity": specificity, "youden_j": sensitivity + specificity - 1}
