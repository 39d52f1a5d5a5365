"""Copies of corpora that count as created on this machine: a plain copy is foreign."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

from shortlist.index.foreign import record_created


def copy_own(source: Path, target: Path) -> Path:
    shutil.copytree(source, target, dirs_exist_ok=True)
    with contextlib.closing(sqlite3.connect(target / "corpus.db")) as database:
        ((id,),) = database.execute("SELECT value FROM meta WHERE key = 'id'").fetchall()
    record_created(target, id)
    return target
