"""Named, versioned analyzers, which cut texts into terms. A corpus stores the name of the one that built it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

from shortlist.errors import InputError

DEFAULT = "english-1"

# The 33 words of Lucene's English list.
_STOP = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with"
)
STOP_WORDS = frozenset(_STOP.split())

# A word of more characters is not split or stemmed, and is not worth remembering.
LONG_WORD = 64
REMEMBERED_WORDS = 1 << 18

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
EMOJI_RANGES = ((0x2300, 0x23FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))
# The blocks of Unicode with combining marks; looking only there makes the first use five times as fast.
_MARK_BLOCKS = (
    (0x300, 0x1E00), (0x20D0, 0x2E00), (0x3020, 0x30A0), (0xA600, 0xAC00), (0xFB00, 0xFB20),
    (0xFE00, 0xFE30), (0x10000, 0x12000), (0x16A00, 0x17000), (0x1D100, 0x1D250), (0x1E000, 0x1EA00),
)  # fmt: skip
_JOINERS = (0x200C, 0x200D)
_ASCII_WORDS = re.compile(r"\w+(?:'\w+)*", re.ASCII)
_CJK_CHAR = re.compile(f"[{_CJK}]")
_CJK_RUNS = re.compile(f"[{_CJK}]+|[^{_CJK}]+")
_ALPHANUMERIC = re.compile(r"[a-z0-9]+")
_JOINTS = re.compile(r"[_'’]+")
_ASCII_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

Words = Callable[[str], list[str]]
Expand = Callable[[str], tuple[str, ...]]


def fold(text: str) -> str:
    """Case-folded and NFC-normalised; a string of plain ASCII is its own normal form."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


@cache
def combining_marks() -> list[int]:
    """The code points that go on with a word but do not begin one: \\w leaves them out."""
    codes = (code for block in _MARK_BLOCKS for code in range(*block))
    return [*(code for code in codes if unicodedata.category(chr(code)) in ("Mn", "Mc")), *_JOINERS]


@cache
def _unicode_words() -> re.Pattern[str]:
    """The word pattern for any script."""
    marks = "".join(map(chr, combining_marks()))
    emoji = "".join(f"{chr(low)}-{chr(high)}" for low, high in EMOJI_RANGES)
    word = rf"\w[\w{marks}]*"
    return re.compile(rf"{word}(?:['’]{word})*|[{emoji}]")


def words(text: str) -> list[str]:
    """The words as they stand, identifiers in one piece; each emoji is a word."""
    if text.isascii():
        return _ASCII_WORDS.findall(text)
    return _unicode_words().findall(unicodedata.normalize("NFC", text))


def subwords(word: str) -> list[str]:
    """The parts of an identifier: getCustomerProfile, get_customer_profile -> get customer profile, with its case.

    Digits stand apart from three letters or more (HTTPServer2 -> HTTP Server 2) and stay with fewer (p53, b12).
    """
    if word.isdigit() or (word.isalpha() and (word.islower() or word.istitle() or word.isupper())):
        return [word]
    if not word.isascii():
        return [part for piece in word.split("_") if piece for part in _split_case(piece)]
    parts: list[str] = []
    for piece in word.split("_"):
        found = _ASCII_PARTS.findall(piece)
        letters = max((len(part) for part in found if part.isalpha()), default=0)
        if letters < 3 and len(found) > 1:
            found = [piece]
        parts += found
    return parts


def _split_case(word: str) -> list[str]:
    cuts = [0]
    for at in range(1, len(word)):
        before, here = word[at - 1], word[at]
        after = word[at + 1] if at + 1 < len(word) else ""
        if here.isupper() and (before.islower() or (before.isupper() and after.islower())):
            cuts.append(at)
    return [word[start:end] for start, end in zip(cuts, [*cuts[1:], len(word)], strict=True)]


def _bigrams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


