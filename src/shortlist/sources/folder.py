"""Documents out of folders: which files are there, which have changed, and who reads each."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.documents import Document, Problem, Stamp, Stamps
from shortlist.errors import InputError, ShortlistError, SourceError
from shortlist.sources.decoding import File, decode, is_binary, read_bytes
from shortlist.sources.document_formats import read_docx, read_html, read_pdf
from shortlist.sources.tables import read_csv, read_json, read_json_lines, read_workbook

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

VERSION = 2  # of the loaders: a change of what they make of a file has every file read again
SETTLED_NS = 2_000_000_000  # a file may change once more in the tick of the clock in which it was read

ALWAYS_IGNORED = (".git/", ".hg/", ".svn/", "__pycache__/", "node_modules/", ".venv/", ".DS_Store")

_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)


def documents_in_folder(
    root: Path, pattern: str | None = None, exclude: str | None = None, reader: str = "files"
) -> Callable[[Stamps], Iterator[Document | Problem | Stamp]]:
    """A reader of the files under a folder, or of one file, made after a look at the arguments.

    It takes the stamps of an earlier reading; what has not changed since is not opened, and its stamp stands for it.
    """
    try:
        wanted, unwanted = re.compile(pattern or ""), re.compile(exclude) if exclude else None
    except re.error as error:
        raise InputError(f"{error.pattern!r} is not a regular expression: {error}.") from None

    def read(known: Stamps) -> Iterator[Document | Problem | Stamp]:
        for path, relative in _files(root):
            if wanted.search(relative) and not (unwanted and unwanted.search(relative)):
                source = str(path.resolve() if path.is_symlink() else path)
                yield from _read_if_changed(File(path, relative, source), known, reader)

    return read


def without_stamps(
    read: Callable[[Stamps], Iterator[Document | Problem | Stamp]],
) -> Iterator[Document | Problem]:
    return (item for item in read({}) if not isinstance(item, Stamp))


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    """Each file with its path below the folder."""
    real = root.resolve()
    if real.is_dir():
        for path in walk(real):
            yield path, path.relative_to(real).as_posix()
    elif real.is_file():
        yield real, root.name
    else:
        raise SourceError(f"{root} is not a file or folder that can be read.")


def count_files(root: Path) -> int:
    """How many files there are to read at a place."""
    return sum(1 for _ in _files(root))


def walk(root: Path) -> Iterator[Path]:
    """The files under a folder in a stable order, but those that .gitignore files name."""
    import pathspec  # noqa: PLC0415  # only where folders are read

    def ignores(folder: Path) -> pathspec.GitIgnoreSpec | None:
        try:
            return pathspec.GitIgnoreSpec.from_lines((folder / ".gitignore").read_text("utf-8").splitlines())
        except (OSError, UnicodeDecodeError):
            return None

    always = pathspec.GitIgnoreSpec.from_lines(ALWAYS_IGNORED)

    def descend(folder: Path, rules: list[tuple[Path, pathspec.GitIgnoreSpec]]) -> Iterator[Path]:
        own = ignores(folder)
        rules = [*rules, (folder, own)] if own else rules
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise SourceError(f"The folder {folder} cannot be read: {error.strerror}.") from None
        for entry in entries:
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            if _ignored(path, is_folder, rules):
                continue
            if is_folder:
                yield from descend(path, rules)
            elif _is_file(entry):
                yield path

    yield from descend(root, [(root, always)])


def _ignored(path: Path, is_folder: bool, rules: list[tuple[Path, GitIgnoreSpec]]) -> bool:
    """What the .gitignore files say, the nearest one that says anything having the last word."""
    for base, spec in reversed(rules):
        verdict = spec.check_file(path.relative_to(base).as_posix() + "/" * is_folder).include
        if verdict is not None:
            return verdict
    return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link to itself
        return False


def _read_if_changed(file: File, known: Stamps, reader: str) -> Iterator[Document | Problem | Stamp]:
    """The documents of a file and its stamp; the stamp alone if it is the one that is known; no stamp after a Problem,
    so that the file is tried again."""
    now = time.time_ns()
    try:
        status = file.path.stat()
    except OSError as error:
        yield _unreadable(file, error)
        return
    value = f"{reader} {VERSION} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
    last = known.get(file.id)
    if last and (last.source, last.value) == (file.source, value):
        yield last
        return
    documents = problems = 0
    for item in _read(file):
        documents += isinstance(item, Document)
        problems += isinstance(item, Problem)
        yield item
    if not problems:
        settled = now - status.st_mtime_ns > SETTLED_NS
        yield Stamp(file.id, file.source, value if settled else "", skipped=not documents)


def _read(file: File) -> Iterator[Document | Problem]:
    """Whatever goes wrong with one file is a Problem, and never the end of the others. Empty documents are left out."""
    try:
        for item in LOADERS.get(file.path.suffix.lower(), read_plain)(file):
            if not isinstance(item, Document) or item.content.strip():
                yield item
    except Exception as error:
        yield _unreadable(file, error)


def _unreadable(file: File, error: Exception) -> Problem:
    if isinstance(error, ShortlistError):
        reason = str(error)
    elif isinstance(error, OSError):
        reason = f"It cannot be read: {error.strerror or error}."
    else:
        reason = f"It cannot be read: {type(error).__name__}: {error}."
    return Problem(file.id, reason, file.source)


def read_plain(file: File) -> Iterator[Document | Problem]:
    """Text, Markdown or source code as one document; nothing for a file that holds no text."""
    data = read_bytes(file.path)
    if not is_binary(data):
        text = decode(data)
        yield file.document(text, _title(file.path, text), "file")


def _title(path: Path, text: str) -> str:
    if path.suffix.lower() in (".md", ".markdown"):
        heading = _HEADING.search(text)
        title = heading.group(1).rstrip().rstrip("#").rstrip() if heading else ""
        if title:
            return title
    return path.name


LOADERS: dict[str, Callable[[File], Iterator[Document | Problem]]] = {
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
    ".xlsx": read_workbook,
    ".xlsm": read_workbook,
}
