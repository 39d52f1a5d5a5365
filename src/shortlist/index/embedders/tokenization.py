"""The tokenizers of our models: byte pairs for the static table, word pieces for the judge, and the pieces of XLM-R.

They return the same numbers as the library tokenizers in less time, without the hub client that it depends on. Only
special tokens that a text spells out, such as [SEP] or <s>, are read as text here.
"""

from __future__ import annotations

import heapq
import json
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path

from shortlist.index.embedders.piece_table import LONGEST_PIECE, SPECIAL, PieceTable
from shortlist.index.text.word_parts import compile_late

VOCABULARY = Path(__file__).with_name("data") / "bert-vocab.txt"
MOST_CACHED_WORDS = 1 << 16
LONGEST_CACHED_WORD = 50  # characters


class Tokenizer(ABC):
    """Turns a text into the numbers of its tokens, which are their places in a list."""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self.numbers = {token: number for number, token in enumerate(tokens)}
        self._cache: dict[str, list[int]] = {}

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """The first tokens of a text, without special ones."""
        numbers: list[int] = []
        for word in self._split(text):
            found = self._cache.get(word)
            numbers += self._encode_new(word) if found is None else found
            if len(numbers) >= max_tokens:
                break
        return numbers[:max_tokens]

    def _encode_new(self, word: str) -> list[int]:
        numbers = self._encode_word(word)
        if len(word) <= LONGEST_CACHED_WORD:
            if len(self._cache) >= MOST_CACHED_WORDS:
                self._cache.clear()
            self._cache[word] = numbers
        return numbers

    @abstractmethod
    def _split(self, text: str) -> list[str]:
        """Parts of a text that no token crosses."""

    @abstractmethod
    def _encode_word(self, word: str) -> list[int]: ...


_SPACE = "▁"
_SPACED_WORDS = re.compile(f"{_SPACE}*[^{_SPACE}]+|{_SPACE}+")
_FIRST_BYTE, _FIRST_MERGED = 3, 259  # first special tokens, then the 256 bytes, then all others
_LONGEST_RUN = 16  # of spaces that is a token
_LATER = 1 << 15  # more than there are tokens


class BytePairTokenizer(Tokenizer):
    """The tokenizer of LLaMA 2. Of all neighbors, those that make the token with the lowest number are joined first,
    runs of spaces last. Characters without a token become bytes."""

    def __init__(self, tokens: Path) -> None:
        super().__init__(json.loads(tokens.read_text("utf-8")))
        for token in list(self.numbers)[:_FIRST_MERGED]:
            del self.numbers[token]
        runs = (_SPACE * length for length in range(2, _LONGEST_RUN + 1))
        self._ranks = self.numbers | {run: self.numbers[run] + _LATER for run in runs if run in self.numbers}

    def _split(self, text: str) -> list[str]:
        return _SPACED_WORDS.findall(_SPACE + text.replace(" ", _SPACE))

    def _encode_word(self, word: str) -> list[int]:
        if word in self.numbers:
            return [self.numbers[word]]
        numbers: list[int] = []
        for part in self._join(list(word)):
            number = self.numbers.get(part)
            numbers += [byte + _FIRST_BYTE for byte in part.encode()] if number is None else [number]
        return numbers

    def _join(self, parts: list[str]) -> list[str]:
        """Join neighbors while they make a token. A part that was joined to the one before it is left empty."""
        end, ranks = len(parts), self._ranks
        before, after = list(range(-1, end)), list(range(1, end + 1))
        heap: list[tuple[int, int]] = []

        def add(at: int) -> None:
            if at >= 0 and after[at] < end and (rank := ranks.get(parts[at] + parts[after[at]])) is not None:
                heapq.heappush(heap, (rank, at))

        for at in range(end - 1):
            add(at)
        while heap:
            rank, at = heapq.heappop(heap)
            following = after[at]
            if not parts[at] or following == end or ranks.get(parts[at] + parts[following]) != rank:
                continue  # one of the two was joined to another part
            parts[at] += parts[following]
            parts[following] = ""
            after[at] = after[following]
            before[after[at]] = at
            add(before[at])
            add(at)
        return [part for part in parts if part]


