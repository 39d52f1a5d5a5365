"""Cases from the log of use, and their evaluation with what was learned from the other searches."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from shortlist.eval.cases import Case
from shortlist.eval.retrieval import OUTCOMES, DiscoveryReport, EvaluationKeywords, evaluate_discovery
from shortlist.eval.statistics import SEED, estimate_means
from shortlist.index.corpus import Corpus
from shortlist.index.storage.usage_log import Learning, Search, UsageLog
from shortlist.protocols import Progress, ProgressOption

if TYPE_CHECKING:
    from shortlist.results import Vectors

FOLDS = 5
UNUSED_SESSIONS = 2  # in which nothing was used after a query to which nothing seems to apply


def make_cases(searches: Iterable[Search], known: Collection[str]) -> list[Case]:
    """Cases that no one has reviewed: one for each query that consistently led to documents, or never to any.

    The expected ids are those of `known` that succeeded in most of the searches after which anything was used. A query
    after which nothing was used, in at least two sessions, may be one to which nothing applies.
    """
    by_query: dict[str, list[Search]] = defaultdict(list)
    for search in searches:
        by_query[_key(search.query)].append(search)
    cases = []
    for same in by_query.values():
        used = [_find_right_ids(search) for search in same if search.uses]
        counts = Counter(id for ids in used for id in ids)
        gold = tuple(id for id, count in counts.items() if count > len(used) / 2 and id in known)
        if gold or (not used and len({search.session for search in same}) >= UNUSED_SESSIONS):
            cases.append(Case(same[0].query, gold, meta={"reviewed": False, "searches": len(same)}))
    return cases


def _key(query: str) -> str:
    return query.casefold()


def _find_right_ids(search: Search) -> set[str]:
    """What was called or, if nothing was, what was read. What was read before another was called was only looked at."""
    called = {use.id for use in search.uses if use.outcome == "called"}
    return called or {use.id for use in search.uses if use.outcome == "read"}


def evaluate_without_lessons(
    corpora: Sequence[Corpus],
    cases: Sequence[Case],
    *,
    seed: int = SEED,
    progress: ProgressOption = None,
    **how: Unpack[EvaluationKeywords],
) -> DiscoveryReport:
    """Evaluate without what was learned, since a query would be found by itself."""
    with _set_learning(corpora, "log"):
        return evaluate_discovery(corpora, cases, seed=seed, progress=progress, **how)


def evaluate_with_lessons(
    corpora: Sequence[Corpus],
    cases: Sequence[Case],
    log: UsageLog,
    *,
    seed: int = SEED,
    progress: Progress | None = None,
    **how: Unpack[EvaluationKeywords],
) -> DiscoveryReport:
    """Evaluate each of five parts of the cases with what was learned from all searches with other queries."""
    searches, reports = list(log), []
    folds = [cases[start::FOLDS] for start in range(min(FOLDS, len(cases)))]
    for done, fold in enumerate(folds):
        queries = {_key(case.query) for case in fold}
        others = _Part(log, (search for search in searches if _key(search.query) not in queries))
        with _set_learning(corpora, "on", others):
            reports.append(evaluate_discovery(corpora, fold, seed=seed, **how))
        if progress:
            progress(sum(map(len, folds[: done + 1])), len(cases))
    return _join_reports(reports, cases, seed)


def _join_reports(reports: Sequence[DiscoveryReport], cases: Sequence[Case], seed: int) -> DiscoveryReport:
    by_query = {one.case.query: one for report in reports for one in report.outcomes}
    outcomes = [by_query[case.query] for case in cases]
    names = max((list(report.metrics) for report in reports), key=len)  # a fold without expected results has none
    columns = {name: [one.values[name] for one in outcomes if one.case.in_scope] for name in names}

    def add_up(counts: Callable[[DiscoveryReport], Any]) -> dict[str, int]:
        return {name: sum(counts(report)[name] for report in reports) for name in OUTCOMES}

    return replace(
        reports[0],
        metrics=estimate_means(columns, confidence=reports[0].confidence, seed=seed),
        taxonomy=add_up(lambda report: report.taxonomy),
        taxonomy_without_threshold=add_up(lambda report: report.taxonomy_without_threshold),
        outcomes=outcomes,
        seconds=sum(report.seconds for report in reports),
    )


class _Part(UsageLog):
    """Some searches of a log, in memory, with the vectors of the whole log."""

    def __init__(self, whole: UsageLog, searches: Iterable[Search]) -> None:
        super().__init__(None)
        self._whole = whole
        for search in searches:
            self.add(search.query, list(search.shown.items()), search.uses, search.session, search.at)

    def vectors(
        self, queries: Sequence[str], model: str, encode: Callable[[str], Vectors], seconds: float
    ) -> dict[str, Vectors]:
        return self._whole.vectors(queries, model, encode, math.inf)


@contextmanager
def _set_learning(corpora: Sequence[Corpus], learning: Learning, log: UsageLog | None = None) -> Iterator[None]:
    """Let corpora rank by a log, or without any, for a while."""
    before = [(corpus, corpus.learning, corpus.usage) for corpus in corpora]
    try:
        for corpus in corpora:
            corpus.learning, corpus.usage = learning, corpus.usage if log is None else log
        yield
    finally:
        for corpus, own, usage in before:
            corpus.learning, corpus.usage = own, usage
        if log is not None:
            log.close()
