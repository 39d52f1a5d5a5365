"""Checks of mapped segment files after they were opened, and `verify`."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections import Counter

import pytest

import shortlist
from shortlist import Document
from shortlist.index.storage import segment, segment_checks
from tests.index.storage.corrupted_segments import EMBEDDER, Template, answers, flip_bit, try_flip

FLIPPED = 40


def test_bit_rot_is_noticed_and_no_result_is_wrong_after_the_check(mapped: Template) -> None:
    counts: Counter[str] = sum(
        (try_flip(mapped, random.Random(f"test {number}")) for number in range(FLIPPED)), start=Counter()
    )
    assert counts["right after the check"] == FLIPPED
    assert counts["noticed"] > 0.8 * FLIPPED  # the rest is between the arrays


def test_damage_that_cannot_be_repaired_on_disk_is_repaired_in_memory_after_the_check(
    mapped: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_checks, "DELAY_SECONDS", 0)
    with shortlist.open_corpus(mapped.folder, EMBEDDER) as corpus:
        answers(corpus)
        segment_checks.wait()
    place = mapped.folder / "segments" / mapped.row.file
    flip_bit(place, 8 * place.read_bytes().index(mapped.arrays["vectors"].tobytes()) + 6 + 16)
    monkeypatch.setattr(segment, "write", _refuse)
    with shortlist.open_corpus(mapped.folder, EMBEDDER) as corpus:
        answers(corpus)
        segment_checks.wait()
        assert answers(corpus) == mapped.expected
        assert corpus.verify()["status"] == "damaged"


def _refuse(_: object, path: str) -> int:
    raise OSError(28, "No space left on device", path)


def test_verify_finds_nothing_in_a_sound_corpus(template: Template) -> None:
    with shortlist.open_corpus(template.folder, EMBEDDER) as corpus:
        found = corpus.verify()
    assert (found["status"], found["repaired"], found["problems"]) == ("ok", [], [])
    assert (found["segments"], found["databases"]) == (2, ["corpus.db"])
    assert found["documents"] == found["passages"] == 136


def test_verify_repairs_a_mapped_segment(mapped: Template) -> None:
    flip_bit(mapped.folder / "segments" / mapped.row.file, 8 * 4000)
    with shortlist.open_corpus(mapped.folder, EMBEDDER) as corpus:
        found = corpus.verify()
        assert found["status"] == "repaired"
        assert mapped.row.file in found["repaired"][0]
        assert corpus.verify()["status"] == "ok"
        assert answers(corpus) == mapped.expected


def test_verify_reports_a_document_that_does_not_match_its_hash(template: Template) -> None:
    with contextlib.closing(sqlite3.connect(template.folder / "corpus.db", isolation_level=None)) as connection:
        connection.execute("UPDATE documents SET content = 'other' WHERE id = 'id1'")
    with shortlist.open_corpus(template.folder, EMBEDDER) as corpus:
        found = corpus.verify()
    assert found["status"] == "damaged"
    assert "hash" in found["problems"][0]


def test_verify_works_in_memory() -> None:
    with shortlist.build([Document("a", "", "alpha")], in_memory=True, embedder="none") as corpus:
        assert corpus.verify()["status"] == "ok"
