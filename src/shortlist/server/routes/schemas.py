"""What do requests and answers look like? The models behind the OpenAPI document, with examples."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from shortlist.answer.citations import LONGEST_REPLY
from shortlist.documents import Document
from shortlist.results import Level, Mode
from shortlist.search.select import CUTOFF, GAP_RATIO, MAX_K, REL, TEMPERATURE

MOST_HITS = 1_000
MOST_LISTED = 10_000
MOST_SHOWN = 20  # passages for one answer
MOST_TURNS = 50  # of a conversation in one request
LONGEST_QUESTION = 4_000  # characters

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
CUT = {"temperature": 0.5, "ignore_zero": True, "llm_tools_cutoff": 10.0}
CHANGES = {"added": 1, "changed": 0, "removed": 0, "unchanged": 0}
HIT = {
    "id": "refund_payment", "name": "Refund a payment", "score": 0.61, "relevance": 0.93,
    "text": TOOL["content"], "kind": "tool", "source": "", "locator": "whole", "context": "",
    "metadata": TOOL["metadata"], "signals": {"lexical": 4.2, "dense": 0.48, "covered": 1.0, "named": 0.0},
    "corpus": "catalog",
}  # fmt: skip
SHOWN = {
    "id": "refund_payment", "name": "Refund a payment", "score": 0.61, "kind": "tool", "source": "",
    "locator": "whole", "metadata": TOOL["metadata"], "level": "body", "body": TOOL["content"], "files": [],
    "stale": False, "note": "", "corpus": "catalog", "relevance": 0.93,
}  # fmt: skip


def example(example: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


class Body(BaseModel):
    """What is sent. What it does not know is an error, and nothing is taken for what it is not."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class DocumentBody(Body):
    """A document: title, content and keywords are searchable, id and metadata are not.

    `Document.to_dict()` of the Python package fits. `kind`, `source` and `locator` are ignored: a document that is
    sent becomes a tool, and can never point at a file of the service's machine.
    """

    model_config = example(TOOL)

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


class RetrieveBody(Body):
    """A query, and settings for this call alone."""

    model_config = example({"query": "give the customer the money back", "llm_tools_cutoff": 5})

    query: str
    temperature: Temperature | None = None
    ignore_zero: bool | None = None
    llm_tools_cutoff: Percentage | None = None


class IndexBody(Body):
    """Documents that replace all others, or that the file is to be taken as it is."""

    model_config = example({"documents": [TOOL]})

    documents: list[DocumentBody] | None = None
    from_file: bool = False


class SettingsBody(Body):
    """Only what is named is changed."""

    model_config = example({"temperature": 2.0})

    temperature: Temperature = 0.5
    ignore_zero: bool = True
    llm_tools_cutoff: Percentage = 10.0


class SwitchBody(Body):
    """The name of a file that GET /document-files lists. `filename` is another name of `file`."""

    model_config = example({"file": "tools.yaml"})

    file: str = Field(min_length=1, validation_alias=AliasChoices("file", "filename"))


class SearchBody(Body):
    """What to look for in a corpus. `filter` is a condition on metadata."""

    model_config = example({"query": "refund", "k": 3, "filter": {"category": "payments"}})

    query: str
    mode: Mode = "auto"
    k: int = Field(default=10, ge=0, le=MOST_HITS)
    filter: dict[str, Any] | None = None


class DiscoverBody(SearchBody):
    """What to look for, how to choose, and how much to show of what was chosen."""

    model_config = example({"query": "refund", "strategy": "conservative", "min_score": "auto", "level": "body"})

    strategy: Strategy = "conservative"
    max_k: int = Field(default=MAX_K, ge=1, le=MOST_HITS)
    rel: Share = REL
    gap_ratio: Share = GAP_RATIO
    min_score: float | Literal["auto"] | None = "auto"
    temperature: float = Field(default=TEMPERATURE, gt=0)
    cutoff: Percentage = CUTOFF
    level: Level = "metadata"


