"""Named, versioned analyzers, which split texts into terms. A corpus stores the name of the one that built it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from shortlist.errors import InputError
from shortlist.index.text.language_terms import make_expand
from shortlist.index.text.languages import ENGLISH, ENGLISH_STOP_WORDS
from shortlist.index.text.word_parts import CACHED_WORDS, LONG_WORD, Expand, compile_late, fold, subwords

DEFAULT = "languages-1"  # of new corpora
RECENT_QUERIES = 256  # whose identifiers are known: a batch finds those of its queries twice

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
EMOJI_RANGES = ((0x2300, 0x23FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))
# The blocks of Unicode with combining marks; searching only these makes the first use five times as fast.
_MARK_BLOCKS = (
    (0x300, 0x1E00), (0x20D0, 0x2E00), (0x3020, 0x30A0), (0xA600, 0xAC00), (0xFB00, 0xFB20),
    (0xFE00, 0xFE30), (0x10000, 0x12000), (0x16A00, 0x17000), (0x1D100, 0x1D250), (0x1E000, 0x1EA00),
)  # fmt: skip
_JOINERS = (0x200C, 0x200D)
_ASCII_WORDS = re.compile(r"\w+(?:'\w+)*", re.ASCII)
_CJK_CHAR = compile_late(f"[{_CJK}]")
_CJK_RUNS = compile_late(f"[{_CJK}]+|[^{_CJK}]+")

Words = Callable[[str], list[str]]


@cache
def combining_marks() -> list[int]:
    """The code points that continue a word but do not start one: \\w does not match them."""
    codes = (code for block in _MARK_BLOCKS for code in range(*block))
    return [*(code for code in codes if unicodedata.category(chr(code)) in ("Mn", "Mc")), *_JOINERS]


@cache
def _unicode_words() -> re.Pattern[str]:
    """The word pattern for any script."""
    emoji = "".join(f"{chr(low)}-{chr(high)}" for low, high in EMOJI_RANGES)
    word = rf"\w[\w{''.join(map(chr, combining_marks()))}]*"
    return re.compile(rf"{word}(?:['’]{word})*|[{emoji}]")


def words(text: str) -> list[str]:
    """The words of a text as written, identifiers in one piece; each emoji is a word."""
    if text.isascii():
        return _ASCII_WORDS.findall(text)
    return _unicode_words().findall(unicodedata.normalize("NFC", text))


class Analyzer:
    """Splits a text into words, then each distinct word, once, into terms."""

    def __init__(self, name: str, words: Words, expand: Expand, *, keeps_lone_stop_words: bool = False) -> None:
        self.name, self.words, self.expand = name, words, expand
        self.keeps_lone_stop_words = keeps_lone_stop_words
        self._cached_terms = lru_cache(CACHED_WORDS)(expand)

    def __reduce__(self) -> Any:
        return get_analyzer, (self.name,)  # without the caches

    def terms(self, text: str) -> list[str]:
        words = self.words(text)
        terms = [term for word in words for term in self.terms_of(word)]
        if self.keeps_lone_stop_words and words and not terms:
            # "The Who", "IT", "to be or not to be"
            return [folded for folded in map(fold, words) if folded.strip("_")]
        return terms

    def terms_of(self, word: str) -> tuple[str, ...]:
        """The terms of one of `words`; none of a stop word."""
        return self._cached_terms(word) if len(word) <= LONG_WORD else self.expand(word)

    @property
    def detects_languages(self) -> bool:
        """Whether a text has the terms of its language."""
        return False

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages in which it analyzes a text."""
        return (ENGLISH,)

    def bind(self, languages: Iterable[str], rare: Iterable[str] = ()) -> Analyzer:
        """The analyzer for texts in these languages, such as the queries of a corpus that has them.

        The `rare` ones count only for queries in them.
        """
        return self

    def for_query(self, language: str) -> Analyzer:
        """The analyzer for a query in a language."""
        return self

    def list_readings(self, word: str) -> list[tuple[str, ...]]:
        """The terms of a word in each language, if they differ."""
        return [self.terms_of(word)]

    def says_something(self, text: str) -> bool:
        """Whether the text has more than stop words."""
        return any(map(self.terms_of, self.words(text)))


