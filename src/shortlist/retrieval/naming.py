"""Documents that a query identifies by their name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.text.analyzers import find_identifiers, name_words
from shortlist.index.text.languages import ENGLISH_STOP_WORDS, detect_language, get_stop_words, list_stop_words

if TYPE_CHECKING:
    from shortlist.documents import Passage
    from shortlist.results import Positions

MOST_NAMED = 64  # passages: a name that more of them share identifies none
LONG = 3  # words of a name that is in no sentence by chance


def find_possible(query: str, asked: Sequence[str], named: Mapping[int, int]) -> list[int]:
    """Those of the passages whose name is in the query that it may identify; of most, the names are too short.

    `asked` are the words of the query, and `named` the positions of the passages, each with the words of its name.
    """
    if len(named) > MOST_NAMED:
        return []
    shortest = min(LONG, len(asked))
    if shortest > 2 and 2 in named.values() and find_identifiers(query):
        shortest = 2
    return [at for at, size in named.items() if size >= shortest]


def find_identified(query: str, asked: Sequence[str], possible: Positions, passages: Sequence[Passage]) -> Positions:
    """Those of the possible positions, with their passages, that the query identifies. `asked` are its words.

    A name identifies its document if it is the whole query, if it is an identifier of several words ("send_mail",
    "sendMail"), or if it has three words or more. A shorter one may be in a sentence by chance ("move", "my list").
    """
    identifiers = find_identifiers(query)
    is_meant = [
        any(_identifies(name, asked, identifiers) for name in (passage.document_id, passage.name))
        for passage in passages
    ]
    found: Positions = possible[np.array(is_meant, dtype=bool)]
    return found


def _identifies(name: str, asked: Sequence[str], identifiers: Iterable[tuple[str, ...]]) -> bool:
    parts = name_words(name)
    size = len(parts)
    if parts == asked or tuple(parts) in identifiers:
        return True
    if size < LONG or not any(asked[start : start + size] == parts for start in range(len(asked) - size + 1)):
        return False
    telling = [part for part in parts if part not in ENGLISH_STOP_WORDS]
    if sum(part not in list_stop_words() for part in telling) < 2 <= len(telling):  # its language decides
        stop_words = get_stop_words(detect_language(name))
        telling = [part for part in telling if part not in stop_words]
    return len(telling) > 1
