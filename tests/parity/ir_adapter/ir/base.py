"""A corpus with a method `search`, hits with an artifact id, and the folders of ir."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import shortlist
from shortlist import Hit, Passage
from shortlist.errors import InputError


def use_ir_folders() -> None:
    for kind in ("CONFIG", "DATA", "CACHE"):
        if folder := os.environ.get(f"IR_{kind}_DIR"):
            os.environ[f"SHORTLIST_{kind}_DIR"] = folder


def storage_key(id: str) -> str:
    return id


def SearchHit(artifact_id: str, surface_kind: str, score: float, text: str, metadata: dict[str, Any]) -> Hit:  # noqa: N802
    passage = Passage(artifact_id, str(metadata.get("name", artifact_id)), text, metadata=metadata)
    return Hit(passage, score)


class Corpus:
    """A corpus of shortlist that is searched like one of ir: dense unless another mode is named."""

    def __init__(self, own: shortlist.Corpus, store: Any = None) -> None:
        self.own, self.store = own, store or StoreOf(own)

    def __len__(self) -> int:
        return int(self.own.info()["passages"])

    def search(
        self, query: str, *, k: int = 10, mode: Any = "dense", rerank: Any = None, filter: Any = None,
        bm25: Any = None, per_artifact: bool = True, surfaces: Any = None,
    ) -> list[Hit]:  # fmt: skip
        if surfaces is not None and "capability" not in surfaces:
            return []

        def reorder(query: str, hits: list[Hit]) -> list[Hit]:
            scores = rerank(query, [{"text": hit.text} for hit in hits])
            scored = [dataclasses.replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)]
            return sorted(scored, key=lambda hit: -hit.score)

        try:
            return shortlist.search(self.own, query, mode=mode, k=k, filter=filter, rerank=rerank and reorder)
        except InputError as error:
            raise ValueError(str(error)) from error


class StoreOf:
    """The calibrated modes of a stored corpus."""

    def __init__(self, own: shortlist.Corpus) -> None:
        self.own = own

    def calibration_modes(self) -> list[str]:
        return sorted(self.own.config.floors)


def open_corpus(name: str) -> Corpus:
    use_ir_folders()
    return Corpus(shortlist.open_corpus(name))


def own_of(corpus: Any) -> Any:
    return corpus.own if isinstance(corpus, Corpus) else open_corpus(corpus).own if isinstance(corpus, str) else corpus
