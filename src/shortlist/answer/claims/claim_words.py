"""The words of a claim or a passage: terms, names, numbers with their units, clauses and sentences."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from shortlist.answer.extractive import english
from shortlist.answer.extractive.units.splitting import split_spans
from shortlist.index.text.analyzers import get_analyzer, stemmer
from shortlist.index.text.languages import ENGLISH_STOP_WORDS

FAR_UNIT = 2  # words between a number and its unit: "20 working days", "5 per cent"
LEAST_WORDS = 8  # of a statement whose language can be recognized

_DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
ONLY, ALL, ANY, NO_ONE, SOURCES, JOINING, OPEN, AUXILIARIES = (
    frozenset(_DATA[name].split())
    for name in ("only", "all", "any", "no_one", "sources", "joining", "open", "auxiliaries")
)
_DENYING, _NOT_DENYING, _ENGLISH, _CALENDAR, _EMPTY = (
    frozenset(_DATA[name].split()) for name in ("denying", "not_denying", "english", "calendar", "empty")
)
BOUNDS: dict[str, str] = {word: bound for bound, words in _DATA["bounds"].items() for word in words.split()}
_UNITS: dict[str, str] = {word: unit for unit, words in _DATA["units"].items() for word in words.split()}
_NUMBERS: dict[str, int] = _DATA["numbers"]
_SCALES: dict[str, int] = _DATA["scales"]
_NUMERALS = _NUMBERS | _SCALES
_SAYS_NOTHING = ENGLISH_STOP_WORDS | english.FUNCTION_WORDS | english.ASKING | _EMPTY

_TOKEN = re.compile(
    r"(?P<number>\d+(?:[.,:]\d+)*)(?:st|nd|rd|th|['’]?s)?\b|(?P<sign>[£$€%])"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)|(?P<stop>[,;:()|]|\s[-–—]+\s|[.!?](?=\s|$))"
)
_NAME = re.compile(r"(?<=[a-z,;&] )[A-Z]\w+|[A-Z]\w+(?= [A-Z])")
_LABEL = re.compile(r"[-*•] [^:]+:")
_THOUSANDS = re.compile(r"(?<!^0)[.,](?=\d{3}(?:\D|$))")
_SPACED_THOUSANDS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")


@cache
def load_synonyms() -> dict[str, set[str]]:
    """The stems that may stand for each stem."""
    synonyms: dict[str, set[str]] = {}
    for group in _DATA["synonyms"].strip().replace("\n", "|").split("|"):
        stems = {stemmer().stemWord(word) for word in group.split()}
        for stem in stems:
            synonyms.setdefault(stem, set()).update(stems)
    return synonyms


class AnalyzedWord(NamedTuple):
    """A word, a number or the sign of a unit. Function words have no terms; clauses are numbered within a sentence."""

    text: str  # lowercase
    terms: tuple[str, ...]
    is_name: bool
    number: str
    unit: str
    clause: int
    denies: bool = False


class AnalyzedSentence(NamedTuple):
    """The words of a sentence, a heading, a list item or a table row, which also has the terms of its headers."""

    words: tuple[AnalyzedWord, ...]
    terms: frozenset[str]
    texts: frozenset[str]
    numbers: frozenset[str]
    denies: bool
    headers: frozenset[str] = frozenset()

    def clauses(self) -> list[list[AnalyzedWord]]:
        return [list(group) for _, group in groupby(self.words, key=lambda word: word.clause)]


class Amount(NamedTuple):
    """A clause with a number, and its terms with those of its headers."""

    words: Sequence[AnalyzedWord]
    terms: frozenset[str]


class AnalyzedPassage(NamedTuple):
    """The sentences of a text, its clauses with numbers, and the sentences that have each term."""

    sentences: tuple[AnalyzedSentence, ...]
    amounts: tuple[Amount, ...]
    places: Mapping[str, Sequence[int]]
    numbers: frozenset[str]
    units: frozenset[str]


class _Token(NamedTuple):
    text: str
    kind: str
    start: int
    end: int


def read_claim(text: str) -> AnalyzedSentence:
    """The words of a statement; only in an English one capitals are names."""
    sentence = _read(text)
    if len(sentence.words) >= LEAST_WORDS and sentence.texts.isdisjoint(_ENGLISH):
        return sentence._replace(words=tuple(word._replace(is_name=False) for word in sentence.words))
    return sentence


@lru_cache(maxsize=64)  # the sentences of an answer cite the same few passages
def read_passage(text: str) -> AnalyzedPassage:
    """The sentences of a text. A name at the beginning of one is known by the others."""
    names = frozenset(name.lower() for name in _NAME.findall(text))
    sentences: list[AnalyzedSentence] = []
    places: dict[str, list[int]] = {}
    header: frozenset[str] = frozenset()
    for start, end in split_spans(text):
        one = _read(text[start:end], names)
        if text.startswith("|", start):
            label = frozenset(get_analyzer().terms(text[start:end].split("|", 2)[1]))
            one = one._replace(headers=header | label, terms=one.terms | header)
            header = header or one.terms
        else:
            header = frozenset()
            if label_match := _LABEL.match(text, start, end):
                one = one._replace(headers=frozenset(get_analyzer().terms(label_match.group())))
        for term in one.terms:
            places.setdefault(term, []).append(len(sentences))
        sentences.append(one)
    numbers = frozenset().union(*(one.numbers for one in sentences))
    units = frozenset(word.unit for one in sentences for word in one.words)
    amounts = tuple(
        Amount(words, one.headers.union(*(word.terms for word in words)))
        for one in sentences
        if one.numbers
        for words in one.clauses()
        if any(word.number for word in words)
    )
    return AnalyzedPassage(tuple(sentences), amounts, places, numbers, units)


def _read(text: str, names: Set[str] = frozenset()) -> AnalyzedSentence:
    words = tuple(_read_words(text, names))
    return AnalyzedSentence(
        words,
        frozenset(term for word in words for term in word.terms),
        frozenset(word.text for word in words),
        frozenset(word.number for word in words if word.number),
        any(word.denies for word in words),
    )


def _read_words(text: str, names: Set[str]) -> Iterator[AnalyzedWord]:
    if not text.isascii():
        text = _SPACED_THOUSANDS.sub("", text)
        text = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    matches = _TOKEN.finditer(text)
    tokens = [_Token(match[match.lastgroup or 0], match.lastgroup or "", *match.span()) for match in matches]
    terms_of = get_analyzer().terms_of
    begins, clause, at = True, 0, 0
    while at < len(tokens):
        token, lowered = tokens[at], tokens[at].text.lower()
        if token.kind == "stop":
            clause += token.text != "|"
            begins = begins or token.text in ".!?:|"
            at += 1
            continue
        if token.kind == "number" or lowered in _NUMERALS:
            number, after = _parse_number(tokens, at)
            yield AnalyzedWord(lowered, (), False, number, _find_unit(tokens, at, after), clause)
            at = after
        else:
            clause += lowered in JOINING and _begins_clause(tokens, at)
            terms = () if token.kind == "sign" or _says_nothing(lowered) else terms_of(token.text)
            is_name = bool(terms) and _is_name(tokens[at : at + 2], begins and lowered not in names)
            yield AnalyzedWord(lowered, terms, is_name, "", _UNITS.get(lowered, ""), clause, _denies(lowered))
            at += 1
        begins = False


def _begins_clause(tokens: Sequence[_Token], at: int) -> bool:
    """Whether "and" begins a clause with a number of its own: not in "between 1 and 3 May"."""
    if any(token.text.lower() == "between" for token in tokens[max(0, at - 4) : at]):
        return False
    has_number = has_word = False
    for token in tokens[at + 1 :]:
        lowered = token.text.lower()
        if token.kind == "stop" or lowered in JOINING:
            break
        is_number = token.kind == "number" or lowered in _NUMBERS
        has_number |= is_number
        has_word |= token.kind == "word" and not is_number and lowered not in _UNITS and not _says_nothing(lowered)
    return has_number and has_word


@lru_cache(maxsize=1 << 14)
def _says_nothing(lowered: str) -> bool:
    return lowered in _SAYS_NOTHING or re.split("n?['’](?!s$)", lowered)[0] in _SAYS_NOTHING


@lru_cache(maxsize=1 << 14)
def _denies(lowered: str) -> bool:
    if lowered in _DENYING or lowered in NO_ONE:
        return True
    return lowered not in _NOT_DENYING and bool(english.NEGATION.search(lowered))


def _is_name(tokens: Sequence[_Token], begins: bool) -> bool:
    """Whether the first of these tokens is a name: a capital inside a sentence, or before another one."""
    token, following = tokens[0], tokens[-1]
    if not token.text[0].isupper():
        return False
    if not begins or token.text.lower() in _CALENDAR:
        return True
    is_next = following.kind == "word" and following.start == token.end + 1
    return is_next and following.text[0].isupper() and not _says_nothing(following.text.lower())


def read_number(text: str) -> str:
    """A number without separators of thousands, and with a decimal point."""
    return text if ":" in text else _THOUSANDS.sub("", text).replace(",", ".")


def _parse_number(tokens: Sequence[_Token], at: int) -> tuple[str, int]:
    """The number that begins at a token, as digits, and the place after it."""
    token, lowered = tokens[at], tokens[at].text.lower()
    written = read_number(token.text) if token.kind == "number" else str(_NUMERALS[lowered])
    at += 1
    if ":" in written or written.count(".") > 1:
        return written, at
    value = float(written)
    while at < len(tokens) and tokens[at].kind == "word":
        word = tokens[at].text.lower()
        rest = _NUMBERS.get(word, int(word == "one"))
        if word in _SCALES:
            value *= _SCALES[word]
        elif 20 <= value < 100 and value % 10 == 0 and 0 < rest < 10:
            value += rest
        else:
            break
        at += 1
    return f"{value:.15g}", at


def _find_unit(tokens: Sequence[_Token], at: int, after: int) -> str:
    """The unit of a number: a sign before it, a word soon after it, or "date" beside a month."""
    before = tokens[at - 1] if at else None
    if before and before.kind == "sign" and before.text != "%":
        return _UNITS[before.text]
    beside = [one.text.lower() for one in (before, *tokens[after : after + 1]) if one]
    if not _CALENDAR.isdisjoint(beside):
        return "date"
    for token in tokens[after : after + 1 + FAR_UNIT]:
        if token.kind in ("stop", "number") or token.text in ("£", "$", "€"):
            break
        if unit := _UNITS.get(token.text.lower()):
            return unit
    return ""
