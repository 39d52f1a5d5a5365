"""Documents, and what a source and a sync report about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, runtime_checkable

from shortlist._plain import Plain

Metadata = Mapping[str, Any]


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
class Problem(Plain):
    """A document that could not be taken, and why. A source may yield one in place of what it could not read."""

    id: str
    reason: str
    source: str = ""


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
class Changes(Plain):
    """What one sync did. `skipped` counts files that hold nothing that can be searched, such as images."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: tuple[Problem, ...] = ()
    skipped: int = 0
    changed_ids: tuple[str, ...] = field(default=(), compare=False)
    """Which documents were changed: a tool among them may no longer be what somebody once approved."""
