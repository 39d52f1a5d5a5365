"""The coding of stored texts, compared with zstd, zlib and plain text: bytes, time to write, to read and to search.

Each coder takes the place of ours in `index/storage/stored_text.py` and stores the same documents in the same database.
All of them learn from the same sample: zstd trains a dictionary of the size that is usual (112 KB), and a zlib
dictionary has room for 32 KB of it. Without `backports.zstd` or Python 3.14, zstd is skipped. A set without queries is
searched for titles of its documents.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import shortlist
from bench import beir, report
from shortlist.index.kernels import string_loops
from shortlist.index.storage import stored_text, writer

READS, QUERIES = 2_000, 300
ZSTD_DICTIONARY, ZLIB_DICTIONARY = 112_640, 32_768
ROUNDS = 2


class Coder:
    """What `stored_text` needs of `string_loops`: a table, made once, and two functions that use it."""

    SYMBOLS, LONGEST, TABLE = 1, 255, 0


class Zlib(Coder):
    def make_table(self, sample: bytes) -> bytes:
        table = sample[-ZLIB_DICTIONARY:]
        self.TABLE = len(table)
        return table

    def encode_many(self, texts: Sequence[bytes], table: bytes) -> list[bytes]:
        empty = zlib.compressobj(6, wbits=-15, zdict=table)
        coders = ((empty.copy(), text) for text in texts)
        return [coder.compress(text) + coder.flush() for coder, text in coders]

    def decode_many(self, frames: Sequence[bytes], table: bytes) -> list[bytes]:
        return [zlib.decompressobj(-15, zdict=table).decompress(frame) for frame in frames]


class Zstd(Coder):
    level = 3

    def __init__(self) -> None:
        self._zstd = _find_zstd()
        self._known: tuple[bytes, Any] = b"", None

    def make_table(self, sample: bytes) -> bytes:
        pieces = [sample[start : start + stored_text.PIECE] for start in range(0, len(sample), stored_text.PIECE)]
        table: bytes = self._zstd.train_dict(pieces, ZSTD_DICTIONARY).dict_content
        self.TABLE = len(table)
        return table

    def encode_many(self, texts: Sequence[bytes], table: bytes) -> list[bytes]:
        coder = self._zstd.ZstdCompressor(self.level, zstd_dict=self._dictionary(table).as_digested_dict)
        return [coder.compress(text, coder.FLUSH_FRAME) for text in texts]

    def decode_many(self, frames: Sequence[bytes], table: bytes) -> list[bytes]:
        dictionary = self._dictionary(table)
        return [self._zstd.decompress(frame, dictionary) for frame in frames]

    def _dictionary(self, table: bytes) -> Any:
        if self._known[0] is not table:
            self._known = table, self._zstd.ZstdDict(table)
        return self._known[1]


class Zstd19(Zstd):
    level = 19


def _find_zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    return None


CODERS: dict[str, Callable[[], Any]] = {"ours": lambda: string_loops, "plain": lambda: None, "zlib": Zlib}


def run(folders: list[Path]) -> None:
    coders = CODERS | ({"zstd 3": Zstd, "zstd 19": Zstd19} if _find_zstd() else {})
    for folder in folders:
        loaded = beir.load(folder)
        measured: dict[str, list[dict[str, float]]] = {name: [] for name in coders}
        for _ in range(ROUNDS):  # in turn, so that a busy minute of the machine is not that of one coder
            for name, make in coders.items():
                measured[name].append(_measure(loaded, make()))
        figures = {name: _best_of(rounds) for name, rounds in measured.items()}
        print(f"{loaded.name}: {len(loaded.documents):,} documents")
        report.show(figures, "ours")
        report.save("texts", {loaded.name: figures}, beside_others=True)


def _best_of(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The lowest of each figure: whatever else the machine does only adds."""
    return {column: min(each[column] for each in rounds) for column in rounds[0]}


def _measure(loaded: beir.Set, coder: Any) -> dict[str, float]:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        patch.object(stored_text, "string_loops", coder),
        patch.object(writer, "LEARN_FROM", writer.LEARN_FROM if coder else sys.maxsize),
    ):
        place = Path(folder) / "corpus"
        cpu = time.process_time()
        with shortlist.create_corpus(path=place, embedder="none") as corpus:
            corpus.sync(loaded.documents)
            write = time.process_time() - cpu
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        with shortlist.open_corpus(place) as corpus:
            wanted = loaded.documents[:: max(1, len(loaded.documents) // READS)]
            read = [_time(corpus.get, document.id) for document in wanted]
            queries = [loaded.queries[id] for id in loaded.asked(QUERIES)] or [item.title for item in wanted[:QUERIES]]
            search = partial(shortlist.search, corpus, mode="lexical", k=10)
            for query in queries[:10]:
                search(query)
            searches = [_time(search, query) for query in queries]
            whole = _time(list, corpus)
    return {
        "MB on disk": round(size / 1e6, 2),
        "write CPU s": round(write, 2),
        "read one us": round(1e3 * statistics.median(read), 1),
        "search ms": round(statistics.median(searches), 3),
        "read all ms": round(whole, 1),
    }


def _time(work: Callable[[Any], Any], argument: Any) -> float:
    """CPU milliseconds: the machine may be busy with other things."""
    started = time.process_time()
    work(argument)
    return 1e3 * (time.process_time() - started)
