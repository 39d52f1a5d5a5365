"""Documents, passages, and the reports of sources and syncs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

from shortlist._plain import Plain

Metadata = Mapping[str, Any]


@dataclass(frozen=True, slots=True, init=False)
class Document:
    """The unit of a search result: a tool, a skill, a package, a page, a row, a file.

    `title`, `content` and `keywords` are searched; `id` and `metadata` are not.
    """

    id: str
    """Unique in its corpus; a document with a stored id replaces that one."""
    title: str
    """Its name, which is searched."""
    content: str
    """The text that is searched."""
    keywords: list[str]
    """More words that are searched."""
    metadata: dict[str, Any]
    """Values that are not searched; filters use them."""
    kind: str
    """What it is, such as tool, skill, file or text."""
    source: str
    """The path or URL that it is from."""
    locator: str
    """The place in its source, or "whole"."""
    payload: str | None
    """The text that disclosure returns instead of `content`."""

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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The document whose `to_dict` this is. Keys that are not fields are ignored."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})

    def copy(self) -> dict[str, Any]:
        """The five fields of a catalog entry as a dict of its own."""
        return {name: value for name, value in asdict(self).items() if name in CATALOG_FIELDS}


CATALOG_FIELDS = ("id", "title", "content", "keywords", "metadata")


@dataclass(frozen=True, slots=True)
class Problem(Plain):
    """A document that could not be read or indexed, and the reason."""

    id: str
    """The id of the document, or the path of the file."""
    reason: str
    """What is wrong with it."""
    source: str = ""
    """The path or URL that it is from."""


@dataclass(frozen=True, slots=True)
class Skipped(Problem):
    """A file that must not be read, such as a link that leaves its folder. What is stored of it is removed."""


Source = Iterable[Document | Problem]


class Counted:
    """Documents whose number is known before they are made."""

    def __init__(self, items: Source, count: int) -> None:
        self._items, self._count = items, count

    def __iter__(self) -> Iterator[Document | Problem]:
        return iter(self._items)

    def __len__(self) -> int:
        return self._count


@dataclass(frozen=True, slots=True)
class Stamp:
    """The version of a file. It follows the documents of the file or, if the file is unchanged, replaces them.

    Its documents have this id, or an id that starts with `id#`, and this source. `value` changes with the file; it is
    empty if that is not certain yet. `skipped` means that the file has no searchable text, for this reason.
    """

    id: str
    source: str
    value: str
    skipped: bool = False
    reason: str = field(default="", compare=False)


Stamps = Mapping[str, Stamp]


@runtime_checkable
class Stamped(Protocol):
    """A source that can skip unchanged files."""

    def since(self, known: Stamps) -> Iterable[Document | Problem | Stamp]:
        """What changed since these stamps, and the new stamps."""
        ...


@dataclass(frozen=True, slots=True)
class Passage:
    """The indexed unit: a document or a part of one."""

    document_id: str
    name: str
    text: str
    kind: str = "text"
    source: str = ""
    locator: str = "whole"
    metadata: Metadata = field(default_factory=dict)
    context: str = ""
    """The headings above the passage, for example "Guide > Install"."""


@dataclass(frozen=True, slots=True)
class Changes(Plain):
    """The result of a sync."""

    added: int = 0
    """Documents that are new."""
    changed: int = 0
    """Documents that replace others with their ids."""
    unchanged: int = 0
    """Documents that were stored already."""
    removed: int = 0
    """Documents that were removed."""
    failed: tuple[Problem, ...] = ()
    """Documents that could not be read or indexed."""
    skipped: int = 0
    """Files without searchable text, such as images."""
    changed_ids: tuple[str, ...] = field(default=(), compare=False)
    """Ids of the changed documents."""
    skipped_files: tuple[Problem, ...] = field(default=(), compare=False)
    """The files without searchable text, and what each is."""