class Analyzer:
    """Cuts a text into words, then each distinct word, once, into terms."""

    def __init__(self, name: str, words: Words, expand: Expand, rescue: bool = False) -> None:
        self.name = name
        self.words = words
        self.expand = expand
        self.rescue = rescue
        self._known_terms = lru_cache(REMEMBERED_WORDS)(expand)
        self._known_keys = lru_cache(REMEMBERED_WORDS)(lambda word: tuple(map(term_key, expand(word))))

    def __reduce__(self) -> Any:
        return get_analyzer, (self.name,)  # without the caches

    def terms(self, text: str) -> list[str]:
        found = self.words(text)
        terms = [term for word in found for term in self.terms_of(word)]
        if self.rescue and found and not terms:
            # "The Who", "IT", "to be or not to be": a text of stop words alone keeps them.
            return [folded for folded in map(fold, found) if folded.strip("_")]
        return terms

    def keys(self, text: str) -> list[int]:
        """The keys of the terms of a text, faster than by way of the terms where its words are known."""
        known = self._known_keys
        keys: list[int] = []
        for word in self.words(text):
            keys += known(word) if len(word) <= LONG_WORD else map(term_key, self.expand(word))
        return keys or [term_key(term) for term in self.terms(text)]

    def says_something(self, text: str) -> bool:
        """Whether there is more in the text than stop words."""
        return any(map(self.terms_of, self.words(text)))

    def terms_of(self, word: str) -> tuple[str, ...]:
        """The terms of one of `words`; none of a stop word."""
        return self._known_terms(word) if len(word) <= LONG_WORD else self.expand(word)


@cache
def stemmer() -> Any:
    import Stemmer  # noqa: PLC0415  # first use only

    return Stemmer.Stemmer("english", 0)


def is_plain_word(word: str) -> bool:
    """Whether the only term of a word, in any script, is its folded stem."""
    whole = word.islower() or word.istitle() or word.isupper()
    return whole and len(word) <= LONG_WORD and word.isalpha() and not _CJK_CHAR.search(word)


def _english_word(word: str) -> tuple[str, ...]:
    """Terms of one word: its stem; for an identifier the whole and the stems of its parts; for CJK its bigrams."""
    if not word.isascii():
        runs = _CJK_RUNS.findall(word)
        if len(runs) > 1:
            return tuple(term for run in runs for term in _english_word(run))
        if _CJK_CHAR.match(word):
            return tuple(_bigrams(word))
        word = word.replace("’", "'").replace("\u200c", "").replace("\u200d", "")
    if "'" in word:
        word = re.sub(r"'[sS]$", "", word).replace("'", "")
    word = word.strip("_")
    if not word:
        return ()
    if len(word) > LONG_WORD:
        return (fold(word),)
    parts = subwords(word)
    if len(parts) < 2:
        return _english_term(fold(word))
    terms = [fold(word)]
    for part in parts:
        if len(part) > 1 or part.isdigit():
            terms += _english_term(fold(part))
    return tuple(terms)


def _english_term(folded: str) -> tuple[str, ...]:
    return () if folded in STOP_WORDS else (stemmer().stemWord(folded),)


def _bm25s_word(word: str) -> tuple[str, ...]:
    return () if word in STOP_WORDS else (stemmer().stemWord(word),)


def _named_word(word: str) -> tuple[str, ...]:
    """As bm25s has it; and of an identifier its parts, of CJK the bigrams."""
    if not word.isascii() and _CJK_CHAR.search(word):
        runs = _CJK_RUNS.findall(word)
        return tuple(term for run in runs for term in (_bigrams(run) if _CJK_CHAR.match(run) else _named_word(run)))
    terms = _bm25s_word(word.lower())
    parts = subwords(word.strip("_")) if len(word) <= LONG_WORD else []
    if len(parts) > 1:
        terms += tuple(term for part in parts if len(part) > 1 for term in _bm25s_word(part.lower()))
    return terms


