"""Builds postings from texts, with compiled loops over one buffer.

The scanner finds the distinct words. Words of plain ASCII are split and folded here as the analyzer would, and stemmed
together; the analyzer expands all other words itself. An analyzer with other words than the scanner's splits each text.
"""

from __future__ import annotations

import concurrent.futures  # its classes, and more modules with them, are loaded on first use
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.kernels import text_loops
from shortlist.index.kernels.formulas import LIMITS, SHIFTS
from shortlist.index.lexical.bm25 import FIELDS
from shortlist.index.lexical.postings import Counts, Fields, Postings
from shortlist.index.text import analyzers
from shortlist.index.text.analyzers import Analyzer, folded_parts, language_term, name_words, stemmer, term_key
from shortlist.index.text.languages import ENGLISH, ENGLISH_STOP_WORDS, detect_language
from shortlist.index.text.word_parts import LONG_WORD, fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # Keys, starts, docs, tfs and lengths.
    Arrays = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32]]

# The characters in a batch of texts to scan; a second thread scans if there is more than one batch.
SCANNED_TEXT = 4 << 20

# With fewer characters, Python is done before numpy has prepared the loops: 0.13 ms against 0.8 for one document.
SHORT_TEXT = 4_000

# The title helps to detect the language of a content with at most this many characters.
SHORT_CONTENT = 200

# The initial capacity for distinct words and texts, and for bytes of text; it grows when it is exceeded.
FIRST_WORDS = 1 << 10
FIRST_BYTES = 1 << 14

NAME_WORDS = 16  # a longer title is a sentence, not a name
_NAME_ONLY = len(FIELDS)  # the field of a text that is a name and is not searched
_NAMED_TITLE = _NAME_ONLY + 1  # a title that is also a name
_LANGUAGE = _NAMED_TITLE + 1  # the code of the language of a passage
_NEWLINE = ord("\n")


class TextPlaces(NamedTuple):
    """For each text its passage, its field or _NAME_ONLY, and whether it is a name."""

    docs: NDArray[np.int64]
    fields: NDArray[np.int64]
    is_name: NDArray[np.bool_]


class PassageLanguages(NamedTuple):
    """The languages of passages: their codes, English first; the place of each passage's; and which texts are codes."""

    codes: list[str]
    of_docs: NDArray[np.int64]
    is_code: NDArray[np.bool_]


def build(passages: Iterable[Fields], analyzer: Analyzer) -> Postings:
    """Build the postings of passages in the order given."""
    texts: list[str] = []
    counts: list[int] = []  # of texts, by passage
    kinds = bytearray()  # of texts: a field, _NAME_ONLY or _NAMED_TITLE
    characters = 0
    can_scan = analyzer.words is analyzers.words
    scanner = None
    languages: dict[str, int] = {ENGLISH: 0}
    of_docs: list[int] = []
    for title, keywords, content, names, declared in passages:
        others = [name for name in names if name is not title]
        texts += (title, *keywords, content, *others)
        kinds.append(_NAMED_TITLE if len(others) < len(names) else 0)
        kinds += b"\1" * len(keywords) + b"\2" + bytes((_NAME_ONLY,)) * len(others)
        counts.append(2 + len(keywords) + len(others))
        if analyzer.detects_languages:
            language = declared or detect_language(content if len(content) > SHORT_CONTENT else f"{content} {title}")
            of_docs.append(languages.setdefault(language, len(languages)))
            if language != ENGLISH:
                texts.append(language)
                kinds.append(_LANGUAGE)
                counts[-1] += 1
        characters += len(content)
        if can_scan and characters >= SCANNED_TEXT:
            scanner = scanner or Scanner()
            scanner.add(texts)
            texts, characters = [], 0
    fields = np.frombuffer(bytes(kinds), np.uint8).astype(np.int64)
    is_name = (fields == _NAME_ONLY) | (fields == _NAMED_TITLE)
    known = PassageLanguages(list(languages), np.array(of_docs, dtype=np.int64), fields == _LANGUAGE)
    fields[fields == _NAMED_TITLE] = 0
    fields[fields == _LANGUAGE] = FIELDS.index("content")
    places = TextPlaces(np.repeat(np.arange(len(counts)), np.array(counts, dtype=np.int64)), fields, is_name)
    if scanner or (can_scan and characters >= SHORT_TEXT):
        scanned = (scanner or Scanner()).finish(texts)
        arrays, name_keys = _index_scanned(scanned, places, len(counts), analyzer, known)
    else:
        arrays, name_keys = _index_texts(texts, places, len(counts), analyzer, known)
    name_docs = places.docs[is_name]
    order = np.lexsort((name_docs, name_keys))
    name_keys, name_docs = name_keys[order], name_docs[order]
    is_new = name_keys != 0
    is_new[1:] &= (name_keys[1:] != name_keys[:-1]) | (name_docs[1:] != name_docs[:-1])
    keys, starts, docs, tfs, lengths = arrays
    length_sums = lengths.sum(axis=0, dtype=np.int64)
    return Postings(
        keys, starts, docs, *Counts.of(tfs), lengths, name_keys[is_new], name_docs[is_new].astype(np.int32), length_sums
    )


