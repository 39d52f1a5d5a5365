"""Disclosure of selected documents in levels: metadata, body, bundled files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from shortlist._limits import check_canceled
from shortlist._projects import project_folders
from shortlist._telemetry import traced
from shortlist._text import clean, did_you_mean
from shortlist.documents import Document, Passage
from shortlist.errors import CorpusError, CorpusNotFound, InputError, RegistryDamaged, SourceError
from shortlist.index.corpus import Corpus
from shortlist.library import registry
from shortlist.results import Disclosure, Hit, Level, Loader, Selection
from shortlist.retrieval.options import check_level
from shortlist.safety.principals import follows_paths, sees_all, show_source
from shortlist.safety.untrusted_files import read_regular_file
from shortlist.sources.decoding import MAX_BYTES, decode, is_binary, read_bytes
from shortlist.sources.skills import (
    SKILL_FILE,
    USUAL_PLACES,
    describe_origin,
    holds_home,
    is_of_inner_skill,
    read_skill_file,
    usual_roots,
)

MAX_FILES = 200
LONGEST_LINE = 160  # characters of a description

POINTERS = ("skill_path", "path")
"""Metadata fields that may name the file with the body of a document."""

# Hidden files often contain secrets, so paths in metadata may only lead into the hidden folders of skills.
_OPEN_HIDDEN = frozenset(Path(place).parts[0] for place in USUAL_PLACES)

_OF_THE_HIT = ("id", "name", "score", "kind", "source", "locator", "metadata", "corpus", "relevance")


@traced("disclose", lambda shown: {"disclosed": len(shown)})
def disclose(
    selection: Selection | Iterable[Hit] | Hit,
    level: Level = "metadata",
    *,
    loader: Loader | None = None,
    roots: Sequence[str | Path] | None = None,
) -> list[Disclosure]:
    """Disclose each selected document at a level: "metadata" (no I/O), "body", or "bundled" (body and files beside it).

    The body of a file is its current text, or the indexed copy if it is gone. Other documents return their payload, the
    file named by `skill_path` or `path` in their metadata, or the indexed text. Such a file, and any file of a corpus
    that this user did not create, is only read inside the folders that the corpus is registered with and inside `roots`
    (default: the current project). For a user of a service with rules of access, no file that metadata name is read.
    `note` explains when the indexed text is returned instead. `loader(metadata)` may return the body itself, or None
    for the default.
    """
    check_level(level)
    if isinstance(roots, str | Path):
        raise InputError(f"roots must be a list of folders, not {roots!r}.")
    hits = selection.selected if isinstance(selection, Selection) else selection
    return [_disclose(hit, level, loader, roots) for hit in ([hits] if isinstance(hits, Hit) else hits)]


def read_hit(corpus: Corpus, id: str) -> Hit:
    """Read a stored document as a hit."""
    document = corpus.get(id)
    if document is None:
        raise CorpusNotFound(f"The corpus {corpus.name!r} has no document {id!r}.{did_you_mean(id, corpus.ids())}")
    return as_hit(document, corpus)


def as_hit(document: Document, corpus: Corpus) -> Hit:
    shared = {name: getattr(document, name) for name in ("name", "kind", "source", "locator", "metadata")}
    passage = Passage(document.id, text=document.content, **shared)
    return Hit(passage, 1.0, load=lambda: document, corpus=corpus.name, is_own=corpus.is_own)


class _Body(NamedTuple):
    """A text, a note about it, and the skill file it was read from."""

    text: str | None
    note: str = ""
    skill: Path | None = None


def _disclose(hit: Hit, level: Level, loader: Loader | None, roots: Sequence[str | Path] | None) -> Disclosure:
    check_canceled()
    body = _Body(None) if level == "metadata" else _body(hit, loader, roots)
    origin, warning = describe_origin(hit.metadata, body.text or "") if hit.kind == "skill" else ("", "")
    return Disclosure(
        **{name: getattr(hit, name) for name in _OF_THE_HIT},
        level=level,
        body=body.text,
        files=_files_beside(body.skill, hit.corpus) if level == "bundled" and body.skill else (),
        stale=bool(body.note),
        note=body.note,
        description=describe_in_one_line(hit),
        origin=origin,
        warning=warning,
    )


def describe_in_one_line(hit: Hit) -> str:
    """What the document's metadata say about it, or the first line of the passage."""
    text = str(hit.metadata.get("description") or hit.text)
    line = " ".join(text.lstrip().partition("\n")[0].split())
    if len(line) <= LONGEST_LINE:
        return line
    whole_words = line[:LONGEST_LINE].rpartition(" ")[0]
    return f"{whole_words or line[: LONGEST_LINE - 1]}…"


def _body(hit: Hit, loader: Loader | None, roots: Sequence[str | Path] | None) -> _Body:
    failed = ""
    if loader is not None:
        try:
            text = loader(hit.metadata)
        except (OSError, ValueError) as error:
            failed = f"The loader failed ({_reason(error)})."
        else:
            if text is not None:
                return _Body(text)
    body = _stored(hit, roots)
    return body._replace(note=f"{failed} {body.note or 'This is the indexed text.'}") if failed else body


def _stored(hit: Hit, roots: Sequence[str | Path] | None) -> _Body:
    """The full text, with a note if it is stale."""
    if hit.read_body:
        return _Body(*hit.read_body())
    try:
        document = hit.load() if hit.load else None
    except CorpusError:
        document = None
    if document is None and hit.load:
        return _Body(hit.text, "The document is no longer in the corpus; this is the passage that matched.")
    if document is not None and document.payload is not None:
        return _Body(document.payload)
    if document and document.source and document.kind in ("file", "skill") and document.locator == "whole":
        return _own_file(document, hit, roots)
    text = document.content if document is not None else hit.text
    pointers = [(name, hit.metadata.get(name)) for name in POINTERS]
    # a pointer to the document's own source is not a body: the document is a part of that file
    given = [
        (name, value) for name, value in pointers if isinstance(value, str) and value.strip() and value != hit.source
    ]
    if not given:
        return _Body(text)
    field, pointer = given[0]
    try:
        if not follows_paths():
            raise ValueError("The service reads no files that documents name.")
        file = _follow(pointer, [*_registered_folders(hit.corpus), *_given_folders(roots)])
        return _Body(_text_of(file), skill=file if field == "skill_path" and file.name == SKILL_FILE else None)
    except (OSError, ValueError, SourceError) as error:
        problem = f"{field} {pointer[:200]!r} was not followed: {_reason(error).rstrip('.')}."
        return _Body(text, f"{problem} This is the indexed text.")


def _own_file(document: Document, hit: Hit, roots: Sequence[str | Path] | None) -> _Body:
    """The file that a document came from. In a foreign corpus its author can write any path there."""
    file, skill, shown = Path(document.source), None, show_source(document.source)
    try:
        if not hit.is_own:
            file = _follow(document.source, [*_registered_folders(hit.corpus), *_given_folders(roots), *usual_roots()])
        skill = file if document.kind == "skill" else None
        data = read_skill_file(file, document.metadata) if skill else read_regular_file(file, limit=MAX_BYTES)
        text = decode(data)
    except (OSError, ValueError) as error:
        note = f"{shown} cannot be read ({_reason(error).rstrip('.')}); this is the indexed copy."
        return _Body(document.content, note, skill)
    changed = document.kind == "file" and clean(text) != document.content
    return _Body(text, f"{shown} has changed since it was indexed." if changed else "", skill)


def _follow(pointer: str, folders: Sequence[Path]) -> Path:
    """Resolve a pointer, links included, to a file inside one of the folders."""
    files = [((folder / pointer).resolve(), folder) for folder in folders]
    inside = [(file, file.relative_to(folder)) for file, folder in files if file.is_relative_to(folder)]
    if not inside:
        raise ValueError("It is outside the folders of the corpus and `roots`.")
    visible = [
        file
        for file, below in inside
        if not any(name.startswith(".") and name not in _OPEN_HIDDEN for name in below.parts)
    ]
    if not visible:
        raise ValueError("Hidden files and folders are not read.")
    file = next((file for file in visible if file.exists()), visible[0])
    if not file.exists():
        raise FileNotFoundError("The file does not exist in the permitted folders.")
    if not file.is_file():
        raise ValueError("It is not a file.")
    return file


def _text_of(file: Path) -> str:
    data = read_bytes(file)
    if is_binary(data):
        raise ValueError("It is not a text file.")
    return decode(data)


def _registered_folders(corpus: str) -> Iterator[Path]:
    """The folders that a corpus is registered with, and the folders of registered files.

    A document's own source does not count: its author can write anything there.
    """
    try:
        entry = registry.find(corpus)
    except RegistryDamaged:
        return
    for root in map(Path, entry.roots if entry else ()):
        if root.is_dir():
            yield root.resolve()
        elif root.is_file() and not holds_home(root.resolve().parent):
            yield root.resolve().parent


def _given_folders(roots: Sequence[str | Path] | None) -> list[Path]:
    if roots is not None:
        return [Path(root).expanduser().resolve() for root in roots]
    return [folder for folder in map(Path.resolve, project_folders()) if not holds_home(folder)]


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _files_beside(own: Path, corpus: str) -> tuple[str, ...]:
    """The other files in the folder of a skill, as relative paths; not those of skills that may be hidden."""
    try:
        found = sorted(path for path in own.parent.rglob("*") if path.is_file() and path != own)
        found = [path for path in found if path.resolve().is_relative_to(own.parent.resolve())]
        if not sees_all(corpus):
            found = [path for path in found if not is_of_inner_skill(path.resolve(), own.parent.resolve())]
    except (OSError, ValueError):
        return ()
    return tuple(path.relative_to(own.parent).as_posix() for path in found[:MAX_FILES])
