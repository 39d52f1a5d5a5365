"""The bodies of requests: their fields, limits, descriptions and examples, which the OpenAPI document repeats."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, model_validator

from shortlist._limits import check_length
from shortlist.answer.reply_sentences import LONGEST_REPLY
from shortlist.documents import Document
from shortlist.errors import InputError
from shortlist.index.storage import usage_log
from shortlist.library.uploads import MAX_FILES
from shortlist.results import Level, Mode, to_raw_score
from shortlist.retrieval.options import CUTOFF, DESCRIPTIONS, GAP_RATIO, REL, TEMPERATURE
from shortlist.safety.principals import SOURCE, sees_folders

MOST_HITS = 1_000
MOST_QUERIES, MOST_HITS_OF_EACH = 100, 100  # in one request
MOST_LISTED = 10_000
MOST_SHOWN = 20  # passages for one answer
MOST_TURNS = 50  # of a conversation in one request
LONGEST_SESSION = 200  # characters
MOST_CHOICES = 50  # documents among which one was chosen
DEEPEST = 100  # rank cutoff of an evaluation
PATHS = ("path", "skill_path", "from_project")  # keys of metadata that may have a path of this machine
ORDERS = ("$gt", "$gte", "$lt", "$lte")

Id = Annotated[str, Field(min_length=1, pattern=r"\S")]
Temperature = Annotated[float, Field(ge=0.1, le=10)]
Percentage = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
QueryText = Annotated[str, AfterValidator(check_length)]
Question = Annotated[str, AfterValidator(partial(check_length, what="question"))]
Depth = Annotated[int, Field(ge=1, le=DEEPEST)]
Strategy = Literal["adaptive", "conservative", "top_k", "rel_threshold", "abs_threshold", "score_gap", "softmax"]
MinRelevance = Share | Literal["auto"] | None
MinScore = float | Literal["auto"] | None


def check_condition(condition: dict[str, Any]) -> dict[str, Any]:
    """Refuse conditions that would show paths to callers who may not see them, letter by letter."""
    if not sees_folders() and _compares_paths(condition):
        raise InputError(
            "Only administrators of the service can filter by source, or compare paths with $gt, $gte, $lt and $lte. "
            "Filter by id."
        )
    return condition


def _compares_paths(condition: Any) -> bool:
    waiting = [("", condition)]  # parts, each with the key that it is about; nested as deep as a body may be
    while waiting:
        key, part = waiting.pop()
        if isinstance(part, list):
            waiting += [(key, one) for one in part]
        elif isinstance(part, dict):
            is_path = key.partition(".")[0] in PATHS
            if any((name == SOURCE and not key) or (name in ORDERS and is_path) for name in part):
                return True
            waiting += [(key if name.startswith("$") else key or name, one) for name, one in part.items()]
    return False


Condition = Annotated[dict[str, Any], AfterValidator(check_condition)]

RANKING = "How to rank: `auto` and `hybrid` by keyword and semantic search, `lexical` or `dense` by one of them."

EXAMPLE = {
    "id": "refund_payment",
    "title": "Refund a payment",
    "content": "Send money of a payment back to the customer's card.",
    "keywords": ["refund", "chargeback"],
    "metadata": {"category": "payments"},
}


class Body(BaseModel):
    """The body of a request. Unknown fields are errors, and no value is converted to another type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def show_example(**example: Any) -> ConfigDict:
    """The configuration of a body with an example."""
    return ConfigDict(json_schema_extra={"examples": [example]})


class DocumentBody(Body):
    """A document. Title, content and keywords are searched; id and metadata are not.

    The result of `Document.to_dict()` of the Python package is valid. `kind`, `source` and `locator` are ignored: a
    document that is sent becomes a tool and can never refer to a file on the machine of the service.
    """

    model_config = show_example(**EXAMPLE)

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
        fields = self.model_dump(exclude={"kind", "source", "locator"})
        return Document(**fields, kind="tool")


class SearchBody(Body):
    """What to search for in a corpus."""

    query: QueryText = Field(description="What to search for.")
    mode: Mode = Field(default="auto", description=RANKING)
    k: int = Field(default=10, ge=0, le=MOST_HITS, description="The number of candidates to retrieve.")
    filter: Condition | None = Field(default=None, description="A condition on metadata.")
    exact: bool = Field(default=False, description=DESCRIPTIONS["exact"])


class HitsBody(SearchBody):
    """What to search for in a corpus."""

    model_config = show_example(query="refund", k=3, filter={"category": "payments"})

    facts: bool = Field(
        default=False, description="Also return what makes the hits comparable with those of other corpora."
    )


