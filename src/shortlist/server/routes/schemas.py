"""The bodies of requests and the schemas of answers, as the OpenAPI document describes them.

Answers are plain dicts that are not validated. Their schemas are generated from the dataclasses whose `to_dict` they
are; openapi.yaml has the others, descriptions, examples, and the keys that `to_dict` adds.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import yaml
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, create_model

from shortlist._limits import check_length
from shortlist._settings import BM25SSettings
from shortlist.answer.verification import LONGEST_REPLY
from shortlist.documents import Document
from shortlist.eval.cases import Flaw
from shortlist.eval.explain import Rival, Why
from shortlist.eval.lint import Finding, LintReport
from shortlist.eval.reporting.plots import Figure
from shortlist.eval.retrieval import Comparison, DiscoveryReport, Outcome
from shortlist.eval.statistics import Estimate, Paired
from shortlist.index.storage import usage_log
from shortlist.results import Answer, Citation, Claim, Disclosure, Dropped, Evidence, Hit, Level, Mode
from shortlist.retrieval.select import CUTOFF, GAP_RATIO, REL, TEMPERATURE

MOST_HITS = 1_000
MOST_LISTED = 10_000
MOST_SHOWN = 20  # passages for one answer
MOST_TURNS = 50  # of a conversation in one request
LONGEST_SESSION = 200  # characters
MOST_CHOICES = 50  # documents among which one was chosen
DEEPEST = 100  # rank cutoff of an evaluation

Id = Annotated[str, Field(min_length=1, pattern=r"\S")]
Temperature = Annotated[float, Field(ge=0.1, le=10)]
Percentage = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
QueryText = Annotated[str, AfterValidator(check_length)]
Question = Annotated[str, AfterValidator(partial(check_length, what="question"))]
Depth = Annotated[int, Field(ge=1, le=DEEPEST)]
Strategy = Literal["adaptive", "conservative", "top_k", "rel_threshold", "abs_threshold", "score_gap", "softmax"]
Threshold = float | Literal["auto"] | None


class Body(BaseModel):
    """The body of a request. Unknown fields are errors, and no value is converted to another type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class DocumentBody(Body):
    id: Id
    title: str
    content: str
    keywords: list[str] | None = None
    metadata: dict[str, Any] | None = None
    payload: str | None = None
    kind: str = "tool"
    source: str = ""
    locator: str = "whole"

    def to_document(self) -> Document:
        fields = self.model_dump(exclude={"kind", "source", "locator"})
        return Document(**fields, kind="tool")


class RetrieveBody(Body):
    query: QueryText
    temperature: Temperature | None = None
    ignore_zero: bool | None = None
    llm_tools_cutoff: Percentage | None = None


class IndexBody(Body):
    documents: list[DocumentBody] | None = None
    from_file: bool = False
    rebuild: bool = True


class SettingsBody(Body):
    temperature: Temperature = 0.5
    ignore_zero: bool = True
    llm_tools_cutoff: Percentage = 10.0


class SwitchBody(Body):
    file: str = Field(min_length=1, validation_alias=AliasChoices("file", "filename"))
    confirmed: bool = True  # accepted, but not needed: changes made to the catalogs stay


class SearchBody(Body):
    query: QueryText
    mode: Mode = "auto"
    k: int = Field(default=10, ge=0, le=MOST_HITS)
    filter: dict[str, Any] | None = None


class HitsBody(SearchBody):
    facts: bool = False


class DiscoverBody(SearchBody):
    strategy: Strategy = "adaptive"
    max_k: int | None = Field(default=None, ge=1, le=MOST_HITS)
    rel: Share = REL
    gap_ratio: Share = GAP_RATIO
    min_score: Threshold = "auto"
    temperature: float = Field(default=TEMPERATURE, gt=0)
    cutoff: Percentage = CUTOFF
    level: Level = Field(default="metadata", validation_alias=AliasChoices("level", "disclose_level"))


class ExplainBody(DiscoverBody):
    id: Id


class DiscloseBody(Body):
    ids: list[str] = Field(max_length=MOST_HITS)
    level: Level = "body"


class FeedbackBody(Body):
    query: QueryText = Field(min_length=1, pattern=r"\S")
    id: Id
    outcome: usage_log.Outcome = "called"
    shown: list[Id] = Field(default=[], max_length=MOST_CHOICES)
    session: str = Field(default="", max_length=LONGEST_SESSION)


class Turn(Body):
    question: Question
    answer: str = Field(max_length=LONGEST_REPLY)


class AskBody(Body):
    question: Question
    agent: bool = False
    k: int | None = Field(default=None, ge=1, le=MOST_SHOWN)
    threshold: Share | None = None
    filter: dict[str, Any] | None = None
    history: list[Turn] = Field(default=[], max_length=MOST_TURNS)
    stream: bool = False


class DocumentsBody(Body):
    documents: list[DocumentBody] = Field(min_length=1)


class EvalBody(Body):
    cases: str | list[dict[str, Any]]
    mode: Mode = "auto"
    against: Mode | None = None
    k: Depth = 10
    filter: dict[str, Any] | None = None
    strategy: Strategy = "adaptive"
    min_score: Threshold = "auto"
    unknown: Literal["refuse", "count"] = "refuse"
    curve: bool = False
    html: bool = False
    stream: bool = False


class LintBody(Body):
    k: Depth = 10
    stream: bool = False


# The dataclasses of answers, inner ones first.
DATACLASSES: tuple[Any, ...] = (
    Document, BM25SSettings, Hit, Disclosure, Citation, Claim, Dropped, Evidence, Answer, Rival, Why, Flaw, Figure,
    Estimate, Paired, Outcome, DiscoveryReport, Comparison, Finding, LintReport,
)  # fmt: skip


def add_schemas(components: dict[str, Any]) -> None:
    """Add the schemas of answers to those of an OpenAPI document, and descriptions and examples to all."""
    written = yaml.safe_load((Path(__file__).parent / "openapi.yaml").read_bytes())
    components["RetrieveBody"] = RetrieveBody.model_json_schema()
    for name, more in written["requests"].items():
        for field, description in more.pop("fields", {}).items():
            components[name]["properties"][field]["description"] = description
        components[name] |= more
    models: dict[Any, Any] = {}
    for source in DATACLASSES:
        name, hints = source.__name__, get_type_hints(source)
        keys = written["answers"].get(name, {}).pop("keys", "") or getattr(source, "_shown", "")
        properties = {key: value.fget for key, value in vars(source).items() if isinstance(value, property)}
        types = hints | {key: get_type_hints(function)["return"] for key, function in properties.items()}
        shown = keys.split() or [key for key in hints if key != "_shown"]
        fields: dict[str, Any] = {key: (_in_json(types[key], models), ...) for key in shown}
        models[source] = create_model(name, __doc__=source.__doc__, **fields)
        components[name] = models[source].model_json_schema(ref_template="#/components/schemas/{model}")
        components[name].pop("$defs", None)
    for name, more in written["answers"].items():
        base = components.get(name, {"type": "object", "title": name, "properties": {}})
        schema = base | more | {"properties": base["properties"] | more.get("properties", {})}
        schema["required"] = more.get("required", [*schema["properties"]])
        components[name] = more if "allOf" in more else schema


def _in_json(hint: Any, models: dict[Any, Any]) -> Any:
    """A type hint with models in place of the dataclasses that have one."""
    if hint in models:
        return models[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None or origin is Literal:
        return hint
    replaced = tuple(_in_json(argument, models) for argument in arguments)
    return reduce(or_, replaced) if origin is UnionType else origin[replaced]
