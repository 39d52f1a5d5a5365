"""Citations in a text, `[source:locator]` in any spelling, matched with the passages that were shown.

A source may be given by its label, its full path or any end of it; a locator in full or without its offset; several
citations may share a bracket. Names are looked up among the shown ones, not split at punctuation, so paths may contain
colons, brackets and spaces. Other brackets are text, such as `heap[0]`, and what a shown passage contains itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from shortlist.results import Answer, Citation, Claim, Evidence

LONGEST_MARKER = 500  # characters
MOST_ENDS = 6  # closing brackets that are tried for an opening one, since names may contain some

_FOLDED = str.maketrans({"[": "(", "]": ")", "<": "‹", ">": "›", "\\": "/", "’": "'", "‘": "'", "“": '"', "”": '"'})
_WORD = re.compile(r"\w")
_BETWEEN = re.compile(r"(?:[\s;,|&]|and\b)+")
_NEXT = re.compile(r"[;,|&]")
_AFTER_NAME = re.compile(r"\s*[:,#]?\s*")
_WORD_BEFORE = re.compile(r"\S+\s*\Z")
_LONGEST_WORD = 40  # characters before a bracket that are compared with a passage
_CITATION = re.compile(r".*[:=].*|[\s\d,;#^–-]*\d[\s\d,;–-]*")  # looks like one, also if it names nothing shown


class Marker(NamedTuple):
    """A bracket in a text that looks like a citation, and the passages that it cites; none if they were not shown."""

    start: int
    end: int
    text: str
    cited: tuple[Evidence, ...]


class CitationCatalog:
    """The passages that were shown, by every name that may be used to cite them."""

    def __init__(self, evidence: Sequence[Evidence]) -> None:
        by_name: dict[str, list[Evidence]] = {}
        for item in evidence:
            parts = _fold(item.source).split("/")
            ends = {"/".join(parts[at:]) for at in range(len(parts))}
            for name in filter(None, {*ends, _fold(item.label)}):
                by_name.setdefault(name, []).append(item)
        self._by_name: dict[str, list[Evidence]] = {}
        full_names = {_fold(name) for item in evidence for name in (item.label, item.source)}
        for name, items in by_name.items():
            if len({item.source for item in items}) == 1:
                self._by_name[name] = items
            elif name in full_names:  # the end of several paths means nothing unless it is the label of one
                self._by_name[name] = [item for item in items if _fold(item.label) == name]
        exact = {f"{name}:{item.locator}": item for item in evidence for name in (item.source, item.label)}
        self._exact = {_fold(text): item for text, item in exact.items()} | exact
        self._names = sorted(self._by_name, key=len, reverse=True)
        self._texts = [" ".join(item.text.split()) for item in evidence]

    def find(self, text: str) -> list[Marker]:
        """The citations in a text, in order, also those of passages that were not shown."""
        markers: list[Marker] = []
        at = text.find("[")
        while at >= 0:
            follows_marker = bool(markers) and markers[-1].end == at
            marker = self._find_at(text, at, at > 0 and not follows_marker and _is_word_end(text[at - 1]))
            if marker:
                markers.append(marker)
            at = text.find("[", marker.end if marker else at + 1)
        return markers

    def _find_at(self, text: str, start: int, follows_word: bool) -> Marker | None:
        line_end = text.find("\n", start, start + LONGEST_MARKER)
        last = line_end if line_end >= 0 else min(len(text), start + LONGEST_MARKER)
        ends: list[int] = []
        end = text.find("]", start, last)
        while end >= 0 and len(ends) < MOST_ENDS:
            ends.append(end)
            end = text.find("]", end + 1, last)
        for end in ends:
            inside = text[start + 1 : end]
            if follows_word and ":" not in inside:
                continue  # an index: items[0] does not cite the source 0
            cited = self.resolve(inside) or self.resolve(inside.lstrip("["))
            if cited:
                while inside.count("[") > inside.count("]") and text.startswith("]", end + 1):
                    end += 1
                    inside += "]"
                return Marker(start, end + 1, text[start : end + 1], cited)
        for end in ends:
            inside = text[start + 1 : end]
            if inside.count("[") == inside.count("]"):
                is_citation = not follows_word and _CITATION.fullmatch(inside) and not self._is_quoted(text, start, end)
                return Marker(start, end + 1, f"[{inside}]", ()) if is_citation else None
        return None

    def _is_quoted(self, text: str, start: int, end: int) -> bool:
        """Whether a shown passage contains this bracket after the same word."""
        before = _WORD_BEFORE.search(text, max(0, start - _LONGEST_WORD), start)
        quoted = " ".join(text[before.start() if before else start : end + 1].split())
        return any(quoted in shown for shown in self._texts)

    def resolve(self, inside: str) -> tuple[Evidence, ...]:
        """The shown passages that the text inside a bracket names; other names are skipped."""
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
            located, length = _match_locator(text, at, items)
            if not located and name and len(items) == 1 and (at == len(text) or _BETWEEN.match(text, at)):
                located = items  # a source of which only one passage was shown
            found |= dict.fromkeys(located)
            at += length
            if not located:
                items = []
                following = _NEXT.search(text, at)
                at = following.end() if following else len(text)
        return tuple(found)


class CitationNumbers:
    """Short citations for a text while it is written: each passage has the number of its first citation, from 1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._markers: list[str] = []

    def add(self, item: Evidence) -> None:
        """A passage that may be cited from now on."""
        self._markers.append(item.marker)

    def shorten(self, text: str) -> str:
        """The text with numbers in place of the markers of passages."""
        if not self._markers:
            return text
        pattern = "|".join(map(re.escape, self._markers))
        return re.sub(
            pattern, lambda place: f"[{self._numbers.setdefault(place.group(), len(self._numbers) + 1)}]", text
        )


