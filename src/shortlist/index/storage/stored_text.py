"""Stored texts: plain or, once a corpus is large enough for a dictionary, compressed with it.

A column of texts contains strings and zstd frames side by side; hashes and checksums are those of the plain texts. The
dictionary is made of the first texts that are worth one, and never changes: each frame of the corpus needs it.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from typing import Any

from shortlist.index.storage.sql_tables import FORMAT

LEVEL = 3  # higher ones save 2 percent more, and take four times as long
SHORTEST = 64  # characters that are worth a frame

# The dictionary contains the starts of texts, of at least this many characters each, and this many bytes in all.
SAMPLE = 400
SAMPLES = 110 << 10


class _Codec:
    """Compresses and decompresses with one dictionary."""

    def __init__(self, dictionary: bytes | None = None, texts: Sequence[str] = ()) -> None:
        zstd = _import_zstd()
        if dictionary is None:
            length = max(SAMPLE, SAMPLES // len(texts))
            starts = [text[:length].encode() for text in texts if text]
            start = zstd.ZstdDict(b"\n".join(starts)[:SAMPLES], is_raw=True)
            self._dictionary = zstd.finalize_dict(start, starts, 2 * SAMPLES, LEVEL)
        else:
            self._dictionary = zstd.ZstdDict(dictionary)
        self.content: bytes = self._dictionary.dict_content
        self._digested = self._dictionary.as_digested_dict
        self._decompressor, self._error = zstd.ZstdDecompressor, zstd.ZstdError
        self._compressor: Any = None
        self._make_compressor = zstd.ZstdCompressor

    def compress(self, texts: Sequence[str | None]) -> list[str | bytes | None]:
        if self._compressor is None:  # only for a writer: digesting the dictionary takes about a millisecond
            self._compressor = self._make_compressor(LEVEL, zstd_dict=self._digested)
        compress, whole = self._compressor.compress, self._compressor.FLUSH_FRAME
        return [text if text is None or len(text) < SHORTEST else compress(text.encode(), whole) for text in texts]

    def decompress(self, frame: bytes) -> str:
        decompressor = self._decompressor(self._digested)
        try:
            text: str = decompressor.decompress(frame).decode()
        except (self._error, UnicodeDecodeError) as error:
            raise sqlite3.DatabaseError(f"a text cannot be decompressed: {error}") from error
        if not decompressor.eof:
            raise sqlite3.DatabaseError("a compressed text is truncated")
        return text


class TextConnection(sqlite3.Connection):
    """A connection to the database of a corpus, with its dictionary once it is needed."""

    _codec: _Codec | None = None

    def plain(self, stored: Any) -> Any:
        """A stored text, or None as it is."""
        if type(stored) is not bytes:
            return stored
        codec = self._codec or self._load()
        if codec is None:
            raise sqlite3.DatabaseError("its dictionary is missing")
        return codec.decompress(stored)

    def pack(self, texts: Sequence[str | None]) -> Sequence[str | bytes | None]:
        """The texts as they should be stored: without a dictionary they stay as they are."""
        codec = self._codec or self._load()
        return codec.compress(texts) if codec else texts

    def learn(self, texts: Sequence[str]) -> None:
        """Make a dictionary of these texts and store it, unless there is one."""
        if not (self._codec or self._load()):
            self._codec = _Codec(texts=texts)
            self.execute("INSERT INTO meta VALUES ('dictionary', ?)", (self._codec.content,))
            self.execute(f"PRAGMA user_version = {FORMAT}")  # an older version cannot read these texts

    def forget(self) -> None:
        """Forget a dictionary that was made in a transaction that is rolled back."""
        self._codec = None

    def _load(self) -> _Codec | None:
        row = self.execute("SELECT value FROM meta WHERE key = 'dictionary'").fetchone()
        if row is not None:
            try:
                self._codec = _Codec(row[0])
            except (ValueError, TypeError, _import_zstd().ZstdError) as error:
                raise sqlite3.DatabaseError(f"its dictionary cannot be read: {error}") from error
        return self._codec


def _import_zstd() -> Any:
    """The module, imported late because most small corpora do not need it."""
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415
    else:
        from backports import zstd  # noqa: PLC0415
    return zstd
