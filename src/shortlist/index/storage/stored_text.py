"""Stored texts: plain or, once a corpus is large enough for a table of its frequent strings, coded with it.

A column of texts contains strings and frames (`kernels/strings.c`) side by side; hashes and checksums are those of the
plain texts. The table is made of the first texts that are worth one, and never changes: each frame of the corpus needs
it.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any

from shortlist.index.kernels import string_loops
from shortlist.index.storage.sql_tables import Connection, raise_format

SHORTEST = 64  # characters that are worth a frame

# Bytes that a table is made of at most, in pieces from all over the texts. With half of them, 3 percent less is saved.
SAMPLE = 256_000
PIECE = 256


class TextConnection(Connection):
    """A connection to the database of a corpus, with its table of strings once it is needed."""

    stamp: tuple[int, ...] | None = None  # of a file on a read-only file system, which must not change meanwhile
    is_kept = True  # for another use, after one
    _table: bytes | None = None

    def plain(self, stored: Any) -> Any:
        """A stored text, or None as it is."""
        return self.plain_many([stored])[0] if type(stored) is bytes else stored

    def plain_many(self, stored: Sequence[Any]) -> Sequence[Any]:
        """Stored texts, decoded in one call; None as it is."""
        frames = [value for value in stored if type(value) is bytes]
        if not frames:
            return stored
        table = self._table or self._load()
        if table is None:
            raise sqlite3.DatabaseError("its dictionary is missing")
        try:
            texts = [text.decode() for text in string_loops.decode_many(frames, table)]
        except ValueError as error:
            raise sqlite3.DatabaseError(f"a text cannot be decoded: {error}") from error
        if len(texts) == len(stored):
            return texts
        decoded = iter(texts)
        return [next(decoded) if type(value) is bytes else value for value in stored]

    def pack(self, texts: Sequence[str | None]) -> Sequence[str | bytes | None]:
        """The texts as they should be stored: without a table they stay as they are."""
        table = self._table or self._load()
        long = [text.encode() for text in texts if text and len(text) >= SHORTEST] if table else []
        if table is None or not long:
            return texts
        frames = iter(string_loops.encode_many(long, table))
        return [next(frames) if text and len(text) >= SHORTEST else text for text in texts]

    def learn(self, texts: Sequence[str]) -> None:
        """Make a table of these texts and store it, unless there is one."""
        if not (self._table or self._load()):
            joined = "\n".join(texts).encode()
            step = PIECE * (1 + len(joined) // SAMPLE)
            sample = b"".join(joined[start : start + PIECE] for start in range(0, len(joined), step))
            self._table = string_loops.make_table(sample)
            self.execute("INSERT INTO meta VALUES ('dictionary', ?)", (zlib.compress(self._table),))
            raise_format(self)

    def forget(self) -> None:
        """Forget a table that was made in a transaction that is rolled back."""
        self._table = None

    def _load(self) -> bytes | None:
        for (stored,) in self.rows("SELECT value FROM meta WHERE key = 'dictionary'"):
            try:
                table = zlib.decompressobj().decompress(stored, string_loops.TABLE + 1)
            except (TypeError, zlib.error) as error:
                raise sqlite3.DatabaseError(f"its dictionary cannot be read: {error}") from error
            if len(table) != string_loops.TABLE or max(table[: string_loops.SYMBOLS]) > string_loops.LONGEST:
                raise sqlite3.DatabaseError("its dictionary cannot be read: it is not a table of strings")
            self._table = table
        return self._table
