"""What a query asks for: which words weigh, and how much."""

from __future__ import annotations

import pytest

from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.query_terms import TermReadings, analyze, sum_weights, weigh_terms, weight_of


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


@pytest.mark.parametrize(
    ("language", "query", "content"),
    [
        ("de", "Kannst du mir bitte helfen, die Größe der Datei zu finden?", {"gross", "datei"}),
        ("es", "Por favor, ¿puedes mostrar el tamaño del archivo?", {"taman", "archiv"}),
        ("ru", "Пожалуйста, покажи мне размер файла", {"размер", "файл"}),
        ("fr", "Pouvez-vous me montrer la taille du fichier ?", {"taill", "fichi"}),
    ],
)
def test_request_words_of_each_language_weigh_less(language: str, query: str, content: set[str]) -> None:
    weights = weigh_terms(get_analyzer().bind((language,)), query)
    assert content <= weights.keys()
    least = min(weights[term] for term in content)
    assert all(weight < least for term, weight in weights.items() if not any(term.startswith(own) for own in content))


def test_a_word_of_several_languages_counts_once() -> None:
    analyzer = get_analyzer().bind(("en", "de", "fr"))
    query = analyze(analyzer, "organizations")
    assert len(query.weights) > 1
    once = analyze(get_analyzer(), "organizations")
    frequency = dict.fromkeys(query.weights, 1)
    total = sum_weights(TermReadings(query.weights, query.readings), query.weights, frequency)
    assert total == sum(once.weights.values()) == 1.0


def test_of_the_readings_of_a_word_those_that_passages_have_count() -> None:
    terms = TermReadings({"a": 3.0, "b": 2.0, "c": 1.0}, [[("a",), ("b",)]])
    assert sum_weights(terms, terms, {"a": 0, "b": 4, "c": 1}) == 3.0
    assert sum_weights(terms, terms, {"a": 2, "b": 4, "c": 1}) == 4.0


def test_weights_are_added_in_the_order_of_the_terms() -> None:
    small = [f"t{at}" for at in range(40)]
    weights = {"large": 1e16} | dict.fromkeys(small, 1.0)
    terms = TermReadings(weights, [[("large", *small)]])
    # before Python 3.12, each 1 that is added to 1e16 is lost, but not those that are added to each other before
    assert sum_weights(terms, weights, dict.fromkeys(weights, 1)) == sum(weights.values())


def test_pairs_of_request_words_weigh_less() -> None:
    weights = weigh_terms(get_analyzer().bind(("zh",)), "请帮我查找文件大小")
    assert weights["帮我"] < 1.0 == weights["文件"]
