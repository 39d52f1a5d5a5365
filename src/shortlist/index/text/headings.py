"""Headings of a document, as each format marks them, and the path of headings at each place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

# Files whose text has Markdown headings, because they are Markdown or are converted to it.
WITH_HEADINGS = frozenset({".md", ".markdown", ".docx", ".html", ".htm", ".xhtml", ".odt", ".rtf", ".epub"})
WITH_HEADINGS |= {".pptx", ".odp", ".ipynb", ".eml", ".msg", ".mbox"}
LONGEST_HEADING = 120
SEPARATOR = " > "
CONTINUED = " …"  # follows the term or the header of a table inside of which a passage begins
PAGE_HEAD = re.compile(r"(\S+\(\d\w*\))\s.*\s\1$")

# Headings such as "Note" are those of a box, not of what follows it.
NOTICE = re.compile(r"(?:note|warning|tip|caution|important|danger|attention|hint)\W*$", re.IGNORECASE)

_HEADING_OR_FENCE = re.compile(r"^ {0,3}(?:(#{1,6})[ \t]+(\S.*)|(`{3,}(?=[^`\n]*$)|~{3,}))", re.MULTILINE)
_MANUAL = re.compile(r"^(?:(\S(?:(?! {2}).){0,78})| {3}(\S(?:(?! {2}).){0,76})(?=\n(?: {5}| {7})\S))$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(\S.{0,118})\n(([=~^\"'*+#`:.-])\3{2,})[ \t]*$", re.MULTILINE)
_ORG = re.compile(r"^(\*+)[ \t]+(\S.*)$", re.MULTILINE)
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+([^\s=].*)$", re.MULTILINE)
TEX_HEADING = re.compile(
    r"^[^\S\n]*\\(part|chapter|(?:sub){0,2}section|paragraph)\*?(?:\[[^\]\n]*\])?\{([^{}]+)\}", re.MULTILINE
)
TEX_LEVELS = {"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6}


def heading_paths(text: str, source: str) -> tuple[list[int], list[str]]:
    """The start of each heading, and the path of headings before the first and from each on: "Guide > Install"."""
    starts, paths = [], [""]
    path: list[tuple[int, str]] = []
    for start, level, heading in _find_headings(text, source):
        if not NOTICE.match(heading):
            path = [above for above in path if above[0] < level]
            path.append((level, heading[:LONGEST_HEADING].rstrip()))
            starts.append(start)
            paths.append(SEPARATOR.join(name for _, name in path))
    return starts, paths


def is_manual_page(text: str) -> bool:
    """Whether a text is a manual page as `man` prints it."""
    return bool(PAGE_HEAD.match(text.lstrip()[:400].partition("\n")[0].rstrip()))


def _find_headings(text: str, source: str) -> Iterator[tuple[int, int, str]]:
    """The start, level and text of each heading."""
    suffix = PurePath(source).suffix.lower()
    if suffix in WITH_HEADINGS:
        yield from _find_marked(text)
    elif suffix == ".org":
        yield from ((match.start(), len(match[1]), match[2].strip()) for match in _ORG.finditer(text))
    elif suffix in (".adoc", ".asciidoc"):
        yield from ((match.start(), len(match[1]), match[2].strip()) for match in _ASCIIDOC.finditer(text))
    elif suffix == ".tex":
        yield from ((match.start(), TEX_LEVELS[match[1]], match[2].strip()) for match in TEX_HEADING.finditer(text))
    elif is_manual_page(text):
        yield from _find_in_manual(text)
    elif suffix in (".rst", ".txt", ".rest"):
        yield from _find_underlined(text)


def _find_marked(text: str) -> Iterator[tuple[int, int, str]]:
    fence = ""
    for match in _HEADING_OR_FENCE.finditer(text):
        marks, heading, fence_here = match.groups()
        if fence_here:
            fence = fence_here if not fence else "" if fence_here.startswith(fence) else fence
        elif not fence:
            yield match.start(), len(marks), heading[:LONGEST_HEADING].rstrip().rstrip("#¶").rstrip()


def _find_in_manual(text: str) -> Iterator[tuple[int, int, str]]:
    """The name of the page, its sections in the first column, and their subsections, indented less than text."""
    head = text.lstrip().split(maxsplit=1)[0]
    yield 0, 1, head
    for match in _MANUAL.finditer(text):
        section, subsection = match.groups()
        if subsection or not section.endswith(head):
            yield match.start(), 2 if section else 3, section or subsection


def _find_underlined(text: str) -> Iterator[tuple[int, int, str]]:
    levels: dict[str, int] = {}  # of each mark, in the order in which they first appear
    for match in _UNDERLINED.finditer(text):
        title, rule, mark = match.groups()
        if len(rule) >= len(title.rstrip()) and any(map(str.isalnum, title)):
            yield match.start(), levels.setdefault(mark, len(levels) + 1), title.strip()