@cache
def stemmer() -> Any:
    import Stemmer  # noqa: PLC0415  # first use only

    return Stemmer.Stemmer("english", 0)


class LanguagesAnalyzer(Analyzer):
    """Has the terms of a word in each of some languages; in English those of `english-1`."""

    def __init__(self, name: str, languages: tuple[str, ...] = (ENGLISH,), rare: tuple[str, ...] = ()) -> None:
        self._languages, self._rare = languages, rare
        self._expands = [make_expand(language, _expand_english) for language in languages]
        expand = self._expands[0] if len(languages) == 1 else self._expand_in_all
        super().__init__(name, words, expand, keeps_lone_stop_words=True)

    def __reduce__(self) -> Any:
        return _bind, (self.name, self._languages, self._rare)

    @property
    def detects_languages(self) -> bool:
        return True

    @property
    def languages(self) -> tuple[str, ...]:
        return self._languages

    def bind(self, languages: Iterable[str], rare: Iterable[str] = ()) -> Analyzer:
        return _bind(self.name, tuple(languages) or (ENGLISH,), tuple(rare))

    def for_query(self, language: str) -> Analyzer:
        return _bind(self.name, (*self._languages, language), ()) if language in self._rare else self

    def list_readings(self, word: str) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(terms for expand in self._expands if (terms := expand(word)))) or [()]

    def _expand_in_all(self, word: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term for expand in self._expands for term in expand(word)))


@cache
def _bind(name: str, languages: tuple[str, ...], rare: tuple[str, ...]) -> Analyzer:
    return LanguagesAnalyzer(name, languages, rare)


def is_plain_word(word: str) -> bool:
    """Whether the only term of a word, in any script, is its folded stem."""
    has_one_case = word.islower() or word.istitle() or word.isupper()
    is_word = has_one_case and len(word) <= LONG_WORD and word.isalpha()
    return is_word and (word.isascii() or not _CJK_CHAR.search(word))


def _stem(word: str) -> tuple[str, ...]:
    return () if word in ENGLISH_STOP_WORDS else (stemmer().stemWord(word),)


def _expand_cjk(word: str, expand: Expand) -> tuple[str, ...]:
    """The bigrams of the CJK runs of a word, and the terms of its other runs."""
    terms: list[str] = []
    for run in _CJK_RUNS.findall(word):
        bigrams = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        terms += bigrams if _CJK_CHAR.match(run) else expand(run)
    return tuple(terms)


def _expand_english(word: str) -> tuple[str, ...]:
    """The stem of a word; for an identifier the whole and the stems of its parts; for CJK the bigrams."""
    if not word.isascii():
        if _CJK_CHAR.search(word):
            return _expand_cjk(word, _expand_english)
        word = word.replace("’", "'").replace("\u200c", "").replace("\u200d", "")
    if "'" in word:
        word = re.sub(r"'[sS]$", "", word).replace("'", "")
    word = word.strip("_")
    if len(word) > LONG_WORD:
        return (fold(word),)
    parts = subwords(word) if word else []
    if len(parts) < 2:
        return _stem(fold(word)) if word else ()
    return (fold(word), *(term for part in parts if len(part) > 1 or part.isdigit() for term in _stem(fold(part))))


def _expand_names(word: str) -> tuple[str, ...]:
    """The stem of a word as bm25s has it, and those of the parts of an identifier; for CJK the bigrams."""
    if not word.isascii() and _CJK_CHAR.search(word):
        return _expand_cjk(word, _expand_names)
    parts = subwords(word.strip("_")) if len(word) <= LONG_WORD else []
    if len(parts) < 2:
        return _stem(word.lower())
    return (*_stem(word.lower()), *(term for part in parts if len(part) > 1 for term in _stem(part.lower())))


