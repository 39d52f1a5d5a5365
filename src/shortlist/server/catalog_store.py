"""The served catalog: documents on disk, imported from a document file that is only read."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from shortlist._files import locked, replace_text, stamp_of
from shortlist._settings import BM25SSettings, Settings
from shortlist._text import count_of
from shortlist.compat.retriever import ANALYZER, SCORING, BM25SRetriever, read_catalog
from shortlist.documents import Changes, Document, Problem
from shortlist.errors import CorpusNotFound, InputError, SourceError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.corpus_paths import DATABASE
from shortlist.index.embedders import tools_model
from shortlist.index.embedders.named import make_absolute
from shortlist.index.storage.records import to_record
from shortlist.server.service_settings import FORMAT, State, get_folder, read_json
from shortlist.sources.structured import SUFFIXES

log = logging.getLogger("shortlist.serve")

NAME = "catalog"
MOST_ENCODED = 1_000  # tools that a service encodes with our model when it first starts: some ten seconds


class CatalogStore:
    """The catalog of a service. Readers never wait; changes are made one at a time.

    The file is merged three ways: what changed in it since it was last read is applied, and what was changed over HTTP
    stays otherwise.
    """

    def __init__(self, settings: Settings) -> None:
        self._configured = settings
        self.state = State(settings)
        self._lock = threading.Lock()
        self.problem = ""  # why the last read of the file failed
        self.stamp_read: tuple[int, ...] = (0,)  # the stamp of the file when it was last read
        self.retriever = self._open(self.state.document_file, BM25SSettings(**self.state.settings()))
        self._read_at_start()
        self.retriever.retrieve_documents("ready")  # opens the index now, so that no request waits for it

    def _open(self, file: Path, settings: BM25SSettings) -> BM25SRetriever:
        path, wanted = get_folder(file) / "corpus", self._configured.documents.embedder
        learning = self._configured.usage.learn
        if (path / DATABASE).exists():
            corpus = create_corpus(NAME, path=path, learning=learning)
            config = corpus.config
            embedder = config.embedder if wanted == "auto" else make_absolute(wanted)
            if embedder != config.embedder or tools_model.has_old_model(config):
                corpus.reindex(embedder, analyzer=ANALYZER, scoring=SCORING)
            elif (config.analyzer, config.scoring) != (ANALYZER, SCORING):  # an older version built it
                corpus.reindex(analyzer=ANALYZER, scoring=SCORING)
        else:
            embedder = wanted
            if embedder == "auto":
                count = 0
                with suppress(SourceError, OSError):  # reading it at the start reports it
                    count = len(read_catalog(file, self._configured.documents.encoding))
                embedder = tools_model.default_for_tools(count, MOST_ENCODED)
            corpus = create_corpus(
                NAME, path=path, embedder=embedder, learning=learning, analyzer=ANALYZER, scoring=SCORING
            )
        return BM25SRetriever(settings, file, corpus=corpus)

    def _read_at_start(self) -> None:
        """The default file may be missing. A damaged one is an error only if no documents are stored."""
        if not self._configured.source_must_exist and not self.document_file.exists():
            if "documents.source" in self._configured.origins:
                log.warning("%s does not exist. The service starts with its stored documents.", self.document_file)
            return
        try:
            self.reload()
        except SourceError as error:
            if self.corpus.is_empty:
                raise
            log.warning("%s", error)

    # Reading

    @property
    def corpus(self) -> Corpus:
        return self.retriever.corpus

    @property
    def document_file(self) -> Path:
        return Path(str(self.retriever.document_file))

    def settings(self) -> dict[str, Any]:
        return self.retriever.get_settings().to_dict()

    def document_files(self) -> dict[str, Any]:
        """The catalogs that can be switched to: the files that are really in the folder."""
        folder, current = self._configured.folder, self.document_file
        files = []
        for name in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
            path = _resolve_catalog(folder, name)
            if path is not None and path.is_file():
                status = path.stat()
                row = {"file": name, "bytes": status.st_size, "modified": status.st_mtime, "current": path == current}
                files.append(row)
        return {"folder": str(folder), "current": str(current), "files": files}

    # Changing

    def add(self, documents: Iterable[Document]) -> Changes:
        with self._lock:
            self.retriever.add_documents(documents)
            return self.corpus.changes

    def delete(self, id: str) -> Changes:
        with self._lock:
            removed = self.retriever.delete_documents(id)
        if not removed:
            raise CorpusNotFound(f"There is no document {id!r}. GET /documents lists all documents.")
        return Changes(removed=removed)

    def index(self, documents: Iterable[Document] | None, *, from_file: bool = False) -> Changes:
        """Replace all documents with these, or with those of the file; without either, rebuild the index."""
        with self._lock:
            if from_file:
                return self._read_file(keep_changes=False)
            self.retriever.rebuild_index(documents)
            return self.corpus.changes if documents is not None else Changes(unchanged=len(self.corpus))

    def reload(self) -> Changes:
        """Read the file again. If it is damaged, all documents stay and an error is raised."""
        with self._lock:
            return self._read_file(keep_changes=True)

    def switch(self, name: str) -> Changes:
        """Serve another file of the folder from now on, with the changes made to its documents before."""
        folder = self._configured.folder
        file = _resolve_catalog(folder, name)
        if file is None:
            raise InputError(f"{name!r} is not a catalog in {folder}. GET /document-files lists the catalogs.")
        if not file.is_file():
            raise CorpusNotFound(f"{name!r} does not exist in {folder}. GET /document-files lists the catalogs.")
        with self._lock:
            retriever = self._open(file, self.retriever.get_settings())
            stamp = stamp_of(file)
            changes = self._import(retriever, file, keep_changes=True)
            self.state.save(document_file=file)
            self.retriever, self.stamp_read, self.problem = retriever, stamp, ""
            return changes

    def update_settings(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change these settings and store them; they are in force until the configured value changes."""
        with self._lock:
            settings = replace(self.retriever.get_settings(), **changes)
            self.state.save(settings=changes)
            self.retriever.update_settings(settings)
            return settings.to_dict()

    def close(self) -> None:
        with self._lock:
            self.corpus.close()

    def _read_file(self, *, keep_changes: bool) -> Changes:
        self.stamp_read = stamp_of(self.document_file)
        try:
            changes = self._import(self.retriever, self.document_file, keep_changes=keep_changes)
        except SourceError as error:
            count = len(self.corpus)
            stored = f" {count_of(count, 'document')} from before stay indexed." if count else ""
            self.problem = f"{error}{stored}"
            raise SourceError(self.problem) from None
        self.problem = ""
        return changes

    def _import(self, retriever: BM25SRetriever, file: Path, *, keep_changes: bool) -> Changes:
        """Change the corpus first, then record the import: after a crash between them, it is imported again."""
        corpus, record = retriever.corpus, get_folder(file) / "imported.json"
        with locked(record.with_suffix(".lock")):
            documents = read_catalog(file, self._configured.documents.encoding)
            hashes = {document.id: _hash(document) for document in documents}
            known = read_json(record).get("hashes", {})
            if keep_changes:
                changes = corpus.add([one for one in documents if known.get(one.id) != hashes[one.id]])
                gone = [id for id in known if id not in hashes]
                changes = replace(changes, removed=corpus.remove(gone) if gone else 0)
            else:
                changes = corpus.sync(documents)
            if hashes != known:
                replace_text(record, json.dumps({"format": FORMAT, "file": str(file), "hashes": hashes}))
            return replace(changes, unchanged=len(corpus) - changes.added - changes.changed)


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


def _hash(document: Document) -> str:
    record = to_record(document)
    if isinstance(record, Problem):
        raise SourceError(record.reason)
    return record.hash.hex()
