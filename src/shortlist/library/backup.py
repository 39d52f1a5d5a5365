"""Backups: a consistent copy of the data and configuration folders in one file, and what is restored from it.

Databases are copied in one transaction each, so programs may read and write them meanwhile. Segments are derived from
them: one that was replaced meanwhile is written again when the restored corpus is opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import tarfile
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from urllib.parse import unquote

from shortlist import __version__
from shortlist._paths import config_dir, data_dir, is_safe_name, make_folder
from shortlist._text import did_you_mean
from shortlist.errors import InputError, SourceError
from shortlist.index.corpus_paths import DATABASE, POINTER, corpus_folder
from shortlist.library import registry
from shortlist.library.registry import Registration

FORMAT = 1
MANIFEST = "manifest.json"  # the last entry: the size and hash of each of the others
REGISTRY = f"config/{registry.FILE}"
PIECE = 1 << 20  # bytes that are copied at a time
# Files of running programs, unfinished ones, and those that mean nothing on another machine.
_LEFT_OUT = re.compile(r".*(-wal|-shm|-journal|\.lock|\.draft)|created-indexes\.json")
_TEMPORARY = re.compile(r".*\.deleted-[0-9a-f]{8}|restore-[0-9a-f]{32}")  # folders

Row = dict[str, Any]


class BackupReport(NamedTuple):
    """What a backup has, or what was restored from it."""

    file: str
    files: int
    bytes: int
    corpora: list[str]
    in_clusters: list[str]  # of which only the address is stored

    def to_dict(self) -> Row:
        return self._asdict()


def back_up(target: Path) -> BackupReport:
    """Write everything of this user into one file, which must not exist, and read it again to check it."""
    if os.path.lexists(target):
        raise InputError(f"{target} exists. Name a new file.")
    for top in (data_dir(), config_dir()):
        if target.resolve().is_relative_to(top.resolve()):  # each backup would have all earlier ones
            raise InputError(f"{target} is in {top}, which is backed up. Choose another folder.")
    work = target.with_name(f"{target.name}-{uuid.uuid4().hex}.draft")
    try:
        work.mkdir(mode=0o700)
        draft, rows = work / "backup", {}
        with (
            open(draft, "xb", opener=partial(os.open, mode=0o600)) as file,  # it has the tokens of MCP servers
            tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive,
        ):
            for name, path in _list_files():
                if not _is_safe(name):
                    raise SourceError(f"{path} has a name that is not safe on every system. Rename it.")
                with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
                    rows[name] = _add(archive, name, path, work)
            about = {
                "format": FORMAT,
                "version": __version__,
                "created": time.time(),
                "data": str(data_dir().resolve()),
            }
            content = json.dumps(about | {"files": rows}).encode()
            archive.addfile(_describe(MANIFEST, len(content), 0o600), BytesIO(content))
        _read(draft, None)
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        _place(draft, target)
        return _report(target, rows)
    except OSError as error:
        raise SourceError(f"{target} cannot be written: {_explain(target.parent, error)}.") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def restore(file: Path, names: Sequence[str] = ()) -> BackupReport:
    """Restore everything or these corpora. Nothing that exists is replaced, and a service need not stop.

    All of the file is checked before anything gets its place.
    """
    staging = data_dir() / f"restore-{uuid.uuid4().hex}"
    try:
        make_folder(staging)
        staging.chmod(0o700)
        about = _read(file, staging)
        rows = {name: row for name, row in about["files"].items() if name != REGISTRY}
        if names:
            folders = _find_folders(names, rows)
            places = {PurePosixPath("data", place, folder) for place in ("corpora", "uploads") for folder in folders}
            rows = {name: row for name, row in rows.items() if _unit_of(name) in places}
        moves = {unit: _target_of(unit) for unit in dict.fromkeys(map(_unit_of, rows))}
        if existing := [str(target) for target in moves.values() if os.path.lexists(target)]:
            advice = "Restore single corpora, or set SHORTLIST_DATA_DIR and SHORTLIST_CONFIG_DIR to new folders."
            raise InputError(
                f"{existing[0]} exists{f', and {len(existing) - 1} more' if existing[1:] else ''}, and nothing is "
                f"replaced. {'Delete what is there: shortlist rm NAME --data' if names else advice}"
            )
        for target in moves.values():
            make_folder(target.parent)
        if (staging / REGISTRY).exists():
            registry.add_missing(staging / REGISTRY, names, partial(_relocate, Path(about["data"])))
        for unit, target in moves.items():
            move = os.rename if unit.parts[0] == "data" else shutil.move  # which may be on another file system
            move(staging / unit, target)
        return _report(file, rows)
    except OSError as error:
        raise SourceError(f"{file} cannot be restored: {_explain(file, error)}.") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _explain(place: Path, error: OSError) -> str:
    """What is wrong with a place or, if it exists, with one that the error names."""
    return str(error) if place.exists() else f"{place} does not exist"


def _place(draft: Path, target: Path) -> None:
    """Give a file its name, unless another one has got it meanwhile."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # no links here
        os.rename(draft, target)


def _list_files() -> Iterator[tuple[str, Path]]:
    """The name in the backup and the path of each file; databases of a folder first, before what they name.

    Links are followed: a corpus may be on another disk.
    """
    for place, top in (("config", config_dir()), ("data", data_dir())):
        for folder, inner, files in os.walk(top, followlinks=True):
            inner[:] = sorted(name for name in inner if not _TEMPORARY.fullmatch(name) and not _is_loop(folder, name))
            for name in sorted(files):
                path = Path(folder, name)
                if not _LEFT_OUT.fullmatch(name) and path.is_file():
                    yield f"{place}/{path.relative_to(top).as_posix()}", path


