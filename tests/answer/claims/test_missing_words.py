"""Words that a passage lacks, replaces or contradicts."""

from __future__ import annotations

from shortlist.answer.claims.missing_words import find_missing_words, find_opposite, find_replaced, lacks_words
from tests.answer.claims.comparing import compare


def test_words_and_their_synonyms_are_not_missing() -> None:
    comparison = compare("Employees purchase desks.", "Staff buy desks.")
    assert find_missing_words(comparison) == []
    assert not lacks_words(comparison, [])


def test_too_many_missing_words_speak_against_a_claim() -> None:
    comparison = compare("The company was dissolved by a court.", "The company sells plants.")
    missing = find_missing_words(comparison)
    assert [word.text for word in missing] == ["dissolved", "court"]
    assert lacks_words(comparison, missing)


def test_a_word_in_the_place_of_another_and_an_opposite_are_found() -> None:
    comparison = compare("Warehouse staff have a free lunch.", "Office staff have a free lunch.")
    assert find_replaced(comparison, find_missing_words(comparison)) == "warehouse"
    comparison = compare("Profits increased.", "Profits decreased.")
    assert find_opposite(comparison, find_missing_words(comparison)) == "increased"
