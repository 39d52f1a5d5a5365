"""Quotations and repeated sentences."""

from __future__ import annotations

from shortlist.answer.claims.quotations import find_places, find_quotes, find_spans, is_repeated

TEXT = "No leave is granted in December, except for family reasons. Staff have 25 days of leave a year."


def test_quotations_are_found_with_any_marks_and_left_out_parts() -> None:
    assert find_quotes("It says “no leave” and «25 days».") == ["no leave", "25 days"]
    assert [TEXT[start:end] for start, end in find_places("no leave … family reasons", TEXT)] == [
        "No leave",
        "family reasons",
    ]
    assert find_places("no leave in May", TEXT) == []


def test_a_repeated_sentence_is_not_one_that_the_passage_denies() -> None:
    assert is_repeated("staff have 25 days of leave", TEXT)
    assert not is_repeated("Leave is granted in December", TEXT)


def test_words_in_a_row_are_spans() -> None:
    assert [TEXT[start:end] for start, end in find_spans("All staff have 25 days of leave", TEXT)] == [
        "Staff have 25 days of leave"
    ]