def _index_texts(
    texts: Sequence[str], places: TextPlaces, docs: int, analyzer: Analyzer, languages: PassageLanguages
) -> tuple[Arrays, NDArray[np.uint64]]:
    """The result of `_index_scanned` for any analyzer."""
    postings: dict[str, dict[int, int]] = {}  # for each term its passages, in order, and the counts in each
    lengths = np.zeros((docs, len(FIELDS)), np.int32)
    name_keys: list[int] = []
    of_docs = languages.of_docs.tolist()
    columns = (column.tolist() for column in (*places, languages.is_code))
    for text, doc, field, is_name, is_code in zip(texts, *columns, strict=True):
        if is_name:
            parts = name_words(text)
            name_keys.append(term_key(" ".join(parts)) if 0 < len(parts) <= NAME_WORDS else 0)
        if field == _NAME_ONLY:
            continue
        if is_code:
            terms = [language_term(text)]
        elif of_docs:
            terms = analyzer.bind((languages.codes[of_docs[doc]],)).terms(text)
        else:
            terms = analyzer.terms(text)
        lengths[doc, field] += len(terms)
        one, full = 1 << SHIFTS[field], LIMITS[field] << SHIFTS[field]
        for term in terms:
            counts = postings.setdefault(term, {})
            before = counts.get(doc, 0)
            if before & full != full:
                counts[doc] = before + one
    by_key = sorted((term_key(term), term) for term in postings)
    lists = [postings[term] for _, term in by_key]
    arrays = (
        np.array([key for key, _ in by_key], dtype=np.uint64),
        np.cumsum([0, *map(len, lists)]),
        np.array([doc for counts in lists for doc in counts], dtype=np.int32),
        np.array([count for counts in lists for count in counts.values()], dtype=np.uint32),
        lengths,
    )
    return arrays, np.array(name_keys, dtype=np.uint64)


class Spans(NamedTuple):
    """Runs of bytes in a buffer."""

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def select(self, which: NDArray[Any]) -> Spans:
        return Spans(self.buffer, self.starts[which], self.ends[which])

    def gather(self) -> NDArray[np.uint8]:
        """Copy the runs, each followed by a newline, to a buffer of their own."""
        return text_loops.gather(*self, _NEWLINE)

    def strings(self) -> list[str]:
        """The runs, none of which has a newline, as strings."""
        return self.gather().tobytes().decode().split("\n")[:-1]


class Words(NamedTuple):
    """The distinct words, the number of the word at each token, and the number of tokens of each text."""

    words: Spans
    tokens: NDArray[np.int32]
    counts: NDArray[np.int32]


