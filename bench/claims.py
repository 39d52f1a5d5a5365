"""Verification of claims that people labeled: which of them are kept, each with its evidence as the only passage."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import shortlist
from shortlist import Document, ScriptedLLM
from shortlist.answer.verification import verify
from shortlist.results import Claim, Evidence

FOLDS = 5
QUESTION = "What does the evidence say?"
COMPARED = 20  # claims that are also verified through `ask`


@dataclass(frozen=True)
class Labeled:
    """A claim, its evidence, whether that supports it, and the fold that its model must not have seen."""

    claim: str
    evidence: str
    is_supported: bool
    fold: int | None = None


def fold_of(group: str) -> int:
    """The fold of all rows of a group: an article of selqa_dev, the claims that share evidence."""
    return int.from_bytes(hashlib.sha256(group.encode()).digest()[:4]) % FOLDS


def load_folds(path: Path) -> list[Labeled]:
    """The claims of fever_symmetric_dev; those that share a claim or evidence are in the same fold."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    group = {text: text for row in rows for text in (row["claim"], row["evidence"])}

    def find(text: str) -> str:
        while group[text] != text:
            text = group[text]
        return text

    for row in rows:
        first, second = sorted((find(row["claim"]), find(row["evidence"])))
        group[second] = first
    return [Labeled(row["claim"], row["evidence"], row["supported"], fold_of(find(row["claim"]))) for row in rows]


def load_sources(path: Path) -> dict[str, list[Labeled]]:
    """The claims of a file of several sources, by source, without those that are partly supported."""
    sources: dict[str, list[Labeled]] = {}
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["label"] != "partly":
                one = Labeled(row["claim"], row["evidence"], row["label"] == "supported")
                sources.setdefault(row["source"], []).append(one)
    return sources


def is_kept(one: Labeled) -> bool:
    item = Evidence(1, "evidence", "evidence", "whole", one.evidence, 1.0)
    return _has_support(verify(f"{one.claim} {item.marker}", [item], QUESTION).claims)


def is_kept_by_ask(one: Labeled) -> bool:
    """As `is_kept`, through the public function: a model replies with the claim and cites the only document."""
    corpus = shortlist.build([Document("evidence", "", one.evidence)], in_memory=True)
    answer = shortlist.ask(corpus, QUESTION, ScriptedLLM(f"{one.claim} [evidence:whole]"), threshold=0)
    if not answer.evidence:
        raise ValueError(f"The evidence was not found: {one.evidence!r}")
    return _has_support(answer.sentences)


def _has_support(claims: Sequence[Claim]) -> bool:
    return any(claim.support != "unsupported" for claim in claims)


def measure(kept: Sequence[tuple[Labeled, bool]]) -> dict[str, float]:
    supported = fmean(is_kept for one, is_kept in kept if one.is_supported)
    refuted = fmean(is_kept for one, is_kept in kept if not one.is_supported)
    return {
        "claims": len(kept),
        "balanced_accuracy": (supported + 1 - refuted) / 2,
        "supported_kept": supported,
        "refuted_kept": refuted,
    }
