"""Evaluation of retrieval: metrics, the outcome of each case, and the reason for each miss."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shortlist._plain import Plain, to_plain
from shortlist.errors import InputError
from shortlist.eval.cases import Case
from shortlist.eval.explain import Explainer, Why
from shortlist.eval.metrics import Metric, depth_of, first_rank, metric
from shortlist.eval.reader import Reader, reading
from shortlist.eval.statistics import CONFIDENCE, PERMUTATIONS, RESAMPLES, SEED, Estimate, Paired, estimates, paired
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import Progress, track
from shortlist.results import Hit, Hits, Mode, Selection, Selector
from shortlist.search.discover import choose
from shortlist.search.filters import Filter
from shortlist.search.retrieve import merge

# How far down a gold is looked for that is not among the first; as deep as the runs that trec_eval is given.
DEPTH = 1000
KS = (1, 3, 5)

# What can become of a case, and what it means.
OUTCOMES = {
    "hit_rank_1": "something that should be found stands first",
    "surfaced_low_rank": "it stands among the first k, but not first",
    "retrieval_miss": "it does not stand among the first k",
    "false_abstention": "it stands among the first k, but nothing was returned",
    "gold_missing": "the corpus does not have it",
    "abstention_ok": "nothing applies, and nothing was returned",
    "false_action": "nothing applies, and something was returned",
}
MISSES = ("surfaced_low_rank", "retrieval_miss", "false_abstention", "gold_missing", "false_action")


def default_metrics(k: int = 10) -> tuple[str, ...]:
    """What is measured unless something else is asked for, down to k."""
    ks = [*(each for each in KS if each < k), k]
    return (*(f"{name}@{k}" for name in ("recall", "precision", "ndcg", "hit") for k in ks), "mrr", "map")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case."""

    case: Case
    outcome: str
    ranked: tuple[str, ...]  # the first k
    selected: tuple[str, ...]
    rank: int | None  # of the first that should be found, also beyond k; None if it was not found at all
    top_score: float | None
    reason: str  # of what was selected, or of the abstention
    values: Mapping[str, float] = field(default_factory=dict)
    ranks: tuple[int, ...] = ()  # of everything that should be found and was
    why: Why | None = None

    def to_dict(self) -> dict[str, Any]:
        shown = ("outcome", "rank", "top_score", "ranked", "selected", "reason", "why")
        return self.case.to_dict() | {name: to_plain(getattr(self, name)) for name in shown}


@dataclass(frozen=True, slots=True)
class DiscoveryReport(Plain):
    """How well the right things were found. `metrics` are means over the cases to which something applies."""

    _shown = "corpus mode k documents confidence metrics taxonomy"

    corpus: str
    mode: Mode
    k: int
    documents: int
    metrics: Mapping[str, Estimate]
    taxonomy: Mapping[str, int]
    outcomes: Sequence[Outcome]
    seconds: float
    confidence: float = CONFIDENCE

    def __getitem__(self, name: str) -> Estimate:
        return self.metrics[name]

    @property
    def in_scope(self) -> list[Outcome]:
        return [one for one in self.outcomes if one.case.in_scope]

    @property
    def out_of_scope(self) -> list[Outcome]:
        return [one for one in self.outcomes if not one.case.in_scope]

    @property
    def misses(self) -> list[Outcome]:
        """What did not go as it should, each with its why."""
        return [one for one in self.outcomes if one.outcome in MISSES]

    def values(self, name: str) -> list[float]:
        """One measure, case by case."""
        return [one.values[name] for one in self.in_scope]

    def recall_curve(self) -> list[tuple[int, float]]:
        """Recall at every k from 1 to 100, or to as many documents as there are."""
        cases = self.in_scope
        deepest = min(100, max(self.documents, 1))
        return [
            (k, sum(sum(rank <= k for rank in one.ranks) / len(one.case.gold) for one in cases) / len(cases))
            for k in range(1, deepest + 1)
            if cases
        ]

    def to_dict(self, *, cases: bool = True) -> dict[str, Any]:
        counts = {"cases": len(self.outcomes), "in_scope": len(self.in_scope), "out_of_scope": len(self.out_of_scope)}
        data = Plain.to_dict(self) | counts | {"seconds": round(self.seconds, 3)}
        return data | ({"outcomes": [one.to_dict() for one in self.outcomes]} if cases else {})

    def __str__(self) -> str:
        lines = [f"{self.corpus}, {self.mode}: {len(self.in_scope)} cases, {len(self.out_of_scope)} out of scope"]
        lines += [f"  {name:14}{value!r}" for name, value in self.metrics.items()]
        lines += [f"  {name:18}{count}" for name, count in self.taxonomy.items() if count]
        return "\n".join(lines)


