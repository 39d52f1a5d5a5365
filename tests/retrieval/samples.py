"""Samples and helpers that several test files use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from shortlist import (
    Corpus,
    Document,
    Hits,
    Scoring,
    create_corpus,
)
from shortlist.results import Mode

MODES = get_args(Mode)


PLAIN = Scoring(k1=1.2)  # every field weighs 1


K1, B = 1.2, 0.75


def corpus_of(documents: Iterable[Document], embedder: Any = "none", **options: Any) -> Corpus:
    corpus = create_corpus(in_memory=True, embedder=embedder, **options)
    assert not corpus.add(documents).failed
    return corpus


def texts(**contents: str) -> list[Document]:
    return [Document(id, "", content) for id, content in contents.items()]


def scored(hits: Hits) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}


def blends(hits: Hits) -> dict[str, float]:
    return {hit.id: hit.signals["blend"] for hit in hits}


def idf(documents: int, df: int) -> float:
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))


def gain(tf: float, length: float, average: float) -> float:
    return tf / (tf + K1 * (1 - B + B * length / average))


SHOP = [
    Document("refund", "refund_payment", "Give money back to the card it came from.", ["reimburse"]),
    Document("track", "track_shipment", "Where is my parcel now?", ["delivery", "courier"]),
    Document("cancel", "cancel_order", "Stop an order before it is sent."),
    Document("mail", "", "Write an email to a customer about an order."),
]


def letters(batch: list[str]) -> NDArray[np.float64]:
    """A text as the counts of the letters a to e."""
    return np.array([[text.count(letter) for letter in "abcde"] for text in batch], dtype=np.float64)


def table_embedder(vectors: dict[str, list[float]]) -> Callable[[list[str]], list[list[float]]]:
    return lambda batch: [vectors.get(text, [0.0, 1.0]) for text in batch]


def direction(cosine: float) -> list[float]:
    return [cosine, math.sqrt(1 - cosine * cosine)]


MIXED = texts(a="red red plum", b="red plum fig kiwi oak", c="blue sky", d="green sea", e="old tin")


MEANING = {
    "red": [1.0, 0.0],
    "red red plum": direction(0.3),
    "red plum fig kiwi oak": direction(0.9),
    "blue sky": direction(0.6),
    "green sea": direction(0.6),
    "old tin": direction(0.1),
}
