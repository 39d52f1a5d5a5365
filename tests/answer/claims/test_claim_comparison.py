"""Which words of a claim and of a passage stand for each other."""

from __future__ import annotations

from tests.answer.claims.comparing import compare


def test_other_forms_and_synonyms_of_a_word_are_its_forms() -> None:
    comparison = compare("She began to drum.", "She starts as a drummer.")
    assert all(comparison.has(word, comparison.terms) for word in comparison.content)


def test_the_sentence_with_the_most_words_of_a_claim_is_chosen() -> None:
    comparison = compare("The red door is open.", "The blue door is shut. The red door is open at noon. Birds sing.")
    assert [" ".join(word.text for word in one.words) for one in comparison.chosen] == ["the red door is open at noon"]