class QueriesBody(Body):
    """Several queries to a corpus."""

    model_config = show_example(queries=["refund", "late parcel"], k=3)

    queries: list[QueryText] = Field(max_length=MOST_QUERIES, description="What to search for.")
    mode: Mode = Field(default="auto", description=RANKING)
    k: int = Field(default=10, ge=0, le=MOST_HITS_OF_EACH, description="The number of hits of each query.")
    filter: Condition | None = Field(default=None, description="A condition on metadata.")
    exact: bool = Field(default=False, description=DESCRIPTIONS["exact"])


def _choose_threshold(body: ThresholdBody | AskBody, former: str, value: Any) -> Any:
    """`min_relevance` of a body or, if that is sent instead, the value of its former name."""
    if former not in body.model_fields_set:
        return body.min_relevance
    if "min_relevance" in body.model_fields_set:
        raise InputError(f"{former} was sent beside min_relevance. Leave out {former}, its former name.")
    return value


class ThresholdBody(Body):
    """The threshold below which nothing is selected."""

    min_relevance: MinRelevance = Field(
        default="auto",
        description="Nothing is selected if the highest relevance is below this. `auto` uses the calibrated or "
        "built-in threshold; null selects whatever matches.",
    )
    min_score: MinScore = Field(
        default="auto",
        description="Deprecated: the former name of `min_relevance`. A number is compared with the scores of the mode "
        "instead, in the mode `auto` with the relevance.",
        json_schema_extra={"deprecated": True},
    )

    @property
    def least(self) -> Any:
        """The threshold as the functions of the library take it."""
        return _choose_threshold(self, "min_score", to_raw_score(self.min_score))

    def to_options(self, *left_out: str) -> dict[str, Any]:
        """The fields as keyword arguments of a function of the library, except those of these names."""
        return self.model_dump(exclude={"min_score", *left_out}) | {"min_relevance": self.least}


class DiscoverBody(SearchBody, ThresholdBody):
    """What to search for, how to select, and how much to show of the selected documents."""

    model_config = show_example(query="refund", min_relevance="auto", level="body")

    strategy: Strategy = Field(default="adaptive", description="The rule that selects among the candidates.")
    max_k: int | None = Field(
        default=None,
        ge=1,
        le=MOST_HITS,
        description="The maximum number of results; null is 3, or 1 to 5 with the strategy `adaptive`.",
    )
    rel: Share = Field(
        default=REL,
        description="Of `conservative` and `rel_threshold`: the minimum score, as a share of the top score.",
    )
    gap_ratio: Share = Field(
        default=GAP_RATIO, description="Of `score_gap`: a score below this share of the one before it ends the results."
    )
    temperature: float = Field(default=TEMPERATURE, gt=0, description="Of `softmax`: its temperature.")
    cutoff: Percentage = Field(default=CUTOFF, description="Of `softmax`: the minimum percentage of a result.")
    level: Level = Field(
        default="metadata",
        validation_alias=AliasChoices("level", "disclose_level"),
        description="How much of each result is returned.",
    )


class ExplainBody(DiscoverBody):
    """A request of `discover`, and the id of the document whose rank is explained. `level` is ignored."""

    model_config = show_example(query="refund", id="refund_payment")

    id: Id = Field(description="The document.")


class DiscloseBody(Body):
    """The documents to show, and how much of them."""

    model_config = show_example(ids=["refund_payment"], level="body")

    ids: list[str] = Field(max_length=MOST_HITS, description="The documents.")
    level: Level = Field(default="body", description="How much of each document is returned.")


class FeedbackBody(Body):
    """A query, and the document that it led to."""

    model_config = show_example(
        query="give the money back", id="refund_payment", outcome="called",
        shown=["refund_payment", "void_authorization"],
    )  # fmt: skip

    query: QueryText = Field(
        min_length=1, pattern=r"\S", description="What was searched for. Secrets in it are hidden before it is stored."
    )
    id: Annotated[Id, Field(description="The document that was used.")]
    outcome: usage_log.Outcome = Field(
        default="called",
        description="`called` or `read` if the document was right, `failed` if it could not be used, `wrong` if it is "
        "not what the query asks for, `reworded` if the query found nothing and the document was used after another.",
    )
    shown: list[Id] = Field(default=[], max_length=MOST_CHOICES, description="The ids among which it was chosen.")
    session: str = Field(
        default="",
        max_length=LONGEST_SESSION,
        description="Any name of the conversation: of many uses in one session, or of one client in a day, only a few "
        "count.",
    )
    undo: bool = Field(
        default=False,
        description="Delete what this session reported about both, or the latest without one, instead of storing it.",
    )


