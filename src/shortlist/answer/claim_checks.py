"""Checks of a sentence against the passages that it cites, and where it repeats them word for word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from shortlist.results import Evidence

SHARED_WORDS = 4  # words in a row that count as taken from a passage
WORD = re.compile(r"\w+")

_QUOTES = re.compile(r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|\"([^\"]+)\"")
_ELLIPSIS = re.compile(r"\s*(?:\[?\(?(?:\.\.\.|…)\)?\]?)\s*")
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f]\d+)*")
_LIST_NUMBER = re.compile(r"\s*(?:[-*•]\s+)?\d{1,3}[.)]\s")

Span = tuple[int, int]


class Statement(NamedTuple):
    """A sentence without its citations, the passages that it cites, and the question."""

    text: str
    cited: Sequence[Evidence]
    question: str


def check_words(statement: Statement) -> str:
    return "" if WORD.search(statement.text) else "It says nothing."


def check_quotes(statement: Statement) -> str:
    """Every quotation must be in a cited passage, apart from spaces and the shape of quotation marks."""
    for quote in _find_quotes(statement.text):
        if not any(_find_places(quote, item.text) for item in statement.cited):
            return f'It quotes "{quote[:80]}", which is not in what it cites.'
    return ""


def check_numbers(statement: Statement) -> str:
    """Every number must be in a cited passage or in the question."""
    known = set(_find_numbers(statement.question))
    for item in statement.cited:
        known.update(_find_numbers(f"{item.text} {item.name} {item.context} {item.locator} {item.label}"))
    for number in _find_numbers(_LIST_NUMBER.sub("", statement.text, count=1)):
        if number not in known:
            return f"The number {number} is not in what it cites."
    return ""


# Each returns the reason to drop the sentence, or an empty string.
CHECKS: tuple[Callable[[Statement], str], ...] = (check_words, check_quotes, check_numbers)


def find_spans(statement: Statement, item: Evidence) -> tuple[Span, ...]:
    """Where a cited passage contains quotations of the sentence, or several words of it in a row."""
    quotes = _find_quotes(statement.text)
    spans = [place for quote in quotes for place in _find_places(quote, item.text)]
    merged: list[Span] = []
    for start, end in sorted([*spans, *_find_shared(statement.text, item.text)]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


def _find_quotes(text: str) -> list[str]:
    quotes = ["".join(groups).strip().rstrip(".,;:!?") for groups in _QUOTES.findall(text)]
    return [quote for quote in quotes if WORD.search(quote)]


def _find_places(quote: str, text: str) -> list[Span]:
    """The places of the parts of a quotation in a text, in order; none if a part is missing."""
    places: list[Span] = []
    for part in filter(None, _ELLIPSIS.split(quote)):
        match = re.compile(_verbatim_pattern(part)).search(text, places[-1][1] if places else 0)
        if not match:
            return []
        places.append(match.span())
    return places


def _verbatim_pattern(part: str) -> str:
    """A pattern of the exact words, with any space between them and quotation marks of any shape."""
    words = part.split()
    escaped = [re.sub(r"\\?[\"“”„«»]", '["“”„«»]', re.sub(r"['’‘`]", "['’‘`]", re.escape(word))) for word in words]
    first = words[0][0]
    if first.isalpha():
        escaped[0] = f"[{first.lower()}{first.upper()}]{escaped[0][len(re.escape(first)) :]}"
    return r"\s+".join(escaped)


def _find_numbers(text: str) -> Iterator[str]:
    """The numbers in a text, without separators of thousands, with a point before decimals."""
    for number in _NUMBER.findall(text):
        bare = re.sub(r"[.,\u00a0\u202f](?=\d{3}(?:\D|$))", "", number)
        yield re.sub(r"[,\u00a0\u202f]", ".", bare)


def _find_shared(claim: str, text: str) -> Iterator[Span]:
    """Where a text has several words in a row that the claim has, too."""
    words = list(WORD.finditer(text))
    ours, theirs = ([word.casefold() for word in WORD.findall(each)] for each in (claim, text))
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        if block.size >= SHARED_WORDS:
            yield words[block.b].start(), words[block.b + block.size - 1].end()
