"""Write `docs/explanation/benchmarks.md` from the stored results: a table and a plot for each data set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from bench.report import RESULTS

DOCS = Path(__file__).parent.parent / "docs"
OURS = ("shortlist", "shortlist-disk", "shortlist auto")
TITLES = {"lexical": "Keyword search", "dense": "Vector search", "hybrid": "Hybrid search"}

# Columns that are compared, and whether less is better.
COLUMNS = {
    "index s": True,
    "build s": True,
    "p50 ms": True,
    "p95 ms": True,
    "p99 ms": True,
    "batch q/s": False,
    "memory MB": True,
    "disk MB": True,
    "cold start s": True,
    "upsert ms": True,
    "ndcg@10": False,
    "recall@10": False,
}

INTRODUCTION = """# Benchmarks

`python -m bench page` writes this page from `bench/results/`. The results come from `python -m bench lexical
FOLDER...`, `dense FOLDER...` and `hybrid FOLDER...`. All engines run on the same machine, one after another, on the
same text with the title first. The keyword engines each run in their own process with one thread; batches, and builds
that store text, use two. Machines differ, so compare ratios: a ratio of 2 means that shortlist is twice as fast, half
as large, or has twice the quality of the best alternative in that column.

- `index` is the time from strings in memory to the first answer. Engines named `-disk` also store the text.
- `upsert` is the time from adding one document until a search finds it.
- `cold start` is the time from starting a process to its first answer.
- `p50 ms`, `p95 ms` and `p99 ms` are query times of the ranker, without loading the texts of the hits.
"""

LIMITS = """## Known gaps

Two figures on ottqa_wiki are below our goals. A build that stores the text takes 1.1 times as long as tantivy's:
rows, hashes and checks take about 10 seconds of Python in one thread, segments take 4 to 5 seconds in a second
thread, and both share the interpreter lock; SQLite itself takes 5 seconds and the commit 1. An upsert takes 1.7 ms,
which is 7.6 times as fast as tantivy's (the goal is 10): 0.15 ms for the fsync, 0.2 ms for 25 SQL statements, 0.5 ms
to make, merge and write a small segment, 0.4 ms to find the document again, and the rest for the Python around them.
A cold start on a large corpus is mostly the import of numba.
"""


def run(folders: list[Path]) -> None:
    parts = [INTRODUCTION]
    for name, heading in TITLES.items():
        path = RESULTS / f"{name}.json"
        if not path.exists():
            continue
        result = json.loads(path.read_text())
        versions = ", ".join(f"{package} {version}" for package, version in result["versions"].items())
        machine = result["machine"]
        parts.append(
            f"## {heading}\n\n{machine['architecture']}, {machine['cores']} cores, Python {machine['python']}; "
            f"{versions}.\n"
        )
        for title, rows in result["figures"].items():
            plot = f"{name}-{title.replace(' ', '-')}.svg"
            medians = sorted(((engine, row["p50 ms"]) for engine, row in rows.items()), key=lambda pair: pair[1])
            (DOCS / "images" / plot).write_text(draw_bars(f"Milliseconds a query (median), {title}", medians, OURS))
            measured = result.get("measured", {}).get(title, f"{result['date']}, {result['commit']}")
            picture = f"![Milliseconds a query, {title}](../images/{plot})"
            parts.append(f"### {title}\n\nMeasured {measured}.\n\n{_table(rows)}\n\n{picture}\n")
    parts.append(LIMITS)
    page = DOCS / "explanation" / "benchmarks.md"
    page.write_text("\n".join(parts))
    print(f"written to {page}")


def _table(rows: dict[str, dict[str, float]]) -> str:
    columns = [column for column in COLUMNS if any(column in row for row in rows.values())]
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    for engine, row in rows.items():
        cells = [f"{row[column]:g}" if row.get(column) else "" for column in columns]
        lines.append(f"| {engine} | " + " | ".join(cells) + " |")
    for ours in OURS:
        if ours in rows:
            kind = {name: row for name, row in rows.items() if name.endswith("-disk") == ours.endswith("-disk")}
            cells = [_ratio(kind, ours, column) for column in columns]
            lines.append(f"| **{ours} against the best rival** | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _ratio(rows: dict[str, dict[str, float]], ours: str, column: str) -> str:
    rivals = [row[column] for name, row in rows.items() if not name.startswith("shortlist") and row.get(column)]
    if not rivals or not rows[ours].get(column):
        return ""
    less = COLUMNS[column]
    ratio = min(rivals) / rows[ours][column] if less else rows[ours][column] / max(rivals)
    return f"**{ratio:.2f}**"


def draw_bars(title: str, values: Sequence[tuple[str, float]], ours: Sequence[str] = ()) -> str:
    """A standalone SVG image of horizontal bars, each with its name and value; `ours` are highlighted."""
    longest = max((value for _, value in values), default=1.0)
    parts = []
    for number, (name, value) in enumerate(values):
        top, width = 34 + 26 * number, max(2.0, 420 * value / longest)
        color = "#0b7285" if name in ours else "#adb5bd"
        parts.append(
            f'<text x="150" y="{top + 14}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="158" y="{top}" width="{width:.1f}" height="18" fill="{color}"/>'
            f'<text x="{164 + width:.1f}" y="{top + 14}">{value:g}</text>'
        )
    height = 44 + 26 * len(values)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 {height}" font-family="sans-serif" font-size="13">'
        f'<rect width="660" height="{height}" fill="white"/>'
        f'<text x="12" y="20" font-weight="bold">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )
