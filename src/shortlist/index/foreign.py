"""Decides what the folder of a corpus may do: our own folders are trusted, foreign ones are data.

A folder is own if it is in the data directory, or if this program created it on this machine, which is recorded there.
Any other folder is foreign: it may have come with a cloned repository. A reader writes nothing there, its values are
checked before they are used, and the embedder or cluster that it names needs the user's confirmation.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sqlite3
import stat
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from shortlist._files import JsonFile
from shortlist._paths import cache_dir, data_dir
from shortlist.errors import CorpusBusy, CorpusDamaged, SourceError
from shortlist.index.corpus_paths import COUNT_KINDS, DATABASE, POINTER, SEGMENTS, USAGE, VECTORS
from shortlist.safety.confirmations import Confirmation, confirm, is_confirmed
from shortlist.safety.untrusted_files import is_in_data_dir

MOST_RECORDED = 16  # creations of one folder
CREATED = "created-indexes.json"  # in the data directory: the folders outside of it that this program created

# What `Store` writes into the folder of segments. Nothing else there is read, overwritten or deleted.
SEGMENT_NAME = re.compile(r"\d{1,19}-\d{1,19}-[0-9a-f]{8}\.seg")
_DRAFT_NAME = re.compile(r"[0-9a-f]{32}\.draft(-wal|-shm|-journal)?")

_DATABASES = [name + end for name in (DATABASE, USAGE, VECTORS) for end in ("", "-wal", "-shm", "-journal")]

# For each connection to a database of someone else, as SQLite advises.
_HARDENED = ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0")


def record_created(folder: Path, id: str, database: Path | None = None) -> None:
    """Record that this program creates the corpus in a folder. If that is not possible, the folder stays foreign.

    It is recorded before the `database` gets its place, since another process may open it at once. Of several that
    create one, the first wins, so all of them are recorded.
    """
    if is_in_data_dir(folder):
        return
    with contextlib.suppress(OSError, SourceError, CorpusBusy), _created().changing() as known:
        for gone in [place for place in known if not os.path.isdir(place)]:
            del known[gone]
        place = str(folder.resolve())
        made = known.get(place, {}).get("made", [])
        known[place] = {"made": [*made, [id, (database or folder / DATABASE).lstat().st_ino]][-MOST_RECORDED:]}


def is_own(folder: Path) -> bool:
    """Whether a folder is in the data directory, or contains the corpus that this program created there.

    The number of the database file is compared, too: a file that is replaced, for example by git, gets a new one. We
    write no rollback journals; SQLite would apply one that someone else has put there.
    """
    if is_in_data_dir(folder):
        return True
    if any(name.endswith("-journal") for name in list_databases(folder)):
        return False
    try:
        file = (folder / DATABASE).lstat().st_ino
        made = _created().read().get(str(folder.resolve()), {}).get("made", [])
        ids = {id for id, number in made if number == file}
        if not ids:
            return False
        check_files(folder)
        with contextlib.closing(connect_to_foreign(folder / DATABASE, skips_left_log=True)) as database:
            ((id,),) = database.execute("SELECT value FROM meta WHERE key = 'id'").fetchall()
        return id in ids
    except (OSError, TypeError, ValueError, SourceError, CorpusDamaged, sqlite3.Error):
        return False


def derived_folder(folder: Path) -> Path:
    """Where what is derived from a corpus is stored: beside it, or for a foreign one in the cache directory."""
    return folder if is_own(folder) else cache_folder(folder)


def cache_folder(folder: Path) -> Path:
    """Where what is derived from the corpus in a foreign folder is stored."""
    return cache_dir() / "foreign" / blake2b(os.fsencode(folder.resolve()), digest_size=16).hexdigest()


# Files


def list_databases(folder: Path) -> list[str]:
    """The names of the files of databases that are in a folder."""
    return [name for name in _DATABASES if os.path.lexists(folder / name)]


def check_files(folder: Path) -> None:
    """Refuse a folder in which a file of ours is a link, a device or the like: we would read or write elsewhere."""
    for name in (*_DATABASES, POINTER):
        check_file(folder / name)
    check_segments(folder)


def check_file(path: Path) -> None:
    """Refuse a link or special file with the name of one of ours; a missing one is fine."""
    if not is_regular(path):
        raise _make_error(path, "file")


def is_regular(path: Path) -> bool:
    """Whether a path is a regular file, or missing."""
    return not _is_unlike(path, stat.S_ISREG)


def check_segments(folder: Path) -> None:
    """Refuse a folder of segments that is a link or no folder."""
    if _is_unlike(folder / SEGMENTS, stat.S_ISDIR):
        raise _make_error(folder / SEGMENTS, "folder")


def is_segment_file(name: str) -> bool:
    """Whether a name in the folder of segments is one that we write, so that the file may be deleted."""
    return bool(SEGMENT_NAME.fullmatch(name) or _DRAFT_NAME.fullmatch(name))


def _is_unlike(path: Path, is_wanted: Callable[[int], bool]) -> bool:
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    is_junction = sys.platform == "win32" and status.st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT
    return is_junction or not is_wanted(status.st_mode)


def _make_error(path: Path, kind: str) -> CorpusDamaged:
    return CorpusDamaged(f"{path} is not a regular {kind}. Replace it by one, or build the corpus in another folder.")


# Databases


def connect_to_foreign(
    path: Path, factory: type[sqlite3.Connection] = sqlite3.Connection, *, skips_left_log: bool = False
) -> sqlite3.Connection:
    """A read-only connection that leaves no trace beside the database."""
    uri = make_read_only_uri(path, skips_left_log=skips_left_log)
    return harden(factory(uri, timeout=5.0, uri=True))


def make_read_only_uri(path: Path, *, skips_left_log: bool = False) -> str:
    """The address of a database that is read without writing, for SQLite.

    Without a log, nothing else is needed (immutable). With one, its index must be there, too, and is only read. A
    process that is killed while it closes a database leaves a log without index, which can be skipped.
    """
    has_log = os.path.isfile(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0
    if has_log and not os.path.isfile(f"{path}-shm"):
        if not skips_left_log:
            raise sqlite3.DatabaseError(f"{path.name}-wal has changes that were never applied, and no -shm file")
        has_log = False
    return f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&{'readonly_shm=1' if has_log else 'immutable=1'}"


def harden(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Let the schema of a database do as little as possible."""
    for pragma in _HARDENED:
        connection.execute(f"PRAGMA {pragma}")
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
    return connection


