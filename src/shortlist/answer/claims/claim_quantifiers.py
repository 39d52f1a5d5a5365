"""Quantifiers of a claim, such as "only" and "all", that its passages do not have."""

from __future__ import annotations

from itertools import pairwise

from shortlist.answer.claims.claim_comparison import ClaimComparison
from shortlist.answer.claims.claim_words import ALL, ANY, ONLY


def find_quantifier(comparison: ClaimComparison) -> str:
    """Find a quantifier that the closest sentences do not have."""
    said = frozenset().union(*(one.texts for one in comparison.chosen))
    for word, following in pairwise((*comparison.claim.words, None)):
        if word is None or word.is_name:
            continue
        if word.text in ONLY and said.isdisjoint(ONLY):
            return word.text
        is_each = following is not None and following.unit  # "every week"
        if word.text in ALL and not is_each and said.isdisjoint(ALL | ANY):
            return word.text
    return ""
