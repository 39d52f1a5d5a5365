"""The lines of a passage while they are read into units, and the patterns that several kinds of unit share."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from typing import NamedTuple

from shortlist.answer.extractive.units.unit import Unit

FENCE = re.compile(r"(`{3,}|~{3,})")
HEADING = re.compile(r"#{1,6}\s+\S")
DIRECTIVE = re.compile(r"\.\.\s+([\w:+-]+)::\s*(.*)$")
KEY = re.compile(r"(?=\w)[^:.!?|]{1,60}:\s+(?=\S)")
OPTION = re.compile(r"--?\w")
ON_ONE_LINE = re.compile(r"(\S(?:.{0,40}?\S)?)(?:\s{3,}|(?<=^-\w)\s{2,})(?=\S)")
END = re.compile(r"[.!?…。！？:][\"'”’)\]*_`]*$")
FULL_STOP = re.compile(r"[.!?…。！？][\"'”’)\]*_`]*$")
VERB = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|can|may|must|will|would|should|could|does|do|did|cannot|\w+n['’]t)\b",
    re.IGNORECASE,
)


class Line(NamedTuple):
    start: int
    end: int
    indent: int
    text: str


class UnitReader:
    """The lines of one passage, its units so far, and what they are read with."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [
            Line(match.start(1), match.end(1), len(match.group().expandtabs(8)) - len(match.group(1)), match.group(1))
            for match in re.finditer(r"^[^\S\n]*((?:\S.*\S|\S)?)[^\S\n]*$", text, re.MULTILINE)
        ]
        indents = [line.indent for line in self.lines[1:] if line.text]
        if indents and self.lines[1].indent > min(indents):  # space before the first line of a passage is lost
            self.lines[0] = self.lines[0]._replace(indent=max(self.lines[0].indent, min(indents)))
        ends = [at for at, line in enumerate(self.lines) if not line.text or FENCE.match(line.text)]
        self.ends = [*ends, len(self.lines)]
        self.units: list[Unit] = []
        self.heading = ""
        self.contexts: list[tuple[int, str]] = []  # each for the lines that are indented as far
        self.base: int | None = None  # the indentation of the prose, if it is known

    def add(
        self, kind: str, start: int, end: int, *, text: str = "", key: str = "", group: int = -1,
        cells: tuple[str, ...] = (), headers: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        shown = text or show(self.text[start:end])
        contexts = [] if kind == "heading" else [text for _, text in self.contexts]
        subject = contexts[-1].partition("(")[0] if contexts else ""
        context = " ".join(contexts)
        self.units.append(Unit(kind, start, end, shown, context, self.heading, subject, key, cells, headers, group))

    def push_context(self, indent: int, text: str) -> None:
        self.contexts = [(least, above) for least, above in self.contexts if least < indent] + [(indent, text)]

    def line(self, at: int) -> Line | None:
        return self.lines[at] if 0 <= at < len(self.lines) else None

    def is_block_start(self, at: int) -> bool:
        before = self.line(at - 1)
        return not before or not before.text or bool(self.units and self.units[-1].kind in ("heading", "definition"))

    def block_end(self, at: int) -> int:
        """The line after the last one before an empty line or a fence."""
        return self.ends[bisect_right(self.ends, at)]

    def take_introduction(self) -> Unit | None:
        """The sentence that announces what follows: it ends with a colon, or without an end."""
        last = self.units[-1] if self.units else None
        if last and last.kind in ("sentence", "label") and not FULL_STOP.search(last.text):
            self.units[-1] = replace(last, kind="introduction")
            return last
        return None


def has_verb(text: str) -> bool:
    """Whether a text has one of the verbs that most sentences with a statement have."""
    return bool(VERB.search(text))


def show(text: str) -> str:
    return " ".join(text.split())
