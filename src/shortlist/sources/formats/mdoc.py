"""Manual pages with the macros of mdoc, whose lines are sentences of macros and words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from shortlist.sources.formats.roff import STEP, Layout, read_table, split_arguments, split_request, unescape

_MACROS = json.loads(Path(__file__).with_name("mdoc_macros.json").read_text("utf-8"))
_AROUND: dict[str, tuple[str, str]] = _MACROS["around"]  # what a macro puts around the rest of its line
_OPEN: dict[str, str] = _MACROS["open"]
_CLOSE: dict[str, str] = _MACROS["close"]
_EMPTY: dict[str, str] = _MACROS["empty"]  # what a macro without arguments shows
_CALLABLE = frozenset(_MACROS["plain"]) | _AROUND.keys() | _OPEN.keys() | _CLOSE.keys()
_ALONE = frozenset(("Nm", "Fd", "Fn", "Ft", "In"))  # what begins a line of a synopsis
_MARKED = frozenset(("bullet", "dash", "hyphen", "enum"))
_KINDS = _MARKED | {"item", "column"}
_STATUS = {
    "Ex": "The {} utility exits 0 on success, and >0 if an error occurs.",
    "Rv": "The {}() function returns the value 0 if successful; otherwise the value -1 is returned and the global "
    "variable errno is set to indicate the error.",
}
_CLOSING, _OPENING = frozenset(".,:;)]?!"), frozenset("([")


def render_mdoc(layout: Layout, line: str | None, lines: Iterator[str]) -> None:
    """Render the rest of a page, whose prologue begins with this line."""
    page = _MdocPage(layout, lines)
    while line is not None:
        request = split_request(line)
        if request is None:
            layout.add(unescape(line))
        else:
            page.read(*request)
        line = next(lines, None)


class _Sentence:
    """Pieces of text with a space between them, except where one is glued to the next."""

    def __init__(self, is_spaced: bool) -> None:
        self.text = ""
        self.is_glued = True
        self._is_spaced = is_spaced

    def add(self, piece: str, is_glued: bool = False) -> None:
        if piece or is_glued:
            self.text += piece if self.is_glued or not self.text else f" {piece}"
            self.is_glued = is_glued or not self._is_spaced


class _MdocPage:
    def __init__(self, layout: Layout, lines: Iterator[str]) -> None:
        self._layout, self._lines = layout, lines
        self._name = ""
        self._section = ""
        self._lists: list[tuple[str, int, bool]] = []  # the type, the indentation around it, whether it is compact
        self._displays: list[tuple[int, bool]] = []
        self._number = 0
        self._is_spaced = True

    def read(self, name: str, rest: str) -> None:
        arguments, layout = split_arguments(rest), self._layout
        if name == "Dt":
            head = f"{arguments[0] if arguments else 'PAGE'}({arguments[1] if len(arguments) > 1 else ''})"
            layout.lines.append(f"{head}    {head}")
        elif name in ("Sh", "Ss"):
            self._begin_section(name, arguments)
        elif name == "Sm":
            self._is_spaced = "off" not in arguments
            layout.is_glued = layout.is_glued and not self._is_spaced
        elif name in ("Pp", "Lp", "sp"):
            layout.blank()
        elif name == "br":
            layout.flush()
        elif name in ("Bl", "It", "El"):
            self._read_list(name, arguments)
        elif name in ("Bd", "Ed", "D1", "Dl"):
            self._read_display(name, arguments)
        elif name == "TS":
            layout.add_table(*read_table(self._lines))
        elif name in _STATUS:
            layout.add(_STATUS[name].format(arguments[1] if len(arguments) > 1 else self._name))
        elif name == "Nd":
            layout.add(f"– {self._show(arguments)}")
        elif name in ("Fo", "Fc"):
            if name == "Fo":
                layout.flush()
            layout.is_glued = name == "Fc"
            layout.add(f"{' '.join(arguments)}(" if name == "Fo" else ")")
            layout.is_glued = name == "Fo"
        elif name == "Fd" or name in _CALLABLE:
            self._add(
                arguments if name == "Fd" else [name, *arguments],
                is_first=self._section == "SYNOPSIS" and name in _ALONE,
            )

    def _begin_section(self, name: str, arguments: list[str]) -> None:
        layout = self._layout
        layout.is_literal = False
        layout.add_heading(self._show(arguments), 0 if name == "Sh" else 3)
        layout.indent = STEP
        self._section = arguments[0] if name == "Sh" and arguments else self._section
        self._lists, self._displays = [], []

    def _add(self, arguments: list[str], is_first: bool) -> None:
        layout = self._layout
        if is_first:
            layout.flush()
        layout.is_glued = layout.is_glued or arguments[0] in ("Ns", "Ap") or arguments[0] in _CLOSE
        shown, is_glued = self._join(arguments)
        if shown:
            layout.add(shown)
        layout.is_glued = is_glued

    def _show(self, arguments: list[str]) -> str:
        return self._join(arguments)[0]

    def _join(self, arguments: list[str]) -> tuple[str, bool]:
        """The text of macros and words, and whether what follows is glued to it."""
        out, at = _Sentence(self._is_spaced), 0
        while at < len(arguments):
            word = arguments[at]
            at += 1
            if word in _AROUND:
                end = len(arguments)
                while end > at and arguments[end - 1] in _CLOSING:
                    end -= 1
                left, right = _AROUND[word]
                out.add(left + self._show(arguments[at:end]) + right)
                at = end
            elif word in _OPEN:
                out.add(_OPEN[word], is_glued=True)
            elif word in _CLOSE:
                out.is_glued = True
                out.add(_CLOSE[word])
            elif word in _CALLABLE:
                end = at
                while end < len(arguments) and (arguments[end] not in _CALLABLE):
                    end += 1
                self._add_macro(out, word, arguments[at:end], end < len(arguments))
                at = end
            else:
                self._add_word(out, word)
        return out.text, out.is_glued and bool(arguments)

    def _add_word(self, out: _Sentence, word: str, prefix: str = "") -> None:
        if word in _CLOSING:
            out.is_glued = True
            out.add(word)
        else:
            out.add(prefix + unescape(word), is_glued=word in _OPENING)

    def _add_macro(self, out: _Sentence, name: str, words: list[str], has_more: bool) -> None:
        first = next((at for at, word in enumerate(words) if word not in _OPENING), len(words))
        last = next((at for at in range(len(words), first, -1) if words[at - 1] not in _CLOSING), first)
        for word in words[:first]:
            self._add_word(out, word)
        own = [unescape(word) for word in words[first:last]]
        if name == "Fl":
            for word in own:
                self._add_word(out, word, "-" if word not in ("|",) else "")
            if not own:
                out.add("-", is_glued=has_more and not words)
        elif name in ("Ns", "Ap"):
            out.is_glued = True
            out.add("'" * (name == "Ap"), is_glued=True)
            for word in own:
                self._add_word(out, word)
        elif name == "Pf":
            out.add("".join(own[:1]), is_glued=True)
            for word in own[1:]:
                self._add_word(out, word)
        elif shown := self._show_macro(name, own):
            out.add(shown)
        for word in words[last:]:
            self._add_word(out, word)

    def _show_macro(self, name: str, words: list[str]) -> str:
        if name == "Nm":
            self._name = self._name or " ".join(words)
            return " ".join(words) or self._name
        if name == "Xr":
            return f"{words[0]}({words[1]})" + " ".join(words[2:]) if len(words) > 1 else " ".join(words)
        if name == "Fn":
            return f"{words[0]}({', '.join(words[1:])})" if words else ""
        if name == "In":
            return f"#include <{' '.join(words)}>" if self._section == "SYNOPSIS" else f"<{' '.join(words)}>"
        if name == "Lk":
            return f"{' '.join(words[1:])}: {words[0]}" if len(words) > 1 else " ".join(words)
        if name == "Ta":
            return "\xa0\xa0" + " ".join(words)
        if name in ("St", "An", "Lb") and words and words[0].startswith("-"):
            return "" if name == "An" else words[0][1:]
        if name in ("Ux", "Nx", "Fx", "Ox", "Dx", "Bx", "At") and words:
            return f"{_EMPTY[name]} {' '.join(words)}"
        return " ".join(words) or _EMPTY.get(name, "")

    def _read_list(self, name: str, arguments: list[str]) -> None:
        layout = self._layout
        if name == "Bl":
            layout.flush()
            kind = next((word[1:] for word in arguments if word[1:] in _KINDS), "tag")
            self._lists.append((kind, layout.indent, "-compact" in arguments))
            self._number = 0
        elif not self._lists:
            return
        elif name == "El":
            layout.flush()
            _, layout.indent, _ = self._lists.pop()
        else:
            kind, indent, is_compact = self._lists[-1]
            if is_compact:
                layout.flush()
            else:
                layout.blank()
            self._begin_item(kind, indent, arguments)

    def _begin_item(self, kind: str, indent: int, arguments: list[str]) -> None:
        layout = self._layout
        if kind in _MARKED:
            self._number += 1
            layout.begin_item(f"{self._number}." if kind == "enum" else "•", indent)
        elif kind == "item":
            layout.indent = indent
        elif kind == "column":
            layout.indent = indent
            layout.add(self._show(arguments))
        else:
            layout.begin_item(self._show(arguments), indent)

    def _read_display(self, name: str, arguments: list[str]) -> None:
        layout = self._layout
        layout.flush()
        if name == "Bd":
            self._displays.append((layout.indent, layout.is_literal))
            layout.indent += 4 if "-offset" in arguments else 0
            layout.is_literal = "-literal" in arguments or "-unfilled" in arguments
        elif name == "Ed" and self._displays:
            layout.indent, layout.is_literal = self._displays.pop()
        elif name in ("D1", "Dl"):
            layout.add_line(self._show(arguments), layout.indent + 4)
