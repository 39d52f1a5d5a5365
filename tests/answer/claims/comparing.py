"""A claim and one passage, compared."""

from __future__ import annotations

from shortlist.answer.claims.claim_comparison import ClaimComparison
from shortlist.answer.claims.claim_words import read_claim
from shortlist.results import Evidence


def compare(claim: str, passage: str, *, title: str = "Guide", question: str = "") -> ClaimComparison:
    item = Evidence(1, "a.txt", "a.txt", "whole", passage, 1.0, name=title)
    return ClaimComparison(read_claim(claim), (item,), question)
