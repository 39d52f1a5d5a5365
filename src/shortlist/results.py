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
Support = Literal["quoted", "supported", "unsupported"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Two aligned arrays, best first: positions in a snapshot and their scores."""

    positions: Positions
    scores: Floats

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, slots=True)
class Hit(Plain):
    """A matching passage with its score and the signals behind it."""

    _shown = "id name score relevance text kind source locator context metadata signals corpus"

    passage: Passage
    score: float
    signals: Mapping[str, float] = field(default_factory=dict)
    load: Callable[[], Document | None] | None = field(default=None, repr=False, compare=False)
    """Reads the whole document; returns None if it is gone."""
    corpus: str = ""
    """Name of the corpus."""
    relevance: float | None = None
    """Estimated probability, 0 to 1, that the hit is what the query asks for; comparable between queries and modes."""
    is_own: bool = field(default=False, repr=False, compare=False)
    """Whether only this user writes to the corpus, so that the file that the document came from can be read again."""

    @property
    def id(self) -> str:
        return self.passage.document_id

    @property
    def artifact_id(self) -> str:
        """The id, by its name in ir."""
        return self.id

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
        """Id, name, score, relevance and corpus."""
        return {name: getattr(self, name) for name in ("id", "name", "score", "relevance", "corpus")}


class Hits(list[Hit]):
    """A list of hits, best first, with the query and mode. `note` explains why none of them may be related to it."""

    def __init__(self, hits: Iterable[Hit] = (), *, query: str = "", mode: str = "", note: str = "") -> None:
        super().__init__(hits)
        self.query = query
        self.mode = mode
        self.note = note

    def to_dict(self) -> dict[str, Any]:
        return {"query": self.query, "mode": self.mode, "note": self.note, "hits": [hit.to_dict() for hit in self]}


Selector = Callable[[list[Hit]], list[Hit]]
Filter = Mapping[str, Any]
MinScore = float | Literal["auto"] | None
Loader = Callable[[Metadata], str | None]


@dataclass(frozen=True, slots=True)
class Selection(Plain):
    """The selected hits, or none (an abstention), with the reason and the numbers behind it."""

    _shown = "abstained reason signals selected"

    selected: list[Hit]
    reason: str
    signals: Mapping[str, Any] = field(default_factory=dict)

    @property
    def selected_ids(self) -> list[str]:
        return [hit.id for hit in self.selected]

    @property
    def abstained(self) -> bool:
        return not self.selected


@dataclass(frozen=True, slots=True)
class Disclosure(Plain):
    """A selected document at one level.

    `description` is one line about it, `needs` the required arguments of a tool (only set by `discover`). `note`
    explains a body that is stale. A skill of a project that the user has not approved has an `origin`, and a `warning`
    if it tries to instruct a model against its user.
    """

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
    description: str = ""
    needs: tuple[str, ...] = ()
    origin: str = ""
    warning: str = ""

    @property
    def artifact_id(self) -> str:
        """The id, by its name in ir."""
        return self.id


@dataclass(frozen=True, slots=True)
class Discovery(Plain):
    """The result of `discover`: the selected documents, disclosed, or an abstention, always with the reason."""

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
    """A passage that an answer may cite, numbered from 1.

    `label` is the short name of its source in citations; `score` is its similarity to the question. `warning` tells how
    the text tries to instruct a model or a reader; without a language model such a passage is never quoted.
    """

    _shown = "number label source locator text score id name context corpus marker warning"

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
    warning: str = ""

    @property
    def marker(self) -> str:
        """The citation of this passage."""
        return f"[{self.label}:{self.locator}]"

    def __str__(self) -> str:
        return f"{self.source} ({self.locator}) score={self.score:.3f}"


@dataclass(frozen=True, slots=True)
class Citation(Plain):
    """A reference from a claim to evidence.

    `spans` are the parts of the evidence that the claim quotes verbatim, `places` where the marker is in the claim.
    """

    number: int
    marker: str
    source: str
    locator: str
    spans: tuple[tuple[int, int], ...] = ()
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Claim(Plain):
    """A sentence of an answer, with its citation markers, and its citations.

    `support` is "quoted" if the evidence contains it word for word, "supported" if it says the same in other words, and
    "unsupported" if it does not, with the `reason` and the `missing` part. A claim whose evidence has warnings has a
    reason, too.
    """

    text: str
    citations: tuple[Citation, ...]
    support: Support = "supported"
    reason: str = ""
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Dropped(Plain):
    """A sentence that was removed from the answer, the reason, and the part of it that the evidence lacks.

    `before` is the position of the first sentence of the answer that came after it.
    """

    text: str
    reason: str
    missing: str = ""
    before: int = 0


@dataclass(frozen=True, slots=True)
class Answer(Plain):
    """An answer made of cited claims, or the refusal; with the evidence, the dropped sentences and the usage.

    `by` is who answered: "extract", "llm", "agent", or "gate" if no passage was similar enough to answer from.
    `broke_off` is why a model's reply ended early; the answer then has the sentences verified before.
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
    """Tool calls of the agent: name, arguments, and the error if there was one."""
    broke_off: str = ""

    def __str__(self) -> str:
        return self.text
