"""How the installation looks: the settings in force, and the checks of doctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from shortlist._text import count_of
from shortlist.cli.terminal.screen import COLORS, Row, Screen


def show_settings(screen: Screen, data: Row, meanings: Mapping[str, str]) -> None:
    folders = {f"{name} folder": path for name, path in data["folders"].items()}
    screen.draw_pairs({**folders, "registry": data["registry"], "MCP servers": data["mcp_servers"]})
    screen.draw()
    screen.draw_pairs({name: value or f"not set: {meanings[name]}" for name, value in data["variables"].items()})
    screen.draw()
    values = ("-" if row["value"] is None else str(row["value"]) for row in data["settings"])
    rows = ([row["key"], value, row["origin"]] for row, value in zip(data["settings"], values, strict=True))
    screen.draw_table(("setting", "value", "from"), rows, ("", "", "dim"))


def show_checks(screen: Screen, checks: Sequence[Row]) -> None:
    marks = dict(zip(("ok", "note", "broken"), ("ok", "--", "!!") if screen.is_ascii else "✓·✗", strict=True))
    table = Table.grid(padding=(0, 2))
    for check in checks:
        text = Text(check["says"])
        if check["fix"]:
            text.append(f"\n{check['fix']}", "yellow" if check["state"] == "broken" else "dim")
        table.add_row(Text(marks[check["state"]], COLORS[check["state"]]), Text(check["name"], "bold"), text)
    screen.draw(table)
    broken = sum(check["state"] == "broken" for check in checks)
    failed = f"{broken} of {count_of(len(checks), 'check')} failed."
    screen.say(failed if broken else "No check failed.", "bold")
