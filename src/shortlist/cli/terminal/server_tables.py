"""How MCP servers look: their state, the tools that are pending approval, and the files of a project."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from rich.text import Text

from shortlist._text import count_of, printable
from shortlist.cli.terminal.screen import Row, Screen, shorten_path

MOST_NAMED = 10  # tools in a list
MOST_LINES = 12  # of one change of a tool
DIFF_COLORS = {"+": "green", "-": "red"}


def show_servers(screen: Screen, data: Row) -> None:
    table = []
    for row in data["servers"]:
        notes = [row.get("problem", ""), *(f"{name}: {why}" for name, why in row.get("refused", {}).items())]
        counts = (str(row.get(key) or "-") for key in ("read_only", "pending", "denied"))
        tools = "-" if row["tools"] is None else f"{row['tools']:,}"
        table.append(map(printable, [row["name"], row["state"], tools, *counts, " ".join(filter(None, notes))]))
    if table:
        titles = ("server", "state", "tools", "read-only", "pending", "denied", "problem")
        screen.draw_table(titles, table, ("bold", "", "", "", "", "", "dim"))
        if any(row["tools"] is None and not row.get("problem") for row in data["servers"]):
            screen.say("List the tools with: shortlist mcp status --refresh", "dim")
    elif not data["notes"]:
        screen.say("No server is configured." if "profile" not in data else "No server is chosen.", "yellow")
    if chosen := data.get("profile"):
        name, narrowed = chosen.get("name", ""), chosen.get("narrowed_to", "")
        parts = [f"Profile: {printable(name)}."] if name else []
        parts += [f"Narrowed by the project to: {printable(narrowed)}."] if narrowed else []
        parts += [f"Left out: {printable(', '.join(chosen['left_out']))}."] if chosen["left_out"] else []
        screen.say(" ".join(parts), "dim")
    for row in data["pending_files"]:
        pending = count_of(row["servers"], "server", "is pending approval")
        screen.say(f"{pending} in {printable(shorten_path(row['file']))}.", "yellow")
    if data["pending_files"]:
        screen.say("Review with: shortlist mcp trust", "dim")
    for note in data["notes"]:
        screen.say(printable(note), "yellow")
    _show_pending_tools(screen, data["pending"])


def show_approved(screen: Screen, data: Row, *, in_full: bool) -> None:
    if len(approved := data["approved"]) > MOST_NAMED:
        screen.say(f"{count_of(len(approved), 'tool', 'is approved')}.")
    for name in approved if len(approved) <= MOST_NAMED else ():
        screen.say(f"{printable(name)} is approved.")
    if approved:
        _show_pending_tools(screen, data["pending"])
    elif data["review"]["counts"]:
        show_review(screen, data["review"], in_full=in_full)
        screen.say("To approve as they are now: shortlist mcp approve SERVER, SERVER/TOOL or --all", "dim")
    else:
        screen.say("No tool is pending approval.")


def _show_pending_tools(screen: Screen, rows: Sequence[Row]) -> None:
    for row in rows[:MOST_NAMED]:
        name, reason = printable(row["tool"]), printable(row["reason"])
        screen.draw(Text.assemble("Pending approval: ", (name, "bold"), f". {reason}"))
    if rows:
        more = f"{len(rows) - MOST_NAMED:,} more are pending approval. " if len(rows) > MOST_NAMED else ""
        screen.say(f"{more}Review them with: shortlist mcp approve", "dim")


def show_review(screen: Screen, review: Row, *, in_full: bool) -> None:
    """How many tools changed how, then each change once. Long ones are shortened unless `in_full`, except those of
    tools that a check found."""
    found = {row["tool"] for row in review["found"]}
    table = [[printable(row["server"]), f"{row['tools']:,}", row["change"]] for row in review["counts"]]
    screen.draw_table(("server", "tools", "change"), table, ("bold", ">"))
    for row in review["found"]:
        screen.draw(Text.assemble((printable(row["tool"]), "bold"), f": {printable(row['reason'])}"))
    for change in review["changes"]:
        server, _, first = printable(change["tools"][0]).partition("/")
        names = [first, *(printable(id).partition("/")[2] for id in change["tools"][1:])]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        count = f"{len(names)} tools: " if len(names) > 1 else ""
        part = f": {printable(change['part'])}" if change["part"] else ", all of it"
        heading = Text.assemble((server, "bold"), f" ({count}{', '.join(names[:MOST_NAMED])}{more}){part}")
        screen.draw(heading)
        lines = change["diff"]
        if not in_full and found.isdisjoint(change["tools"]):
            lines = lines[:MOST_LINES]
        _draw_diff(screen, lines, 4)
        if left := len(change["diff"]) - len(lines):
            screen.say(f"{count_of(left, 'more line')}; --diff shows all", "dim", indent=4)


def show_project_files(screen: Screen, rows: Sequence[Row]) -> None:
    for row in rows:
        state = "trusted" if row["state"] == "trusted" else "changed since it was trusted" if row["diff"] else "new"
        screen.draw(Text.assemble((printable(shorten_path(row["file"])), "bold"), f" ({state})"))
        for server in row["servers"]:
            screen.say(f"  {printable(server['name'])}", "cyan")
            runs = shlex.join(word for word in (server["command"], *server["args"]) if word)
            facts = {"runs": runs, "connects to": server["url"], "in": server["cwd"]}
            facts |= {"with variables": ", ".join(server["env"]), "with headers": ", ".join(server["headers"])}
            facts |= {"with sign-in settings": ", ".join(server["oauth"])}
            for name, value in facts.items():
                if value:
                    screen.draw(Text(f"    {name}: {printable(value)}"), soft_wrap=True)
        if row["diff"]:
            screen.say("  Changes since it was trusted:")
            _draw_diff(screen, row["diff"], 4)


def _draw_diff(screen: Screen, lines: Iterable[str], indent: int) -> None:
    for line in lines:
        screen.say(printable(line), DIFF_COLORS.get(line[:1], "dim"), indent)