class Turn(Body):
    """An earlier question and its answer."""

    question: Question
    answer: str = Field(max_length=LONGEST_REPLY)


class AskBody(Body):
    """A question, and the turns before it. `stream` requests server-sent events, as the header Accept does."""

    model_config = show_example(question="Who gets the money back?", agent=False)

    question: Question = Field(description="What to answer.")
    agent: bool = Field(default=False, description="Let the model search further with tools before it answers.")
    extractive: bool = Field(default=False, description="Answer with sentences of the documents, without a model.")
    k: int | None = Field(
        default=None,
        ge=1,
        le=MOST_SHOWN,
        description="The number of passages to answer from; null is `answers.top_k` of the service.",
    )
    min_relevance: MinRelevance = Field(
        default="auto",
        description="The lowest relevance of a passage. `auto` uses `answers.min_relevance` of the service; null uses "
        "whatever matches.",
    )
    threshold: Share | None = Field(
        default=None,
        description="Deprecated: the former name of `min_relevance`; null means `auto`.",
        json_schema_extra={"deprecated": True},
    )
    filter: Condition | None = Field(default=None, description="A condition on metadata.")
    history: list[Turn] = Field(
        default=[], max_length=MOST_TURNS, description="Earlier questions and answers, which the question may refer to."
    )
    stream: bool = Field(default=False, description="Send server-sent events.")

    @property
    def least(self) -> Any:
        """The threshold as the functions of the library take it."""
        return _choose_threshold(self, "threshold", "auto" if self.threshold is None else self.threshold)


class DocumentsBody(Body):
    """Documents to add; the same id replaces."""

    model_config = show_example(documents=[EXAMPLE])

    documents: list[DocumentBody] = Field(min_length=1)


FilePath = Annotated[str, Field(min_length=1, max_length=2000)]


class FileHash(Body):
    """A file of the client."""

    path: FilePath
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class FilesBody(Body):
    """The files that a corpus of uploaded files is to have."""

    model_config = show_example(files=[{"path": "guides/returns.md", "sha256": "0123456789abcdef" * 4}])

    files: list[FileHash] = Field(max_length=MAX_FILES)


class FilePathsBody(Body):
    """The paths of uploaded files."""

    model_config = show_example(paths=["guides/returns.md"])

    paths: list[FilePath] = Field(min_length=1, max_length=MAX_FILES)


class DeletedBody(Body):
    """Which documents to delete: those with these ids, or all that contain a text."""

    model_config = show_example(ids=["refund_payment", "book_courier"])

    ids: list[Id] | None = Field(default=None, min_length=1, max_length=MOST_LISTED)
    q: QueryText | None = Field(default=None, min_length=1, pattern=r"\S", description="As in the list of documents.")

    @model_validator(mode="after")
    def check_one(self) -> DeletedBody:
        if (self.ids is None) == (self.q is None):
            raise ValueError("send either ids or q")
        return self


class EvalBody(ThresholdBody):
    """Cases, how to search, and what else to measure."""

    model_config = show_example(
        cases='{"query": "give the money back", "gold": ["refund_payment"]}\n{"query": "play some jazz", "gold": []}',
        mode="auto", against="lexical", k=10,
    )  # fmt: skip

    cases: str | list[dict[str, Any]] = Field(
        description="JSONL, or a list of objects: query, and gold (an id, ids, or grades by id; none if no document "
        "applies)."
    )
    mode: Mode = Field(default="auto", description=RANKING)
    against: Mode | None = Field(default=None, description="Another mode to compare with.")
    k: Depth = Field(default=10, description="The number of candidates to retrieve.")
    filter: Condition | None = Field(default=None, description="A condition on metadata.")
    strategy: Strategy = Field(default="adaptive", description="The rule that selects among the candidates.")
    unknown: Literal["refuse", "count"] = Field(
        default="refuse",
        description="Whether expected documents that the corpus does not have are an error, or counted as not found.",
    )
    curve: bool = Field(default=False, description="Also search in catalogs of growing size, up to 20,000 documents.")
    html: bool = Field(default=False, description="Add the report that eval --html writes.")
    stream: bool = Field(default=False, description="Send server-sent events.")


class LintBody(Body):
    """The rank cutoff: found means ranked in the top k."""

    model_config = show_example(k=10)

    k: Depth = Field(default=10, description="The rank cutoff.")
    stream: bool = Field(default=False, description="Send server-sent events.")