def count_kinds(folder: Path) -> dict[str, int]:
    """The number of documents of the corpus in a folder, by kind, without opening it, which would be slow."""
    try:
        check_files(folder)
        with contextlib.closing(connect_to_foreign(folder / DATABASE)) as database:
            return {str(kind): int(count) for kind, count in database.execute(COUNT_KINDS)}
    except (OSError, ValueError, CorpusDamaged, sqlite3.Error):
        return {}


# Addresses and models


def may_use_embedder(folder: Path, spec: str) -> bool:
    """Whether the embedder that a folder names may be loaded if it is not built in."""
    return is_in_data_dir(folder) or is_confirmed("embedder", folder, spec)


def may_use_cluster(folder: Path, address: str) -> bool:
    """Whether requests may be sent to the cluster that a folder names."""
    return is_in_data_dir(folder) or is_confirmed("cluster", folder, address)


def confirm_named(confirmation: Confirmation) -> None:
    """Store that the user named an embedder or cluster for a folder; in the data directory that is not needed."""
    if not is_in_data_dir(confirmation.place) and not is_confirmed(*confirmation):
        confirm(*confirmation)


def how_to_confirm(folder: Path) -> str:
    """The command with which the user confirms what a folder asks for."""
    return f"run: shortlist trust {shlex.quote(str(folder))}"


def _created() -> JsonFile:
    return JsonFile(
        data_dir() / CREATED, 1, "folders", ". Delete it: indexes outside the data folder are foreign then."
    )
