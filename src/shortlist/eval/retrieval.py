"""Evaluation of retrieval: metrics, the outcome of each case, and an explanation of each miss."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Unpack

from shortlist._plain import Plain, to_plain
from shortlist._text import count_of
from shortlist.display.html_tables import card, cut, fold, muted, table
from shortlist.errors import InputError
from shortlist.eval.cases import Case
from shortlist.eval.explain import Explainer, Explanation
from shortlist.eval.metrics import depth_of, first_rank, metric
from shortlist.eval.reader import Reader, Retrieved, open_reader
from shortlist.eval.statistics import (
    CONFIDENCE,
    PERMUTATIONS,
    RESAMPLES,
    SEED,
    Estimate,
    Paired,
    draw_estimate,
    draw_estimates,
    estimate_means,
    paired,
)
from shortlist.library.opening import Searchable
from shortlist.protocols import ProgressOption
from shortlist.results import Filter, Hit, MinRelevance, Mode, Selection, Selector, accept_min_score
from shortlist.retrieval.options import (
    STRATEGY,
    SearchKeywords,
    SearchOptions,
    SelectKeywords,
    check_count,
    combine_options,
)

DEPTH = 1000  # hits among which an expected result is looked for below the top k, as in the runs of trec_eval
KS = (1, 3, 5)
MOST_MISSES = 50  # that a notebook lists

# What can become of a case, and what it means.
OUTCOMES = {
    "hit_rank_1": "an expected result is ranked first",
    "surfaced_low_rank": "an expected result is in the top k, but not first",
    "retrieval_miss": "no expected result is in the top k",
    "false_abstention": "an expected result is in the top k, but nothing was returned",
    "gold_missing": "no expected result is in the corpus",
    "abstention_ok": "nothing is expected, and nothing was returned",
    "false_action": "nothing is expected, but something was returned",
}
MISSES = ("surfaced_low_rank", "retrieval_miss", "false_abstention", "gold_missing", "false_action")


def default_metrics(k: int = 10) -> tuple[str, ...]:
    """The metrics that are measured by default, at ranks up to k."""
    ks = [*(each for each in KS if each < k), k]
    return (*(f"{name}@{k}" for name in ("recall", "precision", "ndcg", "hit") for k in ks), "mrr", "map")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case."""

    case: Case
    outcome: str
    ranked: tuple[str, ...]  # the top k
    selected: tuple[str, ...]
    rank: int | None  # of the first expected result, also below the top k; None if it was not found at all
    top_score: float | None
    reason: str  # for the selection or the abstention
    values: Mapping[str, float] = field(default_factory=dict)  # by metric
    ranks: tuple[int, ...] = ()  # of all expected results that were found
    why: Explanation | None = None

    def to_dict(self) -> dict[str, Any]:
        shown = ("outcome", "rank", "top_score", "ranked", "selected", "reason", "why")
        return self.case.to_dict() | {name: to_plain(getattr(self, name)) for name in shown}