def _find_lowercase(pattern: str) -> Words:
    find = re.compile(pattern).findall
    return lambda text: find(text.lower())


_find_alphanumeric = _find_lowercase(r"[a-z0-9]+")


def _find_words_of_any_script(text: str) -> list[str]:
    """[a-z0-9]+ of a lowercase ASCII text; for other scripts the words in the same sense."""
    if text.isascii():
        return _find_alphanumeric(text)
    return [part for word in words(fold(text)) for part in re.split("[_'’]+", word) if part]


_ANALYZERS: tuple[Analyzer, ...] = (
    # the terms of each text's language
    LanguagesAnalyzer("languages-1"),
    Analyzer("english-1", words, _expand_english, keeps_lone_stop_words=True),
    # the tokens of bm25s.tokenize(text, stopwords="en", stemmer=Stemmer("english"))
    Analyzer("bm25s-english-1", _find_lowercase(r"(?u)\b\w\w+\b"), _stem),
    # the same for plain words; identifiers and CJK can be found by their parts
    Analyzer("bm25s-names-1", re.compile(r"(?u)\b\w\w+\b").findall, _expand_names),
    # words of two or more characters, without stop words, not stemmed
    Analyzer("words-1", _find_lowercase(r"(?u)\w\w+"), lambda word: () if word in ENGLISH_STOP_WORDS else (word,)),
    # [a-z0-9]+ and nothing else
    Analyzer("alphanumeric-1", _find_alphanumeric, lambda word: (word,)),
    # the same for ASCII; also words of every other script, CJK by bigrams
    Analyzer("alphanumeric-2", _find_words_of_any_script, lambda word: _expand_cjk(word, lambda run: (run,))),
)
ANALYZERS = {analyzer.name: analyzer for analyzer in _ANALYZERS}


def get_analyzer(name: str = DEFAULT) -> Analyzer:
    """The analyzer of that name; there is one per process, so that its cache of words is shared."""
    if name not in ANALYZERS:
        raise InputError(f"{name!r} is not an analyzer of this version. Use one of {', '.join(ANALYZERS)}.")
    return ANALYZERS[name]


_FNV_OFFSET = 14695981039346656037
_64_BITS = 0xFFFFFFFFFFFFFFFF


def language_term(code: str) -> str:
    """The term of all passages in a language other than English. No word has it."""
    return f"\0{code}"


@lru_cache(maxsize=CACHED_WORDS)
def term_key(term: str) -> int:
    """The 64-bit name of a term in an index: FNV-1a, and a multiplication that spreads it over all bits.

    The probability that any two of a million terms share a key is 1 in 37 million.
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
    """Start, end and key of every run of up to `longest` words; the key is that of the words joined by spaces."""
    for start in range(len(words)):
        key = _FNV_OFFSET
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            key = _fnv(key, words[end - 1] if end == start + 1 else f" {words[end - 1]}")
            yield start, end, _spread(key)


def name_words(name: str) -> list[str]:
    """The plain words of a name in any spelling: getUser, get_user and "Get user" are the same name."""
    return [part for word in words(name) for part in folded_parts(word)]


@lru_cache(maxsize=CACHED_WORDS)
def _parts_of(word: str) -> tuple[str, ...]:
    return tuple(name_words(word))


@lru_cache(maxsize=RECENT_QUERIES)
def find_identifiers(query: str) -> frozenset[tuple[str, ...]]:
    """The plain words of each identifier of several words in a query, such as "send_mail" or "sendMail"."""
    written = {*query.split(), *words(query)}  # "send-mail" is one of the first, the "send_mail" of "a.send_mail" not
    return frozenset(parts for word in written if len(parts := _parts_of(word)) > 1)


@lru_cache(maxsize=CACHED_WORDS)
def folded_parts(word: str) -> tuple[str, ...]:
    bare = word.strip("_")
    return tuple(map(fold, subwords(bare) if len(bare) <= LONG_WORD else [bare]))
