"""Draw the pictures of the README: `python -m website.pictures` writes docs/images/discover.svg and benchmarks.svg.

The first is the real output of `shortlist discover` on the example catalog; the second shows figures of bench/results.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
RESULTS = ROOT / "bench" / "results"
CATALOG = "tools:examples/data/tools.yaml"
QUERIES = ("give the customer her money back", "play some quiet jazz")
COLUMNS = 92
LINE = 19  # pixels
CHARACTER = 8.4  # pixels
BUTTONS = ("#ff5f57", "#febc2e", "#28c840")
TOOL_SETS = ("sealtools", "toolbench", "bfcl", "metatool", "apibank", "toolalpaca")


def main() -> None:
    for name, picture in {"discover": draw_terminal(), "benchmarks": draw_benchmarks()}.items():
        (IMAGES / f"{name}.svg").write_text(picture, "utf-8")
        print(f"written: {(IMAGES / name).relative_to(ROOT)}.svg")


def draw_terminal() -> str:
    """The commands and their colored output, as SVG text without external fonts."""
    text = Text()
    with tempfile.TemporaryDirectory() as folder:
        own = {f"SHORTLIST_{kind}_DIR": f"{folder}/{kind}" for kind in ("DATA", "CONFIG", "CACHE")}
        environment = os.environ | own | {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
        for query in QUERIES:
            text.append(f'$ shortlist discover {CATALOG} "{query}"\n', "bold")
            command = [sys.executable, "-m", "shortlist", "discover", CATALOG, query]
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode in (0, 3), done.stderr
            text.append_text(Text.from_ansi(done.stdout.rstrip() + "\n\n"))
    console = Console(width=COLUMNS, force_terminal=True, color_system="truecolor", file=io.StringIO())
    lines = [line for line in console.render_lines(text, console.options) if line]
    while lines and not "".join(segment.text for segment in lines[-1]).strip():
        lines.pop()
    width, height = COLUMNS * CHARACTER + 32, len(lines) * LINE + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" font-size="14"'
        ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace">',
        "<title>shortlist discover: one tool selected for the first query, an abstention for the second</title>",
        f'<rect width="{width:.0f}" height="{height}" rx="9" fill="#16181d"/>',
        *(f'<circle cx="{22 + 18 * n}" cy="20" r="5.5" fill="{color}"/>' for n, color in enumerate(BUTTONS)),
    ]
    for row, line in enumerate(lines):
        column = 0
        for segment in line:
            style = segment.style
            dim = bool(style and style.dim)
            color = style.color.get_truecolor(MONOKAI).hex if style and style.color else "#d8dce4"
            weight = ' font-weight="700"' if style and style.bold else ""
            if segment.text.strip():
                spot = f'x="{16 + column * CHARACTER:.1f}" y="{52 + row * LINE}"'
                length = f'textLength="{len(segment.text) * CHARACTER:.1f}" lengthAdjust="spacingAndGlyphs"'
                fill = f'fill="{"#8b93a3" if dim else color}"{weight}'
                parts.append(f'<text {spot} {length} {fill} xml:space="preserve">{escape(segment.text)}</text>')
            column += len(segment.text)
    return "\n".join([*parts, "</svg>"]) + "\n"


def draw_benchmarks() -> str:
    """Three groups of bars: search quality, query time, and tokens an agent reads."""
    quality = read_figures("quality")
    columns = {"shortlist, tools embedder": "auto, tools", "shortlist, default": "auto", "bm25s": "bm25s"}
    means = {
        name: sum(quality[each][column] for each in TOOL_SETS) / len(TOOL_SETS) for name, column in columns.items()
    }
    times = read_figures("lexical")["ottqa_wiki"]
    tokens = read_figures("context")
    groups = [
        ("Finds the right tool: nDCG@10, mean of six public tool sets (higher is better)", means, "{:.3f}"),
        (
            "Keyword search, ids and texts of ten hits: ms (median), 292,533 passages, one thread (lower is better)",
            {name: times[name]["p50 ms"] for name in ("shortlist", "bm25s numba in memory", "tantivy on disk")},
            "{:.2f}",
        ),
        (
            "Tokens an agent reads before it starts, 50 MCP servers with 2,000 tools (lower is better)",
            {
                "shortlist": tokens["tokens of our tool definitions"],
                "all schemas": tokens["tokens of all schemas upstream"],
            },
            "{:,.0f}",
        ),
    ]
    parts, y = [], 12
    for caption, values, form in groups:
        y += 22
        parts.append(f'<text x="12" y="{y}" font-weight="600">{escape(caption)}</text>')
        for name, value in values.items():
            y += 24
            length = max(2.0, 480 * value / max(values.values()))
            color = "#2f6fde" if name.startswith("shortlist") else "#a4adbd"
            parts.append(f'<text x="178" y="{y}" text-anchor="end">{escape(name)}</text>')
            parts.append(f'<rect x="188" y="{y - 12}" width="{length:.1f}" height="15" rx="2" fill="{color}"/>')
            parts.append(f'<text x="{194 + length:.1f}" y="{y}">{form.format(value)}</text>')
        y += 18
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {y}" role="img" font-size="13"'
        ' font-family="system-ui, sans-serif">\n<title>Benchmarks of shortlist and alternatives</title>\n'
        "<style>text{fill:#1d2433}@media(prefers-color-scheme:dark){text{fill:#e6e9f0}}</style>"
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def read_figures(name: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["figures"]
    return figures


if __name__ == "__main__":
    main()
