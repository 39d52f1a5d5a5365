"""Draw the pictures of README and home page: `python -m website.pictures` writes three files to docs/images.

discover.svg and tour.svg are real output of the commands on the example data; benchmarks.svg shows figures of
bench/results.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
RESULTS = ROOT / "bench" / "results"
DATA = "examples/data"
DISCOVER = ("discover", f"{DATA}/tools.yaml")
QUERIES = ("give the customer her money back", "play some quiet jazz")
TOUR = (
    (*DISCOVER, "give the customer her money back"),
    (*DISCOVER, "play some quiet jazz"),
    ("ask", f"{DATA}/docs", "Who founded the company?"),
    ("ask", f"{DATA}/docs", "Who founded the moon colony?"),
)
SCENE_SECONDS, TYPING_SECONDS = 5.0, 1.6
COLUMNS = 92
LINE = 19  # pixels
CHARACTER = 8.4  # pixels
LEFT, TOP = 16, 52  # pixels, of the first character
PAPER = "#16181d"
BUTTONS = ("#ff5f57", "#febc2e", "#28c840")
OURS, OTHERS = "#0f8b80", "#a4adbd"
TOOL_SETS = ("bfcl", "metatool")  # for which the model was trained without the set


def main() -> None:
    for name, picture in {"discover": draw_terminal(), "tour": draw_tour(), "benchmarks": draw_benchmarks()}.items():
        (IMAGES / f"{name}.svg").write_text(picture, "utf-8")
        print(f"written: {(IMAGES / name).relative_to(ROOT)}.svg")


def draw_terminal() -> str:
    """Two commands and their colored output, as SVG text without external fonts."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = [run_command((*DISCOVER, query), folder) for query in QUERIES]
    rows = list(render_lines("\n\n".join(outputs)))
    title = "shortlist discover: one tool selected for the first query, an abstention for the second"
    return draw_window(title, len(rows), [draw_row(line, row) for row, line in enumerate(rows)])


def draw_tour() -> str:
    """Commands that are typed one after another, each with its output: an animated SVG that repeats."""
    with tempfile.TemporaryDirectory() as folder:
        scenes = [list(render_lines(run_command(command, folder))) for command in TOUR]
    length = SCENE_SECONDS * len(scenes)
    styles = [
        f"g{{animation:{length:g}s infinite}} .cover{{animation:{length:g}s infinite}}",
        "@media(prefers-reduced-motion:reduce){g,.cover{animation:none!important} .scene{opacity:0} #scene0{opacity:1}"
        " .cover{display:none}}",
    ]
    parts: list[str] = []
    for at, (command, *output) in enumerate(scenes):
        begins, typed = 100 * at / len(scenes), 100 * (at * SCENE_SECONDS + TYPING_SECONDS) / length
        ends = 100 * (at + 1) / len(scenes)
        letters = sum(len(segment.text) for segment in command) - 2
        width = letters * CHARACTER
        styles += [
            describe_visible(f"scene{at}", begins, ends),
            describe_visible(f"output{at}", typed + 2, ends),
            f"@keyframes cover{at}{{0%,{begins:.2f}%{{transform:none;animation-timing-function:steps({letters})}}"
            f"{typed:.2f}%,100%{{transform:translateX({width:.0f}px)}}}}",
            f"#scene{at}{{animation-name:scene{at}}} #output{at}{{animation-name:output{at}}}"
            f" #cover{at}{{animation-name:cover{at}}}",
        ]
        cover = f'<rect class="cover" id="cover{at}" x="{LEFT + 2 * CHARACTER:.1f}" y="{TOP - 15}"'
        parts += [
            f'<g class="scene" id="scene{at}">',
            draw_row(command, 0),
            f'{cover} width="{width:.0f}" height="{LINE}" fill="{PAPER}"/>',
            f'<g id="output{at}">',
            *(draw_row(line, row) for row, line in enumerate(output, start=1)),
            "</g></g>",
        ]
    parts.insert(0, f"<style>{' '.join(styles)}</style>")
    title = "A tool is found, nothing fits, a question is answered with its source, and another is refused"
    return draw_window(title, max(map(len, scenes)), parts)


def describe_visible(name: str, begins: float, ends: float) -> str:
    """Keyframes that show an element between two percentages of the animation."""
    before = f"0%,{begins - 0.01:.2f}%{{opacity:0}}" if begins else ""
    after = f"{ends + 0.01:.2f}%,100%{{opacity:0}}" if ends < 100 else ""
    return f"@keyframes {name}{{{before}{begins:.2f}%,{ends:.2f}%{{opacity:1}}{after}}}"


def run_command(command: Sequence[str], folder: str) -> str:
    """A command as it is typed, and its output with the codes of its colors."""
    own = {f"SHORTLIST_{kind}_DIR": f"{folder}/{kind}" for kind in ("DATA", "CONFIG", "CACHE")}
    environment = os.environ | own | {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        [sys.executable, "-m", "shortlist", *command],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    *words, text = command
    return f'\x1b[1m$ shortlist {" ".join(words)} "{text}"\x1b[0m\n{done.stdout.strip()}'


def render_lines(text: str) -> Iterator[list[Any]]:
    """The lines of a text with codes of colors, as segments."""
    console = Console(width=COLUMNS, force_terminal=True, color_system="truecolor", file=io.StringIO())
    yield from console.render_lines(Text.from_ansi(text), console.options, pad=False)


def draw_window(title: str, rows: int, parts: Sequence[str]) -> str:
    """The window of a terminal with this content."""
    width, height = COLUMNS * CHARACTER + 2 * LEFT, rows * LINE + TOP + 4
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" font-size="14"'
            ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width:.0f}" height="{height}" rx="9" fill="{PAPER}"/>',
            *(f'<circle cx="{22 + 18 * n}" cy="20" r="5.5" fill="{color}"/>' for n, color in enumerate(BUTTONS)),
            *parts,
            "</svg>\n",
        ]
    )


def draw_row(line: Sequence[Any], row: int) -> str:
    """The segments of a line, each at its column."""
    parts, column = [], 0
    for segment in line:
        style = segment.style
        dim = bool(style and style.dim)
        color = style.color.get_truecolor(MONOKAI).hex if style and style.color else "#d8dce4"
        weight = ' font-weight="700"' if style and style.bold else ""
        if segment.text.strip():
            spot = f'x="{LEFT + column * CHARACTER:.1f}" y="{TOP + row * LINE}"'
            length = f'textLength="{len(segment.text) * CHARACTER:.1f}" lengthAdjust="spacingAndGlyphs"'
            fill = f'fill="{"#8b93a3" if dim else color}"{weight}'
            parts.append(f'<text {spot} {length} {fill} xml:space="preserve">{escape(segment.text)}</text>')
        column += len(segment.text)
    return "\n".join(parts)


def draw_benchmarks() -> str:
    """Three groups of bars: search quality, query time, and tokens an agent reads."""
    quality = read_figures("quality-languages-model")
    columns = {"shortlist, tools embedder": "auto, tools", "shortlist, default": "auto", "bm25s": "bm25s"}
    means = {
        name: sum(quality[each][column] for each in TOOL_SETS) / len(TOOL_SETS) for name, column in columns.items()
    }
    times = read_figures("lexical")["ottqa_wiki"]
    tokens = read_figures("context")
    groups = [
        ("Finds the right tool: nDCG@10, mean of BFCL and MetaTool (higher is better)", means, "{:.3f}"),
        (
            "Keyword search in 292,533 passages, one thread: median ms for ten hits with texts (lower is better)",
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
            color = OURS if name.startswith("shortlist") else OTHERS
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
