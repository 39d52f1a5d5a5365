"""Negations that only the claim or only its passages have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from shortlist.answer.claims.claim_comparison import ClaimComparison
from shortlist.answer.claims.claim_words import NO_ONE, ONLY, AnalyzedWord

NEGATED_WORDS = 3  # words that a negation negates


class Negation(NamedTuple):
    """The position of a word that negates, and what it negates."""

    at: int
    terms: tuple[str, ...]
    numbers: frozenset[str]
    follow: bool  # the negation


def find_negation(comparison: ClaimComparison) -> str:
    """Find a word that negates something in the claim or in its passages, but not in both."""
    claimed = list(_find_negations(comparison.claim.words))
    for one in claimed:
        terms = [term for term in one.terms if term in comparison.forms]
        is_known = terms and all(not comparison.forms[term].isdisjoint(comparison.terms) for term in terms)
        is_known = is_known and one.numbers <= comparison.numbers  # "not 30 days" negates another number
        word = comparison.claim.words[one.at].text
        if (is_known or word in NO_ONE) and not _is_negated(comparison, terms):
            return word
    counts = Counter(place for places in comparison.places.values() for place in places)
    close = [place for place, count in counts.items() if count >= len(comparison.forms) / 2]
    for sentence in (comparison.sentences[place] for place in sorted(close) if not claimed):
        for one in _find_negations(sentence.words):
            ours = [comparison.is_ours(term) for term in one.terms]
            if any(ours[:2]) if one.follow else ours and all(ours):
                return sentence.words[one.at].text
    return ""


def _is_negated(comparison: ClaimComparison, terms: Sequence[str]) -> bool:
    """Whether the passages negate one of these terms of the claim, or say its opposite."""
    for sentence in comparison.sentences:
        if not sentence.denies and sentence.texts.isdisjoint(ONLY):
            continue
        for one in _find_negations(sentence.words, ONLY):
            is_same = any(not comparison.forms[term].isdisjoint(one.terms) for term in terms)
            if is_same or (not one.follow and all(map(comparison.is_ours, one.terms))):  # "individual pay is not"
                return True
    return comparison.has_opposite(terms)


def _find_negations(words: Sequence[AnalyzedWord], more: Set[str] = frozenset()) -> Iterator[Negation]:
    """Yield each negation with the terms it negates: those after it in its clause, else before it.

    The words in `more` count as negations, too.
    """
    for at, word in enumerate(words):
        is_not_only = at + 1 < len(words) and words[at + 1].text in ONLY
        if not (word.denies or word.text in more) or is_not_only:
            continue
        following = [one for one in words[at + 1 : at + 6] if one.clause == word.clause]
        after = [term for one in following for term in one.terms]
        before = [term for one in words[max(0, at - 5) : at] if one.clause == word.clause for term in one.terms]
        numbers = frozenset(one.number for one in following if one.number)
        yield Negation(at, tuple(after[:NEGATED_WORDS] or before[-NEGATED_WORDS:]), numbers, bool(after))
