"""Units of a passage: sentences, list items, whole lists, table rows and definitions, and what is never quoted alone.

A passage is read line by line. Lines that are wrapped belong together, whatever their indentation. Headings, code,
signatures, questions and halves of sentences are no answers, but they are the context of what follows them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shortlist.answer.extractive.sentences import split_sentences

ANSWERS = frozenset({"sentence", "item", "list", "row", "definition"})
LONGEST = 1_200  # characters of a unit that is quoted
LONGEST_PASSAGE = 4_000  # characters shown of a passage; longer ones are cut
LONGEST_LABEL = 80  # characters of a term, a label or a heading without a mark

_FENCE = re.compile(r"(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}\s+\S")
_UNDERLINE = re.compile(r"([=~^\"*+#.-])\1{2,}$")
_PAGE_HEAD = re.compile(r"(\S+\(\d\w*\))\s.*\1$")
_DIRECTIVE = re.compile(r"\.\.\s+([\w:+-]+)::\s*(.*)$")
_CODE_DIRECTIVES = re.compile(r"(?:code|sourcecode|doctest|test|literalinclude|productionlist|math|parsed-literal)")
_ITEM = re.compile(r"(?:[-*+•‣◦]|(\d{1,3}[.)]|[a-z]\)|\(\w{1,2}\)))\s+(?=\S)")
_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:[|+]\s*:?-{2,}:?\s*)*\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_KEY = re.compile(r"(?=\w)[^:.!?|]{1,60}:\s+(?=\S)")
_OPTION = re.compile(r"--?\w")
_ON_ONE_LINE = re.compile(r"(\S(?:.{0,40}?\S)?)(?:\s{3,}|(?<=^-\w)\s{2,})(?=\S)")
_KEYWORDS = (
    r"(?:class|exception|async|def|classmethod|staticmethod|abstractmethod|property|function|macro|static|const)"
)
_SIGNATURE = re.compile(
    rf"(?:(?:{_KEYWORDS}|(?:unsigned |struct )?(?:int|void|char|long|double|size_t|Py\w+))[\s*]+)*"
    r"(?:[A-Za-z_][\w.:]*\(.*\)(?:\s*(?:->|:)\s*\S+)?|[A-Za-z_]\w*(?:\.\w+)+|[A-Za-z]+_\w+)(?:\s*=\s*\S+)?$"
)
_CLASS = re.compile(rf"{_KEYWORDS}\s+[\w.]+$")
_CODE = re.compile(
    r"(?:>>>|\.\.\.(?:\s|$)|[$%]\s|//|/\*|#!|@\w+|</?\w[^>]*>|[}\])]+[;,]?$)"
    r"|.*[;{]$"
    r"|[\w.\[\]'\"]+(?:,\s*[\w.]+)*\s*[-+*/|]?=\s*\S"
    r"|[\w.]+\(.*\)[;:]?$"
    r"|[a-z][\w.+-]*\s(?:\S+\s)?(?:--?\w|\[[-A-Z{]|\{)"
    r"|\"[^\"]+\":\s|[\[({].*[\])}],?$"
    r"|(?:if|for|while|with|try|else|elif|except|finally)\b.*:$"
    r"|(?:def|class|import|from|return|raise|yield|assert|const|let|var|function|public|private|static|void|int|sudo|pip"
    r"|npm|git|docker|curl|export|echo|cd|make|SELECT|INSERT|UPDATE|CREATE)\s.*[^.,]$"
)
_NAME = re.compile(r"--?\w[\w-]*|[%\w]\w*(?:\.\w+)*")
_END = re.compile(r"[.!?…。！？:][\"'”’)\]*_`]*$")
_FULL_STOP = re.compile(r"[.!?…。！？][\"'”’)\]*_`]*$")
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|can|may|must|will|would|should|could|does|do|did|cannot|\w+n['’]t)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a passage.

    `text` is how it is shown. `context` is what it is read with: the term, signature, question or introduction above;
    `heading` is the heading of its section. A row has `cells`, and `headers` if its table has; `group` is the position
    of the list that an item belongs to, in the passage.
    """

    kind: str
    start: int
    end: int
    text: str
    context: str = ""
    heading: str = ""
    subject: str = ""  # the term or the name in the signature that is nearest above
    key: str = ""  # the term of a definition, or the part of an item before its colon
    cells: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    group: int = -1

    @property
    def subjects(self) -> frozenset[str]:
        """The names of what it describes: its options, or the function or constant whose signature is above it."""
        return frozenset(_NAME.findall(self.key or self.subject))

    @property
    def is_answer(self) -> bool:
        return self.kind in ANSWERS and len(self.text) <= LONGEST


