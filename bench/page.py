"""The results as a page: `docs/benchmarks.md`, with a table and a plot for every set. Measures nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from bench.report import RESULTS

DOCS = Path(__file__).parent.parent / "docs"
OURS = ("shortlist", "shortlist-disk", "shortlist auto")
TITLES = {"lexical": "Words", "dense": "Vectors", "hybrid": "Words and vectors"}

# What is worth comparing, and whether less is better.
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

Made by `python -m bench page` from `bench/results/`, which `python -m bench lexical FOLDER...`, `dense FOLDER...` and
`hybrid FOLDER...` write. Every engine runs on the same machine, one after the other, those for words each in a
process of its own and with one thread (a batch has two, as has a build that stores text), on the same text, title
first. Machines differ: read the ratios. A ratio above 1 says that shortlist is so many times as fast, or as small, or
as right, as the best rival in that column.

`index` is from strings in memory to the first answer; engines named `-disk` store the text as well. `upsert` is from
one more document until it is found. `cold start` is from the start of a process to its first answer.
"""

FLOORS = """## What stands in the way

Two figures on ottqa_wiki fall short of what we want. A build that stores the text takes 1.1 times as long as
tantivy's: rows, hashes and checks are some 10 seconds of Python in one thread, segments 4 to 5 in a second one, and
both share the interpreter lock; SQLite itself takes 5, the commit 1. An upsert takes 1.7 ms, 7.6 times as fast as
tantivy's and not 10: 0.15 ms are the fsync, 0.2 the 25 SQL statements, 0.5 making, merging and writing a small
segment, 0.4 finding the document again; the rest is the Python around them. A cold start of a large corpus is mostly
the import of numba.
"""


def run(folders: list[Path]) -> None:
    DOCS.mkdir(exist_ok=True)
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
            (DOCS / plot).write_text(draw_bars(f"Milliseconds a query (median), {title}", medians, OURS))
            measured = result.get("measured", {}).get(title, f"{result['date']}, {result['commit']}")
            parts.append(
                f"### {title}\n\nMeasured {measured}.\n\n{_table(rows)}\n\n![Milliseconds a query, {title}]({plot})\n"
            )
    parts.append(FLOORS)
    (DOCS / "benchmarks.md").write_text("\n".join(parts))
    print(f"written to {DOCS / 'benchmarks.md'}")


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
