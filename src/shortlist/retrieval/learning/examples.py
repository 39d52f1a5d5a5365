"""Examples from a log of use: the queries that led to each document; and the threshold that is fitted to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shortlist.index.storage.usage_log import Search
from shortlist.retrieval.relevance import THRESHOLD

# How much an example counts by how it came about. A tool that is only read was looked at, not used.
WORTH = {"called": 1.0, "read": 0.5}
MOST_REPEATED = 2.0  # one query, however often it is repeated
MOST_IN_SESSION = 5  # uses of one document in one session; without a session there is no limit
MOST_EXAMPLES = 30  # of one document, those with the largest weights
OFFERED = 0.25  # a use counts less if the same query was also followed by no use of what it showed
HALF_LIFE = 180 * 86_400.0  # seconds after which an example counts half

# The threshold is fitted to the log once it has this many searches after which something was used, and nothing was.
LEAST_USED, LEAST_UNUSED = 50, 20
FITTED = 1_000  # searches, the latest ones
LOST = 0.05  # share of what was used that would be refused
LIMITS = (0.2, 0.35)


class Example(NamedTuple):
    query: str
    weight: float


def collect_examples(searches: Sequence[Search], now: float) -> dict[tuple[str, bytes], list[Example]]:
    """The queries that led to each document, weighed by how often, how recently and how consistently they did."""
    worth: dict[tuple[str, bytes], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    against: dict[tuple[str, str], float] = defaultdict(float)  # query and id
    in_session: Counter[tuple[str, str]] = Counter()  # session and id
    for search in searches:
        age = 0.5 ** (max(now - search.at, 0.0) / HALF_LIFE)
        for id, hash, outcome in search.uses:
            if outcome not in WORTH:
                against[search.query, id] += age
                continue
            in_session[search.session, id] += 1
            if not search.session or in_session[search.session, id] <= MOST_IN_SESSION:
                worth[id, hash][search.query] += WORTH[outcome] * age
        for id in search.shown.keys() - {use.id for use in search.uses}:
            against[search.query, id] += OFFERED * age
    examples = {}
    for (id, hash), queries in worth.items():
        weighed = [
            Example(query, min(value, MOST_REPEATED) * value / (value + against[query, id]))
            for query, value in queries.items()
        ]
        weighed.sort(key=lambda example: -example.weight)
        examples[id, hash] = weighed[:MOST_EXAMPLES]
    return examples


class Threshold(NamedTuple):
    """The least relevance of a match, and the searches that it was fitted to."""

    value: float
    used: int
    unused: int


def fit_threshold(searches: Sequence[Search]) -> Threshold | None:
    """Fit the threshold to the log; None without enough searches.

    What was used was relevant: the threshold is where nearly all of it would still be returned. Nothing being used is
    weak evidence that nothing matched: the threshold is raised only if that was so for most of what it then refuses.
    """
    best: dict[bool, list[float]] = {True: [], False: []}
    for search in searches[-FITTED:]:
        highest = max((relevance or 0.0 for relevance in search.shown.values()), default=0.0)
        if highest:
            best[any(outcome in WORTH for _, _, outcome in search.uses)].append(highest)
    used, unused = (np.array(best[kind]) for kind in (True, False))
    if len(used) < LEAST_USED or len(unused) < LEAST_UNUSED:
        return None
    value = min(max(float(np.quantile(used, LOST)), LIMITS[0]), LIMITS[1])
    value = THRESHOLD + (value - THRESHOLD) * len(used) / (len(used) + LEAST_USED)
    refused = [int(((kind >= THRESHOLD) & (kind < value)).sum()) for kind in (used, unused)]
    is_pointless = value > THRESHOLD and refused[0] >= refused[1]
    return Threshold(THRESHOLD if is_pointless else round(value, 3), len(used), len(unused))
