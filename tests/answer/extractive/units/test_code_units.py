"""Code in fences, directives and consoles, indented code, and lines that look like it."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.code_units import looks_like_code, read_code, read_fence, read_open_fence
from shortlist.answer.extractive.units.splitting import split_units
from shortlist.answer.extractive.units.unit_reader import UnitReader


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Run this:\n\n```sh\nmake all\n```\nIt builds.", "sentence code sentence"),
        ("Run this:\n\n    make all\n\nIt builds.", "sentence code sentence"),
        (">>> 1 + 1\n2\n\nThis adds.", "example sentence"),
        ("$ ls -l\ntotal 0\n\nThis lists.", "code sentence"),
        (".. code-block:: c\n\n   int x;\n\nDone.", "code sentence"),
        (".. note::\n\n   It is new.", "heading sentence"),
    ],
)
def test_code_is_kept_apart_from_prose(text: str, kinds: str) -> None:
    assert [unit.kind for unit in split_units(text)] == kinds.split()


def test_a_fence_ends_with_the_same_fence_or_with_the_text() -> None:
    text = "~~~\n```\nx\n~~~\nAfter it."
    assert read_fence(UnitReader(text), 0) == 4
    assert read_fence(UnitReader("```\nx\ny"), 0) == 3
    assert read_fence(UnitReader("x\n```"), 0) == 0


def test_a_passage_that_begins_inside_of_a_fence_begins_with_code() -> None:
    assert read_open_fence(UnitReader("make all\n```\nIt builds.")) == 2
    assert read_open_fence(UnitReader("It builds all.\n```\nmake all")) == 0
    assert read_open_fence(UnitReader("```\nmake all\n```")) == 0


def test_half_of_the_lines_must_look_like_code_and_the_last_not_like_a_sentence() -> None:
    assert looks_like_code(UnitReader("x = 1\nplain words").lines)
    assert not looks_like_code(UnitReader("x = 1\nplain words\nmore words").lines)
    assert not looks_like_code(UnitReader("x = 1\ny = 2\nThat sets both.").lines)
    assert not looks_like_code([])


def test_a_synopsis_is_code() -> None:
    reader = UnitReader("ls file")
    assert read_code(reader, 0) == 0
    reader.push_heading(2, "SYNOPSIS")
    assert read_code(reader, 0) == 1


def test_an_example_ends_with_its_result() -> None:
    units = split_units(">>> path = Path(\"a.txt\")\n>>> path.stem\n'a'\n>>> path.suffix\n'.txt'\n>>> del path")
    assert [(unit.kind, unit.text) for unit in units] == [
        ("example", ">>> path = Path(\"a.txt\") >>> path.stem 'a'"),
        ("example", ">>> path.suffix '.txt'"),
        ("code", ">>> del path"),
    ]
    assert not any(unit.is_answer for unit in units)