@dataclass(frozen=True, slots=True)
class DiscoveryReport(Plain):
    """How well the expected results were found; `metrics` are means over the cases that have any.

    `threshold` is what a result had to reach, `taxonomy_without_threshold` the outcomes with `min_relevance=None`.
    """

    _shown = "corpus mode k documents confidence metrics taxonomy threshold taxonomy_without_threshold"

    corpus: str
    mode: Mode
    k: int
    documents: int
    metrics: Mapping[str, Estimate]
    taxonomy: Mapping[str, int]
    outcomes: Sequence[Outcome] = field(repr=False)
    seconds: float
    confidence: float = CONFIDENCE
    threshold: str = "none"
    taxonomy_without_threshold: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Estimate:
        return self.metrics[name]

    def __repr__(self) -> str:
        shown = {name: self.metrics[name] for name in (f"recall@{self.k}", "mrr") if name in self.metrics}
        values = "".join(f", {name} {value:.3f}" for name, value in (shown or self.metrics).items())
        return f"DiscoveryReport({self.corpus!r}, {self.mode}: {count_of(len(self.outcomes), 'case')}{values})"

    def _repr_html_(self) -> str:
        facts = [muted(f"{self.mode}, top {self.k}, {count_of(len(self.outcomes), 'case')}")]
        outcomes = [(count, OUTCOMES[name]) for name, count in self.taxonomy.items() if count]
        misses = [(cut(one.case.query), OUTCOMES[one.outcome], one.rank or "-") for one in self.misses]
        shown = table(("Query", "Outcome", "Rank"), misses[:MOST_MISSES])
        return card(
            f"Evaluation of {self.corpus}",
            facts,
            draw_estimates(self.metrics, confidence=self.confidence) if self.metrics else "",
            table(("Cases", "Outcome"), outcomes, right=(0,)),
            fold(muted(count_of(len(misses), "missed case")), shown) if misses else "",
            muted(f"Threshold: {self.threshold}") if self.threshold != "none" else "",
        )

    @property
    def in_scope(self) -> list[Outcome]:
        return [one for one in self.outcomes if one.case.in_scope]

    @property
    def out_of_scope(self) -> list[Outcome]:
        return [one for one in self.outcomes if not one.case.in_scope]

    @property
    def misses(self) -> list[Outcome]:
        """The cases that went wrong, each with an explanation."""
        return [one for one in self.outcomes if one.outcome in MISSES]

    def values(self, name: str) -> list[float]:
        """The values of one metric, one for each case."""
        return [one.values[name] for one in self.in_scope]

    def recall_curve(self) -> list[tuple[int, float]]:
        """Recall at every k from 1 to 100, or to the number of documents."""
        cases = self.in_scope
        ks = range(1, min(100, max(self.documents, 1)) + 1) if cases else ()
        return [
            (k, sum(sum(rank <= k for rank in one.ranks) / len(one.case.gold) for one in cases) / len(cases))
            for k in ks
        ]

    def to_dict(self, *, cases: bool = True) -> dict[str, Any]:
        counts = {"cases": len(self.outcomes), "in_scope": len(self.in_scope), "out_of_scope": len(self.out_of_scope)}
        data = Plain.to_dict(self) | counts | {"seconds": round(self.seconds, 3)}
        return data | ({"outcomes": [one.to_dict() for one in self.outcomes]} if cases else {})


class EvaluationKeywords(SearchKeywords, total=False):
    """The keyword arguments of `evaluate_discovery`."""

    metrics: Sequence[str] | None
    confidence: float
    resamples: int
    options: SearchOptions | None


@accept_min_score
def evaluate_discovery(
    corpus: Searchable,
    cases: Sequence[Case],
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    metrics: Sequence[str] | None = None,
    strategy: str | Selector = STRATEGY,
    min_relevance: MinRelevance = "auto",
    exact: bool = False,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
    **selection: Unpack[SelectKeywords],
) -> DiscoveryReport:
    """Run the query of every case as `discover` would, and evaluate the results.

    Metrics are means over the cases with expected results, with a percentile bootstrap interval; MRR and MAP look at
    the top 1000. Every case has one of OUTCOMES, and every miss an explanation. `min_relevance`, `strategy` and the
    options of the selection are those of `discover`; `options` are all of them in one object.
    """
    options = combine_options(
        options, mode=mode, k=k, filter=filter, exact=exact, strategy=strategy, min_relevance=min_relevance, **selection
    )
    mode, k = options.mode, options.k
    check_count("k", k, least=1)
    names = tuple(metrics or default_metrics(k))
    measures = {name: metric(name) for name in names}
    reach = options.candidates
    depth = max([reach, *(depth_of(name) or 0 for name in names)])
    with open_reader(corpus, mode, options.filter, exact=options.exact) as reader:
        began = time.perf_counter()
        known = {id for one in reader.corpora for id in one.ids()}
        explainer = Explainer(reader, known)

        threshold = reader.describe_thresholds(options.min_relevance)
        never_abstaining = replace(options, min_relevance=None)
        without: list[str] = []

        def evaluate(case: Case, retrieved: Retrieved) -> Outcome:
            chosen = retrieved.choose(options)
            hits = retrieved.rank(depth)
            all_hits = _add_deeper_hits(case, hits, depth, known, reader)
            ranked, expected = [hit.id for hit in all_hits], case.relevance
            rank = first_rank(ranked, expected)
            outcome = _classify(case, rank, reach, chosen, known)
            without.append(_classify(case, rank, reach, retrieved.choose(never_abstaining), known))
            return Outcome(
                case,
                outcome,
                tuple(ranked[: min(k, len(hits))]),
                tuple(hit.id for hit in chosen.selected),
                rank,
                hits[0].score if hits else None,
                chosen.reason,
                {name: measure(ranked, expected) for name, measure in measures.items()} if expected else {},
                tuple(at for at, id in enumerate(ranked, 1) if id in expected),
                explainer.explain(case, all_hits, rank, chosen, retrieved.found) if outcome in MISSES else None,
            )

        outcomes = [evaluate(*one) for one in reader.run(cases, depth, progress)]
        corpus_names = ", ".join(one.name for one in reader.corpora)
    in_scope = [one for one in outcomes if one.case.in_scope]
    columns = {name: [one.values[name] for one in in_scope] for name in names}
    return DiscoveryReport(
        corpus_names,
        mode,
        k,
        len(known),
        estimate_means(columns, confidence=confidence, resamples=resamples, seed=seed),
        {name: sum(one.outcome == name for one in outcomes) for name in OUTCOMES},
        outcomes,
        time.perf_counter() - began,
        confidence,
        threshold,
        {name: without.count(name) for name in OUTCOMES},
    )


