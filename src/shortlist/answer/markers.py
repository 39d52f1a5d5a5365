"""Citations in a text, `[source:locator]` in any spelling, matched with the passages that were shown.

A source may be given by its label, its full path or any end of it; a locator in full or without its offset; several
citations may share a bracket. Names are matched against what was shown, never cut at signs, so paths may hold colons,
brackets and spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shortlist.results import Evidence

LONGEST_MARKER = 500  # characters
ENDS_TRIED = 6  # closing brackets after an opening one, since names may hold some

_FOLDED = str.maketrans({"[": "(", "]": ")", "<": "‹", ">": "›", "\\": "/", "’": "'", "‘": "'", "“": '"', "”": '"'})
_WORD = re.compile(r"\w")
_SPACE = re.compile(r"\s+")
_BETWEEN = re.compile(r"(?:[\s;,|&]|and\b)+")
_NEXT = re.compile(r"[;,|&]")
_AFTER_NAME = re.compile(r"\s*[:,#]?\s*")
_SLICE = re.compile(r"[-\w]*:[-\w]*(?::[-\w]*)?")
_NUMBERS = re.compile(r"[\s\d,;#^–-]*\d[\s\d,;–-]*")


class Marker(NamedTuple):
    """A bracket in a text that is meant as a citation, and what it points to; nothing if that was never shown."""

    start: int
    end: int
    text: str
    cited: tuple[Evidence, ...]


class Catalog:
    """What was shown, by every name that it may be cited with."""

    def __init__(self, evidence: Sequence[Evidence]) -> None:
        by_name: dict[str, list[Evidence]] = {}
        for item in evidence:
            for name in _names(item):
                by_name.setdefault(name, []).append(item)
        sources = {name: {item.source for item in items} for name, items in by_name.items()}
        labels = {_fold(item.label) for item in evidence} | {_fold(item.source) for item in evidence}
        # the end of a path that two sources share says nothing, unless it is the very label of one
        self._by_name = {
            name: items if len(sources[name]) == 1 else [item for item in items if _fold(item.label) == name]
            for name, items in by_name.items()
            if len(sources[name]) == 1 or name in labels
        }
        exact = {f"{name}:{item.locator}": item for item in evidence for name in (item.source, item.label)}
        self._exact = {_fold(written): item for written, item in exact.items()} | exact
        self._names = sorted(self._by_name, key=len, reverse=True)

    def find(self, text: str) -> list[Marker]:
        """The citations in a text, in order; those of what was never shown among them."""
        return list(self._markers(text))

    def _markers(self, text: str) -> Iterator[Marker]:
        at = text.find("[")
        while at >= 0:
            marker = self._marker_at(text, at)
            if marker:
                yield marker
            at = text.find("[", marker.end if marker else at + 1)

    def _marker_at(self, text: str, start: int) -> Marker | None:
        line_end = text.find("\n", start, start + LONGEST_MARKER)
        last = line_end if line_end >= 0 else min(len(text), start + LONGEST_MARKER)
        ends: list[int] = []
        end = text.find("]", start, last)
        while end >= 0 and len(ends) < ENDS_TRIED:
            ends.append(end)
            end = text.find("]", end + 1, last)
        for end in ends:
            inside = text[start + 1 : end]
            cited = self.resolve(inside) or self.resolve(inside.lstrip("["))
            if cited:
                while inside.count("[") > inside.count("]") and text.startswith("]", end + 1):
                    end += 1
                    inside += "]"
                return Marker(start, end + 1, text[start : end + 1], cited)
        for end in ends:
            inside = text[start + 1 : end]
            if inside.count("[") == inside.count("]"):
                is_code = start > 0 and text[start - 1].isalnum() and _SLICE.fullmatch(inside)
                return None if is_code or not _is_meant_to_cite(inside) else Marker(start, end + 1, f"[{inside}]", ())
        return None

    def resolve(self, inside: str) -> tuple[Evidence, ...]:
        """The shown passages that the text between two brackets names; what else it names is passed over."""
        text = _fold(inside)
        exact = self._exact.get(inside.strip()) or self._exact.get(text)
        if exact or not _WORD.search(text):
            return (exact,) if exact else ()
        found: dict[Evidence, None] = {}
        items: list[Evidence] = []
        at = 0
        while at < len(text):
            between = _BETWEEN.match(text, at)
            at = between.end() if between else at
            name = next((name for name in self._names if text.startswith(name, at)), "")
            after = _AFTER_NAME.match(text, at + len(name)) if name else None
            if after:
                items, at = self._by_name[name], after.end()
            located, length = _located(text, at, items)
            if not located and name and len(items) == 1 and (at == len(text) or _BETWEEN.match(text, at)):
                located = items  # a source of which only one passage was shown
            found |= dict.fromkeys(located)
            at += length
            if not located:
                items = []
                further = _NEXT.search(text, at)
                at = further.end() if further else len(text)
        return tuple(found)


def _located(text: str, at: int, items: Sequence[Evidence]) -> tuple[list[Evidence], int]:
    """The items whose locator stands there, and its length; a locator without its offset means all that it holds."""
    best: tuple[list[Evidence], int] = ([], 0)
    for item in items:
        for locator in _locators(item):
            ends = at + len(locator)
            if text.startswith(locator, at) and (ends == len(text) or not text[ends].isalnum()):
                if len(locator) > best[1]:
                    best = [item], len(locator)
                elif len(locator) == best[1] and item not in best[0]:
                    best[0].append(item)
    return best


def _locators(item: Evidence) -> list[str]:
    full = _fold(item.locator)
    base = full.partition(";offset=")[0]
    loose = [f"{word}{sign}{number}" for word, sign, number in _spoken(base)]
    return [full, base, *loose]


def _spoken(base: str) -> Iterator[tuple[str, str, str]]:
    """page=3 as people write it: page 3, p. 3, p.3, row 5."""
    kind, equals, number = base.partition("=")
    if equals and kind in ("page", "row"):
        for word in (kind, "p.", "p") if kind == "page" else (kind,):
            for sign in (" ", ":", ""):
                yield word, sign, number


def _names(item: Evidence) -> set[str]:
    """All ends of the path of a source, and its label."""
    source = _fold(item.source)
    parts = source.split("/")
    ends = {"/".join(parts[at:]) for at in range(len(parts))}
    return {name for name in {*ends, _fold(item.label)} if name}


def _fold(text: str) -> str:
    return _SPACE.sub(" ", text.translate(_FOLDED)).strip().casefold()


def _is_meant_to_cite(inside: str) -> bool:
    """Whether a bracket that names nothing shown would be read as a citation all the same."""
    return ":" in inside or "=" in inside or bool(_NUMBERS.fullmatch(inside))