class DiscloseBody(Body):
    """Which documents to show, and how much of them."""

    model_config = example({"ids": ["refund_payment"], "level": "body"})

    ids: list[str] = Field(max_length=MOST_HITS)
    level: Level = "body"


class Turn(Body):
    """What was asked before, and what was answered."""

    question: str = Field(max_length=LONGEST_QUESTION)
    answer: str = Field(max_length=LONGEST_REPLY)


class AskBody(Body):
    """A question, with those before it. `stream` asks for server-sent events, as the header Accept does."""

    model_config = example({"question": "Who gets the money back?", "agent": False})

    question: str = Field(max_length=LONGEST_QUESTION)
    agent: bool = False
    k: int | None = Field(default=None, ge=1, le=MOST_SHOWN)
    threshold: Share | None = None
    filter: dict[str, Any] | None = None
    history: list[Turn] = Field(default=[], max_length=MOST_TURNS)
    stream: bool = False


class DocumentsBody(Body):
    """Documents to add; the same id replaces."""

    model_config = example({"documents": [TOOL]})

    documents: list[DocumentBody] = Field(min_length=1)


class Plain(BaseModel):
    """A document as it is answered."""

    model_config = example(TOOL)

    id: str
    title: str
    content: str
    keywords: list[str]
    metadata: dict[str, Any]


class Retrieved(Plain):
    model_config = example({**TOOL, "bm25_score": 4.2, "softmax_score": 0.97})

    bm25_score: float
    softmax_score: float


class Cut(BaseModel):
    """The settings of /retrieve that are in force."""

    model_config = example(CUT)

    temperature: float
    ignore_zero: bool
    llm_tools_cutoff: float


class Retrieval(BaseModel):
    """The documents that hold at least the cutoff of the softmax; what went wrong is told in the same shape."""

    success: bool
    message: str
    documents: list[Retrieved]
    total_retrieved: int
    cutoff_percentage: float
    settings: Cut


class Listing(BaseModel):
    """Documents, and how many there are altogether."""

    documents: list[Plain]
    count: int


class Changed(BaseModel):
    """What a change did, and how many documents there are now. It is on the disk."""

    model_config = example({"success": True, "message": "1 added.", "count": 1, **CHANGES})

    success: bool
    message: str
    count: int
    added: int
    changed: int
    removed: int
    unchanged: int


class CatalogFile(BaseModel):
    file: str
    bytes: int
    modified: float
    current: bool


class CatalogFiles(BaseModel):
    """The catalogs in the configured folder."""

    folder: str
    current: str
    files: list[CatalogFile]


class Setting(BaseModel):
    """A value in force and where it came from."""

    key: str
    value: Any
    origin: str


class Point(BaseModel):
    """Latencies of searches within some seconds from `time` on."""

    time: int
    requests: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class Latency(BaseModel):
    """Latencies of the searches of the last minute, and of the last ten minutes in steps."""

    requests: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    bucket_seconds: int
    series: list[Point]


class IndexFacts(BaseModel):
    """The index of the catalog."""

    documents: int
    passages: int
    segments: int
    generation: int
    bytes: int
    analyzer: str
    embedder: str
    dim: int


class Status(BaseModel):
    """How the service is doing."""

    status: Literal["ok", "degraded"]
    version: str
    uptime_seconds: float
    document_file: str
    documents: int
    problem: str = Field(description="Why the document file could not be read when that was last tried, or empty.")
    index: IndexFacts
    llm: str = Field(description="The language model that answers questions, or empty where there is none.")
    settings: Cut
    configuration: list[Setting]
    latency: Latency


class CorpusRow(BaseModel):
    """A corpus that can be searched, or why it cannot."""

    name: str
    kind: str | None
    roots: list[str]
    built: bool
    documents: int | None
    passages: int | None
    embedder: str | None
    engine: str = Field(description="embedded, or the address of the cluster that keeps it.")
    bytes: int
    problem: str | None


