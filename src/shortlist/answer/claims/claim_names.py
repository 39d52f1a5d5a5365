"""Names of a claim that its passages do not have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, takewhile

from shortlist.answer.claims.claim_comparison import ClaimComparison
from shortlist.answer.claims.claim_words import SOURCES, AnalyzedWord
from shortlist.answer.extractive import english


def find_missing_names(comparison: ClaimComparison) -> list[str]:
    """The names that neither the passages nor the question has.

    A passage without a title that begins with "he" or "the city" may not name what it is about, so it may lack one.
    """
    names = list(_find_missing(comparison))
    return names[1:] if names and _may_lack_topic(comparison) and _refers_back(comparison) else names


def _find_missing(comparison: ClaimComparison) -> Iterator[str]:
    known = comparison.terms | comparison.presupposed.terms
    for name in _find_names(comparison):
        missing = [word.text for word in name if not comparison.has(word, known)]
        is_shortened = len(name) > 1 and "".join(word.text[0] for word in name) in comparison.terms
        if missing and not is_shortened:
            yield " ".join(text.capitalize() for text in missing)


def _find_names(comparison: ClaimComparison) -> list[list[AnalyzedWord]]:
    """The names of the claim, each as its words."""
    names: list[list[AnalyzedWord]] = []
    before: AnalyzedWord | None = None
    for word in comparison.claim.words:
        if word.is_name and word.text not in SOURCES:
            if before and before.is_name and before.clause == word.clause:
                names[-1].append(word)
            else:
                names.append([word])
        before = word
    return names


def _may_lack_topic(comparison: ClaimComparison) -> bool:
    """Whether the passages have no title and may not name what they are about, unless its name is the news."""
    words = comparison.claim.words
    news = [words[-1], *(word for before, word in pairwise(words) if before.text == "by")]
    has_new_name = any(word.is_name and not comparison.has(word, comparison.terms) for word in news)
    return not comparison.is_titled and not has_new_name


def _refers_back(comparison: ClaimComparison) -> bool:
    """Whether a passage begins with "he" or "the city", or has the last part of the first name of the claim."""
    begins = [one.sentences[0].words for one in comparison.passages if one.sentences]
    before_names = (word for words in begins for word in takewhile(lambda word: not word.is_name, words))
    is_partial = any(comparison.has(name[-1], comparison.terms) for name in _find_names(comparison)[:1])
    return is_partial or any(word.text in english.BACKWARD or word.text == "the" for word in before_names)
