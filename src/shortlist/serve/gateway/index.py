"""Which of the tools upstream fits? An ordinary corpus of those that are offered, in step with the catalog."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.index.atomic import replace_text
from shortlist.serve.gateway.catalog import Catalog
from shortlist.sources.mcp import document_of

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus

NAME = "mcp"
DIGEST = "catalog.digest"


class Index:
    """The corpus of a catalog, on disk."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._lock = threading.Lock()
        self._corpus: Corpus | None = None

    def corpus(self) -> Corpus:
        """The corpus, as the catalog is now."""
        from shortlist.index.corpus import create_corpus  # noqa: PLC0415  # brings numpy

        with self._lock:
            if self._corpus is None:
                self._corpus = create_corpus(NAME, path=self._folder)
            digest = self._catalog.digest
            if digest != self._indexed():
                tools = self._catalog.offered()
                self._corpus.sync(document_of(tool.server, "tool", tool.entry) for tool in tools)
                replace_text(self._folder / DIGEST, digest)
            return self._corpus

    def _indexed(self) -> str:
        """What the corpus holds, whichever process made it so."""
        with contextlib.suppress(OSError, ValueError):
            return (self._folder / DIGEST).read_text("utf-8")
        return ""

    def close(self) -> None:
        with self._lock:
            if self._corpus is not None:
                self._corpus.close()
                self._corpus = None
