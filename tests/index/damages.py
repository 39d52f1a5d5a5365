"""Damage to the files of a corpus, and what a corpus finds before and after."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shortlist import Corpus
from shortlist.index.embedders.cosine_scale import read_pairs
from tests.index.soak import found, scores

PATIENCE = 30  # seconds: less than a writer waits for another one


Make = Callable[..., None]


def files_of(path: Path) -> list[Path]:
    return sorted((path / "segments").iterdir())


class Answers:
    """What a corpus finds: compared exactly for words, to the sixth digit for vectors, whose sums vary."""

    def __init__(self, corpus: Corpus) -> None:
        self.lexical = found(corpus)
        self.dense = scores(corpus, "dense") if corpus.config.dim else {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answers) and self.lexical == other.lexical and self.dense == pytest.approx(other.dense)


def flip_a_byte(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def each(damage: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage_all(path: Path) -> None:
        for file in files_of(path):
            damage(file)

    return damage_all


def garbage(size: int, seed: object = 0) -> bytes:
    return random.Random(f"{seed}").randbytes(size)


def foreign_database() -> bytes:
    database = sqlite3.connect(":memory:")
    with contextlib.closing(database):
        database.executescript("CREATE TABLE notes(text TEXT); INSERT INTO notes VALUES ('not a corpus')")
        return database.serialize()


DATABASE_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage for a header": lambda data: garbage(100) + data[100:],
    "garbage for a first page": lambda data: garbage(4096) + data[4096:],
    "a schema that is not UTF-8": lambda data: data.replace(b"CREATE TABLE documents", b"CREATE \xa3ABLE documents"),
    "a header and garbage": lambda data: data[:100] + garbage(len(data) - 100),
    "cut to half": lambda data: data[: len(data) // 2],
    "cut to a header": lambda data: data[:100],
    "cut to a page": lambda data: data[:4096],
    "empty": lambda data: b"",
    "a text": lambda data: b"These are my notes, not a database.\n" * 500,
    "another program's database": lambda data: foreign_database(),
}


PAGE = 4096


class CountingEmbedder:
    """Counts what it encodes."""

    name = "counting"

    def __init__(self, dim: int = 64) -> None:
        self.dim_given = dim
        self.seen: Counter[str] = Counter()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.seen.update(texts)
        return [list(np.random.default_rng(len(text)).normal(size=self.dim_given)) for text in texts]

    def encoded(self) -> Counter[str]:
        """How often each document was encoded, since asked last."""
        _, reference = read_pairs()
        documents = Counter({text: n for text, n in self.seen.items() if "\n" in text and text not in reference})
        self.seen.clear()
        return documents
