"""Small corpora and documents that several test files use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import shortlist
from shortlist import Corpus, Document

WORDS = [f"word{number}" for number in range(10)]


def memory(**options: Any) -> Corpus:
    return shortlist.create_corpus(in_memory=True, **{"embedder": "none", **options})


def doc(id: str, content: str = "", title: str = "", **rest: Any) -> Document:
    return Document(id, title, content, **rest)


def results(corpus: Corpus, query: str, mode: Any = "lexical") -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in shortlist.search(corpus, query, mode=mode, k=100)]


def segment_files(corpus: Corpus) -> list[Path]:
    assert corpus.path is not None
    return sorted((corpus.path / "segments").iterdir())