def _add_deeper_hits(case: Case, hits: Sequence[Hit], depth: int, known: set[str], reader: Reader) -> list[Hit]:
    """The hits and, if an expected result of the corpus may rank lower, those below them."""
    shown = {hit.id for hit in hits}
    if len(hits) < depth or known.intersection(case.gold) <= shown:
        return list(hits)
    deepest = max(DEPTH, depth)
    deep = reader.retrieve(case.query, deepest, ids_only=True).rank(deepest)
    return [*hits, *(hit for hit in deep if hit.id not in shown)]


def _classify(case: Case, rank: int | None, k: int, chosen: Selection, known: set[str]) -> str:
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
    """Two configurations on the same cases; a positive difference favors the second."""

    first: DiscoveryReport
    second: DiscoveryReport
    metrics: Mapping[str, Paired]
    better: Sequence[tuple[Outcome, Outcome]]  # cases that the second ranks higher
    worse: Sequence[tuple[Outcome, Outcome]]

    def __repr__(self) -> str:
        changed = f"{len(self.better)} better, {len(self.worse)} worse"
        return f"Comparison({self.first!r}, {self.second!r}: {changed})"

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{one.first:.3f}", f"{one.second:.3f}", draw_estimate(one.difference), f"{one.p_value:.3f}")
            for name, one in self.metrics.items()
        ]
        facts = [muted(f"{len(self.better)} cases ranked higher, {len(self.worse)} lower")]
        sides = [f"{one.corpus}, {one.mode}" for one in (self.first, self.second)]
        return card("Comparison", facts, table(("Measure", *sides, "Difference", "p"), rows))

    def to_dict(self) -> dict[str, Any]:
        def list_ranks(pairs: Sequence[tuple[Outcome, Outcome]]) -> list[dict[str, Any]]:
            return [{"query": one.case.query, "first": one.rank, "second": two.rank} for one, two in pairs]

        return {
            "first": self.first.to_dict(cases=False),
            "second": self.second.to_dict(cases=False),
            "metrics": to_plain(self.metrics),
            "better": list_ranks(self.better),
            "worse": list_ranks(self.worse),
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
    """Compare two configurations: paired differences with intervals and p-values, and the cases whose rank changed.

    The keywords are those of `paired`.
    """
    if [one.case for one in first.outcomes] != [one.case for one in second.outcomes]:
        raise InputError("The reports have different cases. Evaluate both with the same cases in the same order.")
    if not first.in_scope:
        raise InputError("There is nothing to compare: no case has gold.")
    names = metrics or [name for name in first.metrics if name in second.metrics]
    test = partial(paired, confidence=confidence, resamples=resamples, permutations=permutations, seed=seed)
    tests = {name: test(first.values(name), second.values(name)) for name in names}
    pairs = [(one, two) for one, two in zip(first.in_scope, second.in_scope, strict=True) if one.rank != two.rank]
    better = [pair for pair in pairs if (pair[1].rank or DEPTH + 1) < (pair[0].rank or DEPTH + 1)]
    return Comparison(first, second, tests, better, [pair for pair in pairs if pair not in better])
