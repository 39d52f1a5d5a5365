"""The tables of a corpus: the schema, its formats, and rows that no version writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from shortlist.errors import CorpusDamaged, CorpusMismatch
from shortlist.index.config import Config
from shortlist.index.storage import sql_tables
from shortlist.index.storage.sql_tables import Connection, SegmentRow

SEGMENTS = [SegmentRow(1, 10, 10, "1-10-0a1b2c3d.seg", 100, 5, 7), SegmentRow(11, 14, 2, "11-14-00000000.seg", 9, 5, 7)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "corpus.db"


@pytest.fixture
def connection(path: Path) -> Iterator[Connection]:
    connection = Connection(path, 5)
    sql_tables.initialize(connection, Config(chunk_size=300))
    yield connection
    connection.close()


def insert(connection: Connection, *rows: SegmentRow) -> None:
    connection.executemany("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def test_new_tables_are_empty_and_have_a_configuration_and_an_id(connection: Connection, path: Path) -> None:
    sql_tables.check_format(connection, path)
    assert sql_tables.read_config(connection) == Config(chunk_size=300)
    assert sql_tables.read_generation(connection) == 0
    assert len(sql_tables.read_id(connection)) == 32
    assert (sql_tables.read_segments(connection), sql_tables.read_last_numbers(connection)) == ([], (0, 0))
    assert sql_tables.is_empty(connection, "documents")


def test_segments_are_read_in_order_and_their_deleted_passages_apart(connection: Connection) -> None:
    insert(connection, *reversed(SEGMENTS))
    connection.executemany("INSERT INTO tombstones(passage) VALUES (?)", [(12,), (3,), (1,)])
    assert sql_tables.read_segments(connection) == SEGMENTS
    assert [sql_tables.read_dead(connection, row).tolist() for row in SEGMENTS] == [[1, 3], [12]]


@pytest.mark.parametrize(
    "change",
    [{"file": "../../etc/passwd"}, {"file": "1-10-0a1b2c3d.seg/"}, {"size": 11}, {"size": 0}, {"last": 11}],
    ids=str,
)
def test_an_impossible_segment_is_damage(change: dict[str, object], connection: Connection) -> None:
    insert(connection, SEGMENTS[0]._replace(**change), SEGMENTS[1])  # type: ignore[arg-type]
    with pytest.raises(sqlite3.DatabaseError):
        sql_tables.read_segments(connection)


def test_another_format_or_another_program_is_refused(connection: Connection, path: Path) -> None:
    connection.execute("PRAGMA user_version = 99")
    with pytest.raises(CorpusMismatch, match="format 99"):
        sql_tables.check_format(connection, path)
    connection.execute("PRAGMA application_id = 1")
    with pytest.raises(CorpusDamaged, match="not the database of a corpus"):
        sql_tables.check_format(connection, path)


def test_the_first_format_is_upgraded(connection: Connection, path: Path) -> None:
    connection.execute("ALTER TABLE passages DROP COLUMN context")
    connection.execute("DROP TABLE stamps")
    connection.execute("PRAGMA user_version = 1")
    sql_tables.check_format(connection, path)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert connection.rows("SELECT context FROM passages") == connection.rows("SELECT * FROM stamps") == []
    sql_tables.raise_format(connection)
    assert connection.execute("PRAGMA user_version").fetchone() == (sql_tables.FORMAT,)
