"""The nouns, each produced by one stage of the pipeline and taken by the next, and the seams between them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from shortlist.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Vectors = NDArray[np.float32]
    Positions = NDArray[np.int64]
    Mask = NDArray[np.bool_]

Metadata = Mapping[str, Any]
Mode = Literal["auto", "lexical", "dense", "hybrid"]
Level = Literal["metadata", "body", "bundled"]


@dataclass(frozen=True, slots=True, init=False)
class Document:
    """One thing that can be found: a tool, a skill, a package, a page, a row, a file.

    `title`, `content` and `keywords` are searchable; `id` and `metadata` are not. `source` points to where it came
    from (a path or an address), `locator` to the place in it, `payload` is what disclosure shows instead of `content`.
    """

    id: str
    title: str
    content: str
    keywords: list[str]
    metadata: dict[str, Any]
    kind: str
    source: str
    locator: str
    payload: str | None

    def __init__(
        self,
        id: str,
        title: str,
        content: str,
        keywords: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        *,
        kind: str = "text",
        source: str = "",
        locator: str = "whole",
        payload: str | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "id", id)
        put(self, "title", title)
        put(self, "content", content)
        put(self, "keywords", [] if keywords is None else keywords)
        put(self, "metadata", {} if metadata is None else metadata)
        put(self, "kind", kind)
        put(self, "source", source)
        put(self, "locator", locator)
        put(self, "payload", payload)

    @property
    def name(self) -> str:
        return self.title or self.id

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Problem:
    """A document that could not be taken, and why. A source may yield one in place of what it could not read."""

    id: str
    reason: str
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


Source = Iterable[Document | Problem]


@dataclass(frozen=True, slots=True)
class Stamp:
    """Follows the documents of one file or, where that is as it was, stands for them all.

    They are those with this id, or with `id#` at the beginning of theirs, and this source. `value` changes with the
    file; it is empty while it cannot be trusted to. `skipped` says that the file holds nothing that can be searched.
    """

    id: str
    source: str
    value: str
    skipped: bool = False


Stamps = Mapping[str, Stamp]


@runtime_checkable
class Stamped(Protocol):
    """A source that can leave out what has not changed."""

    def since(self, known: Stamps) -> Iterable[Document | Problem | Stamp]:
        """What has changed since these stamps, and the stamps of now."""
        ...


@dataclass(frozen=True, slots=True)
class Passage:
    """The unit that is indexed: a document, or a part of one."""

    document_id: str
    name: str
    text: str
    kind: str = "text"
    source: str = ""
    locator: str = "whole"
    metadata: Metadata = field(default_factory=dict)
    context: str = ""
    """The headings that a part of a long text stands under: "Guide > Install"."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What one sync did. `skipped` counts files that hold nothing that can be searched, such as images."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: tuple[Problem, ...] = ()
    skipped: int = 0
    changed_ids: tuple[str, ...] = field(default=(), compare=False)
    """Which documents were changed: a tool among them may no longer be what somebody once approved."""

    def to_dict(self) -> dict[str, Any]:
        failed = [problem.to_dict() for problem in self.failed]
        return {**asdict(self), "failed": failed, "changed_ids": list(self.changed_ids)}


