"""The search over the tools that are offered: a corpus in sync with the catalog.

There may be two corpora. The first is ready at once. The second has our trained model, which finds better; if it takes
more than a moment to sync, that happens in the background, and until then the first one is searched.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import shortlist
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
AT_ONCE = 64  # new tools that our model encodes while the agent waits
LATER = 1.0  # seconds before it encodes more of them, so that the first search is answered first


class Index:
    """The corpora of a catalog, on disk."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._lock = threading.Lock()
        self._first = _CatalogCorpus(folder, "default")
        self._work: threading.Thread | None = None
        self._closed = threading.Event()

    @cached_property
    def _better(self) -> _CatalogCorpus | None:
        from shortlist.index.embedders import tools_model  # noqa: PLC0415  # loads numpy

        folder = self._folder.with_name(f"{self._folder.name}-trained")
        return _CatalogCorpus(folder, "tools") if tools_model.default_for_tools() == "tools" else None

    def corpus(self) -> Corpus:
        """The best corpus that is in sync with the catalog."""
        with self._lock:
            digest, better = self._catalog.digest, self._better
            if better is not None and self._improve(better, digest):
                return better.corpus()
            if self._first.digest() != digest:
                self._first.sync(self._documents(), digest)
            return self._first.corpus()

    def _improve(self, better: _CatalogCorpus, digest: str) -> bool:
        """Sync the better corpus, or begin to in the background; whether it is in sync."""
        if self._work is not None and self._work.is_alive():
            return False
        try:
            better.fit()
            if better.digest() == digest:
                return True
            is_new = better.digest() is None
            missing = len(self._catalog.offered()) if is_new else better.count_missing(self._documents())
            if missing <= AT_ONCE:
                better.sync(self._documents(), digest)
                return True
        except ShortlistError as error:
            self._give_up(error)
            return False
        self._work = threading.Thread(target=self._sync_later, args=(better, digest), daemon=True)
        self._work.start()
        return False

    def _sync_later(self, better: _CatalogCorpus, digest: str) -> None:
        if self._closed.wait(LATER):
            return
        try:
            better.sync(self._documents(), digest)
        except _Closed:
            pass
        except Exception as error:  # no one waits for this thread
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
    """The index was closed during a sync."""


class _CatalogCorpus:
    """A corpus in its folder, and the digest of the catalog that it was last synced with."""

    def __init__(self, folder: Path, embedder: str) -> None:
        self._folder, self._embedder, self._digest = folder, embedder, folder / DIGEST
        self._corpus: Corpus | None = None

    def corpus(self) -> Corpus:
        if self._corpus is None:
            self._corpus = shortlist.create_corpus(NAME, path=self._folder, default_embedder=self._embedder)
        return self._corpus

    def fit(self) -> None:
        """Start over if it was made with an older model; raise what would keep it from being searched."""
        if self.digest() is None:
            return
        try:
            _ = self.corpus().embedder
        except CorpusMismatch:
            self.close()
            self._digest.unlink(missing_ok=True)
            shortlist.delete_corpus(self._folder)

    def count_missing(self, documents: Iterator[Document | Problem]) -> int:
        found = self.corpus().compare(documents)
        return found.added + found.changed

    def digest(self) -> str | None:
        """The digest of the catalog that it was last synced with, by any process; None if it never was."""
        with contextlib.suppress(OSError, ValueError):
            return self._digest.read_text("utf-8")
        return None

    def sync(self, documents: Iterator[Document | Problem], digest: str) -> None:
        self.corpus().sync(documents)
        replace_text(self._digest, digest)

    def close(self) -> None:
        if self._corpus is not None:
            self._corpus.close()
            self._corpus = None
