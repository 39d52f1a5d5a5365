"""Reads the best tools and skills of a query together with it: that tells better than vectors whether one serves it.

What the reader says is added to the log odds of relevance. It decides between the first two, and moves all others with
the one that gains less, so that their order stays. Of what was learned from use, it takes nothing away.
`training/judge/NOTES.md` says how the weights were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import nsmallest

from shortlist.documents import Document
from shortlist.index.embedders.cross_encoder import ANSWER, load_reader
from shortlist.index.embedders.tools_model import TRAINED_FOR, as_read
from shortlist.index.text.languages import ENGLISH, detect_language
from shortlist.results import Hit
from shortlist.retrieval.relevance import log_odds, probability

READ = 2  # documents of a query
# Log odds of the best one, between which reading may change the decision.
LEAST, MOST = -2.5, 2.0
WEIGHT = 0.4  # of the log odds that the reader gives
# What is added to them: for queries in other languages it gives less.
IN_ENGLISH, IN_OTHERS = 1.0, 1.6
MOST_BEHIND = 0.2  # how much more one document gains than another: more would leave out what may fit
LONGEST = 200  # characters of a document that are read

GetDocument = Callable[[str], Document | None]


def rate_best(hits: Sequence[Sequence[Hit]], gets: Sequence[GetDocument], query: str) -> list[list[float]] | None:
    """What reading the best hits of some corpora adds to the log odds of each hit; None if nothing is read."""
    places = [(part, at) for part, some in enumerate(hits) for at in range(len(some))]
    first = nsmallest(READ, places, key=lambda place: -(hits[place[0]][place[1]].relevance or 0.0))
    reader = load_reader() if _may_change([hits[part][at] for part, at in first]) else None
    if not reader:
        return None
    texts = [text_of(document) for part, at in first if (document := gets[part](hits[part][at].id))]
    if len(texts) < len(first):  # one was deleted meanwhile
        return None
    constant = IN_ENGLISH if detect_language(query) == ENGLISH else IN_OTHERS
    rated = [WEIGHT * odds + constant for odds in reader.rate(ANSWER, query, texts)]
    is_learned = any(hits[part][at].signals.get("learned", 0.0) > 0 for part, at in first)
    least = max(max(rated) - MOST_BEHIND, 0.0 if is_learned else -math.inf)
    changes = dict(zip(first, (max(one, least) for one in rated), strict=True))
    others = min(changes.values())
    return [[changes.get((part, at), others) for at in range(len(some))] for part, some in enumerate(hits)]


def change(hit: Hit, odds: float) -> Hit:
    """The hit with what reading adds to its log odds."""
    relevance = probability(log_odds(hit.relevance or 0.0) + odds)
    return replace(hit, score=relevance, relevance=relevance, signals={**hit.signals, "read": odds})


def _may_change(first: Sequence[Hit]) -> bool:
    """Whether reading may change the decision. What the query names tells more than that."""
    return (
        TRAINED_FOR.issuperset(hit.kind for hit in first)
        and not any(hit.signals["named"] > 0 for hit in first)
        and any(LEAST < log_odds(hit.relevance or 0.0) < MOST for hit in first[:1])
    )


def text_of(document: Document) -> tuple[str, str]:
    """A document as the reader reads it: what it does, and its name."""
    return document.content[:LONGEST], as_read(", ".join([document.title, *document.keywords]))
