"""The words of a language with which questions and sentences are read: question words, dates, causes, negations.

Those of English are in english.toml, those of other languages in languages.toml. A language that neither has is read by
its stop words alone.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from shortlist.answer.extractive import english
from shortlist.index.text.analyzers import words
from shortlist.index.text.languages import ENGLISH, SCRIPTS, get_stop_words, list_languages
from shortlist.index.text.word_parts import fold

UNITS = (
    "percent", "second", "minute", "hour", "day", "week", "month", "year", "century",
    "euro", "dollar", "meter", "kilometer", "kilogram",
)  # fmt: skip
NUMBERS = (*range(21), *range(30, 100, 10), 100, 1_000, 1_000_000, 1_000_000_000)
UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})  # languages without spaces between words

_DATA: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
MONTHS = frozenset(
    name for table in _DATA.values() for names in table.get("months", "").split() for name in names.split("|")
)
_OTHER_SCRIPTS = frozenset(code for codes in SCRIPTS.values() for code in codes)
_KINDS = {"why": "why", "number": "number", "date": "when", "who": "who", "where": "where"}
_ENGLISH_WORD = re.compile(r"\w+(?:['’]\w+)*")
_NOTHING = re.compile(r"(?!)")
# The zeros of the scripts with digits of their own.
_ZEROS = (
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040,
    0x17E0, 0xFF10,
)  # fmt: skip
_ASCII_DIGITS = {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)}
_HAN_NUMBER = "[二三四五六七八九十百千万亿兆两兩萬億]+|(?<=第)一"
_HIRAGANA = "[\u3041-\u3096\u30fc]+"


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The words of a language. Its patterns are searched in texts as `normalize` returns them."""

    language: str
    normalize: Callable[[str], str]
    words: Callable[[str], list[str]]
    kinds: Mapping[str, re.Pattern[str]]
    dates: re.Pattern[str]
    causes: re.Pattern[str]
    negation: re.Pattern[str]
    only: re.Pattern[str]
    backward: re.Pattern[str]
    openers: re.Pattern[str]
    idle: re.Pattern[str]  # words that only ask, in these places
    asking: frozenset[str]  # words that only ask or join
    number_words: frozenset[str]
    ordinals: frozenset[str]
    function_words: frozenset[str]
    numbers: Mapping[str, int]
    units: Mapping[str, re.Pattern[str]]
    months: tuple[re.Pattern[str], ...]
    abbreviations: frozenset[str]
    has_ordinals: bool = False
    names_have_capitals: bool = True  # and other words inside a sentence have none
    has_other_script: bool = False  # than Latin

    @property
    def is_english(self) -> bool:
        return self.language == ENGLISH

    @property
    def is_spaced(self) -> bool:
        return self.language not in UNSPACED

    def find_kind(self, text: str) -> str:
        """The kind of thing that a question asks for, or nothing."""
        normal = self.normalize(text)
        kind = next((kind for kind, pattern in self.kinds.items() if pattern.search(normal)), "")
        return kind if self.names_have_capitals or kind not in ("who", "where") else ""

    def list_idle(self, text: str) -> set[str]:
        """The words of a question that only ask."""
        return {word for match in self.idle.finditer(self.normalize(text)) for word in match.group().lower().split()}

    def list_topics(self, text: str) -> list[str]:
        """The words of a question; where words are not separated, what is left without those that only ask."""
        return self.words(text if self.is_spaced else self.idle.sub(" ", self.normalize(text)))

    def find_numbers(self, text: str) -> list[str]:
        """The numbers in a sentence without spaces between words."""
        return re.findall(rf"\d+|{_HAN_NUMBER}", self.normalize(text))

    def find_dates(self, text: str) -> list[str]:
        """The dates and times in a sentence."""
        clock = [] if self.is_english else re.findall(r"\d{1,2}[:h]\d\d", text)
        return clock + [match.group() for match in self.dates.finditer(self.normalize(text))]

    def refers_back(self, text: str) -> bool:
        """Whether a sentence begins with a word such as "it", or "this"."""
        return bool(self.backward.match(self.normalize(text).lstrip()))


def _join(text: str) -> str:
    """The folded words of a text, with ASCII digits and a space around each."""
    return f" {' '.join(words(fold(text).translate(_ASCII_DIGITS).replace(chr(39), ' ').replace('’', ' ')))} "


def fold_digits(text: str) -> str:
    """A text in one case and width, with ASCII digits."""
    return fold(unicodedata.normalize("NFKC", text)).translate(_ASCII_DIGITS)


def _alternatives(entries: Iterable[str]) -> str:
    """A pattern of words: `_` is a space, `*` any ending; longer ones first."""
    plain = [fold(entry).replace("_", " ").replace("'", " ") for entry in entries if entry != "-"]
    escaped = (re.escape(entry).replace(r"\*", r"\S*").replace(r"\ ", " ") for entry in plain)
    return "|".join(sorted(set(escaped), key=lambda entry: (-len(entry), entry)))