def _is_loop(folder: str, name: str) -> bool:
    """Whether a folder is a link to one around it."""
    path = Path(folder, name)
    return path.is_symlink() and path.parent.resolve().is_relative_to(path.resolve())


def _add(archive: tarfile.TarFile, name: str, path: Path, work: Path) -> Row:
    """Add a file, or the copy of a database, to an archive."""
    if not path.name.endswith(".db") or name.startswith("data/uploads/"):
        return _add_file(archive, name, path)
    copy = work / "copy.db"
    try:
        _copy_database(path, copy)
        return _add_file(archive, name, copy)
    finally:
        copy.unlink(missing_ok=True)


def _copy_database(path: Path, copy: Path) -> None:
    """Copy the last committed state of a database, and check it."""
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database,
            contextlib.closing(sqlite3.connect(copy)) as copied,
        ):
            database.backup(copied)
            found = "; ".join(row[0] for row in copied.execute("PRAGMA quick_check"))
        os.chmod(copy, path.stat().st_mode & 0o777)
    except sqlite3.Error as error:
        if not path.exists():
            raise FileNotFoundError(path) from None
        found = str(error)
    if found != "ok":
        raise SourceError(f"{path} is damaged ({found}), so there is no backup. Check it: shortlist verify")


def _add_file(archive: tarfile.TarFile, name: str, path: Path) -> Row:
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        counted = _Hashed(file)
        archive.addfile(_describe(name, status.st_size, status.st_mode & 0o777), counted)
        return {"sha256": counted.hash.hexdigest(), "bytes": status.st_size, "mtime_ns": status.st_mtime_ns}


def _describe(name: str, size: int, mode: int) -> tarfile.TarInfo:
    about = tarfile.TarInfo(name)
    about.size, about.mode = size, mode
    return about


class _Hashed:
    """A file whose content is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.hash = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self.hash.update(piece)
        return piece


def _read(file: Path, folder: Path | None) -> Row:
    """Check a backup, and write its files into a folder, if there is one; its manifest."""
    found: dict[str, Row] = {}
    about: Row = {}
    try:
        with tarfile.open(file, "r:gz") as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isfile() else None
                if content is None or not (entry.name == MANIFEST or _is_safe(entry.name)):
                    raise ValueError(f"{entry.name!r} is not a file with a name that is safe on every system")
                if entry.name == MANIFEST:
                    about = json.loads(content.read())
                    continue
                hashed = _Hashed(content)
                _copy(hashed, folder / entry.name if folder else None, entry.mode)
                found[entry.name] = {"sha256": hashed.hash.hexdigest(), "bytes": entry.size}
        if about.get("format") != FORMAT:
            raise ValueError(f"its format is {about.get('format')!r}, and this version reads {FORMAT}")
        expected = {name: {key: row[key] for key in ("sha256", "bytes")} for name, row in about["files"].items()}
        if wrong := [name for name in expected | found if expected.get(name) != found.get(name)]:
            raise ValueError(f"{wrong[0]!r} is not as it was written")
        for name, row in about["files"].items() if folder else ():
            os.utime(folder / name, ns=(row["mtime_ns"], row["mtime_ns"]))  # by which segments are known
    except (tarfile.TarError, zlib.error, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(f"{file} is not a complete backup: {error}. Nothing was restored.") from None
    return about


def _is_safe(name: str) -> bool:
    """Whether the name of an entry leads to the same place on every system."""
    top, *parts = name.split("/")
    return top in ("data", "config") and bool(parts) and all(map(is_safe_name, parts))


def _copy(content: _Hashed, path: Path | None, mode: int) -> None:
    if path is None:
        while content.read(PIECE):
            pass
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb", opener=partial(os.open, mode=mode & 0o777)) as file:
        shutil.copyfileobj(content, file, PIECE)


def _unit_of(name: str) -> PurePosixPath:
    """What gets its place at once: the folder of a corpus, of the uploads of one and the like, or a file."""
    return PurePosixPath(*PurePosixPath(name).parts[: 3 if name.startswith("data/") else 2])


def _target_of(unit: PurePosixPath) -> Path:
    place, *rest = unit.parts
    return (data_dir() if place == "data" else config_dir()).joinpath(*rest)


def _find_folders(names: Sequence[str], rows: Row) -> set[str]:
    """The names of the folders of corpora."""
    stored = {_unit_of(name).name for name in rows if name.startswith("data/corpora/")}
    found = {name: corpus_folder(name).name for name in names}
    for name, folder in found.items():
        if folder not in stored:
            raise InputError(f"The backup has no corpus {name!r}.{did_you_mean(name, map(unquote, stored))}")
    return set(found.values())


def _relocate(before: Path, entry: Registration) -> Registration:
    """A registration whose folder of uploads is in the data folder of this machine."""
    paths = {root: Path(root) for root in entry.roots}
    roots = (
        str(data_dir().resolve() / path.relative_to(before)) if path.is_relative_to(before / "uploads") else root
        for root, path in paths.items()
    )
    return replace(entry, roots=tuple(roots))


def _report(file: Path, rows: Row) -> BackupReport:
    def corpora_with(file: str) -> list[str]:
        paths = [PurePosixPath(name) for name in rows if name.startswith("data/corpora/")]
        return [unquote(path.parts[2]) for path in paths if path.parts[3:] == (file,)]

    size = sum(row["bytes"] for row in rows.values())
    return BackupReport(str(file), len(rows), size, corpora_with(DATABASE), corpora_with(POINTER))
