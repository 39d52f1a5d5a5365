"""The retriever over the catalog of a service: its settings, and the document files that can be switched to."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shortlist.compat.retriever import ANALYZER, SCORING, check_corpus
from shortlist.compat.retriever_settings import BM25SSettings, CompatSettings, RetrieverState
from shortlist.documents import Changes
from shortlist.errors import CorpusNotFound, InputError
from shortlist.server.catalog_store import CatalogStore
from shortlist.sources.structured import SUFFIXES


class ServedRetriever:
    """The catalog with what the routes of the retriever need beside it. Changes are stored, and survive a restart."""

    def __init__(self, configured: CompatSettings) -> None:
        self._folder = configured.folder
        self._lock = threading.Lock()
        self.state = RetrieverState(configured)
        self.settings = self.state.settings()
        self.catalog = CatalogStore(configured, self.state.document_file, analyzer=ANALYZER, scoring=SCORING)
        check_corpus(self.catalog.corpus)

    def update_settings(self, changes: Mapping[str, Any]) -> BM25SSettings:
        """Change these settings and store them; they are in force until the configured value changes."""
        with self._lock:
            settings = replace(self.settings, **changes)
            self.state.save(settings=changes)
            self.settings = settings
            return settings

    def document_files(self) -> dict[str, Any]:
        """The catalogs that can be switched to: the files that are really in the folder."""
        folder, current = self._folder, self.catalog.document_file
        files = []
        for name in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
            path = _resolve_catalog(folder, name)
            if path is not None and path.is_file():
                status = path.stat()
                row = {"file": name, "bytes": status.st_size, "modified": status.st_mtime, "current": path == current}
                files.append(row)
        return {"folder": str(folder), "current": str(current), "files": files}

    def switch(self, name: str) -> Changes:
        """Serve another file of the folder from now on, with the changes made to its documents before."""
        file = _resolve_catalog(self._folder, name)
        if file is None:
            raise InputError(f"{name!r} is not a catalog in {self._folder}. GET /document-files lists the catalogs.")
        if not file.is_file():
            raise CorpusNotFound(f"{name!r} does not exist in {self._folder}. GET /document-files lists the catalogs.")
        return self.catalog.switch(file, lambda: self.state.save(document_file=file))


def _resolve_catalog(folder: Path, name: str) -> Path | None:
    """The real path of a catalog in a folder; None if it is outside of the folder or not a catalog."""
    if "\0" in name or "\\" in name or ".." in Path(name).parts or Path(name).is_absolute():
        return None
    try:
        path = (folder / name).resolve()
        path.exists()  # raises if the name is too long
    except (OSError, RuntimeError):  # or for a loop of links
        return None
    return path if path.is_relative_to(folder) and path.suffix.lower() in SUFFIXES else None
