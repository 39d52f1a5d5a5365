"""What do we show of what was selected? More only when asked: metadata, then the body, then the files beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from shortlist.errors import CorpusError, CorpusNotFound, InputError
from shortlist.index.corpus import Corpus
from shortlist.index.records import clean
from shortlist.sources.reading import read_text
from shortlist.types import Disclosure, Document, Hit, Level, Passage, Selection

MAX_FILES = 200


def disclose(selection: Selection | Iterable[Hit] | Hit, level: Level = "metadata") -> list[Disclosure]:
    """Each selected thing at one level. A pure read: "metadata" touches nothing, the others follow the pointers.

    The body of a file is what the file holds now, or the stored copy where it is gone; both are said.
    """
    if level not in get_args(Level):
        raise InputError(f"There is no level {level!r}; the known ones are {', '.join(get_args(Level))}.")
    hits = selection.selected if isinstance(selection, Selection) else selection
    return [_disclose(hit, level) for hit in ([hits] if isinstance(hits, Hit) else hits)]


def pointed_at(corpus: Corpus, id: str) -> Hit:
    """A document as if it had been found."""
    document = corpus.get(id)
    if document is None:
        raise CorpusNotFound(f"The corpus {corpus.name!r} has no document {id!r}.")
    passage = Passage(
        document.id,
        document.name,
        document.content,
        document.kind,
        document.source,
        document.locator,
        document.metadata,
    )
    return Hit(passage, 1.0, load=lambda: document, corpus=corpus.name)


def _disclose(hit: Hit, level: Level) -> Disclosure:
    body, note = (None, "") if level == "metadata" else _body(hit)
    files = _files_beside(hit) if level == "bundled" else ()
    return Disclosure(
        id=hit.id,
        name=hit.name,
        score=hit.score,
        kind=hit.kind,
        source=hit.source,
        locator=hit.locator,
        metadata=hit.metadata,
        level=level,
        body=body,
        files=files,
        stale=bool(note),
        note=note,
        corpus=hit.corpus,
        relevance=hit.relevance,
    )


def _body(hit: Hit) -> tuple[str, str]:
    """The full text, and what is stale about it."""
    try:
        document = hit.load() if hit.load else None
    except CorpusError:
        document = None
    if document is None:
        gone = "The document is no longer in its corpus; this is the passage that was found." if hit.load else ""
        return hit.text, gone
    if document.payload is not None:
        return document.payload, ""
    if not _is_whole_file(document):
        return document.content, ""
    try:
        text = read_text(Path(document.source))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return document.content, f"{document.source} can no longer be read ({reason}); this is the indexed copy."
    if document.kind == "file" and clean(text) != document.content:
        return text, f"{document.source} has changed since it was indexed."
    return text, ""


def _is_whole_file(document: Document) -> bool:
    return document.kind in ("file", "skill") and document.locator == "whole" and bool(document.source)


def _files_beside(hit: Hit) -> tuple[str, ...]:
    """The files that come with a skill: all in its folder, relative to it, but the skill's own."""
    if hit.kind != "skill" or not hit.source:
        return ()
    own = Path(hit.source)
    try:
        found = sorted(path for path in own.parent.rglob("*") if path.is_file() and path != own)
    except (OSError, ValueError):
        return ()
    return tuple(path.relative_to(own.parent).as_posix() for path in found[:MAX_FILES])
