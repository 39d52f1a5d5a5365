"""Documents out of folders of text files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.errors import InputError, SourceError
from shortlist.types import Document, Problem

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_BYTES = 10 << 20
ALWAYS_IGNORED = (".git/", ".hg/", ".svn/", "__pycache__/", "node_modules/", ".venv/", ".DS_Store")

_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)


def folder_name(folder: Path) -> str:
    """A corpus name for a folder: its own name and a few letters that tell folders of one name apart."""
    full = folder.resolve()
    name = os.fsencode(full.name).decode(errors="replace")
    return f"{name or 'root'}-{blake2b(os.fsencode(full), digest_size=3).hexdigest()}"


def documents_in_folder(
    root: Path, pattern: str | None = None, exclude: str | None = None
) -> Callable[[], Iterator[Document | Problem]]:
    """A reader of the text files under a folder, made after a look at the arguments."""
    try:
        wanted, unwanted = re.compile(pattern or ""), re.compile(exclude) if exclude else None
    except re.error as error:
        raise InputError(f"{error.pattern!r} is not a regular expression: {error}.") from None

    def read() -> Iterator[Document | Problem]:
        if not root.is_dir():
            raise SourceError(f"{root} is not a folder that can be read.")
        for path in walk(root):
            relative = path.relative_to(root).as_posix()
            if wanted.search(relative) and not (unwanted and unwanted.search(relative)):
                found = read_file(path, relative)
                if found is not None:
                    yield found

    return read


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


def read_text(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig", errors="replace")


def read_file(path: Path, id: str) -> Document | Problem | None:
    """A file as a document; None for one that holds no text; a Problem for one that cannot be read."""
    source = str(path.resolve())
    try:
        if path.stat().st_size > MAX_BYTES:
            return Problem(id, f"It is larger than {MAX_BYTES >> 20} MB.", source)
        data = path.read_bytes()
    except OSError as error:
        return Problem(id, f"It cannot be read: {error.strerror}.", source)
    if b"\0" in data[:8192]:
        return None
    text = data.decode("utf-8-sig", errors="replace")
    return Document(id, _title(path, text), text, metadata={"path": source}, kind="file", source=source)


def _title(path: Path, text: str) -> str:
    if path.suffix.lower() in (".md", ".markdown"):
        heading = _HEADING.search(text)
        title = heading.group(1).rstrip().rstrip("#").rstrip() if heading else ""
        if title:
            return title
    return path.name
