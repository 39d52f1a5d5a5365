"""What the benchmark of a team counts as a leak."""

from __future__ import annotations

import random

from bench.team import GROUPS, Findings, make_document, make_request


def test_a_marker_of_another_group_is_a_leak_and_no_request_contains_one() -> None:
    found, document = Findings(), make_document(7, "legal")
    found.check("ada", ("staff", "hr"), str(make_document(8)) + str(make_document(9, "hr")))
    assert (found.wrong, found.permitted > 0) == ([], True)
    found.check("ada", ("staff", "hr"), str(document))
    assert found.wrong[0] == "ada saw zqlegal000007"
    random.seed(1)
    asked = Findings()
    asked.check("anyone", (), str([make_request() for _ in range(1_000)]))
    assert (asked.wrong, asked.permitted, len(GROUPS)) == ([], 0, 3)
