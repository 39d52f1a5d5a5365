"""Write benchmarks.md with its plots, and comparison.md, of docs/explanation from the stored results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from bench.comparison import write_comparison
from bench.report import RESULTS

DOCS = Path(__file__).parent.parent / "docs"
OURS = ("shortlist", "shortlist in memory", "shortlist auto")
TITLES = {"lexical": "Keyword search", "dense": "Vector search", "hybrid": "Hybrid search"}

# Columns that are compared, and whether less is better.
COLUMNS = {
    "build s": True,
    "merged s": True,
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
    "unlike exhaustive": True,
    "tokens": True,
    "ready s": True,
    "first call s": True,
    "call ms": True,
    "discover ms": True,
}

INTRODUCTION = """# Benchmarks

Speed, size and quality compared with other libraries.
`python -m bench page` writes this page from `bench/results/`. The results come from `python -m bench lexical
FOLDER...`, `dense FOLDER...` and `hybrid FOLDER...`; `FOLDER:100000` uses the first 100,000 documents. All
engines run on the same machine, one after another, on the same text with the title first. A search is the public call
`shortlist.search` on a stored corpus and reads the id and text of ten hits; so does that of every other engine.
Searches use one thread, batches two. Tantivy writes with one thread, stored text and its default heap. Machines differ,
so compare ratios: a ratio of 2 means that shortlist is twice as fast, half as large, or has twice the quality of the
best alternative in that column. Indexes in memory are compared with each other.

- `build` ends when all documents are stored and found; `merged` is when background work of the engine ends too.
- Each query is asked once before it is measured, so shortlist remembers the passages that it finds, up to four million
  characters of them. Other queries also read and decode ten rows.
- `upsert` is the time from adding one document until a search finds it.
- `cold start` is the time from starting a process to its first answer.
- `ranker alone` finds positions, neither ids nor texts: a lower bound for a search.
- `unlike exhaustive` is the number of queries, of up to 200, whose hits differ from scoring every passage.
"""

LIMITS = """## Known gaps

- **A search takes longer than its ranking**, .48 ms against .31 on ottqa_wiki; the goal is 0.15 ms more. The rest
  is Python: opening a state, analyzing the query, finding and scoring documents that it names, and making the hits.
  So with 100,000 passages bm25s answers faster, in about half the time.
- `search_many` ranks keyword queries on all cores. It is faster than a batch of bm25s on all of ottqa_wiki, and takes
  1.6 to 2.8 times as long with 100,000 passages.
- A build takes as long as tantivy's; the goal is 1.2 times as fast.
- An upsert is 2.4 to 3.8 times as fast as tantivy's, depending on how fast the machine syncs files; the goal is 8.
  Most of it are some thirty SQL statements, a small segment, and the search that finds the document.
"""

GATEWAYS = """{servers} servers of npm and PyPI with {tools} tools (`python -m bench gateway FOLDER`). Figures are
medians of {rounds} interleaved rounds.

- `tokens` are those of the tool definitions that an agent reads.
- `ready` is the time from the start until the tools can be used. On its first start, our gateway is ready when it
  knows the tools of all servers; it stores them, so on later starts it is ready when it has listed its own.
- `first call` is the time from the start to the result of the first call of a server's tool.
- `call` and `discover` are calls while everything runs. Only a search can be compared with `discover`.
- FastMCP's proxy has a client that stays connected. Without one, it starts the servers again for every request.
"""


def run(folders: list[Path]) -> None:
    for name, text in write_pages().items():
        page = DOCS / "explanation" / name
        page.write_text(text, "utf-8")
        print(f"written to {page}")
    for name, picture in draw_plots().items():
        (DOCS / "images" / name).write_text(picture, "utf-8")


def write_pages() -> dict[str, str]:
    """The text of each page."""
    return {"benchmarks.md": write_benchmarks(), "comparison.md": write_comparison()}


def draw_plots() -> dict[str, str]:
    """A picture for each data set, by the name of its file."""
    plots = {}
    for name in TITLES:
        for title, rows in json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["figures"].items():
            medians = sorted(((engine, row["p50 ms"]) for engine, row in rows.items()), key=lambda pair: pair[1])
            plots[name_plot(name, title)] = draw_bars(f"Milliseconds a query (median), {title}", medians, OURS)
    return plots


def name_plot(name: str, title: str) -> str:
    return f"{name}-{title.replace(' ', '-').replace(':', '-')}.svg"


def write_benchmarks() -> str:
    parts = [INTRODUCTION]
    for name, heading in TITLES.items():
        result = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
        versions = ", ".join(f"{package} {version}" for package, version in result["versions"].items())
        machine = result["machine"]
        parts.append(
            f"## {heading}\n\n{machine['architecture']}, {machine['cores']} cores, Python {machine['python']}; "
            f"{versions}.\n"
        )
        for title, rows in result["figures"].items():
            measured = result.get("measured", {}).get(title, f"{result['date']}, {result['commit']}")
            picture = f"![Milliseconds a query, {title}](../images/{name_plot(name, title)})"
            parts.append(f"### {title}\n\nMeasured {measured}.\n\n{_table(rows)}\n\n{picture}\n")
    parts.append(_describe_gateways(json.loads((RESULTS / "gateway.json").read_text("utf-8"))))
    return "\n".join([*parts, LIMITS])


def _describe_gateways(result: dict[str, Any]) -> str:
    facts, machine = result["figures"], result["machine"]
    rows = facts["rows"]
    text = GATEWAYS.format(
        servers=len(facts["servers"]) - 1, tools=f"{rows['direct connections']['tools']:g}", rounds=facts["rounds"]
    )
    packages = {name: result["versions"][name] for name in ("shortlist", "mcp", "fastmcp")}
    versions = ", ".join(f"{name} {version}" for name, version in (packages | facts["servers"]).items())
    measured = f"Measured {result['date']}, {result['commit']}"
    if facts["load average before"] > machine["cores"] / 2:
        measured = f"**Preliminary**: m{measured[1:]}, while other programs used the machine"
    where = f"{machine['architecture']}, {machine['cores']} cores, Python {machine['python']}"
    return f"## MCP gateways\n\n{text}\n{where}; {versions}. {measured}.\n\n{_table(rows)}\n"


def _table(rows: dict[str, dict[str, float]]) -> str:
    columns = [column for column in COLUMNS if any(column in row for row in rows.values())]
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    for engine, row in rows.items():
        cells = [f"{row[column]:g}" if column in row else "" for column in columns]
        lines.append(f"| {engine} | " + " | ".join(cells) + " |")
    for ours in OURS:
        if ours in rows:
            alike = {name: row for name, row in rows.items() if ("in memory" in name) == ("in memory" in ours)}
            cells = [_ratio(alike, ours, column) for column in columns]
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
        top, width = 34 + 26 * number, max(2.0, 380 * value / longest)
        color = "#0b7285" if name in ours else "#adb5bd"
        parts.append(
            f'<text x="190" y="{top + 14}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="198" y="{top}" width="{width:.1f}" height="18" fill="{color}"/>'
            f'<text x="{204 + width:.1f}" y="{top + 14}">{value:g}</text>'
        )
    height = 44 + 26 * len(values)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 {height}" font-family="sans-serif" font-size="13">'
        f'<rect width="660" height="{height}" fill="white"/>'
        f'<text x="12" y="20" font-weight="bold">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )
