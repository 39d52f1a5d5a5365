"""What a claim says that the passages it cites do not: numbers, names, negations, quantifiers and words."""

from __future__ import annotations

from typing import NamedTuple

from shortlist.answer.claims.claim_comparison import ClaimComparison
from shortlist.answer.claims.claim_names import find_missing_names
from shortlist.answer.claims.claim_negations import find_negation
from shortlist.answer.claims.claim_numbers import find_misplaced_number, find_missing_numbers
from shortlist.answer.claims.claim_quantifiers import find_quantifier
from shortlist.answer.claims.claim_words import read_claim
from shortlist.answer.claims.missing_words import find_missing_words, find_opposite, find_replaced, lacks_words
from shortlist.results import Evidence


class Findings(NamedTuple):
    """What is wrong with a claim: the words in question, or nothing."""

    numbers: tuple[str, ...] = ()  # in no cited passage
    names: tuple[str, ...] = ()  # in no cited passage
    misplaced: str = ""  # a number with another unit, limit or subject than in the passages
    negation: str = ""  # in the claim or in the passages alone
    quantifier: str = ""  # "only" or "all", which the passages do not say
    opposite: str = ""  # whose opposite the passages say
    replaced: str = ""  # for another word of the passages
    words: tuple[str, ...] = ()  # not in the closest sentences
    lacks_words: bool = False  # too many
    has_content: bool = False  # says something that can be compared


def find_differences(text: str, cited: tuple[Evidence, ...], question: str = "") -> Findings:
    """Compare a sentence without citations with the passages that it cites."""
    claim = read_claim(text)
    if not claim.words:
        return Findings()
    comparison = ClaimComparison(claim, cited, question)
    missing = find_missing_words(comparison)
    return Findings(
        numbers=tuple(find_missing_numbers(comparison)),
        names=tuple(find_missing_names(comparison)),
        misplaced=find_misplaced_number(comparison),
        negation=find_negation(comparison),
        quantifier=find_quantifier(comparison),
        opposite=find_opposite(comparison, missing),
        replaced=find_replaced(comparison, missing),
        words=tuple(dict.fromkeys(word.text for word in missing)),
        lacks_words=lacks_words(comparison, missing),
        has_content=bool(comparison.content),
    )
