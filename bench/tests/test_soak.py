"""The soak run notices what is lost, mixed or wrong, and a short one ends without any of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import shortlist
from bench.soak import ledger
from bench.soak.ledger import Ledger, Violation, find_manifest, find_versions, make_anchor, make_group, make_manifest
from bench.soak.supervisor import Soak


def test_an_acknowledged_change_must_be_stored_and_one_in_flight_may_be(tmp_path: Path) -> None:
    kept = Ledger(tmp_path / "ledger")
    kept.begin({1: 1, 2: 1})
    kept.acknowledge({1: 1, 2: 1})
    kept.begin({2: 2})
    for stored in ({1: 1, 2: 1}, {1: 1, 2: 2}):
        Ledger(tmp_path / "ledger").settle(stored)
        (tmp_path / "ledger").write_text((tmp_path / "ledger").read_text().rpartition("\n")[0])
    for wrong in ({2: 1}, {1: 1, 2: 0}, {1: 2, 2: 1}, {1: 1, 2: 1, 3: 1}):
        with pytest.raises(Violation):
            Ledger(tmp_path / "ledger").settle(wrong)


@pytest.mark.parametrize(("before", "after"), [((1, ""), (2, "power cut")), ((2, "power cut"), (2, "power cut"))])
def test_a_success_after_the_disk_has_failed_is_no_acknowledgment(
    before: tuple[int, str], after: tuple[int, str], tmp_path: Path
) -> None:
    faults = [before, before, after, after]  # made, begun, acknowledged, compared
    kept = Ledger(tmp_path / "ledger", lambda: faults.pop(0))
    kept.begin({1: 1})
    kept.acknowledge({1: 1})
    kept.settle({1: 1})
    Ledger(tmp_path / "ledger").settle({})


def test_what_was_seen_after_a_kill_must_stay(tmp_path: Path) -> None:
    kept = Ledger(tmp_path / "ledger")
    kept.begin({1: 1})
    kept.settle({1: 1})
    with pytest.raises(Violation):
        Ledger(tmp_path / "ledger").settle({})


def test_a_line_that_was_cut_off_counts_for_nothing(tmp_path: Path) -> None:
    Ledger(tmp_path / "ledger").begin({1: 1})
    with (tmp_path / "ledger").open("a") as file:
        file.write('\n["done", {"1"')
    kept = Ledger(tmp_path / "ledger")
    kept.settle({})
    assert kept.next_version() == 2


def test_mixed_and_foreign_documents_are_noticed() -> None:
    old, new = ([(one.id, one.content) for one in make_group("a", 2, version)] for version in (1, 2))
    assert find_versions([*new, ("b-1-0", "of another owner")], "a") == {2: 2}
    for wrong in (old[:1] + new[1:], new[:2], [*new[:2], (new[2][0], new[1][1])], [(id, "nothing") for id, _ in new]):
        with pytest.raises(Violation):
            find_versions(wrong, "a")
    assert find_manifest(make_manifest(7)) == 7
    with pytest.raises(Violation):
        find_manifest(make_manifest(7) | {ledger.STATE: make_manifest(8)[ledger.STATE]})


def test_the_word_of_a_group_finds_this_group_only() -> None:
    documents = [one for owner in "abc" for group in range(ledger.GROUPS) for one in make_group(owner, group, 3)]
    with shortlist.build(documents, in_memory=True, embedder="none") as corpus:
        for owner, group in (("a", 4), ("b", 19), ("c", 29)):
            hits = shortlist.search(corpus, make_anchor(owner, group), k=20)
            assert {hit.id for hit in hits} == {one.id for one in make_group(owner, group, 3)}


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="Processes are found in /proc.")
def test_a_short_run_has_no_violations(tmp_path: Path) -> None:
    figures = Soak(tmp_path / "run", 0.5, 1, None).run()
    assert figures["details"] == []
    assert sum(figures["kills"].values()) > 0
    assert figures["operations"]["write a group"] > 0
    assert figures["operations"]["HTTP write"] > 0
    assert figures["operations"]["gateway call"] > 0
