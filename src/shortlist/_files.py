"""Small files: replaced atomically, locked between processes, and JSON of a known format."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
import sys
import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from shortlist._paths import make_folder
from shortlist.errors import CorpusBusy, SourceError

WAIT_SECONDS = 60.0
REPLACE_TRIES, REPLACE_PAUSE = 100, 0.02  # two seconds


@contextlib.contextmanager
def locked(path: Path, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """One process at a time. The lock is SQLite's: it works on every system and ends with its process."""
    try:
        make_folder(path.parent)
        connection = sqlite3.connect(path, timeout=seconds, isolation_level=None)
        with contextlib.closing(connection):
            connection.execute("PRAGMA journal_mode = MEMORY")  # a killed process leaves no file behind
            connection.execute("BEGIN EXCLUSIVE")
            yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise CorpusBusy(f"{path} has been locked by another process for {seconds:.0f} seconds.") from error
        raise SourceError(f"{path} cannot be written: {error}.") from error


def replace_text(path: Path, text: str, *, private: bool = False) -> None:
    """Replaced as a whole, and on the disk before that: a reader finds the old file or the new one.

    The ends of lines are those of the text. Who may read an old file may read the new one; a new one is for everybody
    whom the system lets, or for its owner alone.
    """
    path = path.resolve()  # which may be kept elsewhere and linked to
    draft = path.with_name(f"{path.stem}-{uuid.uuid4().hex}.draft")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    opener = partial(os.open, mode=0o666 if mode is None and not private else 0o600)
    try:
        with open(draft, "x", encoding="utf-8", newline="", opener=opener) as file:
            file.write(text)
            if mode is not None:
                os.chmod(draft, mode)
            file.flush()
            os.fsync(file.fileno())
        replace_file(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # not every system can
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def replace_file(draft: Path, path: Path) -> None:
    """Replace a file, or a link to one. Windows refuses that while another process reads it, which takes a moment."""
    for left in reversed(range(REPLACE_TRIES if sys.platform == "win32" else 1)):
        try:
            os.replace(draft, path)
            return
        except PermissionError:
            if not left:
                raise
            time.sleep(REPLACE_PAUSE)


def hash_file(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp_of(*paths: Path) -> tuple[int, ...]:
    """What changes when any of the files does, comes or goes."""
    found: list[int] = []
    for path in paths:
        try:
            status = path.stat()
            found += status.st_mtime_ns, status.st_ino, status.st_size
        except OSError:
            found.append(0)
    return tuple(found)


def is_read_only(folder: Path) -> bool:
    """Whether a folder is on a file system that is mounted read-only; unknown on Windows."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):
        return False


class JsonFile:
    """A JSON file of one format that holds a mapping under a key; `repair` says what to do if it is damaged."""

    def __init__(self, path: Path, version: int, key: str, repair: str, *, private: bool = False, **more: Any) -> None:
        self.path, self._version, self._key, self._repair = path, version, key, repair
        self._private, self._more = private, more

    def read(self) -> dict[str, Any]:
        """The mapping; empty if the file does not exist."""
        try:
            data = json.loads(self.path.read_bytes())
            if data["format"] != self._version:
                raise ValueError(f"its format is {data['format']!r}, not {self._version}")
            return {str(name): dict(entry) for name, entry in data[self._key].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SourceError(f"{self.path} cannot be read ({error}){self._repair}") from None

    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """The mapping, which no other process changes meanwhile; written at the end if it was changed."""
        with locked(self.path.with_suffix(".lock")):
            known = self.read()
            before = dict(known)
            yield known
            if known != before:
                data = {"format": self._version, **self._more, self._key: dict(sorted(known.items()))}
                replace_text(self.path, f"{json.dumps(data, indent=1)}\n", private=self._private)
