"""The language of manual pages: macros, conditions, strings and escapes, as far as they decide what a page says."""

from __future__ import annotations

import json
import re
import textwrap
import unicodedata
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from shortlist.errors import SourceError
from shortlist.sources.formats.markup import render_table

MAX_LINES = 200_000  # of a page whose macros are expanded: they may call each other
MAX_LINE = 10_000  # characters of a string, and of lines that are glued to one
MAX_EXPANDED = 20_000_000  # characters that macros, strings and conditions add to a page
MAX_NESTED = 1000  # conditions with an else
WIDTH = 78
STEP = 7  # columns of an indentation

# The macros of fonts, and what is between their arguments.
FONTS: Mapping[str, str] = {
    **dict.fromkeys(("B", "I", "R", "SM", "SB"), " "),
    **dict.fromkeys(("BR", "BI", "IR", "IB", "RI", "RB"), ""),
}

_NAME = r"(?:\((..)|\[([^]]{0,100})\]|(.))"  # without limits, a line of opening brackets takes quadratic time
_REQUEST = re.compile(r"[.'][ \t]*([^\s\\]*)[ \t]*(.*)")
_COMMENT = re.compile(r"(\\[^\"#])|\\[\"#].*")
_VARIABLE = re.compile(rf"\\([*n])[+-]?{_NAME}")
_PARAMETER = re.compile(r"\\\$([1-9*@])")
_CONDITION = re.compile(r"(!?)\s*(?:'([^']*)'([^']*)'|(-?\d+)(?:([<>=]=?)(-?\d+))?|[dr]\s*\S+|([a-z]))\s*(.*)")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)(?:"|$)|((?:\\.|[^\s\\"])(?:\\.|[^\s\\])*)')
_ESCAPE = re.compile(
    rf"""\\(?:s[+-]?(?:\d{{1,2}}|'[^']{{0,100}}'|\[[^]]{{0,100}}\]|\(..)  # the size of letters
    |[fFmMgkVY]{_NAME}  # fonts, colors
    |(?P<motion>[hvwbDlLRSXxZABH])'(?P<moved>[^']{{0,200}})'
    |N'(?P<code>\d{{1,5}})'|o'(?P<over>.)[^']{{0,100}}'
    |\((?P<pair>..)|\[(?P<name>[^]]{{0,100}})\]
    |(?P<one>.)|$)""",
    re.VERBOSE,
)
_SPACE = re.compile(r"[ \t]+")
_SINGLE = {**dict.fromkeys("~ 0", "\xa0"), **{one: one for one in "-\\'`."}, "e": "\\", "t": "\t"}
_MARKS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", ":": "\u0308", ",": "\u0327"}
_CHARACTERS: Mapping[str, str] = json.loads(Path(__file__).with_name("roff_characters.json").read_text("utf-8"))


def is_manual_source(text: str) -> bool:
    """Whether a text has the title line of a manual page."""
    return bool(re.search(r"^[.'][ \t]*(?:TH|Dt)[ \t]", text[:50_000], re.MULTILINE))


def split_request(line: str) -> tuple[str, str] | None:
    """The name of a request or macro and its arguments, or None if a line is text."""
    match = _REQUEST.match(line)
    return (match[1], match[2]) if match else None


def split_arguments(text: str) -> list[str]:
    return [one[2] if one[1] is None else one[1].replace('""', '"') for one in _ARGUMENT.finditer(text)]


def unescape(text: str) -> str:
    """What a line shows, with spaces that are not collapsed as no-break spaces."""
    return _ESCAPE.sub(_show_escape, text)


def _show_escape(match: re.Match[str]) -> str:
    found = match.groupdict()
    if found["code"]:
        return chr(int(found["code"]))
    if name := found["pair"] or found["name"]:
        return _show_character(name)
    if found["motion"] == "Z":
        return found["moved"]
    if found["motion"]:
        return " " if found["motion"] == "h" and re.fullmatch(r"[+|\d.]+\w?", found["moved"]) else ""
    return found["over"] or _SINGLE.get(found["one"] or "", "")


def _show_character(name: str) -> str:
    if name in _CHARACTERS:
        return _CHARACTERS[name]
    if re.fullmatch(r"u[0-9A-F]{4,5}", name):
        return chr(int(name[1:], 16))
    if len(name) == 2 and name[0] in _MARKS:
        return unicodedata.normalize("NFC", name[1] + _MARKS[name[0]])
    return ""


