"""The lines of a passage while they are read into units, and the patterns that several kinds of unit share."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace

from shortlist.answer.extractive.sentences import CLOSING, END_MARKS, split_sentences
from shortlist.answer.extractive.units.unit import Unit
from shortlist.index.text.headings import CONTINUED, SEPARATOR
from shortlist.index.text.languages import ENGLISH
from shortlist.index.text.lines import Line, split_lines

FENCE = re.compile(r"(`{3,}|~{3,})")
HEADING = re.compile(r"(?:#{1,6}|={1,6}(?=\s+[^\s=])|\*{2,6})\s+(?=\S)")  # Markdown, AsciiDoc, Org
KEY = re.compile(r"(?=\w)[^:：.!?|。！？]{1,60}(?::\s+|：\s*)(?=\S)")
ON_ONE_LINE = re.compile(r"(?:(--?\w(?:.{0,60}?\S)??|\d[\d-]*)\s{2,}|(\S(?:.{0,40}?\S)??)\s{3,})(?=\S)")
END = re.compile(rf"[.!?…{END_MARKS}:：][{CLOSING}]*$")
FULL_STOP = re.compile(rf"[.!?…{END_MARKS}][{CLOSING}]*$")
QUESTION_MARKS = ("?", "？", "؟", "፧", "\u037e")
VERB = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|can|may|must|will|would|should|could|does|do|did|cannot|\w+n['’]t)\b",
    re.IGNORECASE,
)


class UnitReader:
    """The lines of one passage, its units so far, and what they are read with."""

    def __init__(self, text: str, language: str = ENGLISH, context: str = "", suffix: str = "") -> None:
        self.text = text
        self.language = language
        self.suffix = suffix  # of the name of its file, in lower case
        self.lines = split_lines(text)
        indents = [line.indent for line in self.lines[1:] if line.text]
        if indents and self.lines[1].indent > min(indents):  # space before the first line of a passage may be lost
            self.lines[0] = self.lines[0]._replace(indent=max(self.lines[0].indent, min(indents)))
        ends = [at for at, line in enumerate(self.lines) if not line.text or FENCE.match(line.text)]
        self.ends = [*ends, len(self.lines)]
        self.units: list[Unit] = []
        self.headings: list[tuple[float, str]] = []  # each with its level
        self.headers: tuple[str, ...] = ()  # of the table in which the passage begins
        self.contexts: list[tuple[int, str]] = []  # each for the lines that are indented as far
        self.note = ""  # the kind of remark that the next lines are
        self.note_end = 0
        self.after_definition = -1  # the line after the last definition
        self.base: int | None = None  # the indentation of the prose, if it is known
        self._begin(context)

    def _begin(self, context: str) -> None:
        """Take over the headings above a passage, and the term or the table in which it begins."""
        for level, part in enumerate(filter(None, context.split(SEPARATOR)), 1):
            label = part.removesuffix(CONTINUED)
            if label == part:
                self.headings.append((level, part))
            elif " | " in label:
                self.headers = tuple(label.split(" | "))
            else:
                self.contexts.append((self.lines[0].indent, label))

    @property
    def heading(self) -> str:
        return self.headings[-1][1] if self.headings else ""

    def push_heading(self, level: float, text: str) -> None:
        self.headings = [above for above in self.headings if above[0] < level] + [(level, text)]

    def add(
        self, kind: str, start: int, end: int, *, text: str = "", key: str = "", group: int = -1,
        cells: tuple[str, ...] = (), headers: tuple[str, ...] = (), note: str = "",
    ) -> None:  # fmt: skip
        shown = text or show(self.text[start:end])
        contexts = [] if kind == "heading" else [text for _, text in self.contexts]
        subject = contexts[-1].partition("(")[0] if contexts else ""
        headings = tuple(heading for _, heading in self.headings)
        context, note = " ".join(contexts), note or self.note
        self.units.append(Unit(kind, start, end, shown, context, headings, subject, key, cells, headers, note, group))

    def split_sentences(self, start: int, end: int) -> list[tuple[int, int]]:
        """Start and end of each sentence in a part of the passage."""
        return split_sentences(self.text, start, end, self.language)

    def push_context(self, indent: int, text: str) -> None:
        self.contexts = [(least, above) for least, above in self.contexts if least < indent] + [(indent, text)]

    def line(self, at: int) -> Line | None:
        return self.lines[at] if 0 <= at < len(self.lines) else None

    def is_block_start(self, at: int) -> bool:
        before = self.line(at - 1)
        if not before or not before.text or at == self.after_definition or before.text.endswith(":"):
            return True
        return bool(self.units and self.units[-1].kind in ("heading", "definition"))

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
