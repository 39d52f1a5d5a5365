"""Sentence boundaries of prose in any language: spans in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shortlist.answer.extractive.lexicon import MONTHS, get_lexicon
from shortlist.index.text.languages import ENGLISH

# Marks that end a sentence in some script besides . ! ? and …, where no space need follow.
END_MARKS = "。！？｡؟۔।॥።፧༎།។៕။։"
CLOSING = "\"'”’“‘)\\]*_`»›」』）】〉》"  # may follow the mark, inside a character class

_BREAK = re.compile(
    r"(?<=[.!?…])(?<!\.{4})[\"'”’)\]*_`]*\s+(?=[\"'“‘(\[*_`:]*[A-Z0-9À-ÖØ-ÞΑ-ΩА-Я])"
    r"|(?<=[:.!?…])\s*\n\s*\n\s*"  # an empty line after a sentence
    rf"|(?<=[{END_MARKS}])\s*"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e|cf|[Nn]os?|Jr|Sr|Fig|Eq|Vol|pp|ca?|approx|al|Inc|Ltd|Co)|\.[A-Z])\.$"
)
# A text may name people and dates of another language than its own, or be too short for its language to be detected.
_TITLE = re.compile(r"\b(?:Hrn?|Fr|Frk|[Dd]hr|[Mm]w|[Mm]evr|Sra|Srta|Sres|Dra|Dña|Mme|Mlle|Sig|Dott|Mgr)\.$")
_DAY = re.compile(r"(?<![\w.,])\d{1,2}\.$")
# A label before a sentence, such as "**Prices.** Tea is free."
_BOLD_LABEL = re.compile(r"(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(\*\*|__)[^*_\n]{1,60}\1\s+(?<!\n)")

# In other languages than English: the end of a sentence with the quotation marks that close after it. A Greek question
# ends with a semicolon.
_ANY_BREAK = re.compile(
    rf"[.!?…]+(?:[{CLOSING}]|[\s]»)*\s+"
    rf"|[{END_MARKS}]+[{CLOSING}]*\s*"
    r"|(?<=[:.!?…])\s*\n\s*\n\s*"
)
_GREEK_BREAK = re.compile(rf"{_ANY_BREAK.pattern}|[;\u037e][{CLOSING}]*\s+")
_OPENING = "\"'“„‘‚(«‹「『（【[*_`¿¡:–—- "
_LAST_WORD = re.compile(r"[^\s(«„“\"]+$")
_CONTINUES_QUOTE = re.compile(r"(?:と|って|など|は|が|の|を|に|で|、|，|,)")  # after 」, inside a Japanese sentence

# Thai and Lao have no mark for the end of a sentence: clauses are separated by spaces.
_CLAUSE_BREAK = re.compile(r"(?<=[\u0e00-\u0eff])\s+(?=[\u0e00-\u0eff])|\s*\n\s*")
LEAST_CLAUSE, LONGEST_CLAUSE = 60, 180  # characters of what is taken for a sentence


def split_sentences(
    text: str, start: int = 0, end: int | None = None, language: str = ENGLISH
) -> list[tuple[int, int]]:
    """Start and end of each sentence in a part of a text, without the space around it."""
    end = len(text) if end is None else end
    spans: list[tuple[int, int]] = []
    for before, after in _find_breaks(text, start, end, language):
        if before >= start and not _BOLD_LABEL.fullmatch(text[start:after].lstrip()):
            _add_span(spans, text, start, after)
            start = after
    _add_span(spans, text, start, end)
    return spans


def _find_breaks(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    """The end of each sentence but the last, and the start of the next one."""
    if language in ("th", "lo"):
        yield from _find_clauses(text, start, end)
    elif language == ENGLISH:
        for match in _BREAK.finditer(text, start, end):
            if match.start() >= start and not is_abbreviation(text, start, match.start()):
                yield match.span()
                start = match.end()
    else:
        pattern = _GREEK_BREAK if language == "el" else _ANY_BREAK
        for match in pattern.finditer(text, start, end):
            if match.end() < end and _ends_sentence(text, start, match, language):
                yield match.span()
                start = match.end()


def _ends_sentence(text: str, start: int, match: re.Match[str], language: str) -> bool:
    """Whether a sentence ends with a mark: not an abbreviation, an ordinal or a quotation inside a sentence."""
    mark, after = match.group()[:1], match.end()
    if mark in END_MARKS:
        closes_quote = match.group().rstrip()[-1:] in "」』）"
        return not (closes_quote and language == "ja" and _CONTINUES_QUOTE.match(text, after))
    if not match.group().strip() or "\n\n" in match.group().replace(" ", ""):
        return True
    begin = next((char for char in text[after : after + 8] if char not in _OPENING), "")
    if (
        not begin or (begin.islower() and not "\u10d0" <= begin <= "\u10ff") or begin in ",;)"
    ):  # Georgian has no capitals
        return False
    if match.group().startswith("...."):  # a dot leader
        return False
    return (
        mark != "." or match.group().startswith("..") or not is_abbreviation(text, start, match.start() + 1, language)
    )


def _find_clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _CLAUSE_BREAK.finditer(text, start, end):
        following = _CLAUSE_BREAK.search(text, match.end(), end)
        is_long = (following.start() if following else end) - start > LONGEST_CLAUSE
        if "\n\n" in match.group().replace(" ", "") or match.start() - start >= LEAST_CLAUSE or is_long:
            yield match.span()
            start = match.end()


def is_abbreviation(text: str, start: int, end: int, language: str = ENGLISH) -> bool:
    """Whether the period at the end of that part belongs to an abbreviation or, in many languages, to an ordinal."""
    if _TITLE.search(text, max(start, end - 6), end):
        return True
    is_number = text[max(start, end - 2) : end - 1].isdecimal()
    following = text[end : end + 40].split(maxsplit=1)[:1] if language != ENGLISH or is_number else []
    if following and following[0].strip(",;:.)").lower() in MONTHS and _DAY.search(text, max(start, end - 4), end):
        return True
    found = _ABBREVIATION.search(text, max(start, end - 12), end)
    if language == ENGLISH:
        if found and found.group().casefold() in ("no.", "nos."):
            return text[end:].lstrip()[:1].isdigit()
        return bool(found)
    word = _LAST_WORD.search(text, max(start, end - 20), end)
    if not word:
        return bool(found)
    lexicon, bare = get_lexicon(language), word.group().rstrip(".")
    if len(bare) == 1 and bare.isupper():
        return True
    if not following or following[0].rstrip(",;:").lower() in lexicon.function_words:
        return False  # a sentence begins: "Platz 3. Das war gut."
    if bare.isdecimal():
        return lexicon.has_ordinals and len(bare) <= 2
    return bare in lexicon.abbreviations or bare.lower() in lexicon.abbreviations


def _add_span(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    part = text[start:end]
    start, end = start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
    if end > start:
        spans.append((start, end))
