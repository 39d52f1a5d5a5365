"""The answers about the service: problems, health, status and MCP servers, declared for the OpenAPI document alone."""

from __future__ import annotations

from typing import Any, Literal

from shortlist.server.routes.answer_types import AnswerType, Learning


class FieldProblemJson(AnswerType):
    """An invalid value of a request."""

    where: str
    """Its place in the request."""
    message: str
    """What is wrong with it."""


class ProblemJson(AnswerType):
    """What is wrong, and how to fix it."""

    type: str
    """The kind of problem, beginning with urn:shortlist:."""
    title: str
    """What failed, or the phrase of the status."""
    status: int
    """The HTTP status."""
    detail: str
    """What is wrong, and how to fix it."""
    instance: str
    """The path of the request."""
    request_id: str
    """The id of the request in the log of the service."""
    errors: list[FieldProblemJson] = []  # noqa: RUF012
    """With 422: each invalid value and its place."""
    alternative: dict[str, Any] = {}  # noqa: RUF012
    """With 502: fields with which the same request can be answered, without the language model."""


class HealthJson(AnswerType):
    """The process is running."""

    status: Literal["ok"]
    """Always ok."""


class SettingJson(AnswerType):
    """A value in force, and its origin."""

    key: str
    """The name of the setting."""
    value: Any
    """Its value, without secrets."""
    origin: str
    """Where it comes from."""


class IndexFactsJson(AnswerType):
    """The index of the catalog."""

    documents: int
    """The number of documents."""
    passages: int
    """The number of indexed parts of documents."""
    segments: int
    """The number of index files."""
    generation: int
    """Changes with every commit."""
    bytes: int
    """The size of its files."""
    analyzer: str
    """How its texts are split into terms."""
    embedder: str
    """The name of its embedder."""
    dim: int
    """The number of dimensions of its vectors."""
    languages: dict[str, int]
    """The number of passages in each language, by its ISO 639-1 code; the most frequent first."""
    advice: str
    """How to rank its documents better. Otherwise empty."""


class PointJson(AnswerType):
    """Latencies of searches in the interval that starts at `time`."""

    time: int
    """The start, in seconds since 1970."""
    requests: int
    """The number of searches."""
    p50_ms: float | None
    """The median."""
    p95_ms: float | None
    """The 95th percentile."""
    p99_ms: float | None
    """The 99th percentile."""


class LatencyJson(AnswerType):
    """Latencies of searches: of the last minute, and of the last ten minutes in steps."""

    requests: int
    """The number of searches."""
    p50_ms: float | None
    """The median."""
    p95_ms: float | None
    """The 95th percentile."""
    p99_ms: float | None
    """The 99th percentile."""
    bucket_seconds: int
    """The length of a step."""
    series: list[PointJson]
    """The steps."""


class StatusJson(AnswerType):
    """The state of the service."""

    status: Literal["ok", "degraded"]
    """Whether the document file could be read."""
    version: str
    """The version of the package."""
    uptime_seconds: float
    """How long it runs."""
    document_file: str
    """The catalog that is served."""
    documents: int
    """The number of documents in it."""
    problem: str
    """Why the last read of the document file failed; empty if it did not."""
    index: IndexFactsJson
    """The index of the catalog."""
    learning: Learning
    """`on`: use is stored and changes the ranking. `log`: it is only stored. `off`: neither."""
    llm: str
    """The language model that answers questions; empty if there is none."""
    configuration: list[SettingJson]
    """All settings."""
    latency: LatencyJson
    """Latencies of searches."""
    extensions: list[str]
    """What is added to the service; `retriever` adds /retrieve and its settings."""
    settings: dict[str, Any] | None = None
    """The settings of the retriever that are in force, if it is there."""


class McpServerJson(AnswerType):
    """An MCP server behind /mcp."""

    name: str
    """Its name."""
    state: str
    """Whether it runs."""
    tools: int | None
    """The number of its tools; null if it was never asked."""
    problem: str | None = None
    """Why it cannot be used."""
    pending: int = 0
    """Tools that are pending approval."""
    denied: int = 0
    """Tools that are denied."""
    read_only: int = 0
    """Tools that change nothing."""
    refused: dict[str, str] = {}  # noqa: RUF012
    """Tools that are refused, each with the reason."""


class McpProfileJson(AnswerType):
    """The profile in force, the one that the project narrows it to, and the servers that are left out."""

    left_out: list[str]
    """The servers that are left out."""
    name: str = ""
    """The profile in force."""
    narrowed_to: str = ""
    """The profile that the project narrows it to."""


class ToolChangeJson(AnswerType):
    """What changed in a tool."""

    part: str
    """The part that changed."""
    diff: list[str]
    """The lines that changed."""
    waits: bool
    """Whether this change needs approval."""


class PendingToolJson(AnswerType):
    """A tool that is pending approval."""

    tool: str
    """Its name."""
    reason: str
    """Why it needs approval."""
    description: str
    """What it says about itself."""
    changes: list[ToolChangeJson]
    """What changed since it was approved."""
    command: str
    """The command that reviews and approves it."""


class PendingFileJson(AnswerType):
    """A project file whose servers are pending approval."""

    file: str
    """Its path."""
    servers: int
    """The number of its servers."""
    command: str
    """The command that reviews it."""


class McpServersJson(AnswerType):
    """The MCP servers behind /mcp, and what is pending approval."""

    servers: list[McpServerJson]
    """The servers."""
    pending: list[PendingToolJson]
    """Tools that are pending approval."""
    pending_files: list[PendingFileJson]
    """Project files that are pending approval."""
    profile: McpProfileJson | None = None
    """The profile in force."""
