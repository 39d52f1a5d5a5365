"""The storage seam: what a corpus needs from an engine, and what a reader sees of one state of it.

`local_engine` stores a corpus in a folder or in memory, `engines` on OpenSearch or Elasticsearch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from shortlist.errors import InputError

if TYPE_CHECKING:
    from shortlist.documents import Changes, Document, Passage, Problem, Stamps
    from shortlist.index.config import Config, Drift
    from shortlist.index.query_scores import Request, Scores
    from shortlist.index.text.analyzers import Analyzer
    from shortlist.index.text.query_terms import QueryTerms, TermWeights
    from shortlist.protocols import Embedder, Progress
    from shortlist.results import Floats, Positions, Ranking, Vectors

EMBEDDED = "embedded"
MISSING: Any = object()  # a metadata value that a document does not have
ACCESS = "access"  # the metadata value that names the groups that may see a document
BUILT_IN = ("id", "title", "kind", "source")  # what can be filtered by beside the metadata

Documents = Iterable["Document | Problem"]

# What a filter allows: locally a mask over positions, in a cluster a condition that the server checks. Both support
# `&`, `|`, `~`, and `allowed[positions]` as a mask of these positions.
Allowed = Any


class Viewer(NamedTuple):
    """Who reads: the groups, and those that the ids of documents need, by pattern."""

    groups: frozenset[str]
    rules: tuple[tuple[str, frozenset[str]], ...] = ()

    @classmethod
    def of(cls, groups: frozenset[str], rules: Iterable[tuple[str, Sequence[str]]]) -> Viewer:
        return cls(groups, tuple((pattern, frozenset(needed)) for pattern, needed in rules))

    def sees(self, access: Any) -> bool:
        """Whether the groups may see a document with this `access`: all may without it, none if it is unreadable."""
        if access is MISSING:
            return True
        named = [access] if isinstance(access, str) else access
        return isinstance(named, list) and any(isinstance(group, str) and group in self.groups for group in named)

    def sees_id(self, id: str) -> bool:
        """Whether the groups may see a document with this id: they must have one group of every rule for it.

        A rule for the id of a file is also one for its parts, whose ids are `id#` and more.
        """
        ids = {id, id.partition("#")[0]}
        return all(
            self.groups & needed for pattern, needed in self.rules if any(fnmatchcase(one, pattern) for one in ids)
        )


class Located(NamedTuple):
    """The passages of a document in a state, and its hash, which changes when the document does."""

    positions: Positions
    hash: bytes


class LexicalIndex(Protocol):
    """The terms of all passages of a state."""

    @property
    def analyzer(self) -> Analyzer: ...  # of queries, in the languages of the passages
    @property
    def languages(self) -> dict[str, int]: ...  # passages by language, most first; empty if that is not stored
    @property
    def live(self) -> int: ...  # passages
    # the terms of each query by weight and by count, for the methods below
    def find(self, queries: Sequence[QueryTerms]) -> Sequence[tuple[TermWeights, TermWeights]]: ...
    # the k best, and ties
    def rank(self, query: str | TermWeights, k: int, allowed: Allowed | None = None) -> Ranking: ...
    # of every position, 0 without a common term; None: unknown
    def scores(self, terms: TermWeights) -> Floats | None: ...
    def scores_at(self, terms: TermWeights, positions: Positions) -> list[float]: ...  # 0 without a common term
    def covered_at(self, terms: TermWeights, positions: Positions) -> list[float]: ...  # share of the terms, by idf
    def ideal(self, terms: TermWeights) -> float: ...  # the score of a passage with all terms
    def frequency(self, terms: Sequence[str]) -> dict[str, int]: ...  # passages with each term
    def knows(self, terms: TermWeights) -> bool: ...
    # for each query the passages whose whole name is in it, by position, each with the most words that such a name may
    # have
    def named(self, queries: Sequence[QueryTerms]) -> list[dict[int, int]]: ...


class State(Protocol):
    """What a reader sees of a corpus. A position refers to a passage, in this state only."""

    @property
    def size(self) -> int: ...  # about the number of passages; exactly 0 if there are none
    @property
    def generation(self) -> int | None: ...  # changes with every commit; None if the engine does not count commits
    @property
    def can_share_threads(self) -> bool: ...  # whether several threads may read it at once
    @property
    def config(self) -> Config: ...
    @property
    def has_vectors(self) -> bool: ...
    @property
    def embedder(self) -> Embedder | None: ...  # None without vectors
    @property
    def lexical(self) -> LexicalIndex: ...
    def score(self, request: Request) -> dict[str, Scores]: ...  # "lexical" and "dense", if requested

    # Of the document at each position: a number, its id, its passage there, all of it; and its other passages.
    def documents(self, positions: Positions) -> Positions: ...
    def ids(self, positions: Positions) -> list[str]: ...
    def passages(self, positions: Positions) -> list[Passage]: ...
    def stored(self, positions: Positions) -> list[Document]: ...
    def siblings(self, positions: Positions) -> list[Positions]: ...

    # Filters: one that allows everything, one by a metadata value, given as an operator with its operand and as a test
    # of the value; and whether a filter allows a document.
    def everything(self) -> Allowed: ...
    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> Allowed: ...
    def permits(self, id: str, allowed: Allowed) -> bool: ...

    # All sources, or ids of documents without one; all passages in the order in which they were added; id, source and
    # locator of all documents; and the ids of the documents of one file: its id, or `id#` and more.
    def sources(self, allowed: Allowed | None = None) -> set[str]: ...
    def walk(self, allowed: Allowed | None = None) -> Iterator[Passage]: ...
    def places(self) -> list[tuple[str, str, str]]: ...
    def ids_of_file(self, id: str, source: str) -> set[str]: ...

    # A passage and those around it in its document; empty if there is no such passage. A locator without its offset
    # means the first passage of the record.
    def neighbors(self, source: str, locator: str, before: int, after: int) -> list[Passage]: ...
    def get(self, id: str) -> Document | None: ...
    def find_documents(self, ids: Sequence[str]) -> dict[str, Located]: ...  # those of the documents that are stored
    def encode(self, query: str) -> Vectors: ...  # with the embedder; the last one is remembered
    def count(self) -> int: ...  # documents
    def since(self, mark: dict[str, Any]) -> Drift: ...


class Engine(Protocol):
    """The storage of one corpus. The methods of `Corpus` with the same names document these."""

    @property
    def is_own(self) -> bool: ...  # whether only this user writes to it, so that the paths in it can be followed
    def close(self) -> None: ...
    def config(self) -> Config: ...
    def configure(self, change: Callable[[Config], Config]) -> None: ...  # no concurrent change is lost
    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes: ...
    def compare(self, documents: Documents, progress: Progress | None) -> Changes: ...
    def remove(self, ids: Sequence[str]) -> int: ...
    def compact(self) -> None: ...
    def verify(self) -> dict[str, Any] | None: ...  # None if the engine checks its own storage
    def reindex(
        self, change: Callable[[Config], Config], embedder: Embedder | None, progress: Progress | None = None
    ) -> None: ...
    def snapshot(self) -> AbstractContextManager[State]: ...
    def for_viewer(self, viewer: Viewer) -> Engine: ...  # the same corpus without what the reader may not see
    def get(self, id: str) -> Document | None: ...
    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]: ...
    def scan(self) -> Iterator[Document]: ...  # in the order in which they were first added
    def ids(self) -> list[str]: ...
    def stamps(self) -> Stamps: ...
    def count(self) -> int: ...  # documents
    def kinds(self) -> dict[str, int]: ...
    def facts(self) -> dict[str, Any]: ...  # documents, passages, segments, and what else the engine reports
    def mark(self) -> dict[str, Any]: ...  # what the corpus contains now, for a later `since`
    def since(self, mark: dict[str, Any]) -> Drift: ...


def require_embedder(embedder: Embedder | None) -> Embedder:
    """The embedder, or an error if the corpus has none."""
    if embedder is None:
        raise InputError(
            "This corpus has no vectors (it was built with embedder='none'). Search it with mode='lexical', "
            "or build it again with an embedder."
        )
    return embedder
