"""How the log of use looks."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_learned_lists_the_logs_and_the_setting(used: Shell) -> None:
    lines = used("learned").out.splitlines()
    assert lines[0].split() == ["name", "searches", "uses", "since", "size"]
    assert lines[1].split()[:3] == ["shop", "6", "4"]
    assert lines[2].startswith("Learning is on: ")
    data = used("learned", "--json", SHORTLIST_LEARN="log").json
    assert data["learn"] == "log"
    assert [(row["name"], row["searches"], row["uses"]) for row in data["corpora"]] == [("shop", 6, 4)]
    assert used("learned", "--quiet").out == "shop\n"


def test_searches_are_listed_with_what_was_shown_and_used(used: Shell) -> None:
    out = used("learned", "shop", "--searches").out
    assert "play ·[2Jjazz\n  shown: track_shipment 0.25\n  used: nothing\n" in out
    assert "money back\n  shown: track_shipment\n  used: refund_payment (called)\n" in out
    rows = used("learned", "shop", "--searches", "--json").json["searches"]
    assert [row["query"] for row in rows][-2:] == ["a giraffe or a zebra", "zebra giraffe"]
    assert rows[-1]["uses"] == [{"id": "refund_payment", "outcome": "called"}]
    assert used("learned", "--searches").code == 2
