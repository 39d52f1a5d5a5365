"""Where is a corpus kept? The seam: what a corpus needs of an engine, and what a reader sees of a state.

The embedded engine (`embedded.py`) keeps it in a folder of this machine. Elsewhere it is on OpenSearch or Elasticsearch
(`remote.py`). Whoever searches, answers or judges does not know which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from shortlist.documents import Changes, Document, Passage, Problem, Stamps
    from shortlist.index.config import Config
    from shortlist.index.lexical.bm25 import Scoring
    from shortlist.index.text.analyzers import Analyzer
    from shortlist.index.text.query_terms import Asked
    from shortlist.protocols import Embedder
    from shortlist.results import Floats, Positions, Ranking

EMBEDDED = "embedded"

Progress = Callable[[int, int | None], None]
Documents = Iterable["Document | Problem"]

# What a filter allows: of the embedded engine a mask over positions, elsewhere a condition that the engine checks.
# Both know `&`, `|`, `~` and which of some positions they allow: `allowed[positions]`.
Allowed = Any


class Words(Protocol):
    """Ranks the passages of a state by shared words. All counts are of the whole corpus."""

    analyzer: Analyzer
    scoring: Scoring

    @property
    def live(self) -> int:
        """How many passages there are."""
        ...

    def rank(self, query: str | Asked, k: int, allowed: Allowed | None = None, roughly: bool = False) -> Ranking:
        """The k best passages for a text or for terms, and every other that ties with the last of them.

        Roughly means: well enough for ranks to be added up; only the order counts then, and not where it is far down.
        """
        ...

    def scores_at(self, terms: Asked, positions: Positions) -> Floats:
        """The score of some positions, 0 where nothing is shared."""
        ...

    def held_at(self, terms: Asked, positions: Positions) -> Floats:
        """What share of all terms, weighed by their idf, the passage at each position holds."""
        ...

    def ideal(self, terms: Asked) -> float:
        """What a passage would score at most that holds all these terms, those that no passage holds included."""
        ...

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """How many passages hold each of these terms."""
        ...

    def knows(self, terms: Asked) -> bool:
        """Whether any of these terms occurs at all."""
        ...

    def named(self, query: str) -> Positions:
        """Positions of passages whose name stands in the query, word for word."""
        ...


class Meaning(Protocol):
    """Ranks the passages of a state by the cosine of their vectors."""

    embedder: Embedder

    def rank(self, query: str, k: int, allowed: Allowed | None = None, roughly: bool = False) -> Ranking: ...

    def scores_at(self, query: str, positions: Positions) -> Floats:
        """The cosine of some positions; minus infinity where nothing of the query is known."""
        ...


class Drift(NamedTuple):
    """How many passages came or changed since a mark was made, and how many there are now."""

    added: int
    passages: int


class State(Protocol):
    """What a reader sees of a corpus. A position stands for a passage, in this state only."""

    @property
    def size(self) -> int:
        """About how many passages there are: none if and only if it is 0."""
        ...

    @property
    def config(self) -> Config: ...

    @property
    def has_vectors(self) -> bool: ...

    @property
    def lexical(self) -> Words: ...

    @property
    def dense(self) -> Meaning: ...

    def documents(self, positions: Positions) -> Positions:
        """A number for the document at each position."""
        ...

    def expect(
        self,
        query: str,
        terms: Asked,
        words: int,
        meaning: int,
        allowed: Allowed | None = None,
        roughly: bool = False,
    ) -> None:
        """Hear what will be asked next, so that it can be asked elsewhere at once: so many by words and by meaning."""
        ...

    def siblings(self, positions: Positions) -> list[Positions]:
        """The passages of each of the documents whose first ones are at these positions."""
        ...

    def ids(self, positions: Positions) -> list[str]:
        """The id of the document at each position."""
        ...

    def passages(self, positions: Positions) -> list[Passage]: ...

    def everything(self) -> Allowed:
        """What allows every position."""
        ...

    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> Allowed:
        """What allows the documents one metadata value of which passes a test, which is also told by its operator."""
        ...

    def sources(self, allowed: Allowed | None = None) -> set[str]:
        """Where the documents come from, each once; a document without a source stands for itself."""
        ...

    def permits(self, id: str, allowed: Allowed) -> bool:
        """Whether a document is among those that are allowed."""
        ...

    def walk(self, allowed: Allowed | None = None) -> Iterator[Passage]:
        """Every passage that is allowed, in the order in which they came."""
        ...

    def neighbors(self, source: str, locator: str, before: int, after: int) -> list[Passage]:
        """A passage and those around it in its document; none if there is no such passage."""
        ...

    def ids_of_file(self, id: str, source: str) -> set[str]:
        """The ids of the documents that came of one file, whose id is that of the file or begins with it."""
        ...

    def places(self) -> list[tuple[str, str, str]]:
        """Id, source and locator of every document."""
        ...

    def get(self, id: str) -> Document | None: ...

    def count(self) -> int:
        """The number of documents."""
        ...

    def since(self, mark: dict[str, Any]) -> Drift: ...


class Engine(Protocol):
    """Where a corpus is kept, and all that is asked of it there."""

    @property
    def release(self) -> Callable[[], None]:
        """Gives back what is held open; refers to nothing that refers to the corpus."""
        ...

    def config(self) -> Config: ...

    def configure(self, change: Callable[[Config], Config]) -> None:
        """Write down a configuration made of the present one, so that no other change to it is lost."""
        ...

    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes: ...

    def compare(self, documents: Documents, progress: Progress | None) -> Changes: ...

    def remove(self, ids: Sequence[str]) -> int: ...

    def compact(self) -> None: ...

    def reindex(
        self, change: Callable[[Config], Config], embedder: Embedder | None, progress: Progress | None = None
    ) -> None:
        """Index every stored document again with a configuration made of the present one."""
        ...

    def snapshot(self) -> AbstractContextManager[State]: ...

    def get(self, id: str) -> Document | None: ...

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]: ...

    def scan(self) -> Iterator[Document]:
        """All documents in the order in which they were first added."""
        ...

    def ids(self) -> list[str]: ...

    def stamps(self) -> Stamps: ...

    def count(self) -> int:
        """How many documents there are."""
        ...

    def kinds(self) -> dict[str, int]: ...

    def facts(self) -> dict[str, Any]:
        """Counts, as plain data: documents, passages, segments and what else there is to tell."""
        ...

    def mark(self) -> dict[str, Any]:
        """What the corpus is now, to be compared with later."""
        ...

    def since(self, mark: dict[str, Any]) -> Drift: ...
