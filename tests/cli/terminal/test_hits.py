"""How hits, discoveries and documents look."""

from __future__ import annotations

import re

from tests.cli.conftest import Shell


def test_search_shows_rank_score_bar_name_and_text(shop: Shell) -> None:
    done = shop("search", "shop", "where is the parcel", "-k", "2")
    assert (done.code, done.err) == (0, "")
    first = done.out.splitlines()[0].split()
    assert first == ["1", "0.87", "████████▋", "track_shipment", "tool"]
    assert "Show where a parcel is now." in done.out
    assert "\x1b" not in done.out


def test_discover_shows_what_was_selected_why_and_what_was_not(shop: Shell) -> None:
    done = shop("discover", "shop", "refund a payment to the customer's card")
    assert done.code == 0
    assert done.out.startswith("✓ ")
    assert "refund_payment" in done.out
    assert "Kept 2 of 10 candidates: nearly as relevant as the best, at most 5." in done.out
    assert "Not selected: " in done.out


def test_discover_that_abstains_shows_the_threshold_and_the_closest_matches(shop: Shell) -> None:
    done = shop("discover", "shop", "refund", "--min-relevance", "0.99")
    assert done.code == 3
    assert done.out.startswith("Nothing fits.\n")
    assert "0.99" in done.out
    closest = re.search(
        r"Closest: refund_payment \(score ([\d.]+), relevance [\d.]+\), \w+ \(score ([\d.]+),", done.out
    )
    assert closest
    assert closest[1] >= closest[2]


def test_disclosed_bodies_are_shown(shell: Shell) -> None:
    shell("register", "team", "skills", "--root", "skills")
    done = shell("discover", "team", "roll back a bad release", "--disclose")
    assert "│ Roll back first and investigate afterwards." in done.out
    raw = shell("read", "team", "deploy-to-production", "--quiet").out
    assert raw == (shell.folder / "skills/deploy-to-production/SKILL.md").read_text() + "\n"


def test_low_confidence_is_a_line_that_quiet_leaves_out(shop: Shell) -> None:
    asked = ("discover", "shop", "refund", "--min-relevance", "0.99")
    found = shop(*asked, "--json").json
    assert found["confidence"] == "low"
    assert f"Not sure: {found['confidence_reason']}" in " ".join(shop(*asked).out.split())
    assert shop(*asked, "--quiet").out == ""
    assert "Not sure" not in shop("discover", "shop", "refund_payment").out


def test_the_text_of_a_hit_is_the_part_with_the_rarest_words(shell: Shell) -> None:
    done = shell("search", "docs", "how long can I return a mattress", "-k", "1")
    shown = " ".join(done.out.split())
    assert "Mattresses and toppers | 60 nights at home" in shown
    assert "#" not in shown
    assert "**" not in shown


def test_a_short_text_is_shown_whole(shell: Shell) -> None:
    (shell.folder / "note.md").write_text("# Tea\n\n| kind | minutes |\n|---|---|\n| green | 2 |\n")
    assert "Tea | kind | minutes | green | 2 |" in " ".join(shell("search", "note.md", "green tea").out.split())