def _compile(entries: Iterable[str], *, is_spaced: bool) -> re.Pattern[str]:
    body = _alternatives(entries)
    if not body:
        return _NOTHING
    return re.compile(rf"(?<![^ ])(?:{body})(?![^ ])" if is_spaced else body)


@cache
def get_lexicon(language: str) -> Lexicon:
    """The words of a language."""
    return _read_english() if language == ENGLISH else _read_table(language, _DATA.get(language, {}))


def _read_english() -> Lexicon:
    return Lexicon(
        language=ENGLISH,
        normalize=lambda text: text,
        words=_ENGLISH_WORD.findall,
        kinds=english.KINDS,
        dates=english.DATES,
        causes=english.CAUSES,
        negation=english.NEGATION,
        only=_NOTHING,
        backward=english.REFERS_BACK,
        openers=_NOTHING,
        idle=english.IDLE,
        asking=english.ASKING,
        number_words=english.NUMBER_WORDS,
        ordinals=english.ORDINALS,
        function_words=english.FUNCTION_WORDS,
        numbers={},
        units={},
        months=(),
        abbreviations=frozenset(),
    )


def _read_table(language: str, table: Mapping[str, Any]) -> Lexicon:
    is_spaced = language not in UNSPACED
    lists = {key: value.split() for key, value in table.items() if isinstance(value, str)}

    def compile_list(*names: str) -> re.Pattern[str]:
        return _compile((entry for name in names for entry in lists.get(name, ())), is_spaced=is_spaced)

    months = [entry.split("|") for entry in lists.get("months", ())]
    units = {name: entry.split("|") for name, entry in zip(UNITS, lists.get("units", ()), strict=False)}
    numbers = {
        fold(word): value
        for value, entry in zip(NUMBERS, lists.get("numbers", ()), strict=False)
        for word in entry.split("|")
        if word != "-"
    }
    stop = get_stop_words(language) if language in list_languages() else frozenset()
    idle = compile_list("asking", *_KINDS.values(), *(() if is_spaced else ("function",)))
    return Lexicon(
        language=language,
        normalize=_join if is_spaced else fold_digits,
        words=words,
        kinds={kind: compile_list(name) for kind, name in _KINDS.items()},
        dates=_compile_dates(months, units, is_spaced=is_spaced),
        causes=compile_list("causes"),
        negation=compile_list("negation"),
        only=compile_list("only"),
        backward=compile_list("backward"),
        openers=compile_list("openers"),
        idle=re.compile(f"{idle.pattern}|{_HIRAGANA}") if language == "ja" else idle,
        asking=stop,
        # "one" is an article in many languages
        number_words=frozenset(word for word, value in numbers.items() if value != 1),
        ordinals=frozenset(),
        function_words=stop,
        numbers=numbers,
        units={name: _compile(entries, is_spaced=is_spaced) for name, entries in units.items()},
        months=tuple(_compile(entries, is_spaced=is_spaced) for entries in months),
        abbreviations=frozenset(lists.get("abbreviations", ())),
        has_ordinals=bool(table.get("has_ordinals")),
        names_have_capitals=not table.get("has_plain_capitals") and _has_case(table),
        has_other_script=language in _OTHER_SCRIPTS,
    )


def _has_case(table: Mapping[str, Any]) -> bool:
    sample = str(table.get("asking", ""))
    return sample.upper() != sample


def _compile_dates(months: list[list[str]], units: Mapping[str, list[str]], *, is_spaced: bool) -> re.Pattern[str]:
    """Years, months, centuries, and amounts of days, weeks, months and years."""
    parts = [r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)"]
    if names := _alternatives(entry for entries in months for entry in entries):
        parts.append(rf"(?<![^ ])(?:{names})(?![^ ])" if is_spaced else rf"(?<!\d)(?:{names})")
    times = _alternatives(
        entry for name in ("day", "week", "month", "year", "century") for entry in units.get(name, ())
    )
    if times:
        parts.append(rf"\d+ ?(?:{times})(?![^ ])" if is_spaced else rf"(?:\d+|{_HAN_NUMBER}) ?(?:{times})")
    if century := _alternatives(units.get("century", ())):
        parts.append(rf"(?<![^ ])(?:(?:{century}) [ivx]+|[ivx]+ (?:{century}))(?![^ ])")
    return re.compile("|".join(parts))


@lru_cache(maxsize=256)
def find_unit(text: str, language: str) -> str:
    """The unit that a word or two at the beginning of a text name, or nothing."""
    lexicon = get_lexicon(language)
    normal = lexicon.normalize(text).lstrip()
    return next((name for name, pattern in lexicon.units.items() if pattern.match(normal)), "")