class TransformerTokenizer(Tokenizer):
    """A tokenizer with special tokens at the start and the end of a text."""

    first: int
    separator: int

    def encode_whole(self, text: str, max_tokens: int) -> list[int]:
        """The first tokens of a text between the special ones, which count."""
        return [self.first, *self.encode(text, max_tokens - 2), self.separator]


_CHINESE = compile_late(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)
_LONGEST_WORD = 100  # characters; longer ones are unknown


class _Characters(dict[int, str]):
    """Characters as BERT reads them: lowercase, without accents, with spaces around punctuation."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
            read = " "
        elif character == "\ufffd" or category in ("Cc", "Cf", "Co", "Cs"):
            read = ""
        else:
            decomposed = unicodedata.normalize("NFD", character)
            letters = (part.lower() for part in decomposed if unicodedata.category(part) != "Mn")
            read = "".join(f" {letter} " if _is_punctuation(letter) else letter for letter in letters)
            read = f" {read} " if not character.isascii() and _CHINESE.match(character) else read
        self[code] = read
        return read


def _is_punctuation(letter: str) -> bool:
    return unicodedata.category(letter[0])[0] == "P" or letter in "$+<=>^`|~"


_CHARACTERS = _Characters()


class WordPieceTokenizer(TransformerTokenizer):
    """The tokenizer of BERT without case: of each word the longest token that it starts with, then of the rest."""

    def __init__(self) -> None:
        super().__init__(VOCABULARY.read_text("utf-8").split("\n"))
        self.unknown, self.first, self.separator = (self.numbers[token] for token in ("[UNK]", "[CLS]", "[SEP]"))

    def _split(self, text: str) -> list[str]:
        return text.translate(_CHARACTERS).split()

    def _encode_word(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self.unknown]
        numbers, start, mark = [], 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self.numbers.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return [self.unknown]
            numbers.append(number)
            start, mark = end, "##"
        return numbers


_NO_CHARACTERS = "".join(map(chr, (*range(9), 11, *range(14, 32), 127, 143, 159)))
_SPACES = "\t\n\f\r\u1680\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd"
_READ = str.maketrans(dict.fromkeys(_NO_CHARACTERS, "") | dict.fromkeys(_SPACES, " "))
_UNKNOWN_PENALTY = 10.0  # an unknown character costs as much more than the rarest piece


class UnigramTokenizer(TransformerTokenizer):
    """The tokenizer of XLM-R: of all ways to cut a word into pieces the most likely one."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.first, _, self.separator, self.unknown = range(SPECIAL)
        self._pieces = PieceTable(path)
        self.space = self._pieces.find(_SPACE)  # alone before a word that starts with an unknown character
        self._unknown_score = min(self._pieces.scores) - _UNKNOWN_PENALTY

    def _split(self, text: str) -> list[str]:
        read = unicodedata.normalize("NFKC", text.translate(_READ))
        return [_SPACE + word for word in read.split(" ") if word]

    def _encode_word(self, word: str) -> list[int]:
        find, scores, unknown = self._pieces.find, self._pieces.scores, self._unknown_score
        if (whole := find(word)) is not None:
            return [whole]
        end = len(word)
        best = [0.0] + [-math.inf] * end
        taken: list[tuple[int, int]] = [(0, 0)] * (end + 1)  # the piece that ends here, and where it starts
        for start in range(end):
            here = best[start]
            for stop in range(start + 1, min(start + LONGEST_PIECE, end) + 1):
                number = find(word[start:stop])
                if number is not None and here + scores[number] > best[stop]:
                    best[stop], taken[stop] = here + scores[number], (number, start)
            if here + unknown > best[start + 1]:
                best[start + 1], taken[start + 1] = here + unknown, (self.unknown, start)
        found: list[int] = []
        while end:
            number, end = taken[end]
            found.append(number)
        return found[::-1]
