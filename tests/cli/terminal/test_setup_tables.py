"""How settings and the checks of doctor look."""

from __future__ import annotations

from shortlist.cli.terminal.screen import render
from shortlist.cli.terminal.setup_tables import show_checks, show_settings


def test_checks_have_marks_and_a_count_of_failures() -> None:
    rows = [
        {"name": "numpy", "state": "ok", "says": "2.0", "fix": ""},
        {"name": "shop", "state": "broken", "says": "It is damaged.", "fix": "Restore it."},
    ]
    lines = [" ".join(line.split()) for line in render(lambda screen: show_checks(screen, rows)).splitlines()]
    assert [line.split(maxsplit=1)[1] for line in lines[:2]] == ["numpy 2.0", "shop It is damaged."]
    assert lines[2:] == ["Restore it.", "1 of 2 checks failed."]
    assert render(lambda screen: show_checks(screen, rows[:1])).endswith("No check failed.\n")


def test_variables_that_are_not_set_show_what_they_mean() -> None:
    data = {
        "folders": {"data": "/d"},
        "registry": "/r",
        "mcp_servers": "/m",
        "variables": {"A": "1", "B": None},
        "settings": [{"key": "server.port", "value": None, "origin": "default"}],
    }
    drawn = render(lambda screen: show_settings(screen, data, {"A": "first", "B": "second"}))
    lines = [" ".join(line.split()) for line in drawn.splitlines()]
    assert {"data folder /d", "registry /r", "A 1", "B not set: second", "server.port - default"} <= set(lines)
