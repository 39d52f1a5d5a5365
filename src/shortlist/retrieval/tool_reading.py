"""Reads the best tools and skills of a query together with it: that tells better than vectors whether one serves it.

What the reader says is added to the log odds of relevance. It decides between the first few, and moves all others with
the one that loses most, so that their order stays. `training/NOTES.md` says how the weights were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shortlist.documents import Document
from shortlist.index.embedders.cross_encoder import ANSWER, load_reader
from shortlist.index.embedders.tools_model import TRAINED_FOR, as_read
from shortlist.index.text.languages import ENGLISH
from shortlist.results import Hit
from shortlist.retrieval.relevance import log_odds, probability

READ = 2  # documents of a corpus
# Log odds of the best one, between which reading may change the decision.
LEAST, MOST = -2.5, 2.0
WEIGHT = 0.4  # of the log odds that the reader gives
# What is added to them: for queries in other languages it gives less.
IN_ENGLISH, IN_OTHERS = 1.0, 1.6
MOST_BEHIND = 0.5  # how much more one document gains than another: more would leave out what may fit
LONGEST = 360  # characters of a document that are read


def read_best(hits: list[Hit], get: Callable[[str], Document | None], query: str, language: str) -> list[Hit]:
    """The hits of one corpus, best first, with what reading the first ones changes."""
    first = hits[:READ]
    reader = load_reader() if _may_change(first) else None
    if not reader:
        return hits
    texts = [text_of(document) for hit in first if (document := get(hit.id))]
    if len(texts) < len(first):  # one was deleted meanwhile
        return hits
    constant = IN_ENGLISH if language == ENGLISH else IN_OTHERS
    rated = [WEIGHT * odds + constant for odds in reader.rate(ANSWER, query, texts)]
    changes = [max(one, max(rated) - MOST_BEHIND) for one in rated]
    changes += [min(changes)] * (len(hits) - len(first))
    return sorted(map(_change, hits, changes), key=lambda hit: -hit.score)


def _may_change(first: Sequence[Hit]) -> bool:
    """Whether reading may change the decision. What the query names and what was learned tell more than that."""
    return (
        TRAINED_FOR.issuperset(hit.kind for hit in first)
        and not any(hit.signals["named"] > 0 or hit.signals.get("learned", 0.0) > 0 for hit in first)
        and any(LEAST < log_odds(hit.relevance or 0.0) < MOST for hit in first[:1])
    )


def text_of(document: Document) -> tuple[str, str]:
    """A document as the reader reads it: what it does, and its name."""
    return document.content[:LONGEST], as_read(", ".join([document.title, *document.keywords]))


def _change(hit: Hit, change: float) -> Hit:
    relevance = probability(log_odds(hit.relevance or 0.0) + change)
    return replace(hit, score=relevance, relevance=relevance, signals={**hit.signals, "read": change})