@dataclass(frozen=True, slots=True)
class Ranking:
    """Two aligned arrays, best first: positions in a snapshot and their scores."""

    positions: Positions
    scores: Floats

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found, its score, and the parts that the score was made of."""

    passage: Passage
    score: float
    signals: Mapping[str, float] = field(default_factory=dict)
    load: Callable[[], Document | None] | None = field(default=None, repr=False, compare=False)
    """Reads the whole document; None from it means that the document is gone."""
    corpus: str = ""
    """The name of the corpus that it was found in."""
    relevance: float | None = None
    """How likely it is what was asked for, 0 to 1, whatever the mode; None if that was not judged."""

    @property
    def id(self) -> str:
        return self.passage.document_id

    @property
    def name(self) -> str:
        return self.passage.name

    @property
    def text(self) -> str:
        return self.passage.text

    @property
    def kind(self) -> str:
        return self.passage.kind

    @property
    def source(self) -> str:
        return self.passage.source

    @property
    def locator(self) -> str:
        return self.passage.locator

    @property
    def metadata(self) -> Metadata:
        return self.passage.metadata

    @property
    def context(self) -> str:
        return self.passage.context

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "score": self.score,
            "relevance": self.relevance,
            "text": self.text,
            "kind": self.kind,
            "source": self.source,
            "locator": self.locator,
            "context": self.context,
            "metadata": dict(self.metadata),
            "signals": dict(self.signals),
            "corpus": self.corpus,
        }

    def brief(self) -> dict[str, Any]:
        """Which it is and how well it fits, without what it says."""
        return {
            "id": self.id,
            "name": self.name,
            "score": self.score,
            "relevance": self.relevance,
            "corpus": self.corpus,
        }


class Hits(list[Hit]):
    """A list of hits, best first, that remembers what was asked."""

    def __init__(self, hits: Iterable[Hit] = (), *, query: str = "", mode: str = "") -> None:
        super().__init__(hits)
        self.query = query
        self.mode = mode

    def to_dict(self) -> dict[str, Any]:
        return {"query": self.query, "mode": self.mode, "hits": [hit.to_dict() for hit in self]}


Selector = Callable[[list[Hit]], list[Hit]]


@dataclass(frozen=True, slots=True)
class Selection:
    """The few hits that were committed to, or none, with the reason in words and in numbers."""

    selected: list[Hit]
    reason: str
    signals: Mapping[str, Any] = field(default_factory=dict)

    @property
    def abstained(self) -> bool:
        return not self.selected

    def to_dict(self) -> dict[str, Any]:
        return {
            "abstained": self.abstained,
            "reason": self.reason,
            "signals": dict(self.signals),
            "selected": [hit.to_dict() for hit in self.selected],
        }


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What is shown of one selected thing at one level; `note` says when what was pointed at has moved or changed."""

    id: str
    name: str
    score: float
    kind: str
    source: str
    locator: str
    metadata: Metadata
    level: Level
    body: str | None = None
    files: tuple[str, ...] = ()
    stale: bool = False
    note: str = ""
    corpus: str = ""
    relevance: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "metadata": dict(self.metadata), "files": list(self.files)}


@dataclass(frozen=True, slots=True)
class Discovery:
    """The answer of `discover`: the committed few, already disclosed, or an abstention, always with the reason."""

    query: str
    mode: str
    results: list[Disclosure]
    reason: str
    signals: Mapping[str, Any]
    candidates: Hits

    @property
    def abstained(self) -> bool:
        return not self.results

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "mode": self.mode,
            "abstained": self.abstained,
            "reason": self.reason,
            "signals": dict(self.signals),
            "results": [item.to_dict() for item in self.results],
            "candidates": [hit.brief() for hit in self.candidates],
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that was shown to whoever answered, numbered from 1.

    `label` is the short name of its source that a citation is written with; `score` how near it is to the question.
    """

    number: int
    label: str
    source: str
    locator: str
    text: str
    score: float
    id: str = ""
    name: str = ""
    context: str = ""
    corpus: str = ""

    @property
    def marker(self) -> str:
        """How it is cited."""
        return f"[{self.label}:{self.locator}]"

    def __str__(self) -> str:
        return f"{self.source} ({self.locator}) score={self.score:.3f}"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "marker": self.marker}


@dataclass(frozen=True, slots=True)
class Citation:
    """A claim's pointer to shown evidence; `spans` are the places in its text of what was taken from it verbatim."""

    number: int
    marker: str
    source: str
    locator: str
    spans: tuple[tuple[int, int], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "spans": [list(span) for span in self.spans]}


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer, its markers in it, and what they point to."""

    text: str
    citations: tuple[Citation, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "citations": [citation.to_dict() for citation in self.citations]}


@dataclass(frozen=True, slots=True)
class Dropped:
    """A sentence that was written and is not in the answer, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the documents say: claims that are all cited, or the refusal; with what was shown, dropped and spent.

    `by` tells who answered: "extract", "llm", "agent", or "gate" where nothing came near and nobody was asked.
    `broke_off` is why a model's reply ended early; the answer then holds what was verified until there.
    """

    question: str
    text: str
    sentences: list[Claim]
    evidence: list[Evidence]
    refused: bool
    reason: str
    by: str
    dropped: list[Dropped] = field(default_factory=list)
    usage: Mapping[str, int] = field(default_factory=dict)
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    """The tool calls of an agent: name, arguments, and the error if there was one."""
    broke_off: str = ""

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "text": self.text,
            "refused": self.refused,
            "reason": self.reason,
            "by": self.by,
            "sentences": [sentence.to_dict() for sentence in self.sentences],
            "evidence": [item.to_dict() for item in self.evidence],
            "dropped": [asdict(item) for item in self.dropped],
            "usage": dict(self.usage),
            "steps": [dict(step) for step in self.steps],
            "broke_off": self.broke_off,
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model answered; `tool_calls` as in the chat-completions format, `model` the one that answered.

    `broke_off` is why it ended early, or empty.
    """

    text: str
    tool_calls: Sequence[Mapping[str, Any]] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    model: str = ""
    broke_off: str = ""


