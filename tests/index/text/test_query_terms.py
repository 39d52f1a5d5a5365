"""What a query asks for: which words weigh, and how much."""

from __future__ import annotations

import pytest

from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.query_terms import weigh_terms, weight_of


def test_a_word_that_is_said_twice_counts_once() -> None:
    assert weigh_terms(get_analyzer(), "tea tea coffee") == {"tea": 1.0, "coffe": 1.0}


def test_what_holds_a_sentence_together_and_what_a_request_is_made_with_weighs_little() -> None:
    weights = weigh_terms(get_analyzer(), "Could you please refund my payment?")
    assert weights == {"could": 0.2, "you": 0.2, "pleas": 0.4, "refund": 1.0, "my": 0.2, "payment": 1.0}


@pytest.mark.parametrize(("word", "weight"), [("Don't", 0.2), ("don’t", 0.2), ("PLEASE", 0.4), ("invoice", 1.0)])
def test_case_and_apostrophes_do_not_matter(word: str, weight: float) -> None:
    assert weight_of(word) == weight


def test_a_term_of_several_words_has_the_greatest_weight() -> None:
    assert weigh_terms(get_analyzer(), "use it, useful or used")["use"] == 1.0


def test_stop_words_alone_are_what_is_asked_for() -> None:
    assert weigh_terms(get_analyzer(), "the who") == {"who": 0.2}
    assert weigh_terms(get_analyzer(), "to be or not to be") == dict.fromkeys(["to", "be", "or", "not"], 1.0)


@pytest.mark.parametrize("name", ["bm25s-english-1", "words-1", "alphanumeric-2"])
def test_every_analyzer_can_be_asked(name: str) -> None:
    assert max(weigh_terms(get_analyzer(name), "please refund the payment").values()) == 1.0


def test_other_languages_are_left_alone() -> None:
    assert set(weigh_terms(get_analyzer(), "größe der datei").values()) == {1.0}