def _kept_word(word: str) -> tuple[str, ...]:
    return () if word in STOP_WORDS else (word,)


def _lowered(pattern: str) -> Words:
    find = re.compile(pattern).findall
    return lambda text: find(text.lower())


def _alphanumeric(text: str) -> list[str]:
    """[a-z0-9]+ of the lower-cased text; of another script, its words in the same sense."""
    if text.isascii():
        return _ALPHANUMERIC.findall(text.lower())
    return [part for word in words(fold(text)) for part in _JOINTS.split(word) if part]


def _in_bigrams(word: str) -> tuple[str, ...]:
    if word.isascii() or not _CJK_CHAR.search(word):
        return (word,)
    return tuple(term for run in _CJK_RUNS.findall(word) for term in (_bigrams(run) if _CJK_CHAR.match(run) else [run]))


# Words, terms of a word, and whether a text of stop words alone keeps them.
_ANALYZERS: dict[str, tuple[Words, Expand, bool]] = {
    "english-1": (words, _english_word, True),
    # the tokens of bm25s.tokenize(text, stopwords="en", stemmer=Stemmer("english"))
    "bm25s-english-1": (_lowered(r"(?u)\b\w\w+\b"), _bm25s_word, False),
    # the same of plain words; identifiers and CJK can be found by their parts
    "bm25s-names-1": (re.compile(r"(?u)\b\w\w+\b").findall, _named_word, False),
    # words of two characters and more, stop words out, nothing stemmed
    "words-1": (_lowered(r"(?u)\w\w+"), _kept_word, False),
    # [a-z0-9]+ and nothing else
    "alphanumeric-1": (_lowered(r"[a-z0-9]+"), lambda word: (word,), False),
    # the same of ASCII; words of every other script too, CJK by bigrams
    "alphanumeric-2": (_alphanumeric, _in_bigrams, False),
}
ANALYZERS = tuple(_ANALYZERS)


def get_analyzer(name: str = DEFAULT) -> Analyzer:
    """The analyzer of that name, one per process, so that what it learned about words is shared."""
    if name not in _ANALYZERS:
        raise InputError(f"There is no analyzer {name!r}; the known ones are {', '.join(ANALYZERS)}.")
    return _make_analyzer(name)


@cache
def _make_analyzer(name: str) -> Analyzer:
    return Analyzer(name, *_ANALYZERS[name])


_FNV_OFFSET = 14695981039346656037
_64_BITS = 0xFFFFFFFFFFFFFFFF


@lru_cache(maxsize=REMEMBERED_WORDS)
def term_key(term: str) -> int:
    """A term's 64-bit name in an index: FNV-1a, and a multiplication that spreads it over all bits.

    Two of a million terms share one with a chance of 1 in 37 million.
    """
    return _spread(_fnv(_FNV_OFFSET, term))


def _fnv(key: int, text: str) -> int:
    for byte in text.encode("utf-8", "replace"):
        key = (key ^ byte) * 1099511628211 & _64_BITS
    return key


def _spread(key: int) -> int:
    key = (key ^ (key >> 33)) * 0xFF51AFD7ED558CCD & _64_BITS
    return key ^ (key >> 33)


def span_keys(words: list[str], longest: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and key of every run of up to `longest` words, the key being that of the words joined by spaces."""
    for start in range(len(words)):
        key = _FNV_OFFSET
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            key = _fnv(key, words[end - 1] if end == start + 1 else f" {words[end - 1]}")
            yield start, end, _spread(key)


def name_words(name: str) -> list[str]:
    """A name as its plain words, however it is spelled: getUser, get_user and "Get user" are the same name."""
    return [part for word in words(name) for part in folded_parts(word)]


@lru_cache(maxsize=REMEMBERED_WORDS)
def folded_parts(word: str) -> tuple[str, ...]:
    bare = word.strip("_")
    return tuple(fold(part) for part in (subwords(bare) if len(bare) <= LONG_WORD else [bare]))
