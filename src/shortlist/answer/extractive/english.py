"""English word lists and patterns, and the weights of signals, from english.toml."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from shortlist.index.text.analyzers import stemmer

_DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _compile(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile(pattern.replace("\n", ""), flags)


ASKING, FUNCTION_WORDS, BACKWARD, NUMBER_WORDS, ORDINALS, NEGATING_PREFIXES = (
    frozenset(_DATA[name].split())
    for name in ("asking", "function_words", "backward", "number_words", "ordinals", "negating_prefixes")
)
KINDS = {kind: _compile(pattern, re.IGNORECASE) for kind, pattern in _DATA["kinds"].items()}
DATES = _compile(_DATA["patterns"]["dates"])
CAUSES = _compile(_DATA["patterns"]["causes"], re.IGNORECASE)
NEGATION = _compile(_DATA["patterns"]["negation"], re.IGNORECASE)
REFERS_BACK = re.compile(rf"(?:{'|'.join(BACKWARD)})\b", re.IGNORECASE)
PATHS = _compile(_DATA["patterns"]["paths"])
IDLE = _compile(_DATA["patterns"]["idle"], re.IGNORECASE)
_MEASURES = [(_compile(asked, re.IGNORECASE), _compile(cell, re.IGNORECASE)) for asked, cell in _DATA["measures"]]
WEIGHTS: dict[str, float] = _DATA["weights"]


@lru_cache(maxsize=64)
def find_measure(question: str) -> re.Pattern[str] | None:
    """The pattern of the amounts that a question asks for: of money, or of time or length."""
    return next((amount for asked, amount in _MEASURES if asked.search(question)), None)


@cache
def load_opposites() -> dict[str, set[str]]:
    """The stems with the opposite meaning of each stem."""
    opposites: dict[str, set[str]] = {}
    for pair in _DATA["opposites"].split():
        one, other = map(stemmer().stemWord, pair.split("/"))
        opposites.setdefault(one, set()).add(other)
        opposites.setdefault(other, set()).add(one)
    return opposites


@cache
def load_base_forms() -> dict[str, str]:
    """The base form of each form of an irregular word, all as stems."""
    stem = stemmer().stemWord
    groups = [group.split() for group in _DATA["irregular"].strip().replace("\n", "|").split("|")]
    return {stem(form): stem(group[0]) for group in groups for form in group}
