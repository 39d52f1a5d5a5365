"""The bodies of requests and the schemas of answers, as the OpenAPI document describes them.

Answers are plain dicts that are not validated again. Their schemas are generated from the dataclasses whose `to_dict`
they are; answers.yaml has the others, and what `to_dict` adds.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, create_model

from shortlist._settings import BM25SSettings
from shortlist.answer.verification import LONGEST_REPLY
from shortlist.documents import Document
from shortlist.eval.cases import Flaw
from shortlist.eval.explain import Rival, Why
from shortlist.eval.lint import Finding, LintReport
from shortlist.eval.reporting.plots import Figure
from shortlist.eval.retrieval import Comparison, DiscoveryReport, Outcome
from shortlist.eval.statistics import Estimate, Paired
from shortlist.results import Answer, Citation, Claim, Disclosure, Dropped, Evidence, Hit, Level, Mode
from shortlist.search.select import CUTOFF, GAP_RATIO, MAX_K, REL, TEMPERATURE

MOST_HITS = 1_000
MOST_LISTED = 10_000
MOST_SHOWN = 20  # passages for one answer
MOST_TURNS = 50  # of a conversation in one request
LONGEST_QUESTION = 4_000  # characters
DEEPEST = 100  # rank cutoff of an evaluation

Id = Annotated[str, Field(min_length=1, pattern=r"\S")]
Temperature = Annotated[float, Field(ge=0.1, le=10)]
Percentage = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
Strategy = Literal["conservative", "top_k", "rel_threshold", "abs_threshold", "score_gap", "softmax"]

TOOL = {
    "id": "refund_payment",
    "title": "Refund a payment",
    "content": "Send money of a payment back to the customer's card.",
    "keywords": ["refund", "chargeback"],
    "metadata": {"category": "payments"},
}
CASES = '{"query": "give the money back", "gold": ["refund_payment"]}\n{"query": "play some jazz", "gold": []}'


def example(example: Any) -> dict[str, Any]:
    return {"examples": [example]}


class Body(BaseModel):
    """What is sent. What it does not know is an error, and nothing is taken for what it is not."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class DocumentBody(Body, json_schema_extra=example(TOOL)):
    """A document: title, content and keywords are searchable, id and metadata are not.

    `Document.to_dict()` of the Python package fits. `kind`, `source` and `locator` are ignored: a document that is
    sent becomes a tool, and can never point at a file of the service's machine.
    """

    id: Id
    title: str
    content: str
    keywords: list[str] | None = None
    metadata: dict[str, Any] | None = None
    payload: str | None = Field(default=None, description="What is disclosed instead of the content.")
    kind: str = Field(default="tool", description="Ignored.")
    source: str = Field(default="", description="Ignored.")
    locator: str = Field(default="whole", description="Ignored.")

    def to_document(self) -> Document:
        return Document(
            self.id, self.title, self.content, self.keywords, self.metadata, kind="tool", payload=self.payload
        )


class RetrieveBody(Body, json_schema_extra=example({"query": "give the money back", "llm_tools_cutoff": 5})):
    """A query, and settings for this call alone."""

    query: str
    temperature: Temperature | None = None
    ignore_zero: bool | None = None
    llm_tools_cutoff: Percentage | None = None


class IndexBody(Body, json_schema_extra=example({"documents": [TOOL]})):
    """Documents that replace all others, or that the file is to be taken as it is."""

    documents: list[DocumentBody] | None = None
    from_file: bool = False


class SettingsBody(Body, json_schema_extra=example({"temperature": 2.0})):
    """Only what is named is changed."""

    temperature: Temperature = 0.5
    ignore_zero: bool = True
    llm_tools_cutoff: Percentage = 10.0


class SwitchBody(Body, json_schema_extra=example({"file": "tools.yaml"})):
    """The name of a file that GET /document-files lists. `filename` is another name of `file`."""

    file: str = Field(min_length=1, validation_alias=AliasChoices("file", "filename"))


class SearchBody(Body, json_schema_extra=example({"query": "refund", "k": 3, "filter": {"category": "payments"}})):
    """What to look for in a corpus. `filter` is a condition on metadata."""

    query: str
    mode: Mode = "auto"
    k: int = Field(default=10, ge=0, le=MOST_HITS)
    filter: dict[str, Any] | None = None


class DiscoverBody(
    SearchBody,
    json_schema_extra=example({"query": "refund", "min_score": "auto", "level": "body"}),
):
    """What to look for, how to choose, and how much to show of what was chosen."""

    strategy: Strategy = "conservative"
    max_k: int = Field(default=MAX_K, ge=1, le=MOST_HITS)
    rel: Share = REL
    gap_ratio: Share = GAP_RATIO
    min_score: float | Literal["auto"] | None = "auto"
    temperature: float = Field(default=TEMPERATURE, gt=0)
    cutoff: Percentage = CUTOFF
    level: Level = "metadata"


