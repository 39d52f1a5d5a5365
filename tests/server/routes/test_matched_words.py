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
