"""Postings of many texts, by compiled loops over one buffer; each distinct word is looked at once.

The terms are exactly the analyzer's: the scanner finds its words; words of plain ASCII are cut and folded here as the
analyzer would, and stemmed together; any other word the analyzer expands itself.
"""

from __future__ import annotations

import concurrent.futures  # its classes, and more modules with them, are loaded on first use
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index import kernels
from shortlist.index.lexical.postings import NAME_WORDS, NOTHING, Places
from shortlist.index.text.analyzers import (
    EMOJI_RANGES,
    LONG_WORD,
    STOP_WORDS,
    Analyzer,
    combining_marks,
    fold,
    folded_parts,
    is_plain_word,
    stemmer,
    term_key,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.index.lexical.postings import Arrays

# Room for this many distinct words and texts, and bytes of text, at first; more when it is full.
FIRST_WORDS = 1 << 16
FIRST_BYTES = 1 << 23

_NEWLINE = ord("\n")

# Neither Latin letters before the combining marks nor dashes and quotes are changed by NFC where none of these stand.
_MAY_CHANGE = re.compile("[^\x00-\u02ff\u2010-\u2027]")


class Spans(NamedTuple):
    """Runs of bytes in a buffer."""

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def strings(self, numbers: NDArray[np.int64] | None = None) -> list[str]:
        """The runs, or some of them, none of which holds a newline."""
        starts, ends = (self.starts, self.ends) if numbers is None else (self.starts[numbers], self.ends[numbers])
        gathered = np.empty(int((ends - starts).sum()) + len(starts), np.uint8)
        kernels.text_loops.gather(self.buffer, starts, ends, gathered, _NEWLINE)
        return gathered.tobytes().decode().split("\n")[:-1]


class Expanded(NamedTuple):
    """What words stand for: word w for the terms with keys[offsets[w] : offsets[w + 1]].

    Its parts in a name are those from firsts[w] to lasts[w], but for words that are `strange`.
    """

    offsets: NDArray[np.int64]
    keys: NDArray[np.uint64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    parts: Spans
    strange: NDArray[np.bool_]


class Scanned(NamedTuple):
    """Texts as numbers: the distinct words, the number of the word at each token, how many tokens each text has."""

    words: Spans
    tokens: NDArray[np.int32]
    counts: NDArray[np.int32]


class Scanner:
    """Cuts texts into words in a second thread, while more texts are made ready in the first."""

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
        self._thread = concurrent.futures.ThreadPoolExecutor(1)
        self._under_way: concurrent.futures.Future[None] | None = None

    def __enter__(self) -> Scanner:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def add(self, texts: Sequence[str]) -> None:
        """Take more texts; those before them are waited for."""
        data, sizes = _joined(texts)
        self._wait()
        used, count = self._used, self._texts
        self._used, self._texts = used + len(data), count + len(texts)
        self._buffer = _with_room(self._buffer, self._used)
        self._tokens = _with_room(self._tokens, self._used // 2 + self._texts + 1)
        self._ends, self._counts = _with_room(self._ends, self._texts), _with_room(self._counts, self._texts)
        self._buffer[used : self._used] = np.frombuffer(data, np.uint8)
        self._ends[count : self._texts] = used + np.cumsum(sizes)
        self._under_way = self._thread.submit(self._scan)

    def finish(self) -> Scanned:
        self._wait()
        _, known, written = self._state.tolist()
        words = Spans(self._buffer[: self._used], self._words[0, :known], self._words[1, :known])
        return Scanned(words, self._tokens[:written], self._counts[: self._texts])

    def _wait(self) -> None:
        if self._under_way is not None:
            self._under_way.result()

    def _scan(self) -> None:
        ends = self._ends[: self._texts]
        starts = np.concatenate(([0], ends[:-1]))
        while not kernels.text_loops.scan(
            self._buffer[: self._used], starts, ends, _classes(), self._table, self._words[0], self._words[1],
            self._tokens, self._counts, self._state,
        ):  # fmt: skip
            larger = np.zeros(2 * len(self._table), np.uint64)
            kernels.text_loops.rehash(self._table, larger)
            self._table = larger
            self._words = np.concatenate([self._words, np.empty_like(self._words)], axis=1)


def _with_room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array, or if that is too small a copy of it in a much larger one."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 4 * len(array)), array.dtype)  # what is not used yet takes no memory
    larger[: len(array)] = array
    return larger


def postings_of(scanned: Scanned, places: Places, docs: int, analyzer: Analyzer) -> tuple[Arrays, NDArray[np.uint64]]:
    """Keys, starts, docs, tfs and lengths of texts, each a part of a field of a passage, in the order of passages.

    Also the keys of those texts that are names, 0 for one that is too long for a name.
    """
    words, tokens, counts = scanned
    searched = np.zeros(len(words.starts), np.bool_)
    searched[tokens[np.repeat(places.fields != NOTHING, counts)]] = True
    expanded = _expand(words, searched, analyzer)
    in_names = tokens[np.repeat(places.names, counts)]
    name_keys = _name_keys(words, expanded, in_names, counts[places.names])
    offsets, terms = expanded.offsets, expanded.keys
    if analyzer.rescue:
        offsets, terms = _rescue(words, tokens, counts, offsets, terms)
    keys, numbers = np.unique(terms, return_inverse=True)
    starts, out_docs, tfs, lengths = kernels.text_loops.count(
        tokens,
        counts,
        places.docs,
        places.fields,
        docs,
        offsets.astype(np.uint32),
        numbers.astype(np.uint32),
        len(keys),
    )
    held = np.diff(starts) > 0  # a stop word that a name kept has no postings
    starts = np.append(starts[:-1][held], starts[-1])
    return (keys[held], starts, out_docs, tfs, lengths), name_keys


def _encoded(texts: Sequence[str]) -> Spans:
    """All texts in one buffer, NFC-normalised."""
    data, sizes = _joined(texts)
    ends = np.cumsum(sizes)
    return Spans(np.frombuffer(data, dtype=np.uint8), ends - sizes, ends)


def _joined(texts: Sequence[str]) -> tuple[bytes, NDArray[np.int64]]:
    """All texts, NFC-normalised, and how many bytes each has."""
    encoded = [(text if text.isascii() else _normalised(text)).encode("utf-8", "replace") for text in texts]
    return b"".join(encoded), np.fromiter(map(len, encoded), np.int64, len(encoded))


def _normalised(text: str) -> str:
    if not _MAY_CHANGE.search(text) or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


def _expand(words: Spans, searched: NDArray[np.bool_], analyzer: Analyzer) -> Expanded:
    buffer = np.empty(int((words.ends - words.starts).sum()) + len(words.starts), np.uint8)
    kernels.text_loops.gather(*words, buffer, _NEWLINE)
    sizes = words.ends - words.starts
    ends = np.cumsum(sizes + 1) - 1
    starts = ends - sizes
    part_starts, part_ends = np.empty(len(buffer), np.int64), np.empty(len(buffer), np.int64)
    counts, quoted = kernels.text_loops.split_words(buffer, starts, ends, LONG_WORD, part_starts, part_ends)
    lasts = np.cumsum(np.maximum(counts, 0))
    written = int(lasts[-1]) if len(lasts) else 0
    folded = np.where((buffer >= ord("A")) & (buffer <= ord("Z")), buffer | np.uint8(32), buffer)
    parts = Spans(folded, part_starts[:written], part_ends[:written])

    # A word of one part is its stem. A word of several is itself, and the stems of its parts but for single letters.
    several, strange = np.flatnonzero(searched & (counts > 1)), np.flatnonzero(searched & (counts < 0))
    word_of_part = np.repeat(np.arange(len(counts)), np.maximum(counts, 0))
    is_digit = (folded[parts.starts] >= ord("0")) & (folded[parts.starts] <= ord("9"))
    stemmed = searched[word_of_part] & ((counts[word_of_part] == 1) | (parts.ends - parts.starts > 1) | is_digit)
    stem_keys, says = _stem_keys(Spans(folded, parts.starts[stemmed], parts.ends[stemmed]))
    expanded = _expanded(words.strings(strange), analyzer)
    word_of_term = np.concatenate([
        several,
        word_of_part[stemmed][says],
        np.repeat(strange, np.fromiter(map(len, expanded), np.int64, len(expanded))),
    ])  # fmt: skip
    keys = np.concatenate([
        kernels.text_loops.hash_spans(folded, starts[several], ends[several]),
        stem_keys[says],
        np.array([term_key(term) for terms in expanded for term in terms], dtype=np.uint64),
    ])  # fmt: skip
    order = np.argsort(word_of_term, kind="stable")
    offsets = np.searchsorted(word_of_term[order], np.arange(len(counts) + 1))
    return Expanded(offsets, keys[order], lasts - np.maximum(counts, 0), lasts, parts, quoted | (counts < 0))


def _expanded(words: list[str], analyzer: Analyzer) -> list[Sequence[str]]:
    """The terms of each word; those that are just stems are stemmed together."""
    plain = [word for word in words if is_plain_word(word)]
    stems = dict(zip(plain, stemmer().stemWords([fold(word) for word in plain]), strict=True))
    return [(stems[word],) if word in stems else analyzer.expand(word) for word in words]


def _stem_keys(words: Spans) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """The key of each word's stem, and whether it is more than a stop word; each distinct word is stemmed once."""
    _, firsts, numbers = np.unique(kernels.text_loops.hash_spans(*words), return_index=True, return_inverse=True)
    distinct = words.strings(firsts)
    stems: list[str] = stemmer().stemWords(distinct)
    says = np.fromiter((word not in STOP_WORDS for word in distinct), np.bool_, len(distinct))
    return kernels.text_loops.hash_spans(*_encoded(stems))[numbers], says[numbers]


def _name_keys(
    words: Spans, expanded: Expanded, tokens: NDArray[np.int32], counts: NDArray[np.int32]
) -> NDArray[np.uint64]:
    used = np.unique(tokens).astype(np.int64)
    strange = used[expanded.strange[used]]
    parts = [folded_parts(word) for word in words.strings(strange)]
    more = _encoded([part for word in parts for part in word])
    buffer, starts, ends = expanded.parts
    lasts = len(starts) + np.cumsum([len(word) for word in parts], dtype=np.int64)
    firsts_of_words, lasts_of_words = expanded.firsts.copy(), expanded.lasts.copy()
    firsts_of_words[strange] = lasts - [len(word) for word in parts]
    lasts_of_words[strange] = lasts
    keys: NDArray[np.uint64] = kernels.text_loops.hash_names(
        tokens,
        counts,
        firsts_of_words,
        lasts_of_words,
        np.concatenate([starts, more.starts + len(buffer)]),
        np.concatenate([ends, more.ends + len(buffer)]),
        np.concatenate([buffer, more.buffer]),
        NAME_WORDS,
    )
    return keys


def _rescue(
    words: Spans,
    tokens: NDArray[np.int32],
    counts: NDArray[np.int32],
    offsets: NDArray[np.int64],
    keys: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Let texts of stop words alone keep them: their tokens get new numbers; the terms with those of the new words."""
    numbers: dict[int, int] = {}
    for text, start in zip(*kernels.text_loops.silent_texts(tokens, counts, offsets), strict=True):
        here = slice(start, start + counts[text])
        tokens[here] = [numbers.setdefault(word, len(words.starts) + len(numbers)) for word in tokens[here].tolist()]
    rescued = [fold(word) for word in words.strings(np.array(list(numbers), dtype=np.int64))]
    kept = [term_key(word) for word in rescued if word.strip("_")]
    more = len(keys) + np.cumsum([bool(word.strip("_")) for word in rescued], dtype=np.int64)
    return np.concatenate([offsets, more]), np.concatenate([keys, np.array(kept, dtype=np.uint64)])


@lru_cache(maxsize=1)
def _classes() -> NDArray[np.uint8]:
    """What each code point is to the scanner."""
    classes = np.zeros(0x110000, dtype=np.uint8)
    for code in range(0x33480):  # no letter stands beyond
        if chr(code).isalnum():
            classes[code] = kernels.text_loops.WORD
    classes[ord("_")] = kernels.text_loops.WORD
    classes[combining_marks()] = kernels.text_loops.MARK
    for low, high in EMOJI_RANGES:
        block = classes[low : high + 1]
        block[block == kernels.text_loops.SEPARATOR] = kernels.text_loops.EMOJI
    classes[[ord("'"), ord("’")]] = kernels.text_loops.QUOTE
    return classes
