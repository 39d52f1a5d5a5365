"""The database of a foreign corpus: a changed schema, hostile values and wrong segments are refused."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import shortlist
from shortlist.documents import Document
from shortlist.errors import CorpusDamaged, ShortlistError
from shortlist.index.corpus import Corpus, create_corpus, open_corpus
from shortlist.index.storage.records import DOCUMENT_COLUMNS, _hash, checksum_passage
from tests.index.foreign_samples import TEXTS, change, set_config, write


def test_a_segment_that_differs_from_the_rows_is_rebuilt(foreign: Path, caplog: pytest.LogCaptureFixture) -> None:
    change(foreign, "UPDATE passages SET num = num + 10 WHERE num = 3")
    change(foreign, "UPDATE segments SET last = 13")
    with open_corpus(foreign) as corpus:
        assert [hit.id for hit in shortlist.search(corpus, "far moon", k=1)] == ["moon"]
    assert "does not match the rows" in caplog.text


HOSTILE_SCHEMAS = {
    "view": ["ALTER TABLE stamps RENAME TO other", "CREATE VIEW stamps AS SELECT * FROM other"],
    "virtual table": ["DROP TABLE stamps", "CREATE VIRTUAL TABLE stamps USING fts5(source, id, value, skipped)"],
    "trigger": ["CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents; END"],
    "generated column": [
        "DROP TABLE tombstones",
        "CREATE TABLE tombstones(num INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER AS (num + 1))",
    ],
    "index on an expression": ["CREATE INDEX i ON documents(upper(title))"],
    "missing table": ["DROP TABLE stamps"],
}


@pytest.mark.parametrize("kind", HOSTILE_SCHEMAS)
def test_a_schema_other_than_ours_is_refused(kind: str, foreign: Path) -> None:
    for statement in HOSTILE_SCHEMAS[kind]:
        change(foreign, statement)
    with pytest.raises(CorpusDamaged):
        open_corpus(foreign)


VALUES = [b"\xff\x00", "", "[1]", '{"a":', "[" * 3000, -1, 0, 1, 2**62, -(2**63), 1.5]


COLUMNS = {
    "documents": [
        "num",
        "id",
        "hash",
        "kind",
        "title",
        "content",
        "keywords",
        "metadata",
        "source",
        "locator",
        "payload",
    ],
    "passages": ["num", "document", "ordinal", "locator", "text", "checksum", "context"],
    "segments": ["first", "last", "size", "file", "bytes", "written", "checksum"],
    "stamps": ["source", "id", "value", "skipped"],
    "tombstones": ["passage"],
    "sqlite_sequence": ["seq"],
    "meta": ["value"],
}


@pytest.mark.parametrize(("table", "column"), [(table, name) for table, names in COLUMNS.items() for name in names])
def test_hostile_values_in_any_column_are_errors_of_ours(table: str, column: str, tmp_path: Path) -> None:
    """Each value in one row, with hashes that fit or not: every reading call works or says that it is damaged."""
    built, folder = tmp_path / "built", tmp_path / "index"
    documents = [Document(id, "", text, ["k"], {"a": 1}) for id, text in TEXTS.items()]
    with create_corpus("x", path=built, embedder="light") as corpus:
        corpus.sync(documents)
        corpus.remove("moon")
        corpus.set_threshold("auto", 0.1)
    change(built, "INSERT INTO stamps VALUES ('s', 'i', 'v', 0)")
    for value in VALUES:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(built, folder)
        with contextlib.suppress(sqlite3.IntegrityError, sqlite3.OperationalError, sqlite3.DataError):
            rows = "(SELECT min(rowid) FROM " + table + ")" if table not in ("meta", "stamps") else ""
            change(folder, f"UPDATE {table} SET {column} = ?" + (f" WHERE rowid = {rows}" if rows else ""), value)
        if (table, column) not in (("documents", "hash"), ("passages", "checksum")):
            seal(folder)
        use(folder)


def seal(folder: Path) -> None:
    """Make all hashes and checksums fit, as the author of an index can."""
    with contextlib.closing(sqlite3.connect(folder / "corpus.db", isolation_level=None)) as database:
        for number, *columns in database.execute(f"SELECT num, {DOCUMENT_COLUMNS} FROM documents").fetchall():
            with contextlib.suppress(TypeError, AttributeError):
                database.execute("UPDATE documents SET hash = ? WHERE num = ?", (_hash(columns), number))
        rows = database.execute(
            "SELECT p.num, d.id, d.title, coalesce(p.text, d.content), d.kind, d.source, p.locator, d.metadata, "
            "p.context FROM passages p JOIN documents d ON d.num = p.document"
        ).fetchall()
        for number, *shown in rows:
            with contextlib.suppress(TypeError, AttributeError):
                checksum = (checksum_passage(shown), number)
                database.execute("UPDATE passages SET checksum = ? WHERE num = ?", checksum)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def use(folder: Path) -> None:
    """Everything that reads, then everything that writes; only errors of ours may come."""
    calls: list[Callable[[Corpus], object]] = [
        lambda corpus: shortlist.search(corpus, "black tea", filter={"a": 1}),
        lambda corpus: shortlist.search(corpus, "tea", mode="lexical"),
        lambda corpus: shortlist.discover(corpus, "tea", level="bundled"),
        lambda corpus: corpus.get("tea"),
        lambda corpus: corpus.browse("tea"),
        lambda corpus: (list(corpus), corpus.ids(), corpus.kinds(), corpus.stamps()),
        lambda corpus: (corpus.info(), corpus.threshold("auto")),
        write,
        lambda corpus: corpus.remove("oven"),
        lambda corpus: corpus.compact(),
        lambda corpus: corpus.reindex("light"),
        lambda corpus: shortlist.search(corpus, "new text"),
    ]
    with contextlib.suppress(ShortlistError), open_corpus(folder) as corpus:
        for call in calls:
            with contextlib.suppress(ShortlistError):
                call(corpus)


@pytest.mark.parametrize(
    "values",
    [
        {"dim": -1}, {"dim": 10**12}, {"dim": "x"}, {"analyzer": "none such"}, {"analyzer": 5}, {"chunk_size": "x"},
        {"floors": []}, {"floors": {"auto": "x"}}, {"floors": {"auto": 1}, "calibrations": {"auto": {}}},
        {"floors": {"auto": 1}, "calibrations": {"auto": {"passages": "x"}}}, {"calibrations": 5},
        {"scoring": {}}, {"scoring": {"formula": "x"}}, {"scoring": {"formula": "lucene", "k1": "x"}},
        {"scoring": {"weights": [1]}}, {"embedder": 5}, {"embedder_name": None}, {"unknown": 1},
    ],
)  # fmt: skip
def test_a_hostile_configuration_is_an_error_of_ours(values: dict[str, object], foreign: Path) -> None:
    set_config(foreign, **values)
    use(foreign)