@dataclass(frozen=True, eq=False)
class AgentTool:
    """Something that an agent may call: it is described to a model, and called with the arguments that come back.

    `parameters` is a JSON Schema; `run` takes them by name and returns plain data, as JSON has it.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[..., Any] = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _TOOL_NAME.fullmatch(self.name):
            raise InputError(f"The name of a tool is 1 to 64 letters, digits, _ or -, not {self.name!r}.")

    @property
    def parameters_schema(self) -> dict[str, Any]:
        return self.parameters

    def __call__(self, *values: Any, **arguments: Any) -> Any:
        """Call it; an argument that is unknown, missing or wrong is an InputError whose sentence a model can heed."""
        known = list(self.parameters["properties"])
        wrong = [*(name for name in arguments if name not in known), *values[len(known) :]]
        if wrong:
            raise InputError(f"{self.name} takes {', '.join(known)}, not {wrong[0]!r}.")
        arguments |= dict(zip(known, values, strict=False))
        for name in self.parameters.get("required", ()):
            if arguments.get(name) is None:
                raise InputError(f"{self.name} needs the argument {name!r}.")
        return self.run(**arguments)

    def invoke(self, arguments: str | Mapping[str, Any]) -> Any:
        """Call it with arguments as a model gives them: a mapping, or its JSON text."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError as error:
                raise InputError(f"The arguments for {self.name} are not valid JSON: {error}.") from None
        if not isinstance(arguments, Mapping):
            raise InputError(f"The arguments for {self.name} are an object, not {arguments!r}.")
        return self(**arguments)

    def to_openai(self) -> dict[str, Any]:
        """As an entry of `tools` in a chat completion."""
        function = {"name": self.name, "description": self.description, "parameters": deepcopy(self.parameters)}
        return {"type": "function", "function": function}

    def to_anthropic(self) -> dict[str, Any]:
        """As an entry of `tools` in a message."""
        return {"name": self.name, "description": self.description, "input_schema": deepcopy(self.parameters)}

    def to_mcp(self) -> dict[str, Any]:
        """As an entry of the answer to `tools/list`."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": deepcopy(self.parameters),
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }


_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what OpenAI, Anthropic and MCP all take


class Ranker(Protocol):
    """Orders a snapshot's passages for a query."""

    def rank(self, query: str, k: int, allowed: Mask | None = None) -> Ranking:
        """The k best allowed passages, and every other that ties with the last of them."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors; a zero vector says that nothing in the text is known."""

    @property
    def name(self) -> str:
        """What the corpus writes down: the same name must always mean the same vectors."""
        ...

    @property
    def dim(self) -> int: ...

    def encode_query(self, text: str) -> Vectors: ...

    def encode_documents(self, texts: Sequence[str]) -> Vectors: ...


Messages = Sequence[Mapping[str, Any]]


class LLM(Protocol):
    """A chat model."""

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply: ...


@runtime_checkable
class StreamingLLM(Protocol):
    """A chat model that can tell what it says while it says it."""

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply: ...

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        """As `complete`; `on_text` is called with each further piece of the text."""
        ...
