"""A screen to draw on: text, tables and pairs for people, in color and wrapped only in a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from shortlist._text import terminal_safe

PIPED_WIDTH = 120
COLORS = {"ok": "green", "fresh": "green", "note": "yellow", "stale": "yellow", "broken": "red"}

Row = Mapping[str, Any]
Cells = Iterable[str | Text]


def render(draw: Callable[[Screen], None]) -> str:
    """Text for stdout from what is drawn."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    console = SafeConsole(highlight=False, markup=False, emoji=False, width=width)
    with console.capture() as captured:
        draw(Screen(console))
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


class SafeConsole(Console):
    """A console that writes no control characters of texts, also not to a pipe, which may end in a terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(terminal_safe(segment.text), segment.style)


class Screen:
    """Draws on a console. Modules of this folder draw hits, answers and tables with it."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.is_ascii = console.encoding.lower().replace("-", "") != "utf8"
        self.draw = console.print

    def say(self, text: str, style: str = "", indent: int = 0) -> None:
        self.draw(Padding.indent(Text(text, style), indent))

    def draw_table(self, titles: Sequence[str], rows: Iterable[Cells], styles: Sequence[str] = ()) -> None:
        """A table with a style for each column; > aligns a column on the right."""
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for title, style in zip_longest(titles, styles, fillvalue=""):
            justify: Literal["left", "right"] = "right" if style == ">" else "left"
            table.add_column(title, style=style.strip(">"), justify=justify, overflow="fold")
        for row in rows:
            table.add_row(*row)
        self.draw(table)

    def draw_pairs(self, values: Row) -> None:
        """A line for each name and its value."""
        table = Table.grid("", Column(overflow="fold"), padding=(0, 2))
        for name, value in values.items():
            table.add_row(Text(name, "dim"), Text(f"{value:.4g}" if isinstance(value, float) else str(value)))
        self.draw(Padding.indent(table, 2))


def shorten_path(path: str) -> str:
    """A path relative to the current or the home folder, if it is below one of them."""
    for base, sign in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.startswith(f"{base}{os.sep}"):
            return sign + path[len(str(base)) + 1 :]
    return path


def flatten(data: Row) -> dict[str, Any]:
    """Nested facts on one level, without empty ones."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= {f"{key} {inner}": fact for inner, fact in flatten(value).items()}
        elif value not in (None, "", []):
            flat[key] = ", ".join(map(str, value)) if isinstance(value, list) else value
    return flat
