"""The lines of a passage while it is read: indentation, blocks, contexts and introductions."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.units.unit_reader import UnitReader, has_verb, show


def test_lines_have_their_place_and_indentation() -> None:
    text = "one\n\n\ttwo three"
    lines = UnitReader(text).lines
    assert [(line.indent, line.text) for line in lines] == [(0, "one"), (0, ""), (8, "two three")]
    assert [text[line.start : line.end] for line in lines] == ["one", "", "two three"]


def test_the_first_line_is_indented_as_the_others_are() -> None:
    assert [line.indent for line in UnitReader("-v\n        Be loud.\n    -q").lines] == [4, 8, 4]


def test_a_block_ends_at_an_empty_line_a_fence_or_the_end() -> None:
    reader = UnitReader("a\nb\n\nc\n```\nd")
    assert [reader.block_end(at) for at in (0, 1, 3, 5)] == [2, 2, 4, 6]
    assert [reader.is_block_start(at) for at in (0, 1, 3)] == [True, False, True]
    assert (reader.line(-1), reader.line(6)) == (None, None)


def test_a_context_replaces_those_that_are_indented_as_far() -> None:
    reader = UnitReader("text")
    for indent, context in ((0, "a(x)"), (4, "b"), (8, "c"), (4, "d(y)")):
        reader.push_context(indent, context)
    reader.add("sentence", 0, 4)
    (unit,) = reader.units
    assert (unit.context, unit.subject) == ("a(x) d(y)", "d")
    reader.add("heading", 0, 4)
    assert reader.units[1].context == ""


@pytest.mark.parametrize(("text", "introduces"), [("Take these:", True), ("It is free", True), ("It is free.", False)])
def test_a_sentence_without_an_end_introduces_what_follows(text: str, introduces: bool) -> None:
    reader = UnitReader(text)
    assert reader.take_introduction() is None
    reader.add("sentence", 0, len(text))
    taken = reader.take_introduction()
    assert (taken is not None, reader.units[0].kind == "introduction") == (introduces, introduces)


def test_statements_have_verbs() -> None:
    assert has_verb("The office isn’t open")
    assert not has_verb("Opening hours")
    assert show(" a\n  b ") == "a b"
