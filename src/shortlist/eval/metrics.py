"""Ranking metrics. `of` maps relevant ids to grades above zero.

All but `ndcg` ask only whether something is relevant. They equal those of trec_eval for a ranking without ties:
P_k, recall_k, success_k, ndcg_cut_k, recip_rank and map.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from shortlist.errors import InputError

Ranked = Sequence[str]
Relevance = Mapping[str, float]
Metric = Callable[[Ranked, Relevance], float]


def precision(ranked: Ranked, of: Relevance, k: int) -> float:
    """The share of the first k places that hold something relevant; an empty place holds nothing."""
    return _found(ranked[:k], of) / k


def recall(ranked: Ranked, of: Relevance, k: int) -> float:
    """The share of what is relevant that stands in the first k places."""
    return _found(ranked[:k], of) / len(of) if of else 0.0


def hit(ranked: Ranked, of: Relevance, k: int) -> float:
    """1 if anything relevant stands in the first k places."""
    return float(any(id in of for id in ranked[:k]))


def reciprocal_rank(ranked: Ranked, of: Relevance, k: int | None = None) -> float:
    """1 / the rank of the first that is relevant; its mean is MRR."""
    rank = first_rank(ranked[:k], of)
    return 1.0 / rank if rank else 0.0


def average_precision(ranked: Ranked, of: Relevance, k: int | None = None) -> float:
    """The precision at the rank of each that is relevant, 0 for one not found, averaged; its mean is MAP."""
    found, total = 0, 0.0
    for rank, id in enumerate(ranked[:k], 1):
        if id in of:
            found += 1
            total += found / rank
    return total / len(of) if of else 0.0


def ndcg(ranked: Ranked, of: Relevance, k: int) -> float:
    """Discounted gain over that of the best order: gain is the grade (not 2^grade - 1), discount log2(rank + 1)."""
    ideal = dcg(sorted(of.values(), reverse=True)[:k])
    return dcg([of.get(id, 0.0) for id in ranked[:k]]) / ideal if ideal else 0.0


def dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def first_rank(ranked: Ranked, of: Relevance) -> int | None:
    """The rank of the first that is relevant, from 1."""
    return next((rank for rank, id in enumerate(ranked, 1) if id in of), None)


def _found(ranked: Ranked, of: Relevance) -> int:
    return sum(id in of for id in ranked)


AT_K: dict[str, Callable[[Ranked, Relevance, int], float]] = {
    "recall": recall,
    "precision": precision,
    "ndcg": ndcg,
    "hit": hit,
}
TO_THE_END: dict[str, Callable[[Ranked, Relevance, int | None], float]] = {
    "mrr": reciprocal_rank,
    "map": average_precision,
}
_NAME = re.compile(r"([a-z]+)(?:@([1-9]\d*))?")


def metric(name: str) -> Metric:
    """A measure by its name: recall@k, precision@k, ndcg@k, hit@k, mrr, map, or mrr@k, map@k."""
    found = _NAME.fullmatch(name)
    measure, k = found.groups() if found else (None, None)
    if measure in TO_THE_END:
        to_the_end, end = TO_THE_END[measure], int(k) if k else None
        return lambda ranked, of: to_the_end(ranked, of, end)
    if measure in AT_K and k:
        at_k, places = AT_K[measure], int(k)
        return lambda ranked, of: at_k(ranked, of, places)
    known = ", ".join([*(f"{each}@k" for each in AT_K), *TO_THE_END])
    raise InputError(f"There is no metric {name!r}; the known ones are {known}, with a number for k, as in ndcg@10.")


def depth_of(name: str) -> int | None:
    """How far down a measure looks; None means to the end."""
    metric(name)
    _, _, k = name.partition("@")
    return int(k) if k else None
