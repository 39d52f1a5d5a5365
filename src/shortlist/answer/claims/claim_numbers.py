"""Numbers of a claim that its passages do not have, or have with another unit or limit, or for something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shortlist.answer.claims.claim_comparison import ClaimComparison
from shortlist.answer.claims.claim_words import BOUNDS, AnalyzedWord

BEFORE_NUMBER = 3  # words that may limit a number: "at least", "no more than"


def find_missing_numbers(comparison: ClaimComparison) -> Iterator[str]:
    """Yield the numbers that neither the passages nor the question has."""
    known = comparison.numbers | comparison.presupposed.numbers
    for word in comparison.content:
        if word.number and word.number not in known:
            yield word.text


def find_misplaced_number(comparison: ClaimComparison) -> str:
    """Find a number that the passages have with another unit or limit, or for something else."""
    for words in comparison.claim.clauses():
        for at, word in enumerate(words):
            before = words[max(0, at - BEFORE_NUMBER) : at]
            if word.number and (_is_other_amount(comparison, word, before) or _is_elsewhere(comparison, word, words)):
                return word.text
    return ""


def _is_other_amount(comparison: ClaimComparison, number: AnalyzedWord, before: Sequence[AnalyzedWord]) -> bool:
    """Whether a number has another unit or an opposite limit wherever the passages have it."""
    sentences = [one.words for one in comparison.sentences if number.number in one.numbers]
    places = [(words, at) for words in sentences for at, word in enumerate(words) if word.number == number.number]
    units = {words[at].unit for words, at in places}
    bounds = {_find_bound(words[max(0, at - BEFORE_NUMBER) : at]) for words, at in places}
    bound = _find_bound(before)
    is_other_bound = bound and "" not in bounds and bound not in bounds
    is_other_unit = number.unit and units - {""} and number.unit not in units
    return bool(places and (is_other_bound or is_other_unit))


def _is_elsewhere(comparison: ClaimComparison, number: AnalyzedWord, words: Sequence[AnalyzedWord]) -> bool:
    """Whether another number of its kind is in a clause with more of the words around it."""
    kind = _find_kind(number)
    is_known = number.number in comparison.numbers
    if kind in ("year", "date") and is_known:
        return False
    around = {term for word in words if word in comparison.content and not word.unit for term in word.terms}
    others = set() if is_known else comparison.claim.numbers
    own = other = 0
    for amount in (amount for passage in comparison.passages for amount in passage.amounts):
        count = sum(not comparison.forms[term].isdisjoint(amount.terms) for term in around)
        if any(word.number == number.number for word in amount.words):
            own = max(own, count)
        elif any(word.number and word.number not in others and _find_kind(word) == kind for word in amount.words):
            other = max(other, count)
    return other > own


def _find_bound(before: Iterable[AnalyzedWord]) -> str:
    return next((BOUNDS[word.text] for word in before if word.text in BOUNDS), "")


def _find_kind(number: AnalyzedWord) -> str:
    is_year = not number.unit and len(number.number) == 4 and number.number.isdigit() and number.number < "2100"
    return "year" if is_year else number.unit
