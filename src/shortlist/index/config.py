"""The configuration that a corpus is built with, and must be read with."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from shortlist.errors import InputError
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.text import chunking
from shortlist.index.text.analyzers import DEFAULT as DEFAULT_ANALYZER

# A tool's name says more than its prose: nDCG@10 rises on 7 of 10 sets and falls on one against weights of 1. With a k1
# of 1.2 instead of 1.5 long questions over many passages gain .007, tools lose .003 at most.
CORPUS_SCORING = Scoring(k1=1.2, weights=(2.0, 1.5, 1.0))


@dataclass(frozen=True, slots=True)
class Config:
    """What a corpus was built with, and must be read with."""

    analyzer: str = DEFAULT_ANALYZER
    embedder: str = "none"  # what to load
    embedder_name: str = "none"  # what it called itself when the corpus was made
    dim: int = 0
    scoring: Scoring = CORPUS_SCORING
    chunk_size: int = chunking.CHUNK_SIZE
    chunk_overlap: int = chunking.CHUNK_OVERLAP
    floors: dict[str, float] = field(default_factory=dict)
    calibrations: dict[str, dict[str, Any]] = field(default_factory=dict)  # what each floor was set for

    def checked(self) -> Config:
        """Itself, or an error if no text can be cut into such chunks."""
        if not 0 <= self.chunk_overlap < self.chunk_size:
            raise InputError(
                f"chunk_overlap ({self.chunk_overlap}) must be at least 0 and smaller than chunk_size "
                f"({self.chunk_size})."
            )
        return self

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    @functools.lru_cache(maxsize=64)  # read anew in every transaction, and nearly always the same
    def from_json(cls, text: str) -> Config:
        values = json.loads(text)
        return cls(**{**values, "scoring": Scoring.from_dict(values["scoring"])})