def evaluate_discovery(
    corpus: Searchable,
    cases: Sequence[Case],
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    metrics: Sequence[str] | None = None,
    strategy: str | Selector = "conservative",
    min_score: float | Literal["auto"] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: Progress | None = None,
    **selection: Any,
) -> DiscoveryReport:
    """Ask every case as `discover` would be asked, and judge what comes back.

    Measures are means over the cases that have gold, with a percentile bootstrap interval; MRR and MAP look at the
    first 1000. Every case falls into one of OUTCOMES, and all that went wrong have a why. `min_score`, `strategy` and
    further options are those of `discover`.
    """
    if not cases:
        raise InputError("There are no cases to evaluate.")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k is how many hits are looked at, 1 or more, not {k!r}.")
    names = tuple(metrics or default_metrics(k))
    deepest = max([k, *(depth_of(name) or 0 for name in names)])
    corpora = open_corpora(corpus, needs_vectors=mode != "lexical")
    began = time.perf_counter()
    known = {id for one in corpora for id in one.ids()}
    measures = {name: metric(name) for name in names}
    with reading(corpora, mode, filter) as reader:
        explain = Explainer(reader, corpora)
        judge = _Judge(reader, explain, known, mode, k, deepest, measures, strategy, min_score, selection)
        outcomes = [judge(case) for case in track(cases, progress)]
    counted = [one for one in outcomes if one.case.in_scope]
    columns = {name: [one.values[name] for one in counted] for name in names}
    return DiscoveryReport(
        ", ".join(one.name for one in corpora),
        mode,
        k,
        len(known),
        estimates(columns, confidence=confidence, resamples=resamples, seed=seed) if counted else {},
        {name: sum(one.outcome == name for one in outcomes) for name in OUTCOMES},
        outcomes,
        time.perf_counter() - began,
        confidence,
    )


@dataclass(frozen=True, slots=True)
class _Judge:
    """Asks one case after the other, and judges what comes back."""

    reader: Reader
    explain: Explainer
    known: set[str]
    mode: Mode
    k: int
    deepest: int
    measures: Mapping[str, Metric]
    strategy: str | Selector
    min_score: float | Literal["auto"] | None
    selection: Mapping[str, Any]

    def __call__(self, case: Case) -> Outcome:
        found = self.reader.look(case.query, self.deepest)
        hits = merge(found, case.query, self.mode, self.deepest)
        chosen = choose(found, case.query, self.mode, self.k, self.strategy, self.min_score, **self.selection)
        everything = self._looked_for(case, hits)
        ranked, wanted = [hit.id for hit in everything], case.relevance
        rank = first_rank(ranked, wanted)
        outcome = _outcome(case, rank, self.k, chosen, self.known)
        return Outcome(
            case,
            outcome,
            tuple(ranked[: min(self.k, len(hits))]),
            tuple(hit.id for hit in chosen.selected),
            rank,
            hits[0].score if hits else None,
            chosen.reason,
            {name: measure(ranked, wanted) for name, measure in self.measures.items()} if wanted else {},
            tuple(at for at, id in enumerate(ranked, 1) if id in wanted),
            self.explain(case, everything, rank, chosen, self.known) if outcome in MISSES else None,
        )

    def _looked_for(self, case: Case, hits: Hits) -> list[Hit]:
        """The hits and, if something that should be found may stand further down, those as well."""
        shown = {hit.id for hit in hits}
        if len(hits) < self.deepest or self.known.intersection(case.gold) <= shown:
            return list(hits)
        depth = max(DEPTH, self.deepest)
        deep = merge(self.reader.look_deep(case.query, depth), case.query, self.mode, depth)
        return [*hits, *(hit for hit in deep if hit.id not in shown)]


def _outcome(case: Case, rank: int | None, k: int, chosen: Selection, known: set[str]) -> str:
    if not case.in_scope:
        return "abstention_ok" if chosen.abstained else "false_action"
    if known.isdisjoint(case.gold):
        return "gold_missing"
    if rank is None or rank > k:
        return "retrieval_miss"
    if chosen.abstained:
        return "false_abstention"
    return "hit_rank_1" if rank == 1 else "surfaced_low_rank"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two set-ups on the same cases; a positive difference speaks for the second."""

    first: DiscoveryReport
    second: DiscoveryReport
    metrics: Mapping[str, Paired]
    better: Sequence[tuple[Outcome, Outcome]]  # cases that the second ranks higher
    worse: Sequence[tuple[Outcome, Outcome]]

    def to_dict(self) -> dict[str, Any]:
        def moved(pairs: Sequence[tuple[Outcome, Outcome]]) -> list[dict[str, Any]]:
            return [{"query": one.case.query, "first": one.rank, "second": two.rank} for one, two in pairs]

        return {
            "first": self.first.to_dict(cases=False),
            "second": self.second.to_dict(cases=False),
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "better": moved(self.better),
            "worse": moved(self.worse),
        }


def compare(
    first: DiscoveryReport,
    second: DiscoveryReport,
    metrics: Sequence[str] | None = None,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> Comparison:
    """Whether the second set-up is better: paired differences, intervals, p-values, and the cases that moved."""
    if [one.case for one in first.outcomes] != [one.case for one in second.outcomes]:
        raise InputError("Two reports can be compared if they are about the same cases in the same order.")
    if not first.in_scope:
        raise InputError("There is nothing to compare: no case has gold.")
    common = [name for name in first.metrics if name in second.metrics]
    tested = {
        name: paired(
            first.values(name),
            second.values(name),
            confidence=confidence,
            resamples=resamples,
            permutations=permutations,
            seed=seed,
        )
        for name in metrics or common
    }
    pairs = [(one, two) for one, two in zip(first.in_scope, second.in_scope, strict=True) if one.rank != two.rank]
    better = [pair for pair in pairs if (pair[1].rank or DEPTH + 1) < (pair[0].rank or DEPTH + 1)]
    return Comparison(first, second, tested, better, [pair for pair in pairs if pair not in better])