class _Line(NamedTuple):
    start: int
    end: int
    indent: int
    text: str


def split_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, heading and table row, also of those in a list."""
    spans: list[tuple[int, int]] = []
    for unit in split_units(text):
        if unit.kind == "row":
            spans.append((unit.start, unit.end))
        elif unit.kind != "list":
            spans += split_sentences(text, unit.start, unit.end)
    return spans


def split_units(text: str, *, begins_inside: bool = False, ends_inside: bool = False) -> list[Unit]:
    """The units of a passage, which may begin or end inside of a sentence. A list comes before its items."""
    units = _Splitter(text).split()
    answers = [at for at, unit in enumerate(units) if unit.kind not in ("heading", "signature")]
    if begins_inside and answers and not text[: units[answers[0]].start].strip():
        first = units[answers[0]].start
        units = [replace(unit, kind="half") if unit.start == first and _is_cut(unit) else unit for unit in units]
    if ends_inside and units:
        units = [_check_end(unit, units, text) for unit in units]
    return units


def _is_cut(unit: Unit) -> bool:
    """Whether a unit at the beginning of a passage that begins inside of one may have begun before it."""
    return unit.kind in ("sentence", "question", "row", "definition") and not _OPTION.match(unit.text)


def _check_end(unit: Unit, units: Sequence[Unit], text: str) -> Unit:
    is_last = unit.end >= len(text.rstrip())
    if not is_last or unit.kind not in ANSWERS or unit.kind == "row" or _FULL_STOP.search(unit.text):
        return unit
    others = [one for one in units if one.kind == "item" and one.group == unit.group and one is not unit]
    if unit.kind in ("item", "list") and not any(_FULL_STOP.search(one.text) for one in others[:-1] or others):
        return unit
    return replace(unit, kind="half")


class _Splitter:
    """Reads the lines of one passage into units."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [
            _Line(match.start(1), match.end(1), len(match.group().expandtabs(8)) - len(match.group(1)), match.group(1))
            for match in re.finditer(r"^[^\S\n]*((?:\S.*\S|\S)?)[^\S\n]*$", text, re.MULTILINE)
        ]
        indents = [line.indent for line in self.lines[1:] if line.text]
        if indents and self.lines[1].indent > min(indents):  # space before the first line of a passage is lost
            self.lines[0] = self.lines[0]._replace(indent=max(self.lines[0].indent, min(indents)))
        ends = [at for at, line in enumerate(self.lines) if not line.text or _FENCE.match(line.text)]
        self.ends = [*ends, len(self.lines)]
        self.units: list[Unit] = []
        self.heading = ""
        self.contexts: list[tuple[int, str]] = []  # each for the lines that are indented as far
        self.base: int | None = None  # the indentation of the prose, if it is known

    def split(self) -> list[Unit]:
        fences = [line.text for line in self.lines if _FENCE.match(line.text)]
        at = 0
        if len(fences) % 2 and _FENCE.fullmatch(fences[0]) and _looks_like_code(self._before_fence()):
            at = self._read_code(0, 1 + next(at for at, line in enumerate(self.lines) if _FENCE.match(line.text)))
        while at < len(self.lines):
            at = self._read(at) if self.lines[at].text else at + 1
        return self.units

    def _before_fence(self) -> list[_Line]:
        end = next((at for at, line in enumerate(self.lines) if _FENCE.match(line.text)), 0)
        return [line for line in self.lines[:end] if line.text]

    def _read(self, at: int) -> int:
        """Read what begins at a line that is not empty; return the line after it."""
        line = self.lines[at]
        self.contexts = [(indent, text) for indent, text in self.contexts if line.indent >= indent]
        if fence := _FENCE.match(line.text):
            closing = (n for n in range(at + 1, len(self.lines)) if self.lines[n].text.startswith(fence.group()))
            return self._read_code(at, next(closing, len(self.lines) - 1) + 1)
        if directive := _DIRECTIVE.match(line.text):
            return self._read_directive(at, *directive.groups())
        if line.text.startswith((">>>", "$ ", "% ")):
            return self._read_code(at, self._block_end(at))
        if end := self._find_table(at):
            self._read_table(at, end)
            return end
        if end := self._find_heading(at):
            self._add("heading", line.start, line.end)
            self.heading, self.contexts, self.base = line.text.strip("# ¶"), [], None
            return end
        if self._begins_item(at):
            return self._read_list(at)
        if end := self._find_signature(at):
            self._add("signature", line.start, self.lines[end - 1].end)
            self._push_context(line.indent, _show(self.text[line.start : self.lines[end - 1].end]))
            return end
        if self._is_code(at):
            return self._read_code(at, self._block_end(at))
        if end := self._read_definition(at):
            return end
        return self._read_paragraph(at)

    # What is no answer

    def _read_code(self, at: int, end: int) -> int:
        self._add("code", self.lines[at].start, self.lines[end - 1].end)
        return end

    def _read_directive(self, at: int, name: str, argument: str) -> int:
        end, indent = at + 1, self.lines[at].indent
        is_code = bool(_CODE_DIRECTIVES.match(name))
        while end < len(self.lines) and (
            re.match(r":[\w-]+:(?:\s|$)", self.lines[end].text)
            or (is_code and (not self.lines[end].text or self.lines[end].indent > indent))
        ):
            end += 1
        if is_code:
            return self._read_code(at, end)
        self._add("signature" if argument else "heading", self.lines[at].start, self.lines[at].end)
        if not name.startswith("version"):
            self._push_context(indent, argument)
        return end

    def _find_heading(self, at: int) -> int:
        line, below = self.lines[at], self._line(at + 1)
        if _HEADING.match(line.text) or _UNDERLINE.match(line.text) or _PAGE_HEAD.match(line.text):
            return at + 1
        if below and _UNDERLINE.match(below.text) and len(below.text) >= min(3, len(line.text)):
            return at + 2 if len(line.text) <= LONGEST_LABEL and not line.text.startswith("|") else 0
        if below and (line.indent, below.indent) == (3, 7) and len(line.text) <= LONGEST_LABEL:
            return at + 1  # a subsection of a manual page
        is_alone = not below or not below.text or below.indent > line.indent
        is_capitals = line.text.isupper() and len(line.text) <= LONGEST_LABEL and not _OPTION.match(line.text)
        has_words = len(re.findall(r"[^\W\d_]{2,}", line.text)) > 0 and not _END.search(line.text)
        return at + 1 if is_alone and is_capitals and has_words and line.indent <= 3 else 0

    def _find_signature(self, at: int) -> int:
        text, end = self.lines[at].text, at + 1
        while text.count("(") > text.count(")") and (following := self._line(end)) and following.text and end < at + 8:
            text, end = f"{text} {following.text}", end + 1
        if text.endswith("¶") or ((_SIGNATURE.match(text) or _CLASS.match(text)) and not _CODE.match(text[:1])):
            following = self._line(end)
            return end if text.endswith("¶") or not (following and _CODE.match(following.text)) else 0
        return 0

    def _is_code(self, at: int) -> bool:
        before = self._line(at - 1)
        if before and before.text and self.units and self.units[-1].kind == "definition":
            return False
        block = self.lines[at : self._block_end(at)]
        return _looks_like_code(block) or self._is_indented_code(at, block) or self.heading == "SYNOPSIS"

    def _is_indented_code(self, at: int, block: Sequence[_Line]) -> bool:
        if self.base is None or block[0].indent < self.base + 4 or not self._is_block_start(at):
            return False
        is_prose = any(_END.search(line.text) or _OPTION.match(line.text) for line in block)
        return not is_prose and not any(_ON_ONE_LINE.match(line.text) for line in block)

    # Tables

    def _find_table(self, at: int) -> int:
        """The end of the table at that line, or 0."""
        end = at
        while (line := self._line(end)) and _is_row(line.text):
            end += 1
        rows = self.lines[at:end]
        if len(rows) > 1 or any(line.text.startswith("|") for line in rows):
            return end
        return end if rows and all(map(_KEY.match, _split_cells(rows[0].text))) else 0

    def _read_table(self, at: int, end: int) -> None:
        rows = [(line, _split_cells(line.text)) for line in self.lines[at:end]]
        rules = [number for number, (line, _) in enumerate(rows) if _RULE.match(line.text)]
        headers: tuple[str, ...] = ()
        if rules and rules[0] <= 1:
            headers = rows[0][1] if rules[0] else ()
        elif not rules and len(rows) > 1 and all(len(cells) == len(rows[0][1]) for _, cells in rows[1:2]):
            has_header = not any(map(_KEY.match, rows[0][1])) and not any(map(re.compile(r"\d").search, rows[0][1]))
            headers = rows[0][1] if has_header else ()
        width = max(len(cells) for _, cells in rows)
        for number, (line, cells) in enumerate(rows):
            if _RULE.match(line.text):
                continue
            if headers and number == 0:
                self._add("heading", line.start, line.end)
                continue
            self._add("row" if len(cells) == width else "half", line.start, line.end, cells=cells, headers=headers)

    # Lists and definitions

    def _begins_item(self, at: int) -> bool:
        line = self.lines[at]
        item = _ITEM.match(line.text)
        if not item or (item.group(1) and line.text.startswith("(") and not self._is_block_start(at)):
            return False
        before = self._line(at - 1)
        return not item.group(1) or self._is_block_start(at) or bool(before and _END.search(before.text))

    def _read_list(self, at: int) -> int:
        items: list[tuple[int, int]] = []
        indent = self.lines[at].indent
        end = at
        while (line := self._line(end)) and _ITEM.match(line.text) and line.indent >= indent:
            begin, end = end, end + 1
            while (more := self._line(end)) and self._continues_item(end, indent):
                end += 1
            last = end
            while not self.lines[last - 1].text:
                last -= 1
            items.append((self.lines[begin].start, self.lines[last - 1].end))
            end = last
            while (more := self._line(end)) and not more.text:
                end += 1
        intro = self._take_introduction()
        texts = ["\n".join(_show(part) for part in self._split_item(*item)) for item in items]
        group = items[0][0]
        if len(items) > 1:
            start = intro.start if intro else items[0][0]
            text = "\n".join([*([intro.text] if intro else ()), *texts])
            self._add("list", start, items[-1][1], text=text, group=group)
        contexts = self.contexts
        self.contexts = [*contexts, (indent, intro.text)] if intro else contexts
        for (start, stop), text in zip(items, texts, strict=True):
            bare = text[_item_length(text) :]
            key = found.group().strip() if (found := _KEY.match(bare.strip("*`"))) else ""
            kind = "question" if text.endswith("?") else "item" if self._is_statement(bare) else "label"
            self._add(kind, start, stop, text=text, key=key, group=group)
        self.contexts = contexts
        return end

    def _continues_item(self, at: int, indent: int) -> bool:
        line, before = self.lines[at], self.lines[at - 1]
        if not line.text:
            following = self._line(at + 1)
            if not following or not following.text or following.indent <= indent + 1:
                return False
            return not self._is_indented_code(at + 1, [following]) and not _FENCE.match(following.text)
        if _ITEM.match(line.text):
            return line.indent > indent
        starts_other = _HEADING.match(line.text) or _FENCE.match(line.text) or line.text.startswith("|")
        return not starts_other and (line.indent > indent or (bool(before.text) and line.indent == indent))

    def _split_item(self, start: int, end: int) -> Iterator[str]:
        """The lines of an item, with the wrapped ones joined: its own, and those of nested items."""
        part: list[str] = []
        for line in self.text[start:end].split("\n"):
            if part and _ITEM.match(line.strip()):
                yield " ".join(part)
                part = []
            part.append(line)
        yield " ".join(part)

    def _is_statement(self, text: str) -> bool:
        return bool(
            _FULL_STOP.search(text) or _KEY.match(text.strip("*`")) or _VERB.search(text) or re.search(r"\d", text)
        )

    def _take_introduction(self) -> Unit | None:
        """The sentence that announces what follows: it ends with a colon, or without an end."""
        last = self.units[-1] if self.units else None
        if last and last.kind in ("sentence", "label") and not _FULL_STOP.search(last.text):
            self.units[-1] = replace(last, kind="introduction")
            return last
        return None

    def _read_definition(self, at: int) -> int:
        """Read a term with its description, on the same line or indented below; return the line after it, or 0."""
        line, below = self.lines[at], self._line(at + 1)
        same_line = _ON_ONE_LINE.match(line.text)
        if same_line and self._is_definition_line(at, same_line.end()):
            begin, indent = line.start + same_line.end(), line.indent + same_line.end()
            key, end = same_line.group(1), at + 1
        else:
            first = at + 1
            if below and not below.text and _OPTION.match(line.text):
                first, below = at + 2, self._line(at + 2)
            if not (below and below.text and below.indent >= line.indent + 2 and self._is_term(at, below)):
                return 0
            begin, indent, key, end = below.start, below.indent, line.text, first + 1
        while (more := self._line(end)) and more.text and more.indent >= min(indent, line.indent + 2):
            if self._begins_item(end) or _DIRECTIVE.match(more.text):
                break
            end += 1
        if self.units and self.units[-1].text.endswith(":") and (intro := self._take_introduction()):
            self._push_context(line.indent, intro.text)
        spans = split_sentences(self.text, begin, self.lines[end - 1].end)
        self._add("definition", line.start, spans[0][1], key=key)
        self._push_context(line.indent + 1, key)
        for start, stop in spans[1:]:
            self._add("sentence", start, stop)
        self.base = indent
        return end

    def _is_definition_line(self, at: int, width: int) -> bool:
        line, below = self.lines[at], self._line(at + 1)
        if not self._is_block_start(at):
            return False
        is_option = bool(_OPTION.match(line.text))
        if below and below.text and below.indent != line.indent:
            return below.indent == line.indent + width
        return is_option or not _FULL_STOP.search(line.text[:width].rstrip())

    def _is_term(self, at: int, below: _Line) -> bool:
        line = self.lines[at]
        width = max(len(one.text) for one in self.lines[at : min(self._block_end(at), at + 20)])
        is_wrapped = len(line.text) + len(below.text.split()[0]) + 1 > width
        is_short = len(line.text) <= LONGEST_LABEL and not is_wrapped
        return self._is_block_start(at) and is_short and not re.search(r"[.!?;,]$", line.text)

    # Prose

    def _read_paragraph(self, at: int) -> int:
        end = at + 1
        while (line := self._line(end)) and line.text and not self._interrupts(end):
            end += 1
        lines = self.lines[at:end]
        width = max(len(line.text) for line in lines)
        self.base = min(line.indent for line in lines)
        begin = lines[0].start
        for number, line in enumerate(lines):
            below = lines[number + 1] if number + 1 < len(lines) else None
            if below and _is_wrapped(line.text, below.text, width):
                continue
            self._add_prose(begin, line.end, is_alone=len(lines) == 1)
            begin = below.start if below else begin
        if self.contexts and self.contexts[-1][1].endswith("?") and self.units[-1].kind != "question":
            self.contexts.pop()
        return end

    def _interrupts(self, at: int) -> bool:
        line = self.lines[at]
        return bool(
            _HEADING.match(line.text)
            or _FENCE.match(line.text)
            or line.text.startswith((">>>", "|", ".. "))
            or (self._begins_item(at) and not _is_wrapped_number(self.lines[at - 1].text, line.text))
        )

    def _add_prose(self, start: int, end: int, is_alone: bool) -> None:
        for begin, stop in split_sentences(self.text, start, end):
            text = self.text[begin:stop]
            if text.endswith("?"):
                self._add("question", begin, stop)
                self._push_context(self.base or 0, _show(text))
            elif _FULL_STOP.search(text) or stop != end:
                self._add("sentence", begin, stop)
            elif (key := _KEY.match(text)) and not text.endswith(":"):
                self._add("definition", begin, stop, key=key.group().strip(": "))
            elif not text.endswith(":") and len(text) <= LONGEST_LABEL and not _VERB.search(text):
                self._add("label", begin, stop)
                if is_alone and not text[0].islower():
                    self._push_context(self.base or 0, _show(text))
            else:
                self._add("sentence", begin, stop)

    # Helpers

    def _add(
        self, kind: str, start: int, end: int, *, text: str = "", key: str = "", group: int = -1,
        cells: tuple[str, ...] = (), headers: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        shown = text or _show(self.text[start:end])
        contexts = [] if kind == "heading" else [text for _, text in self.contexts]
        subject = contexts[-1].partition("(")[0] if contexts else ""
        context = " ".join(contexts)
        self.units.append(Unit(kind, start, end, shown, context, self.heading, subject, key, cells, headers, group))

    def _push_context(self, indent: int, text: str) -> None:
        self.contexts = [(least, above) for least, above in self.contexts if least < indent] + [(indent, text)]

    def _line(self, at: int) -> _Line | None:
        return self.lines[at] if 0 <= at < len(self.lines) else None

    def _is_block_start(self, at: int) -> bool:
        before = self._line(at - 1)
        return not before or not before.text or bool(self.units and self.units[-1].kind in ("heading", "definition"))

    def _block_end(self, at: int) -> int:
        """The line after the last one before an empty line or a fence."""
        return self.ends[bisect_right(self.ends, at)]


def has_verb(text: str) -> bool:
    """Whether a text has one of the verbs that most sentences with a statement have."""
    return bool(_VERB.search(text))


def _show(text: str) -> str:
    return " ".join(text.split())


def _is_row(text: str) -> bool:
    return (text.startswith("|") and text.count("|") > 1) or " | " in text or text.endswith(" |")


def _split_cells(text: str) -> tuple[str, ...]:
    inside = text.removeprefix("|").removesuffix("|") if text.startswith("|") else text
    return tuple(cell.strip() for cell in _CELL.split(inside))


def _item_length(text: str) -> int:
    marker = _ITEM.match(text)
    return marker.end() if marker else 0


def _looks_like_code(lines: Sequence[_Line]) -> bool:
    """Whether at least half of the lines are code, and the last one does not end like a sentence."""
    if not lines or re.search(r"[a-z]{2}[.!?][\"')]*$", lines[-1].text):
        return False
    return 2 * sum(bool(_CODE.match(line.text)) for line in lines) >= len(lines)


def _is_wrapped(text: str, below: str, width: int) -> bool:
    """Whether a sentence continues on the next line: its first word would not have fitted, or it is in lower case."""
    if re.match(r"(?:[A-Z]|\w{1,20}):\s", below) and _END.search(text):
        return False
    if _KEY.match(text) and _KEY.match(below):
        return False
    first = below.split()[0]
    return below[0].islower() or len(text) + 1 + len(first) > 0.8 * width


def _is_wrapped_number(text: str, below: str) -> bool:
    return bool(re.match(r"\d", below)) and not _END.search(text)
