"""Measures a model: nDCG@10, and for abstention the AUROC of the best cosine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SIX = ("sealtools", "toolbench", "bfcl", "metatool", "apibank", "toolalpaca")


def texts_of(one: dict[str, Any]) -> dict[str, list[int]]:
    """The texts of a set that are measured, by their part in it."""
    asked, unserved = ([row[0] for row in one[key]] for key in ("asked", "unserved"))
    return {"documents": one["documents"], "queries": asked, "unserved": unserved, "uses": one.get("uses", [])}


def unit(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    normal: np.ndarray[Any, Any] = rows / np.maximum(lengths, 1e-9)
    return normal


def ndcg(ranked: list[int], relevant: dict[int, float], k: int = 10) -> float:
    gained = sum(relevant.get(at, 0.0) / math.log2(place + 2) for place, at in enumerate(ranked[:k]))
    ideal = sorted(relevant.values(), reverse=True)[:k]
    return gained / sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal))


def auroc(served: np.ndarray[Any, Any], unserved: np.ndarray[Any, Any]) -> float:
    """How often a query that is served scores above one that is not."""
    ordered = np.sort(unserved)
    below = np.searchsorted(ordered, served, "left") + np.searchsorted(ordered, served, "right")
    return float(below.mean() / 2 / len(unserved))


def measure(one: dict[str, Any], documents: Any, queries: Any, unserved: Any, **_: Any) -> dict[str, float]:
    """Figures of one set, from the unit rows of its documents, its queries and those that nothing serves."""
    cosines = queries @ documents.T
    first = np.argpartition(-cosines, 10, axis=1)[:, :10]
    order = np.argsort(-np.take_along_axis(cosines, first, axis=1), axis=1)
    found = np.take_along_axis(first, order, axis=1).tolist()
    relevance = [{int(at): score for at, score in row[1].items()} for row in one["asked"]]
    figures = {"ndcg": float(np.mean([ndcg(row, judged) for row, judged in zip(found, relevance, strict=True)]))}
    if one["unserved"]:
        wrong = unserved @ documents.T
        figures["auroc"] = auroc(_best(cosines, one["asked"], 2), _best(wrong, one["unserved"], 1))
    return figures


def _best(cosines: Any, rows: list[Any], offered: int) -> np.ndarray[Any, Any]:
    """The best cosine of each query, among what was offered with it if anything was."""
    return np.array(
        [row[at[offered]].max() if at[offered] else row.max() for row, at in zip(cosines, rows, strict=True)]
    )
