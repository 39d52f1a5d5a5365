"""The answers about evaluations and findings in a corpus, declared for the OpenAPI document alone."""

from __future__ import annotations

from typing import Any, Literal

from shortlist.eval import explain, lint, retrieval, statistics
from shortlist.eval.cases import Flaw
from shortlist.eval.reporting.plots import Figure
from shortlist.server.routes.answer_types import AnswerType


class EstimateJson(AnswerType, base=statistics.Estimate, keys="low high"):
    """A mean, and its confidence interval."""

    value: float
    """The mean."""
    low: float
    """The lower end of the interval."""
    high: float
    """The upper end of the interval."""


class FlawJson(AnswerType, base=Flaw):
    """What is wrong with a case."""

    problem: Literal["unknown_gold", "duplicate", "contradiction", "empty_query"]
    """The kind of flaw."""


class RankChangeJson(AnswerType):
    """The rank of the first expected document in each mode."""

    query: str
    """The query of the case."""
    first: int | None
    """Its rank in the first mode."""
    second: int | None
    """Its rank in the second mode."""


class ComparisonJson(AnswerType, base=retrieval.Comparison):
    """`against` and `mode`, case by case."""

    better: list[RankChangeJson]
    """Cases that the second ranks higher."""
    worse: list[RankChangeJson]
    """Cases that the second ranks lower."""


class DiscoveryReportJson(AnswerType, base=retrieval.DiscoveryReport):
    """How well one mode finds the expected documents."""

    cases: int
    """The number of cases."""
    in_scope: int
    """Cases that expect a document."""
    out_of_scope: int
    """Cases that expect none."""
    seconds: float
    """How long it took."""


class OutcomeJson(AnswerType, base=retrieval.Outcome, keys="outcome rank top_score ranked selected reason"):
    """The outcome of one case that is a miss."""

    query: str
    """The query of the case."""
    gold: list[str]
    """The ids that it expects."""
    why: explain.Explanation
    """What explains it."""


class RecallJson(AnswerType):
    """The share of expected documents among the best."""

    k: int
    """The number of best documents."""
    recall: float
    """The share."""


class EvaluationJson(AnswerType, base=retrieval.DiscoveryReport):
    """The results of the cases; null if the cases do not allow a result."""

    cases: int
    """The number of cases."""
    in_scope: int
    """Cases that expect a document."""
    out_of_scope: int
    """Cases that expect none."""
    seconds: float
    """How long it took."""
    calibration: dict[str, Any] | None
    """How well scores separate cases with and without a match."""
    comparison: retrieval.Comparison | None
    """The comparison with `against`."""
    curve: dict[str, Any] | None
    """The results in catalogs of growing size."""
    flaws: list[Flaw]
    """What is wrong with cases."""
    html: str | None
    """The report that eval --html writes."""
    misses: list[retrieval.Outcome]
    """The cases that failed, each explained."""
    plots: list[Figure]
    """The plots of the report."""
    recall_at: list[RecallJson]
    """The recall at several cutoffs."""
    selection: dict[str, Any]
    """How well the selection did."""
    sweep: dict[str, Any] | None
    """The results of other settings of the selection."""


class FindingJson(AnswerType, base=lint.Finding):
    """Something to fix, and how."""

    severity: Literal["error", "warning"]
    """How bad it is."""


class LintReportJson(AnswerType, base=lint.LintReport):
    """The findings, worst first."""

    findings: list[lint.Finding]
    """The findings."""
    errors: int
    """The number of errors."""
    warnings: int
    """The number of warnings."""
    counts: dict[str, int]
    """The number of findings of each rule that has any."""
