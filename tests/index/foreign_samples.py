"""A corpus from someone else, and changes to its database."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

from shortlist.documents import Document
from shortlist.index.corpus import Corpus

TEXTS = {"tea": "Black tea takes four minutes.", "oven": "The oven needs 220 degrees.", "moon": "The moon is far."}


def change(folder: Path, statement: str, *values: object) -> None:
    with contextlib.closing(sqlite3.connect(folder / "corpus.db", isolation_level=None)) as database:
        database.execute(statement, values)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def set_config(folder: Path, **values: object) -> None:
    with contextlib.closing(sqlite3.connect(folder / "corpus.db")) as database:
        ((text,),) = database.execute("SELECT value FROM meta WHERE key = 'config'").fetchall()
    change(folder, "UPDATE meta SET value = ? WHERE key = 'config'", json.dumps(json.loads(text) | values))


def write(corpus: Corpus) -> None:
    corpus.add([Document("new", "", "A new text.")])
