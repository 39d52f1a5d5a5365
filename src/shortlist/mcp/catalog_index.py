"""The search over the tools of the gateway: corpora on disk, in sync with the catalog."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import shortlist
from shortlist._files import replace_text
from shortlist.documents import Document, Problem
from shortlist.errors import CorpusError, CorpusMismatch, ShortlistError
from shortlist.index.corpus import share_vectors
from shortlist.index.embedders import tools_model
from shortlist.index.storage.records import batched
from shortlist.index.storage.usage_log import FILE as USAGE
from shortlist.index.storage.usage_log import UsageLog
from shortlist.mcp.gateway.tool_catalog import ToolCatalog
from shortlist.mcp.usage_routing import RoutedLog, open_usage
from shortlist.retrieval import agent_actions
from shortlist.sources.mcp_tools import document_of

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus

log = logging.getLogger("shortlist")

NAME = "mcp"
DIGEST = "catalog.digest"
MOST_FOREGROUND_TOOLS = 64  # new tools that our model encodes while the agent waits
BATCH_SIZE = 16  # of those, tools that are encoded and committed together: a step that was done is never lost
BACKGROUND_DELAY_SECONDS = 1.0  # before it encodes more of them, so that the first search is answered first
RETRY_SECONDS = 60.0  # before the trained model is tried again, which may have failed with the disk
STOP_SECONDS = 0.4  # to finish a step; what takes longer is given up, which costs no more than that step


class CatalogIndex:
    """The search over the tools that are offered: corpora on disk, in sync with the catalog.

    One corpus is ready immediately. The other uses our trained model, which ranks better; if it takes more than a
    moment to sync, that happens in the background, step by step, and the first one is searched until then. They share
    one log of use, which is beside them, since a corpus is deleted when its model changes.

    In the folder `shared`, if there is one, are the log of use and the vectors of the servers that the user configures
    for all projects.
    """

    def __init__(self, folder: Path, catalog: ToolCatalog, *, shared: Path | None = None) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        usage = open_usage(folder.with_name(USAGE), shared, lambda: catalog.servers)
        self._static = _CatalogCorpus(folder, "default", usage)
        self._trained = _CatalogCorpus(folder.with_name(f"{folder.name}-trained"), "tools", usage)
        self._retry_at = 0.0  # after the trained model failed
        self._work: threading.Thread | None = None
        self._closed = threading.Event()
        self._pending = _PendingCorpus(catalog)

    def find_pending(self, query: str) -> tuple[str, float] | None:
        """The id and relevance of the tool that matches best among those that are held, if one matches."""
        return self._pending.find(query, self.corpus().config.embedder)

    def corpus(self) -> Corpus:
        """The best corpus that is in sync with the catalog."""
        with self._lock:
            digest = self._catalog.digest
            if tools_model.default_for_tools() == "tools" and self._sync_trained(digest):
                return self._trained.corpus()
            if self._static.digest() != digest:
                self._static.sync(self._documents(), digest)
            return self._static.corpus()

    def _sync_trained(self, digest: str) -> bool:
        """Sync the trained corpus, or begin to in the background; whether it is in sync."""
        if time.monotonic() < self._retry_at or (self._work is not None and self._work.is_alive()):
            return False
        try:
            if self._trained.digest() is not None or len(self._catalog.list_offered()) <= MOST_FOREGROUND_TOOLS:
                self._trained.check_model()
            known = self._trained.digest()
            if known != digest:
                missing = len(self._catalog.list_offered())
                if known is not None:
                    difference = self._trained.corpus().compare(self._documents())
                    missing = difference.added + difference.changed
                if missing > MOST_FOREGROUND_TOOLS:
                    self._work = threading.Thread(target=self._sync_later, args=(digest,), daemon=True)
                    self._work.start()
                    return False
                self._trained.sync(self._documents(), digest)
            return True
        except ShortlistError as error:
            self._give_up(error)
            return False

    def _sync_later(self, digest: str) -> None:
        try:
            if not self._closed.wait(BACKGROUND_DELAY_SECONDS):
                self._trained.check_model()
                for step in batched(self._documents(), BATCH_SIZE):
                    self._trained.add(step)
                self._trained.sync(self._documents(), digest)
        except Exception as error:  # no one waits for this thread
            if not self._closed.is_set():
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        log.warning("Tools are searched without the trained model for %d seconds: %s", RETRY_SECONDS, error)
        self._retry_at = time.monotonic() + RETRY_SECONDS

    def _documents(self) -> Iterator[Document | Problem]:
        for tool in self._catalog.list_offered():
            if self._closed.is_set():
                raise CorpusError("The search over tools was closed.")
            yield document_of(tool.server, "tool", tool.entry)

    def stop(self) -> None:
        """Let every sync that is in progress end after its step."""
        self._closed.set()

    def close(self) -> None:
        self.stop()
        if self._work is not None:
            self._work.join(STOP_SECONDS)
        if self._lock.acquire(timeout=STOP_SECONDS / 4):
            self._static.close()
            if self._work is None or not self._work.is_alive():
                self._trained.close()
            self._lock.release()


class _PendingCorpus:
    """A search over the tools that are held, in memory. Only ids leave it.

    A tool is found by what was approved of it, or by its name if nothing was: no text that waits has any effect.
    """

    def __init__(self, catalog: ToolCatalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._corpus: Corpus | None = None
        self._documents: list[Document] = []

    def find(self, query: str, embedder: str) -> tuple[str, float] | None:
        found = [
            document_of(tool.server, "tool", tool.approved or {"name": tool.name, "inputSchema": {}})
            for tool in self._catalog.list_held()
        ]
        documents = [one for one in found if isinstance(one, Document)]
        if not documents:
            return None
        with self._lock:
            if self._corpus is None or documents != self._documents or self._corpus.config.embedder != embedder:
                self._corpus = shortlist.create_corpus(in_memory=True, embedder=embedder)
                self._corpus.add(documents)
                self._documents = documents
            best = agent_actions.find(self._corpus, query, 1)["results"]
        return (best[0]["id"], best[0].get("relevance", 0.0)) if best else None


class _CatalogCorpus:
    """A corpus in its folder, and the digest of the catalog that it was last synced with, by any process."""

    def __init__(self, folder: Path, embedder: str, usage: UsageLog) -> None:
        self._folder, self._embedder, self._digest, self._usage = folder, embedder, folder / DIGEST, usage
        self._corpus: Corpus | None = None

    def corpus(self) -> Corpus:
        if self._corpus is None:
            self._corpus = shortlist.create_corpus(NAME, path=self._folder, default_embedder=self._embedder)
            self._corpus.usage = self._usage
            if isinstance(self._usage, RoutedLog):
                share_vectors(self._corpus, self._usage.shared_folder, self._usage.is_shared)
        return self._corpus

    def check_model(self) -> None:
        """Delete the corpus if it was built with an older model; raise an error if the model cannot be loaded."""
        if self._folder.exists():
            try:
                _ = self.corpus().embedder
            except CorpusMismatch:
                self.close()
                self._digest.unlink(missing_ok=True)
                shortlist.delete_corpus(self._folder)

    def digest(self) -> str | None:
        with contextlib.suppress(OSError, ValueError):
            return self._digest.read_text("utf-8")
        return None

    def add(self, documents: Sequence[Document | Problem]) -> None:
        """A part of a sync, which leaves the corpus out of sync with any catalog."""
        self._digest.unlink(missing_ok=True)
        self.corpus().add(documents)

    def sync(self, documents: Iterator[Document | Problem], digest: str) -> None:
        self.corpus().sync(documents)
        with contextlib.suppress(OSError):  # without it, the next search compares the documents again
            replace_text(self._digest, digest)

    def close(self) -> None:
        if self._corpus is not None:
            self._corpus.close()
            self._corpus = None