class Expander:
    """The lines of a page, with macros and strings of its own expanded, and without what a terminal does not show."""

    def __init__(self, text: str) -> None:
        self._lines = deque(re.sub(r"(?<!\\)((?:\\\\)*)\\\n", r"\1", text).splitlines())
        self._macros: dict[str, list[str]] = {}
        self._values: dict[str, str] = {"lq": "“", "rq": "”", "R": "®", "Tm": "™", "n.g": "1"}
        self._else: list[bool] = []
        self._expanded = 0  # characters

    def __iter__(self) -> Iterator[str]:
        count = 0
        while self._lines:
            if (count := count + 1) > MAX_LINES:
                raise SourceError(f"Its macros expand to more than {MAX_LINES:,} lines.")
            line = _VARIABLE.sub(self._show_variable, _COMMENT.sub(r"\1", self._lines.popleft()))
            request = split_request(line)
            if request is None or not self._execute(*request):
                yield line

    def _show_variable(self, match: re.Match[str]) -> str:
        kind, *names = match.groups()
        name = next(name for name in names if name is not None)
        return self._count(self._values.get(name, "") if kind == "*" else self._values.get(f"n{name}", "0"))

    def _count(self, text: str) -> str:
        """The same text; a page that expands to too many characters is refused."""
        self._expanded += len(text)
        if self._expanded > MAX_EXPANDED:
            raise SourceError(f"Its macros expand to more than {MAX_EXPANDED:,} characters.")
        return text

    def _execute(self, name: str, rest: str) -> bool:
        """Carry out a request of the language itself; False for what is left to the macros."""
        if name in ("if", "ie"):
            is_true, body = _evaluate(rest)
            if name == "ie" and len(self._else) < MAX_NESTED:
                self._else.append(not is_true)
            self._take(body, is_true)
        elif name == "el":
            self._take(rest, self._else.pop() if self._else else False)
        elif name in ("de", "de1", "am", "ig"):
            words = rest.split()
            lines = self._take_until("." if name == "ig" or len(words) < 2 else words[1])
            if name != "ig" and words:
                self._macros[words[0]] = lines
        elif name in ("ds", "ds1", "as", "nr"):
            key, _, value = rest.partition(" ")
            if name == "nr":
                number = re.match(r"\s*[+-]?(\d{1,9})", value)
                self._values[f"n{key}"] = number[1] if number else "0"
            else:
                before = self._values.get(key, "") if name == "as" else ""
                self._values[key] = (before + value.strip().removeprefix('"'))[:MAX_LINE]
        elif name in self._macros:
            self._call(self._macros[name], split_arguments(rest))
        else:
            return False
        return True

    def _take(self, body: str, is_wanted: bool) -> None:
        """Read what a condition applies to, or skip it: the rest of its line, or lines in braces."""
        if is_wanted:
            self._lines.appendleft(self._count(body).lstrip().removeprefix("\\{").lstrip() or ".")
            return
        depth = body.count("\\{") - body.count("\\}")
        while depth > 0 and self._lines:
            line = self._lines.popleft()
            depth += line.count("\\{") - line.count("\\}")

    def _take_until(self, end: str) -> list[str]:
        body = []
        while self._lines:
            line = self._lines.popleft()
            if re.match(r"[.'][ \t]*" + re.escape(end) + r"(?:\s|$)", line):
                break
            body.append(line.replace("\\\\", "\\"))
        return body

    def _call(self, body: list[str], arguments: list[str]) -> None:
        def fill(match: re.Match[str]) -> str:
            if match[1] in "*@":
                return self._count(" ".join(arguments))
            return self._count(arguments[int(match[1]) - 1]) if int(match[1]) <= len(arguments) else ""

        if len(self._lines) + len(body) > MAX_LINES:
            raise SourceError(f"Its macros expand to more than {MAX_LINES:,} lines.")
        self._lines.extendleft(self._count(_PARAMETER.sub(fill, line)) for line in reversed(body))


def _evaluate(text: str) -> tuple[bool, str]:
    """Whether a condition is true in a terminal, and what follows it."""
    match = _CONDITION.match(text)
    if not match:
        return False, text.partition(" ")[2] or text
    negation, left, right, number, comparison, other, letter, rest = match.groups()
    if letter:
        is_true = letter in "no"
    elif number:
        first, second = int(number), int(other or 0)
        is_true = {"<": first < second, ">=": first >= second, "<=": first <= second, "=": first == second}.get(
            (comparison or ">").replace("==", "="), first > second
        )
    else:
        is_true = left is not None and left == right  # whether a name is defined is not known
    return is_true != bool(negation), rest


