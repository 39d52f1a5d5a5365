"""Words as they are compared: their case folded, and identifiers split into parts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

LONG_WORD = 64  # a word of more characters is neither split nor stemmed nor cached
CACHED_WORDS = 1 << 18

_ASCII_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

Expand = Callable[[str], tuple[str, ...]]  # from a word to its terms


class _LatePattern:
    """A pattern that is compiled when it is first used."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._pattern), name)
        setattr(self, name, value)
        return value


def compile_late(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when it is first used: with thousands of characters in sets, it takes milliseconds."""
    return cast("re.Pattern[str]", _LatePattern(pattern))


def fold(text: str) -> str:
    """Fold the case of a text and normalize it to NFC, which leaves ASCII as it is."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def subwords(word: str) -> list[str]:
    """The parts of an identifier, with their case: getCustomerProfile, get_customer_profile -> get customer profile.

    Digits are split from three or more letters (HTTPServer2 -> HTTP Server 2) but not from fewer (p53, b12).
    """
    if word.isdigit() or (word.isalpha() and (word.islower() or word.istitle() or word.isupper())):
        return [word]
    parts: list[str] = []
    for piece in word.split("_"):
        split = _ASCII_PARTS.findall(piece) if word.isascii() else _split_case(piece)
        is_short = word.isascii() and max((len(part) for part in split if part.isalpha()), default=0) < 3
        parts += [piece] if is_short and len(split) > 1 else split
    return parts


def _split_case(word: str) -> list[str]:
    cuts = [0, *(at for at in range(1, len(word)) if word[at].isupper() and _starts_part(word, at)), len(word)]
    return [word[start:end] for start, end in pairwise(cuts) if start < end]


def _starts_part(word: str, at: int) -> bool:
    """Whether a capital letter starts a part: after a lowercase letter, or before one as the last of several."""
    return word[at - 1].islower() or (word[at - 1].isupper() and word[at + 1 : at + 2].islower())
