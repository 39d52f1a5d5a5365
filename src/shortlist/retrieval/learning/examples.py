"""Examples from a log of use: the queries that led to each document; and the threshold that is fitted to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from shortlist.index.storage.usage_log import LONGEST_QUERY, Search
from shortlist.retrieval.relevance import THRESHOLD

# How much an example counts by how it came about. A tool that is only read was looked at, not used; a query that found
# nothing was perhaps about something else than the one that followed it.
WORTH = {"called": 1.0, "read": 0.5, "reworded": 0.5}
MOST_REPEATED = 2.0  # one query, however often it is repeated; in one session, it counts once
MOST_IN_SESSION = 5  # uses of one document in one session; without a session there is no limit
MOST_EXAMPLES = 30  # of one document, those with the largest weights
OFFERED = 0.25  # a use counts less if the same query was also followed by no use of what it showed
PASSED_OVER = (
    2  # searches for one query that showed a document and were followed by the use of another, before it loses
)
HALF_LIFE = 180 * 86_400.0  # seconds after which an example counts half

# The threshold is fitted to the log once it has this many searches after which something was used, and nothing was.
LEAST_USED, LEAST_UNUSED = 50, 20
FITTED = 1_000  # searches, the latest ones
LOST = 0.05  # share of what was used that would be refused
LIMITS = (0.2, 0.35)


class Example(NamedTuple):
    query: str
    weight: float
    independent: float = 1.0  # uses of different sessions; further ones in a session count less


Key = tuple[str, bytes]  # id and hash of a document
AnyKey = tuple[str, bytes | None]  # None: whatever its definition is


class Examples(NamedTuple):
    """What a log says about documents: the queries that led to each of them, and those for which it was not right."""

    by_document: dict[Key, list[Example]]
    doubts: dict[str, dict[AnyKey, float]]  # by the key of a query, the weight of what counts against documents


def collect_examples(searches: Sequence[Search], now: float) -> Examples:
    """The examples of each document, weighed by how often, how recently and how consistently they led to it.

    A use is independent of others if it is of another session, or reported without one. Further queries of a session
    count less and less, and the same query again in a session does not count. Reports without a session all count.
    """
    worth: dict[Key, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    independent: dict[Key, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    against: dict[tuple[str, AnyKey], float] = defaultdict(float)  # by the key of a query, and the document
    reported: dict[tuple[str, AnyKey], float] = defaultdict(float)  # of these, reports that it was wrong
    wrong: set[tuple[str, str, str]] = set()  # session, query and id of these
    passed_over: Counter[tuple[str, str]] = Counter()
    in_session: dict[tuple[str, str], set[str]] = defaultdict(set)  # queries by session and id
    spelled: dict[str, str] = {}  # the query as it was first written, by its key
    for search in searches:
        query, age = key_of(search.query), 0.5 ** (max(now - search.at, 0.0) / HALF_LIFE)
        for id, hash, outcome in search.uses:
            if outcome not in WORTH:
                against[query, (id, hash)] += age
                report = (search.session, query, id)
                if outcome == "wrong" and not (search.session and report in wrong):
                    wrong.add(report)
                    reported[query, (id, hash)] += age
                continue
            share = 1.0
            if search.session:
                known = in_session[search.session, id]
                if query in known or len(known) >= MOST_IN_SESSION:
                    continue
                known.add(query)
                share = len(known) ** -0.5
            spelled.setdefault(query, search.query)
            worth[id, hash][query] += WORTH[outcome] * age
            independent[id, hash][query] += share * WORTH[outcome] * age
        used = {use.id for use in search.uses}
        has_right = any(use.outcome in WORTH for use in search.uses)
        for id in search.shown.keys() - used:
            against[query, (id, None)] += OFFERED * age
            passed_over[query, id] += has_right
    examples = {}
    for (id, hash), queries in worth.items():
        weighed = []
        for query, value in queries.items():
            share = value / (value + against[query, (id, hash)] + against[query, (id, None)])
            alone = min(independent[id, hash][query], MOST_REPEATED)
            weighed.append(Example(spelled[query], min(value, MOST_REPEATED) * share, alone * share))
        weighed.sort(key=lambda example: -example.weight)
        examples[id, hash] = weighed[:MOST_EXAMPLES]
    return Examples(examples, _collect_doubts(worth, reported, passed_over))


def _collect_doubts(
    worth: Mapping[Key, Mapping[str, float]],
    reported: Mapping[tuple[str, AnyKey], float],
    passed_over: Mapping[tuple[str, str], int],
) -> dict[str, dict[AnyKey, float]]:
    """What counts against documents, by query: reports, and being passed over; not where they were used as often.

    Reports are about a document as it was defined then. With another definition, only being passed over counts.
    """
    used: dict[tuple[str, AnyKey], float] = defaultdict(float)
    for (id, hash), queries in worth.items():
        for query, value in queries.items():
            used[query, (id, hash)] += value
            used[query, (id, None)] += value
    doubts: dict[str, dict[AnyKey, float]] = defaultdict(dict)
    for query, key in reported.keys() | {(query, (id, None)) for query, id in passed_over}:
        times = passed_over.get((query, key[0]), 0)
        ignored = OFFERED * times if times >= PASSED_OVER else 0.0
        if (doubt := reported.get((query, key), 0.0) + ignored - used.get((query, key), 0.0)) > 0:
            doubts[query][key] = min(doubt, MOST_REPEATED)
    return dict(doubts)


def key_of(query: str) -> str:
    """What queries with the same wording have in common."""
    return " ".join(query.split())[:LONGEST_QUERY].casefold()


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
        outcomes = {use.outcome for use in search.uses}
        is_used = not outcomes.isdisjoint(("called", "read"))
        if highest and (is_used or "reworded" not in outcomes):  # what was used later, this search did not select
            best[is_used].append(highest)
    used, unused = (np.array(best[kind]) for kind in (True, False))
    if len(used) < LEAST_USED or len(unused) < LEAST_UNUSED:
        return None
    value = min(max(float(np.quantile(used, LOST)), LIMITS[0]), LIMITS[1])
    value = THRESHOLD + (value - THRESHOLD) * len(used) / (len(used) + LEAST_USED)
    refused = [int(((kind >= THRESHOLD) & (kind < value)).sum()) for kind in (used, unused)]
    is_pointless = value > THRESHOLD and refused[0] >= refused[1]
    return Threshold(THRESHOLD if is_pointless else round(value, 3), len(used), len(unused))
