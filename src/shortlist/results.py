"""The results of each stage: rankings, hits, selections, disclosures, discoveries and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from shortlist._plain import Plain
from shortlist.documents import Document, Metadata, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Vectors = NDArray[np.float32]
    Positions = NDArray[np.int64]
    Mask = NDArray[np.bool_]

Mode = Literal["auto", "lexical", "dense", "hybrid"]
Level = Literal["metadata", "body", "bundled"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Two aligned arrays, best first: positions in a snapshot and their scores."""

    positions: Positions
    scores: Floats

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, slots=True)
class Hit(Plain):
    """A passage that was found, its score, and the parts that the score was made of."""

    _shown = "id name score relevance text kind source locator context metadata signals corpus"

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

    def brief(self) -> dict[str, Any]:
        """Which it is and how well it fits, without what it says."""
        return {name: getattr(self, name) for name in ("id", "name", "score", "relevance", "corpus")}


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
class Selection(Plain):
    """The few hits that were committed to, or none, with the reason in words and in numbers."""

    _shown = "abstained reason signals selected"

    selected: list[Hit]
    reason: str
    signals: Mapping[str, Any] = field(default_factory=dict)

    @property
    def abstained(self) -> bool:
        return not self.selected


@dataclass(frozen=True, slots=True)
class Disclosure(Plain):
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


@dataclass(frozen=True, slots=True)
class Discovery(Plain):
    """The answer of `discover`: the committed few, already disclosed, or an abstention, always with the reason."""

    _shown = "query mode abstained reason signals results"

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
        return Plain.to_dict(self) | {"candidates": [hit.brief() for hit in self.candidates]}


@dataclass(frozen=True, slots=True)
class Evidence(Plain):
    """A passage that was shown to whoever answered, numbered from 1.

    `label` is the short name of its source that a citation is written with; `score` how near it is to the question.
    """

    _shown = "number label source locator text score id name context corpus marker"

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


@dataclass(frozen=True, slots=True)
class Citation(Plain):
    """A claim's pointer to shown evidence; `spans` are the places in its text of what was taken from it verbatim."""

    number: int
    marker: str
    source: str
    locator: str
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Claim(Plain):
    """One sentence of an answer, its markers in it, and what they point to."""

    text: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Dropped(Plain):
    """A sentence that was written and is not in the answer, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer(Plain):
    """What the documents say: claims that are all cited, or the refusal; with what was shown, dropped and spent.

    `by` tells who answered: "extract", "llm", "agent", or "gate" where nothing came near and nobody was asked.
    `broke_off` is why a model's reply ended early; the answer then holds what was verified until there.
    """

    _shown = "question text refused reason by sentences evidence dropped usage steps broke_off"

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
