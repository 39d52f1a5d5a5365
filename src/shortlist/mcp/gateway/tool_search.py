"""Which of the tools upstream fits? An ordinary corpus of those that are offered, in step with the catalog.

There may be two. The first is there at once. The second finds better, by our own model, and is made in the background
if it takes more than a moment; until it is in step, the first one is searched.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist._files import replace_text
from shortlist.documents import Document, Problem
from shortlist.errors import CorpusMismatch, ShortlistError
from shortlist.mcp.gateway.tool_catalog import Catalog
from shortlist.sources.mcp_servers.mcp_client import document_of

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus

log = logging.getLogger("shortlist")

NAME = "mcp"
DIGEST = "catalog.digest"
AT_ONCE = 64  # new tools that our model reads while somebody waits
LATER = 1.0  # seconds after which it reads more of them: whoever asked first is answered first


class Index:
    """The corpora of a catalog, on disk."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._lock = threading.Lock()
        self._first = _Kept(folder, "default")
        self._work: threading.Thread | None = None
        self._closed = threading.Event()

    @cached_property
    def _better(self) -> _Kept | None:
        from shortlist.index.embedders import tools_model  # noqa: PLC0415  # brings numpy

        embedder = tools_model.default_for_tools()
        return _Kept(self._folder.with_name(f"{self._folder.name}-trained"), embedder) if embedder == "tools" else None

    def corpus(self) -> Corpus:
        """The best corpus that is as the catalog is now."""
        with self._lock:
            digest = self._catalog.digest
            better = self._better
            if better is not None and self._improved(better, digest):
                return better.corpus()
            if not self._first.holds(digest):
                self._first.sync(self._documents(), digest)
            return self._first.corpus()

    def _improved(self, better: _Kept, digest: str) -> bool:
        """Whether the better one is in step; if not, it soon will be."""
        if self._work is not None and self._work.is_alive():
            return False
        try:
            if better.exists():
                better.fit()
                if better.holds(digest):
                    return True
            lacking = better.lacks(self._documents()) if better.exists() else len(self._catalog.offered())
            if lacking <= AT_ONCE:
                better.sync(self._documents(), digest)
                return True
        except ShortlistError as error:
            self._give_up(error)
            return False
        self._work = threading.Thread(target=self._improve, args=(better, digest), daemon=True)
        self._work.start()
        return False

    def _improve(self, better: _Kept, digest: str) -> None:
        if self._closed.wait(LATER):
            return
        try:
            better.sync(self._documents(), digest)
        except _Closed:
            pass
        except Exception as error:  # nobody waits for it, so nobody else could tell
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        log.warning("Tools are searched without our own model: %s", error)
        self._better = None

    def _documents(self) -> Iterator[Document | Problem]:
        for tool in self._catalog.offered():
            if self._closed.is_set():
                raise _Closed
            yield document_of(tool.server, "tool", tool.entry)

    def close(self) -> None:
        self._closed.set()
        if self._work is not None:
            self._work.join()
        with self._lock:
            self._first.close()
            if better := vars(self).get("_better"):
                better.close()


class _Closed(Exception):
    """The index was closed while something was still being made."""


class _Kept:
    """One corpus in its folder, and of which catalog it is."""

    def __init__(self, folder: Path, embedder: str) -> None:
        self._folder = folder
        self._embedder = embedder
        self._corpus: Corpus | None = None

    def corpus(self) -> Corpus:
        from shortlist.index.corpus import create_corpus  # noqa: PLC0415  # brings numpy

        if self._corpus is None:
            self._corpus = create_corpus(NAME, path=self._folder, default_embedder=self._embedder)
        return self._corpus

    def fit(self) -> None:
        """Begin anew if it was made with an older model; raise what would keep it from being searched."""
        try:
            _ = self.corpus().embedder
        except CorpusMismatch:
            from shortlist.index.location import delete_corpus  # noqa: PLC0415

            self.close()
            (self._folder / DIGEST).unlink(missing_ok=True)
            delete_corpus(self._folder)

    def lacks(self, documents: Iterator[Document | Problem]) -> int:
        found = self.corpus().compare(documents)
        return found.added + found.changed

    def exists(self) -> bool:
        """Whether it was ever of a whole catalog."""
        return (self._folder / DIGEST).exists()

    def holds(self, digest: str) -> bool:
        """Whether it is of that catalog, whichever process made it so."""
        with contextlib.suppress(OSError, ValueError):
            return (self._folder / DIGEST).read_text("utf-8") == digest
        return False

    def sync(self, documents: Iterator[Document | Problem], digest: str) -> None:
        self.corpus().sync(documents)
        replace_text(self._folder / DIGEST, digest)

    def close(self) -> None:
        if self._corpus is not None:
            self._corpus.close()
            self._corpus = None
