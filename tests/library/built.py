"""Corpora that are built on disk, and what is found in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shortlist import (
    Changes,
    build,
    search,
)

FRUIT = {"apple": "A red apple.", "pear": "A green pear.", "plum": "A blue plum."}


def built(source: Any, name: str | None = "fruit", **options: Any) -> Changes:
    """Build on disk, close, and return what was done."""
    with build(source, name, **{"embedder": "none", **options}) as corpus:
        return corpus.changes


def found(name: str | Path, query: str, **options: Any) -> list[str]:
    return [hit.id for hit in search(name, query, **options)]
