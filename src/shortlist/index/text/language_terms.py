"""The terms of words in each language: stems, letters in one form, and pairs of characters if there are no spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from shortlist.index.text.languages import ENGLISH, find_script, get_entry, get_stop_words
from shortlist.index.text.word_parts import CACHED_WORDS, LONG_WORD, Expand, compile_late, fold, subwords

# Scripts whose words have no spaces between them, and Hangul, whose particles are parts of words.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_PAIRED_CHARACTER = compile_late(f"[{_PAIRED}]")
_RUNS = compile_late(f"[{_PAIRED}]+|[^{_PAIRED}]+")

# A character with the marks and vowels that belong to it, in Thai, Lao, Burmese and Khmer.
_CLUSTER = re.compile("[เ-ไເ-ໄ]?.(?:[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece]|"
                      "[\u102b-\u103e]|\u17d2.|[\u17b4-\u17d1\u17d3])*", re.DOTALL)  # fmt: skip

_PLAIN_LATIN = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i", "ð": "d", "þ": "th", "ß": "ss"}
)
_ARABIC_MARKS = dict.fromkeys((0x640, 0x670, *range(0x64B, 0x660)))
_DIGITS = {start + digit: str(digit) for start in (0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xBE6, 0xC66, 0xCE6, 0xD66)
           for digit in range(10)}  # fmt: skip
_INDIC = {0x93C: None, 0x9BC: None, 0xA3C: None, 0xABC: None, 0x901: 0x902, 0x200C: None, 0x200D: None}

# Letters in one form, for languages in which they are written in several.
_LETTERS: dict[str, dict[int, Any]] = {
    "ar": _ARABIC_MARKS | str.maketrans("أإآٱىةکی", "ااااي\u0647كي"),
    "fa": _ARABIC_MARKS | str.maketrans("يكىةۀؤأإ", "یکیههواا"),
    "ur": _ARABIC_MARKS | str.maketrans("يكىةهۂأ", "یکیہہہا"),
    "ru": str.maketrans("ё", "е"),
    "he": dict.fromkeys(range(0x591, 0x5C8)) | str.maketrans("ךםןףץ", "כמנפצ"),
    "ro": str.maketrans("şţ", "șț"),
    **dict.fromkeys(("hi", "mr", "ne", "bn", "gu", "pa", "ta", "te", "kn", "ml"), _INDIC),
}

SHORTEST_STEM = 3  # characters that light stemming leaves of a word

# The shares of an accented word that its terms with and without accents have in a query.
ACCENT_SHARE = 0.4
_TONAL = {"vi": 0.8}  # in which other accents make another word


@lru_cache(maxsize=CACHED_WORDS)
def fold_accents(word: str) -> str:
    """A word in Latin or Greek letters without accents; in other scripts such marks make other letters."""
    if word.isascii():
        return word
    plain = unicodedata.normalize("NFD", word.translate(_PLAIN_LATIN))
    kept: list[str] = []
    for character in plain:
        if not (0x300 <= ord(character) < 0x370 and kept and find_script(kept[-1]) in ("latin", "greek")):
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def split_pairs(run: str) -> list[str]:
    """The pairs of neighboring characters, each with its marks; a lone one is a term, too."""
    characters = _CLUSTER.findall(run) if run[0] < "\u3000" else list(run)
    return ["".join(characters[at : at + 2]) for at in range(len(characters) - 1)] or [run]


@cache
def _load_stemmer(language: str) -> Callable[[str], str]:
    """The stemmer of a language: Snowball's, or the removal of common endings."""
    entry = get_entry(language)
    if "stemmer" in entry and entry["stemmer"] != "bigrams":
        import Stemmer  # noqa: PLC0415  # first use only

        stem: Callable[[str], str] = Stemmer.Stemmer(entry["stemmer"], 0).stemWord
        return stem
    suffixes, prefixes = (tuple(entry.get(kind, "").split()) for kind in ("suffixes", "prefixes"))

    def strip(word: str) -> str:
        for prefix in prefixes:
            if word.startswith(prefix) and len(word) - len(prefix) >= SHORTEST_STEM:
                word = word[len(prefix) :]
                break
        for _ in range(2):  # an article or case, and a plural
            ending = next((end for end in suffixes if word.endswith(end) and len(word) - len(end) >= SHORTEST_STEM), "")
            word = word[: len(word) - len(ending)]
        return word

    return strip


def normalize_letters(language: str, word: str) -> str:
    """A word in lowercase, its letters and digits in one form."""
    if language == "tr":
        word = word.replace("I", "ı").replace("İ", "i")
    word = fold(word)
    return word if word.isascii() else word.translate(_LETTERS.get(language, {})).translate(_DIGITS)


def has_pairs(language: str) -> bool:
    """Whether the terms of a language are pairs of characters."""
    return get_entry(language).get("stemmer") == "bigrams"


def share_terms(language: str, word: str, terms: tuple[str, ...]) -> list[float]:
    """What each term of a word counts in a query: an accented word has a term without accents and one with them."""
    if word.isascii() or len(terms) != 2 or fold_accents(terms[1]) != terms[0]:
        return [1.0] * len(terms)
    share = _TONAL.get(language, ACCENT_SHARE)
    return [1.0 - share, share]


@cache
def make_expand(language: str, english: Expand) -> Expand:
    """The function from a word to its terms in a language; `english` is that of English."""
    if language == ENGLISH:
        return english
    stop_words = frozenset(normalize_letters(language, word) for word in get_stop_words(language))
    is_latin = language not in _OTHER_SCRIPTS

    def stem(word: str) -> tuple[str, ...]:
        word = normalize_letters(language, word)
        if word in stop_words:
            return ()
        own = _load_stemmer(language)(word)
        if word.isascii():
            return (own,)
        plain = fold_accents(own)
        if fold_accents(word) == word:
            return (plain,)
        return plain, own if own != plain else f"{own}\u0301"

    def expand(word: str) -> tuple[str, ...]:
        if word.isascii():
            if not is_latin:
                return english(word)
        elif _PAIRED_CHARACTER.search(word):
            terms: list[str] = []
            for run in _RUNS.findall(word):
                terms += split_pairs(run) if _PAIRED_CHARACTER.match(run) else expand(run)
            return tuple(terms)
        word = word.replace("’", "'").replace("\u200c", "").replace("\u200d", "")
        if "'" in word:
            # "l'eau", "dell'arte", "Türkiye'nin": each side is a word
            return tuple(term for part in word.split("'") if part for term in expand(part))
        word = word.strip("_")
        if len(word) > LONG_WORD:
            return (fold(word),)
        parts = subwords(word) if word else []
        if len(parts) < 2:
            return stem(word) if word else ()
        return (fold(word), *(term for part in parts if len(part) > 1 or part.isdigit() for term in stem(part)))

    return expand


_OTHER_SCRIPTS = frozenset(
    "el ru uk bg sr mk be hy he ar fa ur hi mr ne bn pa gu ta te kn ml th lo my ka ko km ja zh".split()  # noqa: SIM905
)
