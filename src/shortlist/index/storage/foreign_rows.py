"""Checks the database of a foreign corpus before its rows are used: tables, types of values, and segments.

Each failure is an `sqlite3.DatabaseError`, which a store reports as a damaged corpus, or a `SegmentDamaged`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from functools import cache

import numpy as np

from shortlist.index.storage.segment import Segment, SegmentDamaged
from shortlist.index.storage.sql_tables import SCHEMA, SegmentRow, read_dead

_CODED = {("meta", "value"), ("documents", "content"), ("documents", "payload"), ("passages", "text")}  # or as blobs
_LARGEST = 1 << 60  # of a number that more is added to


def check_tables(connection: sqlite3.Connection) -> None:
    """Refuse a schema other than ours: a view, a trigger or a virtual table could do anything."""
    found = _read_schema(connection)
    if other := found.items() - _known_schema().items():
        raise sqlite3.DatabaseError(f"its schema has an unexpected {min(other)[0][0]} {min(other)[0][1]!r}")
    if missing := _known_schema().keys() - found.keys():
        raise sqlite3.DatabaseError(f"its {min(missing)[0]} {min(missing)[1]!r} is missing")


def check_types(connection: sqlite3.Connection) -> None:
    """Refuse values of other types than the columns declare: SQLite itself stores anything anywhere."""
    for table in (name for kind, name in _known_schema() if kind == "table" and name != "sqlite_sequence"):
        faults = []
        for _, column, declared, is_required, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
            allowed = [declared.lower(), *["blob"] * ((table, column) in _CODED), *["null"] * (not is_required)]
            faults.append(f"typeof({column}) NOT IN ({','.join(map(repr, allowed))})")
        if connection.execute(f"SELECT 1 FROM {table} WHERE {' OR '.join(faults)} LIMIT 1").fetchone():
            raise sqlite3.DatabaseError(f"the table {table} has a value of a wrong type")
    for table, number in (("documents", "num"), ("passages", "num"), ("tombstones", "num"), ("sqlite_sequence", "seq")):
        condition = f"typeof({number}) != 'integer' OR {number} NOT BETWEEN 0 AND {_LARGEST}"
        if connection.execute(f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1").fetchone():
            raise sqlite3.DatabaseError(f"the table {table} has a number out of range")


def check_segment(connection: sqlite3.Connection, row: SegmentRow, segment: Segment) -> None:
    """Refuse a segment that differs from the rows: every position must have its passage and document."""
    query = "SELECT num, document FROM passages WHERE num BETWEEN ? AND ? ORDER BY num"
    stored = np.array(connection.execute(query, row[:2]).fetchall(), dtype=np.int64).reshape(-1, 2)
    is_live = ~np.isin(segment.passages, read_dead(connection, row))
    indexed = np.column_stack([segment.passages[is_live], segment.documents[is_live]])
    if segment.size != row.size or not np.array_equal(indexed, stored):
        raise SegmentDamaged(row, "does not match the rows")


def _read_schema(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """The statements of a schema by type and name; the indexes and tables of SQLite itself have none."""
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema").fetchall()
    return {(str(kind), str(name)): "".join(str(sql).split()) for kind, name, sql in rows}


@cache
def _known_schema() -> dict[tuple[str, str], str]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA.read_text("utf-8"))
        return _read_schema(connection)
