"""How the log of use looks: its corpora, the documents that were used, and the latest searches."""

from __future__ import annotations

import time

from rich.filesize import decimal

from shortlist._text import count_of, printable
from shortlist.cli.terminal.screen import Row, Screen
from shortlist.retrieval.relevance import THRESHOLD

SHOWN_QUERIES, SHOWN_SEARCHES = 3, 20
MEANINGS = {
    "on": "searches and what is used after them are stored and change the ranking",
    "log": "searches and what is used after them are stored, but do not change the ranking",
    "off": "nothing is stored, and what was stored does not change the ranking",
}


def show_logs(screen: Screen, data: Row) -> None:
    cells = [
        [row["name"], f"{row['searches']:,}", f"{row['uses']:,}", _format_day(row["since"]), decimal(row["bytes"])]
        for row in data["corpora"]
    ]
    if cells:
        screen.draw_table(("name", "searches", "uses", "since", "size"), cells, ("bold", ">", ">", "", ">"))
    else:
        screen.say("No use is stored yet.", "yellow")
    screen.say(f"Learning is {data['learn']}: {MEANINGS[data['learn']]}.", "dim")


def show_learned(screen: Screen, data: Row) -> None:
    table = []
    for row in data["documents"]:
        note = "" if row["state"] == "used" else f"\n{row['state']}, no longer used"
        queries = "\n".join(printable(example["query"]) for example in row["queries"][:SHOWN_QUERIES])
        left = len(row["queries"]) - SHOWN_QUERIES
        more = f"\nand {left} more" if left > 0 else ""
        facts = (str(row["examples"]), f"{row['weight']:.2f}", _format_day(row["last_use"]))
        table.append([printable(row["id"]) + note, *facts, queries + more])
    if table:
        titles = ("document", "examples", "weight", "last use", "queries")
        screen.draw_table(titles, table, ("bold", ">", ">", "", "dim"))
    else:
        screen.say(f"Nothing was learned from the use of {data['corpus']} yet.", "yellow")
    if fitted := data["threshold"]:
        evidence = f"fitted to {count_of(fitted['used'], 'search')} with a use and {fitted['unused']:,} without"
        screen.say(f"Relevance threshold: {fitted['value']:g}, {evidence} (built-in: {THRESHOLD:g}).", "dim")
    if data["learn"] != "on":
        screen.say(f"Learning is {data['learn']}: {MEANINGS[data['learn']]}.", "yellow")


def show_searches(screen: Screen, data: Row) -> None:
    rows = data["searches"]
    for row in rows[:SHOWN_SEARCHES]:
        screen.say(f"{_format_day(row['at'], ' %H:%M')}  {printable(row['query'])}")
        shown = (id if relevance is None else f"{id} {relevance:.2f}" for id, relevance in row["shown"].items())
        uses = (f"{use['id']} ({use['outcome']})" for use in row["uses"])
        for title, texts in (("shown", shown), ("used", uses)):
            screen.say(f"{title}: {printable(', '.join(texts)) or 'nothing'}", "dim", indent=2)
    if len(rows) > SHOWN_SEARCHES:
        latest = f"The latest {SHOWN_SEARCHES} of {len(rows):,} searches are shown."
        screen.say(f"{latest} Show all with --json.", "dim")
    if not rows:
        screen.say(f"No search of {data['corpus']} is stored yet.", "yellow")


def _format_day(at: float | None, more: str = "") -> str:
    return "-" if at is None else time.strftime(f"%Y-%m-%d{more}", time.localtime(at))
