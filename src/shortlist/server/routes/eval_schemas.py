"""What do evaluations look like over HTTP? The models behind their part of the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from shortlist.results import Mode
from shortlist.server.routes.schemas import Body, Strategy, example

DEEPEST = 100
CASES = '{"query": "give the money back", "gold": ["refund_payment"]}\n{"query": "play some jazz", "gold": []}'


class EvalBody(Body):
    """Cases, how to ask them, and what else to measure."""

    model_config = example({"cases": CASES, "mode": "auto", "against": "lexical", "k": 10})

    cases: str | list[dict[str, Any]] = Field(
        description="JSONL, or a list of objects: query, and gold (an id, ids, or grades by id; none: nothing applies)."
    )
    mode: Mode = "auto"
    against: Mode | None = Field(default=None, description="Another mode to compare with.")
    k: int = Field(default=10, ge=1, le=DEEPEST)
    filter: dict[str, Any] | None = None
    strategy: Strategy = "conservative"
    min_score: float | Literal["auto"] | None = None
    unknown: Literal["refuse", "count"] = Field(
        default="refuse", description="What to do about gold that the corpus does not have; count it as not found."
    )
    curve: bool = Field(default=False, description="Ask ever larger catalogs, too; up to 20,000 documents.")
    html: bool = Field(default=False, description="Add the page that eval --html writes.")
    stream: bool = False


class LintBody(Body):
    """Found is what is among the first k."""

    model_config = example({"k": 10})

    k: int = Field(default=10, ge=1, le=DEEPEST)
    stream: bool = False


class Measure(BaseModel):
    """A mean, and the interval that it would fall into with other cases like these."""

    value: float
    low: float
    high: float


class RivalRow(BaseModel):
    id: str
    rank: int
    score: float
    signals: dict[str, float]
    matched: list[str]


class WhyRow(BaseModel):
    """Words that it holds, words that only others hold, words that occur nowhere, what stood above, what was cut."""

    id: str
    wanted: bool
    exists: bool
    looked_at: int
    rank: int | None
    score: float | None
    signals: dict[str, float]
    matched: list[str]
    elsewhere: list[str]
    unknown: list[str]
    above: list[RivalRow]
    cut: str
    says: str


class MissRow(BaseModel):
    """A case that did not go as it should."""

    query: str
    gold: list[str]
    outcome: str
    rank: int | None
    top_score: float | None
    ranked: list[str]
    selected: list[str]
    reason: str
    why: WhyRow


class FlawRow(BaseModel):
    number: int
    line: int
    problem: Literal["unknown_gold", "duplicate", "contradiction", "empty_query"]
    says: str


class PlotRow(BaseModel):
    """A plot as SVG; the n-th of `names` is drawn in the class sn, which has no colour of its own."""

    title: str
    svg: str
    names: list[str]


class Measured(BaseModel):
    """How well one mode finds the right things."""

    corpus: str
    mode: Mode
    k: int
    documents: int
    cases: int
    in_scope: int
    out_of_scope: int
    confidence: float
    metrics: dict[str, Measure]
    taxonomy: dict[str, int]
    seconds: float


class PairedRow(BaseModel):
    """A measure of both modes; a positive difference speaks for the second."""

    first: float
    second: float
    difference: Measure
    p_value: float
    wins: int
    losses: int
    ties: int


class MovedRow(BaseModel):
    """The rank of the first gold in either mode."""

    query: str
    first: int | None
    second: int | None


class Compared(BaseModel):
    """`against` and `mode`, case by case."""

    first: Measured
    second: Measured
    metrics: dict[str, PairedRow]
    better: list[MovedRow]
    worse: list[MovedRow]


class RecallRow(BaseModel):
    k: int
    recall: float


class Evaluation(Measured):
    """What the cases say; what they say nothing about is null."""

    recall_at: list[RecallRow]
    misses: list[MissRow]
    flaws: list[FlawRow]
    comparison: Compared | None
    selection: dict[str, Any]
    sweep: dict[str, Any] | None
    calibration: dict[str, Any] | None
    curve: dict[str, Any] | None
    plots: list[PlotRow]
    html: str | None


class FindingRow(BaseModel):
    """Something to mend, and how."""

    rule: str
    severity: Literal["error", "warning"]
    ids: list[str]
    says: str
    advice: str


class Linted(BaseModel):
    """What was found, worst first."""

    corpus: str
    documents: int
    errors: int
    warnings: int
    counts: dict[str, int]
    findings: list[FindingRow]
