"""Words of a claim that the closest sentences of its passages lack, replace, or say the opposite of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shortlist.answer.claims.claim_comparison import ClaimComparison
from shortlist.answer.claims.claim_words import AnalyzedWord

MOST_MISSING, MOST_MISSING_WITH_END = 2 / 3, 1 / 2  # share of the words, and if the last one is missing, too
MOST_MISSING_UNTITLED = 0.7  # if the last one is missing, in passages that may not name what they are about
MOST_REPLACED = 1 / 3  # share of the words that are missing, if one of them stands for another


def find_missing_words(comparison: ClaimComparison) -> list[AnalyzedWord]:
    """The words that are not names or numbers and that the closest sentences lack."""
    return [word for word in _find_plain_words(comparison) if not comparison.has(word, comparison.near)]


def lacks_words(comparison: ClaimComparison, missing: Sequence[AnalyzedWord]) -> bool:
    """Whether too many words are missing: fewer if the last one is, which usually tells what is new."""
    share = _measure_share(comparison, missing)
    last = next((word for word in reversed(comparison.content) if word.terms), None)
    lacks_end = last is not None and not comparison.has(last, comparison.terms)
    if comparison.is_titled:
        return share >= (MOST_MISSING_WITH_END if lacks_end else MOST_MISSING)
    return lacks_end and share >= MOST_MISSING_UNTITLED


def find_opposite(comparison: ClaimComparison, missing: Sequence[AnalyzedWord]) -> str:
    """Find a missing word whose opposite the closest sentences say."""
    return next((word.text for word in missing if comparison.has_opposite(word.terms)), "")


def find_replaced(comparison: ClaimComparison, missing: Sequence[AnalyzedWord]) -> str:
    """Find a missing word whose place another word has: "warehouse staff" for "office staff"."""
    if _measure_share(comparison, missing) > MOST_REPLACED:
        return ""
    for word, following in pairwise(comparison.claim.words):
        if word not in missing or not following.terms or following not in comparison.content:
            continue
        forms = comparison.spell([following])
        others = [
            one for sentence in comparison.chosen for one, next_one in pairwise(sentence.words)
            if not forms.isdisjoint(next_one.terms)
        ]  # fmt: skip
        if others and all(one.terms and not any(map(comparison.is_ours, one.terms)) for one in others):
            return word.text
    return ""


def _find_plain_words(comparison: ClaimComparison) -> list[AnalyzedWord]:
    return [word for word in comparison.content if word.terms and not word.is_name]


def _measure_share(comparison: ClaimComparison, missing: Sequence[AnalyzedWord]) -> float:
    return len(missing) / max(len(_find_plain_words(comparison)), 1)
