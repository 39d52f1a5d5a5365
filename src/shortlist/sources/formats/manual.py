"""Manual pages, with the macros of man or mdoc, as the text that `man` shows."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.decoding import MAX_BYTES, File, decode, is_binary
from shortlist.sources.formats.mdoc import render_mdoc
from shortlist.sources.formats.roff import (
    FONTS,
    STEP,
    Expander,
    Layout,
    is_manual_source,
    read_table,
    split_arguments,
    split_request,
    unescape,
)

_GZIP = b"\x1f\x8b"
_LINK = re.compile(r"(?:[.']\\\".*\n)*[.']so[ \t]+\S+\s*")
_SUMMARY = re.compile(r"^NAME\n\s+(\S.{0,120})", re.MULTILINE)


def read_manual(read_plain: Callable[[File], Iterator[Document | Problem]], file: File) -> Iterator[Document | Problem]:
    """A manual page; a file that is only named as one is plain text, or skipped if it is compressed or names a page."""
    data = file.read()
    source = _unpack(data)
    if text := render_manual(source) if is_manual_source(source) else "":
        summary = _SUMMARY.search(text)
        yield file.make_document("manual", summary[1] if summary else file.path.name, text)
    elif not data.startswith(_GZIP) and not _LINK.fullmatch(source):
        yield from read_plain(file)


def _unpack(data: bytes) -> str:
    """The text of a file, which may be compressed; empty if it is binary."""
    if data.startswith(_GZIP):
        try:
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"It is damaged: {error}.") from None
        if len(data) > MAX_BYTES:
            raise SourceError(f"It unpacks to more than {MAX_BYTES >> 20} MB.")
    return "" if is_binary(data) else decode(data)


def render_manual(source: str) -> str:
    """The text of a page: a first line such as "LS(1)  User Commands  LS(1)", and its sections."""
    lines = iter(Expander(source))
    layout = Layout()
    for line in lines:
        request = split_request(line)
        if request is None:
            layout.add(unescape(line))
            continue
        layout.blank()
        if request[0] in ("Dd", "Dt"):
            render_mdoc(layout, line, lines)
        elif request[0] == "TH":
            _ManPage(layout, lines).render(line)
    layout.flush()
    shown = "\n".join(layout.lines).strip("\n").replace("\xa0", " ")
    return shown.encode(errors="ignore").decode()  # without halves of characters


class _ManPage:
    """A page with the macros of man."""

    def __init__(self, layout: Layout, lines: Iterator[str]) -> None:
        self._layout, self._lines = layout, lines
        self._left = STEP  # where a paragraph begins
        self._outer: list[int] = []
        self._awaits_term = False
        self._address = ""

    def render(self, line: str | None) -> None:
        while line is not None:
            request = split_request(line)
            if request is None:
                self._add(line)
            else:
                self._read(*request)
            line = next(self._lines, None)

    def _add(self, line: str) -> None:
        shown = unescape(line)
        if self._awaits_term:
            self._awaits_term = False
            self._layout.begin_item(shown.strip(), self._left)
            return
        self._layout.add(shown)
        self._layout.is_glued = line.endswith("\\c")

    def _read(self, name: str, rest: str) -> None:
        layout = self._layout
        if name in FONTS:
            if arguments := split_arguments(rest):
                self._add(FONTS[name].join(arguments))
        elif name in ("SH", "SS"):
            self._begin_section(name, split_arguments(rest))
        elif name in ("PP", "P", "LP", "HP", "sp", "Sp"):
            layout.blank()
            if name[0] != "s":
                layout.indent = self._left
        elif name in ("TP", "TQ", "IP"):
            self._begin_term(name, split_arguments(rest))
        elif name in ("RS", "RE"):
            self._indent(name, rest)
        elif name in ("nf", "EX", "Vb", "fi", "EE", "Ve"):
            layout.flush()
            layout.is_literal = name in ("nf", "EX", "Vb")
        elif name in ("br", "ti", "in", "ce"):
            layout.flush()
        else:
            self._read_rare(name, split_arguments(rest))

    def _begin_section(self, name: str, arguments: list[str]) -> None:
        title = unescape(" ".join(arguments)) or unescape(next(self._lines, ""))
        layout = self._layout
        self._awaits_term = layout.is_literal = False
        layout.add_heading(title, 3 if name == "SS" else 0)
        self._left, self._outer = STEP, []
        layout.indent = STEP

    def _begin_term(self, name: str, arguments: list[str]) -> None:
        if name == "TQ":
            self._layout.flush()
        else:
            self._layout.blank()
        if name == "IP":
            self._layout.begin_item(unescape(arguments[0]).strip() if arguments else "", self._left)
        else:
            self._awaits_term = True

    def _indent(self, name: str, rest: str) -> None:
        self._layout.flush()
        if name == "RS":
            number = re.match(r"\+?(\d{1,2})", rest)
            self._outer.append(self._left)
            self._left = min(self._left + max(int(number[1]) if number else STEP, 2), 60)
        elif self._outer:
            self._left = self._outer.pop()
        self._layout.indent = self._left

    def _read_rare(self, name: str, arguments: list[str]) -> None:
        layout = self._layout
        shown = [unescape(one) for one in arguments]
        if name == "TH":
            head = f"{shown[0] if shown else 'PAGE'}({shown[1] if len(shown) > 1 else ''})".replace(" ", "_")
            layout.lines.append(f"{head}  {shown[4] if len(shown) > 4 else ''}  {head}")
        elif name == "TS":
            layout.add_table(*read_table(self._lines))
        elif name == "EQ":
            while (line := next(self._lines, None)) is not None and split_request(line) != ("EN", ""):
                pass
        elif name in ("UR", "MT"):
            self._address = shown[0] if shown else ""
        elif name in ("UE", "ME"):
            layout.add(f"<{self._address}>{''.join(shown[:1])}")
        elif name == "SY":
            layout.flush()
            layout.add(" ".join(shown))
        elif name == "OP":
            layout.add(f"[{' '.join(shown)}]")
