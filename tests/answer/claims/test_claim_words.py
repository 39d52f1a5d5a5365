"""Words of a text: numbers with their units, names and clauses."""

from __future__ import annotations

from shortlist.answer.claims.claim_words import read_claim, read_passage


def test_numbers_are_read_as_digits_with_their_unit() -> None:
    words = [(word.number, word.unit) for word in read_claim("It costs £1,200, or twenty-five per cent.").words]
    assert [pair for pair in words if pair[0]] == [("1200", "pound"), ("25", "percent")]


def test_names_are_capitals_inside_an_english_sentence() -> None:
    assert [word.text for word in read_claim("The city of Leeds is in Yorkshire.").words if word.is_name] == [
        "leeds",
        "yorkshire",
    ]


def test_a_row_of_a_table_has_the_terms_of_its_headers() -> None:
    passage = read_passage("| Room | Seats |\n|---|---|\n| Oak | 8 |")
    assert any({"oak", "seat"} <= sentence.terms for sentence in passage.sentences)
