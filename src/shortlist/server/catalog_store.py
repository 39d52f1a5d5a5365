"""The served catalog: documents on disk, beside a document file that is only read."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shortlist._files import locked, replace_text, stamp_of
from shortlist._settings import BM25SSettings
from shortlist._text import count_of
from shortlist.documents import Changes, Document, Problem
from shortlist.errors import CorpusNotFound, InputError, SourceError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.storage.database import DATABASE
from shortlist.index.storage.records import to_record
from shortlist.kits.retriever import ANALYZER, SCORING, BM25SRetriever, read_catalog
from shortlist.server.service_settings import FORMAT, Settings, State, folder_of, read_json
from shortlist.sources.structured import SUFFIXES

log = logging.getLogger("shortlist.serve")

NAME = "catalog"
MISSING = (0,)  # the stamp of a file that does not exist

# With fewer documents numpy is as quick.
COMPILED_FROM = 1_000


@dataclass(frozen=True, slots=True)
class Catalog:
    """A document file, the folder of its corpus on disk, and the retriever."""

    file: Path
    folder: Path
    retriever: BM25SRetriever


class Served:
    """The catalog of a service. Reading never waits; of methods that change something, one runs at a time.

    The file is taken in three ways: what it changed, added or removed since it was last read is applied; what was
    changed over HTTP stays otherwise.
    """

    def __init__(self, settings: Settings) -> None:
        self._configured = settings
        self._state = State(settings)
        self._one_change = threading.Lock()
        self.problem = ""  # why the file could not be read when that was last tried
        self.stamp_read: tuple[int, ...] = MISSING  # when the file was last read
        self._catalog = self._open(self._state.document_file, BM25SSettings(**self._state.settings()))
        self._read_at_start()
        self._warm()

    def _open(self, file: Path, settings: BM25SSettings) -> Catalog:
        folder = folder_of(file)
        path = folder / "corpus"
        if (path / DATABASE).exists():
            corpus = create_corpus(NAME, path=path)
            if (corpus.config.analyzer, corpus.config.scoring) != (ANALYZER, SCORING):  # an older version built it
                corpus.reindex(analyzer=ANALYZER, scoring=SCORING)
        else:
            embedder = self._configured.documents.embedder
            corpus = create_corpus(NAME, path=path, embedder=embedder, analyzer=ANALYZER, scoring=SCORING)
        return Catalog(file, folder, BM25SRetriever(settings, file, corpus=corpus))

    def _read_at_start(self) -> None:
        """The default file may be missing; a broken one is an error unless there is something to keep."""
        file = self._catalog.file
        if not self._configured.source_must_exist and not file.exists():
            if "documents.source" in self._configured.origins:
                log.warning("%s does not exist: the service starts with the documents that it has.", file)
            return
        try:
            self.reload()
        except SourceError as error:
            if self.corpus.is_empty:
                raise
            log.warning("%s", error)

    def _warm(self) -> None:
        """Load the compiled loops now, where they pay: a service lives long, and no request should wait for them."""
        if len(self.corpus) >= COMPILED_FROM:
            import shortlist.index.kernels.ranking_loops  # noqa: F401, PLC0415  # numba: only when there is work for it

            self.retriever.retrieve_documents("one text")

    # Reading

    @property
    def retriever(self) -> BM25SRetriever:
        return self._catalog.retriever

    @property
    def corpus(self) -> Corpus:
        return self._catalog.retriever.corpus

    @property
    def document_file(self) -> Path:
        return self._catalog.file

    def stamp(self) -> tuple[int, ...]:
        return stamp_of(self.document_file)

    def settings(self) -> dict[str, Any]:
        return self.retriever.get_settings().to_dict()

    def configuration(self) -> list[dict[str, Any]]:
        """Every setting in force, and where it came from."""
        return self._state.rows()

    def document_files(self) -> dict[str, Any]:
        """The catalogs that may be switched to: those in the folder, and nothing that only seems to lie there."""
        folder = self._configured.folder.expanduser().resolve()
        files = []
        for name in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
            place = _catalog_in(folder, name)
            if place is not None and place.is_file():
                status, is_current = place.stat(), place == self.document_file
                files.append(
                    {"file": name, "bytes": status.st_size, "modified": status.st_mtime, "current": is_current}
                )
        return {"folder": str(folder), "current": str(self.document_file), "files": files}

    # Changing

    def add(self, documents: Iterable[Document]) -> Changes:
        with self._one_change:
            self.retriever.add_documents(documents)
            return self.corpus.changes

    def delete(self, id: str) -> Changes:
        with self._one_change:
            removed = self.retriever.delete_documents(id)
        if not removed:
            raise CorpusNotFound(f"There is no document {id!r}. GET /documents lists those that there are.")
        return Changes(removed=removed)

    def index(self, documents: Iterable[Document] | None, *, from_file: bool = False) -> Changes:
        """Replace all by these, or by what the file holds; without either, index the present ones again."""
        with self._one_change:
            if from_file:
                return self._read_file(keep_changes=False)
            self.retriever.rebuild_index(documents)
            return self.corpus.changes if documents is not None else Changes(unchanged=len(self.corpus))

    def reload(self) -> Changes:
        """Read the file again; if it is broken, everything stays and the error says so."""
        with self._one_change:
            return self._read_file(keep_changes=True)

    def switch(self, name: str) -> Changes:
        """Serve another file of the folder from now on, with what was ever changed of its documents."""
        with self._one_change:
            catalog = self._open(self._inside(name), self.retriever.get_settings())
            stamp = stamp_of(catalog.file)
            changes = self._import(catalog, keep_changes=True)
            self._state.save(document_file=catalog.file)
            self._catalog, self.stamp_read, self.problem = catalog, stamp, ""
            return changes

    def update_settings(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is named, for good: until the configuration itself says something new about it."""
        with self._one_change:
            settings = replace(self.retriever.get_settings(), **changes)
            self._state.save(settings=changes)
            self.retriever.update_settings(settings)
            return settings.to_dict()

    def close(self) -> None:
        with self._one_change:
            self.corpus.close()

    def _read_file(self, *, keep_changes: bool) -> Changes:
        self.stamp_read = self.stamp()
        try:
            changes = self._import(self._catalog, keep_changes=keep_changes)
        except SourceError as error:
            count = len(self.corpus)
            kept = f" {count_of(count, 'document')} from before stay indexed." if count else ""
            self.problem = f"{error}{kept}"
            raise SourceError(self.problem) from None
        self.problem = ""
        return changes

    def _import(self, catalog: Catalog, *, keep_changes: bool) -> Changes:
        """The corpus first, then what was imported: a process that dies between them imports the same once more."""
        corpus, memory = catalog.retriever.corpus, catalog.folder / "imported.json"
        with locked(memory.with_suffix(".lock")):
            documents = read_catalog(catalog.file, self._configured.documents.encoding)
            hashes = {document.id: _hash(document) for document in documents}
            known = read_json(memory).get("hashes", {})
            if keep_changes:
                changes = corpus.add([one for one in documents if known.get(one.id) != hashes[one.id]])
                gone = [id for id in known if id not in hashes]
                changes = replace(changes, removed=corpus.remove(gone) if gone else 0)
            else:
                changes = corpus.sync(documents)
            if hashes != known:
                replace_text(memory, json.dumps({"format": FORMAT, "file": str(catalog.file), "hashes": hashes}))
            return replace(changes, unchanged=len(corpus) - changes.added - changes.changed)

    def _inside(self, name: str) -> Path:
        """The file of that name in the folder; whatever leads out of it is refused."""
        folder = self._configured.folder.expanduser().resolve()
        place = _catalog_in(folder, name)
        if place is None:
            raise InputError(f"{name!r} is no catalog inside {folder}: only those that GET /document-files lists.")
        if not place.is_file():
            raise CorpusNotFound(f"There is no file {name!r} in {folder}. GET /document-files lists those that are.")
        return place


def _catalog_in(folder: Path, name: str) -> Path | None:
    """Where a catalog of that name in a folder really lies; None if that is not in the folder, or can be no catalog."""
    parts = Path(name).parts
    if "\0" in name or "\\" in name or ".." in parts or Path(name).is_absolute():
        return None
    try:
        place = (folder / name).resolve()
        place.exists()  # which says whether a name is too long
    except (OSError, RuntimeError):  # or a ring of links
        return None
    return place if place.is_relative_to(folder) and place.suffix.lower() in SUFFIXES else None


def _hash(document: Document) -> str:
    record = to_record(document)
    if isinstance(record, Problem):
        raise SourceError(record.reason)
    return record.hash.hex()