def number_citations(answer: Answer) -> Answer:
    """The answer with short citations: [1] is what it cites first. Citations of lists of sources stay as they are."""
    numbers = {number: at for at, number in enumerate((one for one in answer.cited if one), 1)}
    claims: list[Claim] = []
    parts: list[str] = []
    end = shorter = 0
    span = answer.span
    for claim in answer.sentences:
        start = max(end, answer.text.find(claim.text, end))
        short = _shorten_claim(claim, numbers)
        parts += [answer.text[end:start], short.text]
        end = start + len(claim.text)
        if answer.span and answer.span[0] >= end:
            shorter += len(claim.text) - len(short.text)
            span = answer.span[0] - shorter, answer.span[1] - shorter
        claims.append(short)
    return replace(answer, text="".join([*parts, answer.text[end:]]), sentences=claims, span=span)


def _shorten_claim(claim: Claim, numbers: dict[int, int]) -> Claim:
    """The claim with short citations. A part of it that was asked for is before its citations."""
    marked = sorted((place, at) for at, citation in enumerate(claim.citations) for place in citation.places)
    places: dict[int, list[tuple[int, int]]] = {}
    text, end = "", 0
    for (start, stop), at in marked:
        number = numbers.get(claim.citations[at].number)
        marker = claim.text[start:stop] if number is None else f"[{number}]"
        text += claim.text[end:start]
        places.setdefault(at, []).append((len(text), len(text) + len(marker)))
        text, end = text + marker, stop

    def shorten(at: int, citation: Citation) -> Citation:
        number = numbers.get(citation.number)
        marker = citation.marker if number is None else f"[{number}]"
        return replace(citation, marker=marker, places=tuple(places.get(at, ())))

    citations = tuple(shorten(at, citation) for at, citation in enumerate(claim.citations))
    return replace(claim, text=text + claim.text[end:], citations=citations)


def _match_locator(text: str, at: int, items: Sequence[Evidence]) -> tuple[list[Evidence], int]:
    """The items with the longest locator at that place, and its length; without an offset it means all of its parts."""
    best: list[Evidence] = []
    length = 0
    for item in items:
        for locator in _spell_locator(item):
            end = at + len(locator)
            names_another = text.startswith(";offset=", end)  # an offset that was not shown
            if text.startswith(locator, at) and not names_another and (end == len(text) or not text[end].isalnum()):
                if len(locator) > length:
                    best, length = [item], len(locator)
                elif len(locator) == length and item not in best:
                    best.append(item)
    return best, length


def _spell_locator(item: Evidence) -> Iterator[str]:
    """A locator in full, without its offset, and as people write it: page 3, p. 3, p.3, row 5."""
    full = _fold(item.locator)
    base = full.partition(";offset=")[0]
    yield from (full, base)
    kind, _, number = base.partition("=")
    for word in {"page": ("page", "p.", "p"), "row": ("row",)}.get(kind, ()) if "=" in base else ():
        yield from (f"{word}{sign}{number}" for sign in (" ", ":", ""))


def _is_word_end(character: str) -> bool:
    return character.isalnum() or character in "_)]'\""


def _fold(text: str) -> str:
    return re.sub(r"\s+", " ", text.translate(_FOLDED)).strip().casefold()
