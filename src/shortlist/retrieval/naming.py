"""Documents that a query identifies by their name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shortlist.index.text.analyzers import name_words, words
from shortlist.index.text.languages import is_stop_word

if TYPE_CHECKING:
    from shortlist.index.engine import State
    from shortlist.results import Positions

MOST_NAMED = 64  # passages: a name that more of them share identifies none


def find_identified(state: State, query: str, named: Positions) -> Positions:
    """Those of the passages whose name is in the query that it identifies.

    A name identifies its document if it is the whole query, if it is an identifier of several words ("send_mail",
    "sendMail"), or if it has three words or more. A shorter one may be in a sentence by chance ("move", "my list").
    """
    if not 0 < len(named) <= MOST_NAMED:
        return named[:0]
    written = [*query.split(), *words(query)]  # "send-mail" is one of the first, the "send_mail" of "a.send_mail" not
    identifiers = {tuple(parts) for word in written if len(parts := name_words(word)) > 1}
    asked = name_words(query)
    found = [
        any(_identifies(name, asked, identifiers) for name in (passage.document_id, passage.name))
        for passage in state.passages(named)
    ]
    identified: Positions = named[np.array(found)]
    return identified


def _identifies(name: str, asked: Sequence[str], identifiers: Iterable[tuple[str, ...]]) -> bool:
    parts = name_words(name)
    size = len(parts)
    if parts == asked or tuple(parts) in identifiers:
        return True
    if size < 3 or sum(not is_stop_word(part, name) for part in parts) < 2:
        return False
    return any(asked[start : start + size] == parts for start in range(len(asked) - size + 1))
