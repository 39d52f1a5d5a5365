"""Ranking metrics by name. `relevance` maps the ids of relevant documents to grades above zero.

Only `ndcg` uses the grades. All equal those of trec_eval for a ranking without ties: P_k, recall_k, success_k,
ndcg_cut_k, recip_rank and map.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from shortlist.errors import InputError

Ranked = Sequence[str]
Relevance = Mapping[str, float]
Metric = Callable[[Ranked, Relevance], float]


def precision(ranked: Ranked, relevance: Relevance, k: int) -> float:
    """The share of the first k places with a relevant document; an empty place counts as irrelevant."""
    return sum(id in relevance for id in ranked[:k]) / k


def recall(ranked: Ranked, relevance: Relevance, k: int) -> float:
    """The share of the relevant documents that are in the first k places."""
    return sum(id in relevance for id in ranked[:k]) / len(relevance) if relevance else 0.0


def hit(ranked: Ranked, relevance: Relevance, k: int) -> float:
    """1 if a relevant document is in the first k places."""
    return float(any(id in relevance for id in ranked[:k]))


def ndcg(ranked: Ranked, relevance: Relevance, k: int) -> float:
    """Discounted gain over that of the best order: gain is the grade (not 2^grade - 1), discount log2(rank + 1)."""

    def dcg(gains: Sequence[float]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))

    ideal = dcg(sorted(relevance.values(), reverse=True))
    return dcg([relevance.get(id, 0.0) for id in ranked[:k]]) / ideal if ideal else 0.0


def reciprocal_rank(ranked: Ranked, relevance: Relevance, k: int | None) -> float:
    """1 / the rank of the first relevant document; its mean is MRR."""
    rank = first_rank(ranked[:k], relevance)
    return 1.0 / rank if rank else 0.0


def average_precision(ranked: Ranked, relevance: Relevance, k: int | None) -> float:
    """The mean of the precision at the rank of each relevant document, 0 if it was not found; its mean is MAP."""
    count, total = 0, 0.0
    for rank, id in enumerate(ranked[:k], 1):
        if id in relevance:
            count += 1
            total += count / rank
    return total / len(relevance) if relevance else 0.0


def first_rank(ranked: Ranked, relevance: Relevance) -> int | None:
    """The rank of the first relevant document, from 1."""
    return next((rank for rank, id in enumerate(ranked, 1) if id in relevance), None)


NEED_K: dict[str, Callable[..., float]] = {"recall": recall, "precision": precision, "ndcg": ndcg, "hit": hit}
METRICS = NEED_K | {"mrr": reciprocal_rank, "map": average_precision}
_NAME = re.compile(r"([a-z]+)(?:@([1-9]\d*))?")


def metric(name: str) -> Metric:
    """A metric by its name: recall@k, precision@k, ndcg@k, hit@k, mrr, map, mrr@k or map@k."""
    function, k = _parse(name)
    return lambda ranked, relevance: function(ranked, relevance, k)


def depth_of(name: str) -> int | None:
    """The rank down to which a metric looks; None means all."""
    return _parse(name)[1]


def _parse(name: str) -> tuple[Callable[..., float], int | None]:
    match = _NAME.fullmatch(name)
    kind, k = match.groups() if match else ("", None)
    if kind not in METRICS or (kind in NEED_K and not k):
        known = ", ".join(f"{each}@k" if each in NEED_K else each for each in METRICS)
        raise InputError(f"{name!r} is not a metric. Use one of {known}, with a number for k, as in ndcg@10.")
    return METRICS[kind], int(k) if k else None
