"""Quotations in a sentence, and where it repeats a passage word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from shortlist.answer.claims.claim_words import ONLY
from shortlist.answer.extractive.lexicon import get_lexicon
from shortlist.index.text.languages import ENGLISH

SHARED_WORDS = 4  # words in a row that count as taken from a passage
LIMITING_WORDS = 4  # before a repeated sentence that may deny it: "No leave is granted"
WORD = re.compile(r"\w+")
QUOTES = re.compile(r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|‹([^‹›]+)›|「([^「」]+)」|『([^『』]+)』|\"([^\"]+)\"")

_ELLIPSIS = re.compile(r"\s*(?:\[?\(?(?:\.\.\.|…)\)?\]?)\s*")
_WORD_OR_END = re.compile(r"[£$€%]|\w+(?:['’]\w+)*|[.!?](?=\s|$)|[。！？؟।۔]")

Span = tuple[int, int]


def is_repeated(text: str, passage: str, language: str = ENGLISH) -> bool:
    """Whether a passage contains all words of a sentence in a row, and does not deny or limit them before that."""
    words, whole = _fold(text).rstrip(".!?。！？؟।۔ "), f" {_fold(passage)} "
    at = whole.find(f" {words} ") if words else -1
    while at >= 0:
        before = re.split(r" [.!?。！？؟।۔] ", whole[: at + 1])[-1].split()[-LIMITING_WORDS:]
        if not _is_limited(" ".join(before), language) and ONLY.isdisjoint(before):
            return True
        at = whole.find(f" {words} ", at + 1)
    return False


def _is_limited(before: str, language: str) -> bool:
    lexicon = get_lexicon(language)
    normal = lexicon.normalize(before)
    return bool(lexicon.negation.search(normal) or lexicon.only.search(normal))


@lru_cache(maxsize=64)  # the sentences of an answer cite the same few passages
def _fold(text: str) -> str:
    return " ".join(_WORD_OR_END.findall(text.casefold().replace("’", "'")))


def find_spans(text: str, passage: str) -> tuple[Span, ...]:
    """Where a passage contains quotations of a sentence, or several words of it in a row."""
    spans = [place for quote in find_quotes(text) for place in find_places(quote, passage)]
    merged: list[Span] = []
    for start, end in sorted([*spans, *_find_shared(text, passage)]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


def find_quotes(text: str) -> list[str]:
    """What a sentence quotes."""
    quotes = ["".join(groups).strip().rstrip(".,;:!?。、，！？") for groups in QUOTES.findall(text)]
    return [quote for quote in quotes if WORD.search(quote)]


def find_places(quote: str, text: str) -> list[Span]:
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


def _find_shared(claim: str, text: str) -> Iterator[Span]:
    """Where a text has several words in a row that the claim has, too."""
    words = list(WORD.finditer(text))
    ours, theirs = ([word.casefold() for word in WORD.findall(each)] for each in (claim, text))
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        if block.size >= SHARED_WORDS:
            yield words[block.b].start(), words[block.b + block.size - 1].end()