class Corpora(BaseModel):
    corpora: list[CorpusRow]


class McpServer(BaseModel):
    """An MCP server behind /mcp; `tools` is null if it was never asked."""

    name: str
    state: str
    tools: int | None
    read_only: int = 0
    pending: int = 0
    denied: int = 0
    problem: str | None = None
    refused: dict[str, str] = {}


class ToolChange(BaseModel):
    part: str
    waits: bool = Field(description="Whether this change needs approval.")
    diff: list[str]


class PendingTool(BaseModel):
    tool: str
    reason: str
    description: str
    changes: list[ToolChange]
    command: str = Field(description="What the user runs to review and approve it.")


class PendingFile(BaseModel):
    """A project's file whose servers wait for approval."""

    file: str
    servers: int
    command: str


class McpServers(BaseModel):
    servers: list[McpServer]
    pending_files: list[PendingFile]
    pending: list[PendingTool]


class HitRow(BaseModel):
    model_config = example(HIT)

    id: str
    name: str
    score: float
    relevance: float | None = Field(description="How likely it is what was asked for, from 0 to 1, in every mode.")
    text: str
    kind: str
    source: str
    locator: str
    context: str
    metadata: dict[str, Any]
    signals: dict[str, float]
    corpus: str


class Candidate(HitRow):
    model_config = example({**HIT, "selected": True})

    selected: bool


class Hits(BaseModel):
    """The best documents, best first."""

    query: str
    mode: Mode
    hits: list[HitRow]


class Shown(BaseModel):
    model_config = example(SHOWN)

    id: str
    name: str
    score: float
    kind: str
    source: str
    locator: str
    metadata: dict[str, Any]
    level: Level
    body: str | None
    files: list[str]
    stale: bool
    note: str
    corpus: str
    relevance: float | None = None


class Discovery(BaseModel):
    """The few that were chosen, shown, or none, with the reason; and among which they were chosen."""

    query: str
    mode: Mode
    abstained: bool
    reason: str
    signals: dict[str, Any]
    results: list[Shown]
    candidates: list[Candidate]
    line: float | None = Field(description="The score from which candidates were kept, where there is one.")


class Disclosed(BaseModel):
    documents: list[Shown]


class CitationRow(BaseModel):
    """Where a claim comes from; `spans` are the places in that passage of what was taken word for word."""

    number: int
    marker: str
    source: str
    locator: str
    spans: list[tuple[int, int]]


class ClaimRow(BaseModel):
    text: str
    citations: list[CitationRow]


class EvidenceRow(BaseModel):
    """A passage that was shown to whoever answered."""

    number: int
    label: str
    source: str
    locator: str
    text: str
    score: float
    id: str
    name: str
    context: str
    corpus: str
    marker: str


class DroppedRow(BaseModel):
    text: str
    reason: str


class Answered(BaseModel):
    """What the documents say: claims that are all cited, or the refusal; with what was shown, dropped and spent."""

    question: str
    text: str
    refused: bool
    reason: str
    by: Literal["extract", "llm", "agent", "gate"]
    sentences: list[ClaimRow]
    evidence: list[EvidenceRow]
    dropped: list[DroppedRow]
    usage: dict[str, int]
    steps: list[dict[str, Any]]
    broke_off: str


class StepEvent(BaseModel):
    """A tool call of an agent, as an event; it may have more fields."""

    tool: str
    arguments: Any


class TextEvent(BaseModel):
    """The next verified sentence of an answer, as an event."""

    text: str


class ProgressEvent(BaseModel):
    """How far some work is, as an event: the share that is done, from 0 to 1."""

    step: str
    share: Share


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class FieldProblem(BaseModel):
    where: str
    message: str


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[FieldProblem] = Field(default=[], description="With 422: what does not fit, and where.")