class Layout:
    """The lines that a page shows: paragraphs, terms with their descriptions, headings, literal text and tables."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 0
        self.is_literal = False
        self.is_glued = False  # the next text follows without a space
        self._is_below_heading = False  # where no empty line is shown
        self._words: list[str] = []
        self._marker = ""  # of the item of a list that begins

    def add(self, text: str) -> None:
        if self.is_literal and not self.is_glued:
            self.flush()
            self._is_below_heading = False
            self.lines.append((" " * self.indent + text.expandtabs()).rstrip())
        elif not text.strip():
            self.blank()
        elif self.is_glued and (last := self._words or self.lines) and len(last[-1]) < MAX_LINE:
            last[-1] += text
        else:
            if text[0] == " ":
                self.flush()
            self._words.append(text)
        self.is_glued = False

    def flush(self) -> None:
        if self._words or self._marker:
            self._is_below_heading = False
            first = " " * max(self.indent - len(self._marker), 0) + self._marker
            text = _SPACE.sub(" ", " ".join(self._words)).strip(" ")
            width = max(WIDTH, self.indent + 30)
            self.lines += textwrap.wrap(
                text, width, initial_indent=first, subsequent_indent=" " * self.indent,
                break_long_words=False, break_on_hyphens=False,
            ) or [first.rstrip()]  # fmt: skip
            self._words, self._marker = [], ""

    def blank(self) -> None:
        self.flush()
        if self.lines and self.lines[-1] and not self._is_below_heading:
            self.lines.append("")

    def add_heading(self, text: str, indent: int) -> None:
        self.blank()
        self.add_line(text, indent)
        self._is_below_heading = True

    def add_line(self, text: str, indent: int) -> None:
        self.flush()
        self._is_below_heading = False
        self.lines.append(" " * indent + " ".join(text.split()))

    def begin_item(self, term: str, indent: int) -> None:
        """Begin the description of a term, which is on a line of its own unless it is the mark of an item."""
        self.flush()
        self.indent = indent + STEP
        if re.fullmatch(r"\W|\(?\w{1,2}[.)]|o", term):
            self._marker = f"{'•' if term == 'o' else term} "
            self.indent = indent + len(self._marker)
        elif term:
            self.add_line(term, indent)

    def add_table(self, rows: list[list[str]], has_header: bool) -> None:
        self.blank()
        shown = render_table(rows) if has_header else "\n".join("    ".join(filter(None, row)) for row in rows)
        self.lines += [" " * self.indent + line for line in shown.splitlines()]
        self.lines.append("")


def read_table(source: Iterator[str]) -> tuple[list[list[str]], bool]:
    """The rows of a table up to its end, and whether the first is a header."""
    separator, in_formats = "\t", True
    formats: list[str] = []
    rows: list[list[str]] = []
    rules: list[int] = []  # the number of rows above each line
    cell: list[str] | None = None  # a text of several lines
    for line in source:
        request = split_request(line)
        if request and request[0] == "TE":
            break
        if in_formats:
            if not line.rstrip().endswith(";"):
                formats.append(line)
                in_formats = not line.rstrip().endswith(".")
            elif found := re.search(r"tab\s*\((.)\)", line):
                separator = found[1]
        elif cell is not None:
            if line.startswith("T}"):
                rest = line[2:].split(separator)
                rows[-1][-1] = " ".join(cell) + rest[0]
                rows[-1] += rest[1:]
                cell = [] if rest[-1].strip() == "T{" else None
            else:
                cell.append(_show_text(line))
        elif request:
            in_formats = request[0] == "T&"
        elif line.strip() in ("_", "="):
            rules.append(len(rows))
        elif line.strip():
            rows.append(line.split(separator))
            cell = [] if rows[-1][-1].strip() == "T{" else None
    is_bold = len(formats) > 1 and "b" in formats[0].lower()
    shown = [[unescape(one).strip() for one in row] for row in rows]
    return [[one for one in row if one not in ("\\^", "\\_")] for row in shown], is_bold or 1 in rules


def _show_text(line: str) -> str:
    """The text of a line of a cell, whose macros are those of fonts."""
    request = split_request(line)
    if not request:
        return line
    name, rest = request
    return FONTS[name].join(split_arguments(rest)) if name in FONTS else ""
