"""Documents from the files of a folder: which files exist, which have changed, and how each is read."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist.documents import Document, Problem, Skipped, Stamp, Stamps
from shortlist.errors import InputError, SourceError
from shortlist.safety.untrusted_files import NOT_REGULAR, UnsafeFile, check_inside, read_regular_file
from shortlist.sources.decoding import File, describe_skipped, explain_error
from shortlist.sources.document_formats import LOADERS, VERSION, is_parsed, read_plain
from shortlist.sources.parser_process import FileReader, find_limits

SETTLED_NS = 2_000_000_000  # a file may change again within the clock tick in which it was read
MAX_DEPTH = 100  # of folders
MAX_STARS = 4  # in a rule of .gitignore; the time to match n characters is n to the power of them
ROWS_IN_LINES = (".csv", ".tsv", ".jsonl", ".ndjson")
BATCH = 32  # files that are checked before they are read

ALWAYS_IGNORED = (".git/", ".hg/", ".svn/", "__pycache__/", "node_modules/", ".venv/", ".DS_Store")

log = logging.getLogger("shortlist")


def read_folder(
    root: Path, pattern: str | None = None, exclude: str | None = None, reader: str = "files", ocr: bool = False
) -> Callable[[Stamps], Iterator[Document | Problem | Stamp]]:
    """A reader of the files under a folder, or of one file.

    It takes the stamps of the previous run. A file that has not changed since is not opened; only its stamp is yielded.
    With `ocr`, text in pictures and on scanned pages is read, too.
    """
    is_wanted = _make_filter(pattern, exclude)

    def read(known: Stamps) -> Iterator[Document | Problem | Stamp]:
        found = (file for file in list_files(root) if is_wanted(file.id))
        files = (file._replace(ocr=ocr) if isinstance(file, File) else file for file in found)
        get_limits = functools.cache(find_limits)  # for all files of one run
        while batch := [_check(file, known, reader + "+ocr" * ocr) for file in itertools.islice(files, BATCH)]:
            changed = [file for file, _, is_changed in batch if is_changed]
            parsed = [file for file in changed if is_parsed(file)]
            with FileReader(parsed, get_limits) as process:
                for file, stamp, is_changed in batch:
                    if is_changed and isinstance(stamp, Stamp):
                        yield from _read(file, stamp, process)
                    else:
                        yield stamp

    return read


def list_files(root: Path) -> Iterator[File | Skipped]:
    """The files under a folder, or the one file, and what is skipped."""
    real = root.resolve()
    if not real.exists():
        raise SourceError(f"{root} is not a readable file or folder. Check the path.")
    if real.is_file():
        yield File(real, root.name, str(real))
    elif not real.is_dir():
        yield skip(UnsafeFile(real, NOT_REGULAR), real.parent)
    for path in walk(real) if real.is_dir() else ():
        if isinstance(path, Skipped):
            yield path
        else:
            yield File(path, _path_below(real, path), str(path.resolve() if path.is_symlink() else path))


def _path_below(folder: Path, path: Path) -> str:
    """As `path.relative_to(folder).as_posix()`, which takes ten times as long."""
    return str(path)[len(os.path.join(folder, "")) :].replace(os.sep, "/")


def fingerprint(root: Path, most: int) -> str:
    """A value that differs when a file of `list_files` was added, changed or removed; empty if there are too many."""
    digest = blake2b(digest_size=16)
    for count, file in enumerate(list_files(root)):
        if count == most:
            return ""
        state: tuple[int, ...] = ()
        with contextlib.suppress(OSError):
            status = os.stat(file.source)
            state = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        digest.update(repr((file.id, state)).encode())
    return digest.hexdigest()


def _make_filter(pattern: str | None, exclude: str | None) -> Callable[[str], bool]:
    try:
        wanted, unwanted = re.compile(pattern or ""), re.compile(exclude) if exclude else None
    except re.error as error:
        raise InputError(f"{error.pattern!r} is not a regular expression: {error}.") from None
    return lambda id: bool(wanted.search(id)) and not (unwanted and unwanted.search(id))


def find_files(root: Path, pattern: str | None = None, exclude: str | None = None) -> dict[str, Path]:
    """The files that `read_folder` reads, by their ids."""
    is_wanted = _make_filter(pattern, exclude)
    return {item.id: item.path for item in list_files(root) if isinstance(item, File) and is_wanted(item.id)}


def measure_folder(root: Path, pattern: str | None = None, exclude: str | None = None) -> tuple[int, str]:
    """The number of files that `read_folder` reads; of one table with a row in each line, about that of its rows."""
    if root.suffix.lower() in ROWS_IN_LINES and root.is_file():
        with root.open("rb") as file:
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
        has_header = root.suffix.lower() in (".csv", ".tsv")
        return max(lines - has_header, 1), "rows"
    return len(find_files(root, pattern, exclude)), "files"


def skip(error: UnsafeFile, root: Path) -> Skipped:
    """The report of a file under a folder that is not read."""
    path = Path(str(error.filename))
    reason = str(error.strerror)
    return Skipped(path.relative_to(root).as_posix(), f"{reason[0].upper()}{reason[1:]}.", str(path))


def walk(root: Path) -> Iterator[Path | Skipped]:
    """The files under a folder in a stable order, without those that .gitignore files exclude.

    Links to files inside the folder are followed. Links that leave it, pipes, sockets and devices are skipped.
    """
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  # only where folders are read

    def is_rule(line: str) -> bool:
        parts = line.split("/")
        stars = sum(part.count("*") for part in parts if part != "**")
        if max(stars, parts.count("**")) > MAX_STARS:
            log.warning("The rule %r of a .gitignore file has no effect: it has too many asterisks.", line[:80])
            return False
        with warnings.catch_warnings(action="ignore"):  # the parser of regular expressions has some
            try:
                GitIgnoreSpec.from_lines([line])
            except (ValueError, re.error):  # as for git, it matches nothing
                return False
        return True

    def is_ignored(path: Path, is_folder: bool, rules: list[tuple[Path, GitIgnoreSpec]]) -> bool:
        """Whether the nearest .gitignore file with a matching rule ignores the path."""
        verdicts = (spec.check_file(_path_below(base, path) + "/" * is_folder).include for base, spec in rules[::-1])
        return next((verdict for verdict in verdicts if verdict is not None), False)

    def check(path: Path, entry: os.DirEntry[str]) -> bool:
        """Whether an entry that is not a folder is a file to read. `UnsafeFile` if it must not be."""
        if entry.is_file(follow_symlinks=False):
            return True
        if not path.exists():  # a broken link
            return False
        check_inside(path, root)
        if not path.is_file() and not path.is_dir():  # a folder inside this one is read where it is
            raise UnsafeFile(path, NOT_REGULAR)
        return path.is_file()

    def descend(folder: Path, rules: list[tuple[Path, GitIgnoreSpec]]) -> Iterator[Path | Skipped]:
        unsafe = ""
        try:
            lines = read_regular_file(folder / ".gitignore").decode().splitlines()
            rules = [*rules, (folder, GitIgnoreSpec.from_lines(filter(is_rule, lines)))]
        except UnsafeFile as error:
            unsafe = ".gitignore"
            yield skip(UnsafeFile(folder / unsafe, f"{error.strerror}, so its rules are not applied"), root)
        except (OSError, UnicodeDecodeError):
            pass
        if len(folder.parts) - len(root.parts) > MAX_DEPTH:
            raise SourceError(f"The folder {folder} is nested more than {MAX_DEPTH} deep. Index a folder inside of it.")
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise SourceError(f"The folder {folder} cannot be read: {error.strerror}.") from None
        for entry in entries:
            path = Path(entry.path)
            is_junction = getattr(entry, "is_junction", bool)()  # a link of Windows, from Python 3.12
            is_folder = entry.is_dir(follow_symlinks=False) and not is_junction
            if is_ignored(path, is_folder, rules) or entry.name == unsafe:
                continue
            if is_folder:
                yield from descend(path, rules)
                continue
            try:
                if check(path, entry):
                    yield path
            except UnsafeFile as error:
                yield skip(error, root)

    yield from descend(root, [(root, GitIgnoreSpec.from_lines(ALWAYS_IGNORED))])


def _check(file: File | Skipped, known: Stamps, reader: str) -> tuple[Any, Stamp | Problem, bool]:
    """The file, its stamp or why it cannot be read, and whether it has to be read."""
    if isinstance(file, Skipped):
        return file, file, False
    now = time.time_ns()
    try:
        status = file.path.stat()
    except OSError as error:
        return file, Problem(file.id, explain_error(error), file.source), False
    value = f"{reader} {VERSION} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
    last = known.get(file.id)
    if last and (last.source, last.value) == (file.source, value):
        return file, replace(last, reason=describe_skipped(file)) if last.skipped else last, False
    is_settled = now - status.st_mtime_ns > SETTLED_NS
    return file, Stamp(file.id, file.source, value if is_settled else ""), True


def _read(file: File, stamp: Stamp, process: FileReader) -> Iterator[Document | Problem | Stamp]:
    """The documents of a file and its stamp; no stamp after a Problem, so that the file is read again."""
    suffix = file.path.suffix.lower()
    documents = problems = 0
    try:
        for item in process.read_next() if is_parsed(file) else LOADERS.get(suffix, read_plain)(file):
            if isinstance(item, Problem) or item.content.strip():
                documents += isinstance(item, Document)
                problems += isinstance(item, Problem)
                yield item
    except Exception as error:  # the other files are still read
        yield Problem(file.id, explain_error(error), file.source)
        return
    if not problems:
        yield stamp if documents else replace(stamp, skipped=True, reason=describe_skipped(file))
