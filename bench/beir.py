"""Sets in BEIR layout: corpus.jsonl, queries.jsonl, qrels/test.tsv, as a folder or a .tar.xz archive."""

from __future__ import annotations

import json
import lzma
import math
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shortlist import Document

Relevance = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Set:
    name: str
    documents: list[Document]
    queries: dict[str, str]
    relevance: Relevance
    about: dict[str, dict[str, Any]] = field(default_factory=dict)  # what is told of a query besides its text
    dev: Relevance = field(default_factory=dict)  # of queries that are not measured

    def asked(self, most: int) -> list[str]:
        """At most so many of the judged queries, every nth."""
        return list(self.relevance)[:: max(1, -(-len(self.relevance) // most))]


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder, tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
        yield next(Path(folder).iterdir())


def load(path: Path) -> Set:
    """Load a set; `FOLDER:1000` loads its first 1,000 documents and the queries with relevant ones among them."""
    start, colon, size = path.name.rpartition(":")
    if colon and size.isdigit():
        return _shorten(load(path.with_name(start)), int(size))
    with unpacked(path) as folder:
        documents = [
            Document(row["_id"], row.get("title") or "", row["text"], metadata=row.get("metadata") or {}, kind="tool")
            for row in _rows(folder / "corpus.jsonl")
        ]
        rows = list(_rows(folder / "queries.jsonl")) if any(folder.glob("queries.jsonl*")) else []
        queries = {row["_id"]: row["text"] for row in rows}
        about = {row["_id"]: row.get("metadata") or {} for row in rows}
        relevance, dev = (_judgements(folder / "qrels" / f"{name}.tsv") for name in ("test", "dev"))
        return Set(folder.name, documents, queries, relevance, about, dev)


def _shorten(whole: Set, size: int) -> Set:
    documents = whole.documents[:size]
    ids = {document.id for document in documents}
    kept = {
        query: judged
        for query, grades in whole.relevance.items()
        if (judged := {id: grade for id, grade in grades.items() if id in ids})
    }
    return replace(whole, name=f"{whole.name}:{len(documents)}", documents=documents, relevance=kept)


def _judgements(path: Path) -> Relevance:
    relevance: Relevance = {}
    for line in path.read_text("utf-8").splitlines()[1:] if path.exists() else ():
        query, document, score = line.split("\t")
        if float(score) > 0:
            relevance.setdefault(query, {})[document] = float(score)
    return relevance


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file, or of its .xz."""
    packed = path.with_name(f"{path.name}.xz")
    with lzma.open(packed, "rt", encoding="utf-8") if packed.exists() else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def ndcg(ranked: list[str], relevant: dict[str, float], k: int = 10) -> float:
    gained = sum(relevant.get(id, 0.0) / math.log2(place + 2) for place, id in enumerate(ranked[:k]))
    ideal = sorted(relevant.values(), reverse=True)[:k]
    return gained / sum(gain / math.log2(place + 2) for place, gain in enumerate(ideal))
