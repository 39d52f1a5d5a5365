"""All that is wrong with a claim, found together."""

from __future__ import annotations

from shortlist.answer.claims.claim_findings import Findings, find_differences
from shortlist.results import Evidence

ITEM = Evidence(1, "a.txt", "a.txt", "whole", "The mill was founded in 1840 by Ada Byron.", 1.0, name="Mill")


def test_every_kind_of_difference_is_found() -> None:
    found = find_differences("Only the mill was founded in 1850 by Bob Jones.", (ITEM,))
    assert (found.numbers, found.names, found.quantifier) == (("1850",), ("Bob Jones",), "only")


def test_a_paraphrase_and_nothing_have_no_differences() -> None:
    assert find_differences("Ada Byron founded the mill in 1840.", (ITEM,)) == Findings(has_content=True)
    assert find_differences("...", (ITEM,)) == Findings()
