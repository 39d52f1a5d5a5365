"""Languages: their names, stop words and request words, and the detection of a text's language.

The script of a text decides first. Languages of one script are distinguished by their stop words and request words
(`languages.json`), and by letters that only some of them use. Texts without such evidence, such as identifiers, code
and tables of numbers, have the default language.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from string import ascii_letters
from typing import Any

from shortlist.errors import InputError

ENGLISH = "en"

# The 33 words of Lucene's English list.
_STOP = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
ENGLISH_STOP_WORDS = frozenset(_STOP.split())
DECLARED_IN = ("language", "lang")  # the metadata in which a document says its language
AUTO = "auto"  # the language of each text is detected

# The characters of a text that are looked at: more do not change the result.
SAMPLE = 500

# Words by which most English texts are recognized at once, and how many of them are enough.
_SURELY_ENGLISH = (" the ", " of ", " and ", " is ", " to ", " for ")
_SURE_FROM = 4
_MOST_BYTES_PER_CHARACTER = 1.1  # in such a text

RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})

# The first code point of each run of letters, and its script. What is not listed belongs to no script.
_SCRIPT_RUNS = (
    (0x00, ""), (0x41, "latin"), (0x5B, ""), (0x61, "latin"), (0x7B, ""), (0xC0, "latin"), (0x250, ""),
    (0x370, "greek"), (0x400, "cyrillic"), (0x530, "armenian"), (0x590, "hebrew"), (0x600, "arabic"), (0x700, ""),
    (0x750, "arabic"), (0x780, ""), (0x8A0, "arabic"), (0x900, "devanagari"), (0x980, "bengali"), (0xA00, "gurmukhi"),
    (0xA80, "gujarati"), (0xB00, ""), (0xB80, "tamil"), (0xC00, "telugu"), (0xC80, "kannada"), (0xD00, "malayalam"),
    (0xD80, ""), (0xE00, "thai"), (0xE80, "lao"), (0xF00, ""), (0x1000, "burmese"), (0x10A0, "georgian"),
    (0x1100, "hangul"), (0x1200, ""), (0x1780, "khmer"), (0x1800, ""), (0x1E00, "latin"), (0x1F00, "greek"),
    (0x2000, ""), (0x3041, "kana"), (0x3100, ""), (0x31F0, "kana"), (0x3200, ""), (0x3400, "han"), (0xA000, ""),
    (0xAC00, "hangul"), (0xD7B0, ""), (0xF900, "han"), (0xFB00, ""), (0xFB1D, "hebrew"), (0xFB50, "arabic"),
    (0xFE00, ""), (0xFE70, "arabic"), (0xFF00, ""), (0xFF66, "kana"), (0xFFA0, ""), (0x20000, "han"), (0x40000, ""),
)  # fmt: skip
_SCRIPT_STARTS = [start for start, _ in _SCRIPT_RUNS]

# The languages of each script; the first one is that of a text without other evidence.
SCRIPTS: dict[str, tuple[str, ...]] = {
    "greek": ("el",), "cyrillic": ("ru", "uk", "bg", "sr", "mk", "be"), "armenian": ("hy",), "hebrew": ("he",),
    "arabic": ("ar", "fa", "ur"), "devanagari": ("hi", "mr", "ne"), "bengali": ("bn",), "gurmukhi": ("pa",),
    "gujarati": ("gu",), "tamil": ("ta",), "telugu": ("te",), "kannada": ("kn",), "malayalam": ("ml",),
    "thai": ("th",), "lao": ("lo",), "burmese": ("my",), "georgian": ("ka",), "hangul": ("ko",), "khmer": ("km",),
    "kana": ("ja",), "han": ("zh",),
}  # fmt: skip

# A character of these scripts says as much as several letters.
_LETTERS_PER_CHARACTER = {"han": 3.0, "hangul": 2.5, "kana": 2.0}

# A text is in the language of another script than Latin if that has this share of its letters: texts in any language
# name tools, files and products with Latin letters.
_LEAST_SHARE = 0.3

# Letters that only some languages of a script use. A letter counts less than a stop word, since names have them too.
_TELLING_LETTERS = {
    "ß": "de", "ä": "de fi sv et sk", "ö": "de fi sv hu tr et is", "ü": "de tr hu et", "ñ": "es", "¿": "es",
    "¡": "es", "ã": "pt", "õ": "pt et", "ç": "fr pt tr ca sq", "œ": "fr", "ê": "fr pt", "è": "fr it ca", "ù": "fr it",
    "ò": "it ca", "ì": "it", "ł": "pl", "ą": "pl lt", "ę": "pl lt", "ż": "pl", "ź": "pl", "ś": "pl", "ć": "pl hr",
    "ń": "pl", "ř": "cs", "ě": "cs", "ů": "cs", "ý": "cs sk is", "ľ": "sk", "ĺ": "sk", "ŕ": "sk", "ô": "sk fr pt vi",
    "ď": "sk cs", "ť": "sk cs", "ň": "sk cs", "č": "cs sk sl hr lt lv", "š": "cs sk sl hr lt lv et",
    "ž": "cs sk sl hr lt lv et", "å": "sv da no", "ø": "da no", "æ": "da no is", "ő": "hu", "ű": "hu", "ă": "ro vi",
    "ț": "ro", "ş": "tr ro", "ș": "ro", "ţ": "ro", "â": "ro fr pt vi tr", "î": "ro fr", "ğ": "tr", "ı": "tr",
    "đ": "vi hr", "ơ": "vi", "ư": "vi", "ė": "lt", "ų": "lt", "į": "lt", "ū": "lt lv", "ā": "lv", "ē": "lv",
    "ī": "lv", "ļ": "lv", "ķ": "lv", "ņ": "lv", "ģ": "lv", "þ": "is", "ð": "is", "ĉ": "eo", "ĝ": "eo", "ĥ": "eo",
    "ĵ": "eo", "ŝ": "eo", "ŭ": "eo", "à": "fr it ca", "é": "fr es pt hu cs sk", "á": "es pt hu cs sk is",
    "í": "es pt hu cs sk is", "ó": "es pt hu pl", "ú": "es pt hu", "ы": "ru be", "э": "ru be", "ё": "ru be",
    "ї": "uk", "є": "uk", "ґ": "uk", "і": "uk be", "ў": "be", "ђ": "sr", "ћ": "sr", "љ": "sr mk", "њ": "sr mk",
    "џ": "sr mk", "ј": "sr mk", "ѓ": "mk", "ќ": "mk", "ѕ": "mk", "щ": "ru uk bg", "ъ": "bg ru", "پ": "fa ur",
    "چ": "fa ur", "گ": "fa ur", "ژ": "fa", "ک": "fa ur", "ی": "fa ur", "ٹ": "ur", "ڈ": "ur", "ڑ": "ur", "ں": "ur",
    "ے": "ur", "ہ": "ur", "ھ": "ur", "ة": "ar", "ي": "ar", "ك": "ar", "ى": "ar", "أ": "ar", "إ": "ar", "ळ": "mr",
    "ङ": "ne",
}  # fmt: skip
_LETTER_WEIGHT = 0.5

# The least evidence for another language than the default: in a text of ASCII two stop words, since one may be a name.
LEAST_EVIDENCE, _LEAST_IN_ASCII = 0.5, 1.2
_LEAST_EVIDENCE_PER_WORD = 0.05

_WORD = re.compile(r"[^\s!-&(-/:-@\[-^`{-~«»“”„…।،؟؛、。，！？：；（）]+")


@cache
def _table() -> dict[str, dict[str, str]]:
    data: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("languages.json").read_text("utf-8"))
    english = json.loads(Path(__file__).with_name("query_words.json").read_text("utf-8"))
    data[ENGLISH] |= {"stop": english["joining"], "request": english["requesting"]}
    return data


def get_entry(code: str) -> dict[str, str]:
    """What the table has about a language."""
    return _table()[code]


def list_languages() -> list[str]:
    """The codes of all known languages."""
    return sorted(_table())


def check_language(code: str) -> str:
    """The code, if it is that of a known language."""
    if code not in _table():
        raise InputError(f"{code!r} is not a known language. Use {AUTO!r} or one of {', '.join(list_languages())}.")
    return code


def read_language(value: Any) -> str | None:
    """The language that a field of a document names: "de", "de-AT", "pt_BR"; None if it names none that is known."""
    code = re.split("[-_]", value.strip().lower())[0] if isinstance(value, str) else ""
    code = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "fil": "tl", "bs": "hr"}.get(code, code)
    return code if code in _table() else None


def find_declared_language(metadata: Mapping[str, Any]) -> str:
    """The language that the metadata of a document names, "" if it names none that is known."""
    for key in DECLARED_IN:
        if key in metadata and (code := read_language(metadata[key])):
            return code
    return ""


def name_language(code: str) -> str:
    """The English name of a language: "de" is "German"; an unknown code is its own name."""
    return _table()[code]["name"] if code in _table() else code


def describe_languages(counts: Mapping[str, int]) -> str:
    """The names of languages with their counts, such as the passages of a corpus: "German (12), English (3)"."""
    return ", ".join(f"{name_language(code)} ({count:,})" for code, count in counts.items())


def is_right_to_left(code: str) -> bool:
    return code in RIGHT_TO_LEFT


@cache
def get_stop_words(code: str) -> frozenset[str]:
    """The words of a language that say nothing by themselves; those of English are in `analyzers`."""
    return frozenset(_table()[code]["stop"].split())


@cache
def list_stop_words() -> frozenset[str]:
    """The stop words of all languages."""
    return frozenset[str]().union(*map(get_stop_words, _table()))


def is_stop_word(word: str, text: str) -> bool:
    """Whether a word is a stop word in the language of a text that it is from."""
    return word in ENGLISH_STOP_WORDS or word in get_stop_words(detect_language(text))


@cache
def get_request_words(code: str) -> frozenset[str]:
    """Words with which people ask for something: "please", "show", "find"."""
    return frozenset(_table()[code]["request"].split())


@lru_cache(maxsize=1 << 14)
def find_script(character: str) -> str:
    """The script of a letter, "" for any other character."""
    return _SCRIPT_RUNS[bisect_right(_SCRIPT_STARTS, ord(character)) - 1][1]


@cache
def _letter_of_other_script() -> re.Pattern[str]:
    """A letter of any script but Latin."""
    runs = ((first, end) for (first, script), (end, _) in pairwise(_SCRIPT_RUNS) if script not in {"", "latin"})
    return re.compile(f"[{''.join(f'{chr(first)}-{chr(end - 1)}' for first, end in runs)}]")


@cache
def _words_of(code: str) -> frozenset[str]:
    return get_stop_words(code) | get_request_words(code)


@cache
def _telling_words() -> frozenset[str]:
    """The stop words and request words of all languages, except single letters of ASCII."""
    words = frozenset[str]().union(*(_words_of(code) for code in _table()))
    return words.difference(ascii_letters)


@cache
def _find_evidence(word: str) -> tuple[tuple[str, float], ...]:
    """The languages of one of `_telling_words`, and what it says for each."""
    codes = {code: 1.0 if word in get_stop_words(code) else 0.8 for code in _table() if word in _words_of(code)}
    # Words that English texts have, too, say little for other languages.
    if ENGLISH in codes or word in _table()[ENGLISH]["ambiguous"].split():
        codes = dict.fromkeys(codes, 0.4) | {ENGLISH: codes.get(ENGLISH, 0.5)}
    return tuple((code, weight / len(codes) ** 0.5) for code, weight in codes.items())


def detect_language(text: str, default: str = ENGLISH, *, least_evidence: float = LEAST_EVIDENCE) -> str:
    """The language of a text as an ISO 639-1 code, `default` if nothing in it tells; a stop word is evidence of 1."""
    sample = text[:SAMPLE]
    if default == ENGLISH and _is_surely_english(sample):
        return ENGLISH
    if sample.isascii():
        return _detect_by_words(sample.lower(), None, default, max(least_evidence, _LEAST_IN_ASCII))
    sample = unicodedata.normalize("NFC", sample).lower()
    if _letter_of_other_script().search(sample):
        letters: Counter[str] = Counter()
        for character, count in Counter(sample).items():
            if script := find_script(character):
                letters[script] += count
        latin = letters.pop("latin", 0)
        if letters["kana"] * 10 >= letters["han"] and letters["kana"]:
            letters["kana"] += letters.pop("han", 0)
        script, count = letters.most_common(1)[0]
        weight = count * _LETTERS_PER_CHARACTER.get(script, 1.0)
        if weight >= _LEAST_SHARE * (weight + latin):
            languages = SCRIPTS[script]
            return _detect_by_words(sample, languages, languages[0], 0.0) if len(languages) > 1 else languages[0]
    return _detect_by_words(sample, None, default, least_evidence)


def _is_surely_english(sample: str) -> bool:
    found = 0
    for word in _SURELY_ENGLISH:
        found += sample.count(word)
        if found >= _SURE_FROM:
            return len(sample.encode("utf-8", "replace")) <= _MOST_BYTES_PER_CHARACTER * len(sample)
    return False


def _detect_by_words(sample: str, among: tuple[str, ...] | None, default: str, least: float) -> str:
    """The language of a lowercase text by its words and letters: one of those given, or any, or the default."""
    telling = _telling_words()
    scores: dict[str, float] = dict.fromkeys(among, 0.0) if among else {default: 0.0}
    sample = sample.replace("’", "'")
    parts = words = _WORD.findall(sample)
    if "'" in sample:
        parts = [part for word in words for part in ((word,) if word in telling else word.split("'"))]
    for part in filter(telling.__contains__, parts):
        for code, weight in _find_evidence(part):
            scores[code] = scores.get(code, 0.0) + weight
    if not sample.isascii():
        for letter, count in Counter(filter(_TELLING_LETTERS.__contains__, sample)).items():
            languages = _TELLING_LETTERS[letter].split()
            for code in languages:
                scores[code] = scores.get(code, 0.0) + _LETTER_WEIGHT * (min(count, 4) / len(languages)) ** 0.5
    if among:
        return max(among, key=scores.__getitem__)
    best = max(scores, key=scores.__getitem__)
    is_evident = scores[best] >= max(least, _LEAST_EVIDENCE_PER_WORD * len(words))
    return best if is_evident and scores[best] > scores[default] else default
