"""Documents as rows: validation, hashes, and what is read back."""

from __future__ import annotations

import datetime
import json
import sqlite3
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shortlist
from shortlist import Changes, Document, Problem
from shortlist.index.storage.records import Record, to_document, to_record
from tests.embedded import inside
from tests.index.samples import doc, memory


@pytest.mark.parametrize(
    "changed",
    [
        doc("a", "x", metadata={"level": 2}),
        doc("a", "x", keywords=["new"]),
        doc("a", "x", kind="tool"),
        doc("a", "x", source="elsewhere"),
        doc("a", "x", payload="{}"),
        doc("a", "x", title="new"),
    ],
)
def test_a_change_of_any_field_is_seen(changed: Document) -> None:
    corpus = memory()
    corpus.sync([doc("a", "x", metadata={"level": 1})])
    assert corpus.sync([changed]) == Changes(changed=1)
    assert corpus.get("a") == changed
    assert [hit.metadata for hit in shortlist.search(corpus, "x", mode="lexical")] == [changed.metadata]


def test_dates_paths_and_sets_in_metadata_become_plain() -> None:
    corpus = memory()
    corpus.sync([doc("a", metadata={"on": datetime.date(2025, 3, 1), "at": Path("x/y"), "tags": {"b", "a"}})])
    found = corpus.get("a")
    assert found is not None
    assert found.metadata == {"on": "2025-03-01", "at": str(Path("x/y")), "tags": ["a", "b"]}


def test_a_record_is_the_same_document_when_it_is_read() -> None:
    document = Document("id", "Größe", "text", ["a", "b"], {"deep": [1, None]}, kind="tool", payload="{}")
    record = to_record(document)
    assert isinstance(record, Record)
    columns = [
        document.id, document.title, document.content, record.keywords, record.metadata, document.kind,
        document.source, document.locator, document.payload,
    ]  # fmt: skip
    assert to_document([*columns, record.hash], lambda text: text) == document
    with pytest.raises(sqlite3.DatabaseError, match="does not match its hash"):
        to_document(["other", *columns[1:], record.hash], lambda text: text)


def test_a_text_in_another_field_is_another_document() -> None:
    records = [
        to_record(document) for document in (Document("a", "b", ""), Document("a", "", "b"), Document("ab", "", ""))
    ]
    assert len({record.hash for record in records if isinstance(record, Record)}) == 3


def test_what_cannot_be_stored_is_a_problem_with_its_reason() -> None:
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    for document, reason in (
        (Document(" ", "", ""), "id is empty"),
        (Document("a", "", "", metadata={"x": deep}), "nested more than 100 levels"),
        (Document("a", "", "", payload=5), "payload must be a string, not int"),  # type: ignore[arg-type]
    ):
        problem = to_record(document)
        assert isinstance(problem, Problem)
        assert reason in problem.reason


@given(
    st.lists(st.text(), min_size=4, max_size=4),
    st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.text()),
)
def test_a_hash_covers_each_text_with_its_length(texts: list[str], metadata: dict[str, Any]) -> None:
    title, content, source, locator = texts
    record = to_record(doc("a", content + "x" * 1_100, title, metadata=metadata, source=source, locator=locator))
    assert isinstance(record, Record)
    assert record.metadata == json.dumps(metadata, ensure_ascii=False)
    columns = "a", title, content + "x" * 1_100, "[]", record.metadata, "text", source, locator, ""
    coded = b"".join(len(one.encode()).to_bytes(8, "little") + one.encode() for one in columns)
    assert record.hash == blake2b(coded, digest_size=16).digest()


@pytest.mark.parametrize("ids", ["abcdefgh", "hgfedcba", "aceg", "ah", "xbcx", "abcdxyz", "x", "", "aabb"])
def test_stored_documents_are_found_in_any_order(ids: str) -> None:
    corpus = memory()
    corpus.sync([doc(id, id) for id in "abcdefgh"])
    corpus.remove(["d"])
    stored = {id: index for index, id in enumerate("abcdefgh", 1) if id != "d"}
    with corpus.snapshot() as state:
        found = inside(state).rows.stored(list(ids))
    assert {id: number for id, (number, _) in found.items()} == {id: stored[id] for id in ids if id in stored}
