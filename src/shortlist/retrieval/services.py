"""Names of well-known services in a query: a catalog that mentions none of them hardly serves it."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shortlist.index.engine import LexicalIndex

# Latin letters and others are separate words, as in "Slackで".
_LATIN = r"\d_a-zA-Z\u00c0-\u024f\u1e00-\u1eff"
_LATIN_WORD = re.compile(rf"[{_LATIN}](?:[{_LATIN}.]*[{_LATIN}])?")
_WORD = re.compile(rf"{_LATIN_WORD.pattern}|[^\W{_LATIN}]+")
_ASCII_WORD = re.compile(r"\w+(?:\.+\w+)*", re.ASCII)  # the same in ASCII, found in less time


@cache
def _known_names() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Names that are distinctive in any case, common words as they are written, and the first words of all, lowered."""
    names = json.loads(Path(__file__).with_name("services.json").read_bytes())
    distinctive, as_written = frozenset([*names["any_case"], *names["two_words"]]), frozenset(names["as_written"])
    return distinctive, as_written, frozenset(name.lower().partition(" ")[0] for name in distinctive | as_written)


def find_unknown_services(query: str, lexical: LexicalIndex) -> list[str]:
    """The services that the query names and that no document mentions."""
    distinctive, as_written, first_words = _known_names()
    if query.isascii() and first_words.isdisjoint(_ASCII_WORD.findall(query.lower())):
        return []
    words = _WORD.findall(query)
    if first_words.isdisjoint(map(str.lower, words)):
        return []
    is_mixed = any(not _LATIN_WORD.match(word) for word in words)  # a capital is then no sign of a sentence's start
    named = [
        word
        for at, word in enumerate(words)
        if word.lower() in distinctive or ((at or is_mixed) and word in as_written)
    ]
    named += [name for pair in pairwise(words) if (name := " ".join(pair)).lower() in distinctive]
    return [name for name in named if not all(lexical.knows([term]) for term in lexical.analyzer.terms(name.lower()))]