class DiscloseBody(Body, json_schema_extra=example({"ids": ["refund_payment"], "level": "body"})):
    """Which documents to show, and how much of them."""

    ids: list[str] = Field(max_length=MOST_HITS)
    level: Level = "body"


class Turn(Body):
    """What was asked before, and what was answered."""

    question: str = Field(max_length=LONGEST_QUESTION)
    answer: str = Field(max_length=LONGEST_REPLY)


class AskBody(Body, json_schema_extra=example({"question": "Who gets the money back?", "agent": False})):
    """A question, with those before it. `stream` asks for server-sent events, as the header Accept does."""

    question: str = Field(max_length=LONGEST_QUESTION)
    agent: bool = False
    k: int | None = Field(default=None, ge=1, le=MOST_SHOWN)
    threshold: Share | None = None
    filter: dict[str, Any] | None = None
    history: list[Turn] = Field(default=[], max_length=MOST_TURNS)
    stream: bool = False


class DocumentsBody(Body, json_schema_extra=example({"documents": [TOOL]})):
    """Documents to add; the same id replaces."""

    documents: list[DocumentBody] = Field(min_length=1)


class EvalBody(Body, json_schema_extra=example({"cases": CASES, "mode": "auto", "against": "lexical", "k": 10})):
    """Cases, how to ask them, and what else to measure."""

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


class LintBody(Body, json_schema_extra=example({"k": 10})):
    """Found is what is among the first k."""

    k: int = Field(default=10, ge=1, le=DEEPEST)
    stream: bool = False


# The dataclasses of answers, inner ones first: the name of the schema, and its keys if they are not all fields.
DATACLASSES: dict[Any, tuple[str, str]] = {
    Document: ("Plain", "id title content keywords metadata"),
    BM25SSettings: ("Cut", ""),
    Hit: ("HitRow", "id name score text kind source locator context metadata signals corpus"),
    Disclosure: ("Shown", ""),
    Citation: ("CitationRow", ""),
    Claim: ("ClaimRow", ""),
    Dropped: ("DroppedRow", ""),
    Evidence: ("EvidenceRow", ""),
    Answer: ("Answered", ""),
    Rival: ("RivalRow", ""),
    Why: ("WhyRow", ""),
    Flaw: ("FlawRow", ""),
    Figure: ("PlotRow", ""),
    Estimate: ("Measure", "low high"),
    Paired: ("PairedRow", ""),
    Outcome: ("MissRow", "outcome rank top_score ranked selected reason"),
    DiscoveryReport: ("Measured", "corpus mode k documents confidence metrics taxonomy seconds"),
    Comparison: ("Compared", "first second metrics"),
    Finding: ("FindingRow", ""),
    LintReport: ("Linted", ""),
}


@cache
def answer_schemas() -> dict[str, Any]:
    """The schemas of all answers, by name."""
    models: dict[Any, Any] = {}
    for source, (title, keys) in DATACLASSES.items():
        types = get_type_hints(source)
        own = keys.split() or [name for name in types if name != "_shown"]
        properties = {name: value for name, value in vars(source).items() if isinstance(value, property)}
        types |= {name: get_type_hints(value.fget)["return"] for name, value in properties.items()}
        chosen: dict[str, Any] = {key: (_in_json(types[key], models), ...) for key in own}
        models[source] = create_model(title, __doc__=source.__doc__, **chosen)
    schemas = {model.__name__: model.model_json_schema(ref_template="{model}") for model in models.values()}
    for name, more in yaml.safe_load((Path(__file__).parent / "answers.yaml").read_text("utf-8")).items():
        base = schemas.get(name, {"type": "object", "title": name, "properties": {}})
        schema = base | more | {"properties": base["properties"] | more.get("properties", {})}
        schema["required"] = more.get("required", [*schema["properties"]])
        extended = schema.pop("extends", None)
        schemas[name] = {"allOf": [{"$ref": extended}, schema]} if extended else schema
    return {name: _to_component(schema) for name, schema in schemas.items()}


def _in_json(hint: Any, models: dict[Any, Any]) -> Any:
    """A type hint with models in place of the dataclasses that have one."""
    if hint in models:
        return models[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    replaced = tuple(_in_json(argument, models) for argument in arguments)
    return reduce(or_, replaced) if origin is UnionType else origin[replaced]


def _to_component(schema: Any) -> Any:
    """A schema whose references lead into the OpenAPI document."""
    if isinstance(schema, list):
        return [_to_component(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _to_component(value) for key, value in schema.items() if key != "$defs"}
    return inner | ({"$ref": f"#/components/schemas/{schema['$ref']}"} if "$ref" in schema else {})