class Scanner:
    """Splits texts into words. While a second thread does, the first prepares more texts."""

    def __init__(self) -> None:
        self._buffer = np.empty(FIRST_BYTES, np.uint8)
        self._used = 0
        self._ends = np.empty(FIRST_WORDS, np.int64)  # of texts
        self._texts = 0
        self._table = np.zeros(4 * FIRST_WORDS, np.uint64)
        self._words = np.empty((2, FIRST_WORDS), np.int64)  # where they start and end
        self._tokens = np.empty(FIRST_BYTES // 2, np.int32)
        self._counts = np.zeros(FIRST_WORDS, np.int32)
        self._state = np.zeros(3, np.int64)
        self._thread: concurrent.futures.ThreadPoolExecutor | None = None  # ends when the scanner is garbage
        self._scanned: concurrent.futures.Future[None] | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Add texts, after waiting for the ones before them."""
        self._append(texts)
        self._thread = self._thread or concurrent.futures.ThreadPoolExecutor(1)
        self._scanned = self._thread.submit(self._scan)

    def finish(self, texts: Sequence[str]) -> Words:
        """Add the last texts; the words of all."""
        self._append(texts)
        self._scan()
        _, known, written = self._state.tolist()
        words = Spans(self._buffer[: self._used], self._words[0, :known], self._words[1, :known])
        return Words(words, self._tokens[:written], self._counts[: self._texts])

    def _append(self, texts: Sequence[str]) -> None:
        data, _, ends = _encode(texts)
        if self._scanned is not None:
            self._scanned.result()
        used, count = self._used, self._texts
        self._used, self._texts = used + len(data), count + len(texts)
        self._buffer = _ensure_size(self._buffer, self._used)
        self._tokens = _ensure_size(self._tokens, self._used // 2 + self._texts + 1)
        self._ends, self._counts = _ensure_size(self._ends, self._texts), _ensure_size(self._counts, self._texts)
        self._buffer[used : self._used] = data
        self._ends[count : self._texts] = used + ends
        self._classes = _classes(is_ascii=all(map(str.isascii, texts)))

    def _scan(self) -> None:
        ends = self._ends[: self._texts]
        starts = np.concatenate(([0], ends[:-1]))
        while not text_loops.scan(
            self._buffer, starts, ends, self._classes, self._table, self._words, self._tokens, self._counts, self._state
        ):
            self._table = text_loops.rehash(self._table)
            self._words = np.concatenate([self._words, np.empty_like(self._words)], axis=1)


def _ensure_size(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array, or a copy of it in a much larger one if it is too small."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 4 * len(array)), array.dtype)  # what is not used yet takes no memory
    larger[: len(array)] = array
    return larger


def _index_scanned(
    scanned: Words, places: TextPlaces, docs: int, analyzer: Analyzer, languages: PassageLanguages
) -> tuple[Arrays, NDArray[np.uint64]]:
    """Arrays of postings, and the keys of the texts that are names, 0 for one that is too long for a name."""
    words, tokens, counts = scanned
    has_others = len(languages.codes) > 1
    language_of_texts = languages.of_docs[places.docs] if has_others else np.zeros(len(counts), np.int64)
    is_searched_text = places.fields != _NAME_ONLY
    is_searched = np.zeros(len(words.starts), np.bool_)
    is_searched[tokens[np.repeat(is_searched_text & (language_of_texts == 0), counts)]] = True
    expanded = _expand(words, is_searched, analyzer)
    in_names = tokens[np.repeat(places.is_name, counts)]
    name_keys = _hash_names(words, expanded, in_names, counts[places.is_name])
    if has_others:
        language_of_texts[languages.is_code] += len(languages.codes)
        language_of_texts[~is_searched_text] = 0
        language_of_tokens = np.repeat(language_of_texts, counts)
        words, tokens, expanded = _expand_others(words, tokens, language_of_tokens, expanded, analyzer, languages.codes)
    offsets, terms = expanded.offsets, expanded.keys
    if analyzer.keeps_lone_stop_words:
        offsets, terms = _keep_lone_stop_words(words, tokens, counts, is_searched_text, expanded)
    keys, numbers = np.unique(terms, return_inverse=True)
    starts, out_docs, tfs, lengths = text_loops.count(
        tokens, counts, *places[:2], docs, offsets.astype(np.uint32), numbers.astype(np.uint32), len(keys)
    )
    has_postings = np.diff(starts) > 0  # a stop word that only a name keeps has none
    starts = np.append(starts[:-1][has_postings], starts[-1])
    return (keys[has_postings], starts, out_docs, tfs, lengths), name_keys


def _encode(texts: Sequence[str]) -> Spans:
    """All texts in one buffer, normalized to NFC."""
    return _join([text if text.isascii() else unicodedata.normalize("NFC", text) for text in texts])


def _join(texts: Iterable[str]) -> Spans:
    """All texts in one buffer."""
    encoded = [text.encode("utf-8", "replace") for text in texts]
    sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
    ends = np.cumsum(sizes)
    return Spans(np.frombuffer(b"".join(encoded), np.uint8), ends - sizes, ends)


def _hash_terms(terms: Iterable[str]) -> NDArray[np.uint64]:
    """`analyzers.term_key` of each term."""
    return text_loops.hash_spans(*_join(terms))


class Expanded(NamedTuple):
    """The terms of words: those of word w have the keys[offsets[w] : offsets[w + 1]].

    Its parts in a name are parts[firsts[w] : lasts[w]], except if it `is_strange`: then the analyzer finds them.
    """

    offsets: NDArray[np.int64]
    keys: NDArray[np.uint64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    parts: Spans
    is_strange: NDArray[np.bool_]


def _expand(words: Spans, is_searched: NDArray[np.bool_], analyzer: Analyzer) -> Expanded:
    buffer = words.gather()
    sizes = words.ends - words.starts
    ends = np.cumsum(sizes + 1) - 1
    starts = ends - sizes
    counts, is_quoted, part_starts, part_ends = text_loops.split_words(buffer, starts, ends, LONG_WORD)
    part_counts = np.maximum(counts, 0)
    lasts = np.cumsum(part_counts)
    folded = np.where((buffer >= ord("A")) & (buffer <= ord("Z")), buffer | np.uint8(32), buffer)
    parts = Spans(folded, part_starts, part_ends)

    # A word of one part has its stem. A word of several has itself, and the stems of parts longer than a letter.
    several, strange = np.flatnonzero(is_searched & (counts > 1)), np.flatnonzero(is_searched & (counts < 0))
    word_of_part = np.repeat(np.arange(len(counts)), part_counts)
    is_digit = (folded[parts.starts] >= ord("0")) & (folded[parts.starts] <= ord("9"))
    is_long = (counts[word_of_part] == 1) | (parts.ends - parts.starts > 1) | is_digit
    is_stemmed = is_searched[word_of_part] & is_long
    stem_keys, is_term = _hash_stems(parts.select(is_stemmed))
    strange_terms = _expand_strange(words.select(strange).strings(), analyzer)
    strange_counts = np.fromiter(map(len, strange_terms), np.int64, len(strange_terms))
    word_of_term = np.concatenate([several, word_of_part[is_stemmed][is_term], np.repeat(strange, strange_counts)])
    strange_keys = _hash_terms(term for terms in strange_terms for term in terms)
    whole_keys = text_loops.hash_spans(folded, starts[several], ends[several])
    keys = np.concatenate([whole_keys, stem_keys[is_term], strange_keys])
    order = np.argsort(word_of_term, kind="stable")
    offsets = np.searchsorted(word_of_term[order], np.arange(len(counts) + 1))
    return Expanded(offsets, keys[order], lasts - part_counts, lasts, parts, is_quoted | (counts < 0))


def _expand_strange(words: list[str], analyzer: Analyzer) -> list[Sequence[str]]:
    """The terms of each word; those that are just stems are stemmed together."""
    plain = [word for word in words if analyzers.is_plain_word(word)]
    stems = dict(zip(plain, stemmer().stemWords([fold(word) for word in plain]), strict=True))
    return [(stems[word],) if word in stems else analyzer.expand(word) for word in words]


def _hash_stems(words: Spans) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """The key of each word's stem, and whether the word is not a stop word; each distinct word is stemmed once."""
    _, firsts, numbers = np.unique(text_loops.hash_spans(*words), return_index=True, return_inverse=True)
    distinct = words.select(firsts).strings()
    is_term = np.fromiter((word not in ENGLISH_STOP_WORDS for word in distinct), np.bool_, len(distinct))
    stems = _encode(stemmer().stemWords(distinct))
    return text_loops.hash_spans(*stems)[numbers], is_term[numbers]


def _hash_names(
    words: Spans, expanded: Expanded, tokens: NDArray[np.int32], counts: NDArray[np.int32]
) -> NDArray[np.uint64]:
    used = np.unique(tokens).astype(np.int64)
    strange = used[expanded.is_strange[used]]
    strange_parts = [folded_parts(word) for word in words.select(strange).strings()]
    sizes = np.array([len(parts) for parts in strange_parts], dtype=np.int64)
    more = _encode([part for parts in strange_parts for part in parts])
    buffer, starts, ends = expanded.parts
    firsts, lasts = expanded.firsts.copy(), expanded.lasts.copy()
    lasts[strange] = len(starts) + np.cumsum(sizes)
    firsts[strange] = lasts[strange] - sizes
    starts = np.concatenate([starts, more.starts + len(buffer)])
    ends = np.concatenate([ends, more.ends + len(buffer)])
    buffer = np.concatenate([buffer, more.buffer])
    return text_loops.hash_names(tokens, counts, firsts, lasts, starts, ends, buffer, NAME_WORDS)


def _expand_others(
    words: Spans,
    tokens: NDArray[np.int32],
    languages: NDArray[np.int64],
    expanded: Expanded,
    analyzer: Analyzer,
    codes: Sequence[str],
) -> tuple[Spans, NDArray[np.int32], Expanded]:
    """Give the tokens of texts in other languages new word numbers, whose terms are those of their languages.

    A number beyond those of the languages is that of a code, whose term stands for the language.
    """
    others = np.flatnonzero(languages)
    span = 2 * len(codes)
    pairs, numbers = np.unique(tokens[others].astype(np.int64) * span + languages[others], return_inverse=True)
    tokens = tokens.copy()
    tokens[others] = len(words.starts) + numbers
    originals, places = np.divmod(pairs, span)
    analyzers_by_place = [analyzer.bind((code,)) for code in codes]
    terms = [
        analyzers_by_place[place].expand(word) if place < len(codes) else (language_term(codes[place - len(codes)]),)
        for word, place in zip(words.select(originals).strings(), places.tolist(), strict=True)
    ]
    keys = _hash_terms(term for own in terms for term in own)
    ends = np.cumsum(np.fromiter(map(len, terms), np.int64, len(terms)))
    offsets = np.concatenate([expanded.offsets, expanded.offsets[-1] + ends])
    more = Spans(
        words.buffer,
        np.concatenate([words.starts, words.starts[originals]]),
        np.concatenate([words.ends, words.ends[originals]]),
    )
    return more, tokens, expanded._replace(offsets=offsets, keys=np.concatenate([expanded.keys, keys]))


def _keep_lone_stop_words(
    words: Spans,
    tokens: NDArray[np.int32],
    counts: NDArray[np.int32],
    is_searched_text: NDArray[np.bool_],
    expanded: Expanded,
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Give the tokens of texts of stop words alone new word numbers; the offsets and keys of terms with theirs."""
    offsets, keys, *_ = expanded
    numbers: dict[int, int] = {}
    for text, start in zip(*text_loops.find_silent_texts(tokens, counts, offsets), strict=True):
        if not is_searched_text[text]:
            continue
        here = slice(start, start + counts[text])
        tokens[here] = [numbers.setdefault(word, len(words.starts) + len(numbers)) for word in tokens[here].tolist()]
    folded = [fold(word) for word in words.select(np.array(list(numbers), dtype=np.int64)).strings()]
    new_keys = _hash_terms(word for word in folded if word.strip("_"))
    new_offsets = len(keys) + np.cumsum([bool(word.strip("_")) for word in folded], dtype=np.int64)
    return np.concatenate([offsets, new_offsets]), np.concatenate([keys, new_keys])


@cache
def _classes(*, is_ascii: bool) -> NDArray[np.uint8]:
    """The class of each code point for the scanner, or only of those of ASCII, which takes less time."""
    classes = np.zeros(128 if is_ascii else 0x110000, dtype=np.uint8)
    for code in range(128 if is_ascii else 0x33480):  # there is no letter beyond
        if chr(code).isalnum():
            classes[code] = text_loops.WORD
    classes[ord("_")] = text_loops.WORD
    classes[ord("'")] = text_loops.QUOTE
    if not is_ascii:
        classes[analyzers.combining_marks()] = text_loops.MARK
        for low, high in analyzers.EMOJI_RANGES:
            block = classes[low : high + 1]
            block[block == text_loops.SEPARATOR] = text_loops.EMOJI
        classes[ord("’")] = text_loops.QUOTE
    return classes
