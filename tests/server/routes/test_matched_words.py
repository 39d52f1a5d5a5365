"""The words that are highlighted: the same as a look at every word finds, whatever was matched before."""

from __future__ import annotations

import pytest

from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.word_parts import subwords
from shortlist.server.routes import matched_words
from shortlist.server.routes.matched_words import WordMatcher

TEXTS = (
    "refundPayments\nRefunded (payments), unpaid; the_refund.",
    "the café's naïve fees\u00a0– Gebühren, 支払い方法 refund",
    f"{'x' * 80}_refund",
    "",
)
QUERIES = ("refunding a payment", "café fees", "Gebühr 支払い", "unpaid x", "nothing")


@pytest.mark.parametrize("name", ["languages-1", "english-1", "alphanumeric-2"])
def test_the_matched_words_are_those_of_every_word(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    analyzer = get_analyzer(name).bind(("en", "de", "ja"))
    matcher = WordMatcher(analyzer)
    expected = {query: [match_slowly(name, query, text) for text in TEXTS] for query in QUERIES}
    for _ in range(2):
        for query, words in expected.items():
            assert matcher.match(set(analyzer.terms(query)), TEXTS) == words
    assert any(expected["Gebühr 支払い"])
    monkeypatch.setattr(matched_words, "MOST_PIECES", 0)  # it forgets everything in between
    assert matcher.match(set(analyzer.terms(QUERIES[0])), TEXTS) == expected[QUERIES[0]]


def match_slowly(name: str, query: str, text: str) -> list[str]:
    analyzer = get_analyzer(name).bind(("en", "de", "ja"))
    has_none = set(analyzer.terms(query)).isdisjoint
    words = [word for word in analyzer.words(text) if not has_none(analyzer.terms_of(word))]
    return sorted({part for word in words for part in subwords(word) if not has_none(analyzer.terms_of(part))})


def test_a_search_while_another_forgets_is_not_forgotten_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    analyzer = get_analyzer("english-1")
    texts, terms = ["a refund"], set(analyzer.terms("refund"))

    class Interrupted(WordMatcher):
        is_ready = False

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if self.is_ready:  # as another thread would
                monkeypatch.setattr(matched_words, "MOST_PIECES", 1 << 15)
                assert self.match(terms, texts) == [["refund"]]

    matcher = Interrupted(analyzer)
    matcher.match(terms, texts)
    vars(matcher)["is_ready"] = True
    monkeypatch.setattr(matched_words, "MOST_PIECES", 0)
    matcher.match(terms, texts)
    assert matcher.match(terms, texts) == [["refund"]]
