"""SECURITY.md: every defense names a test, and every named test exists."""

from __future__ import annotations

import re

from tests.pages import ROOT

PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| Attack", "| Damage"))]


def test_every_row_names_a_test() -> None:
    assert [row for row in ROWS if not re.search(r"\| `test_\w+` \|$", row)] == []


def test_every_named_test_exists() -> None:
    tests = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    assert set(re.findall(r"`(test_\w+)`", PAGE)) - tests == set()
