"""The served catalog: documents on disk, imported from a document file that is only read."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from shortlist._files import locked, replace_text, stamp_of
from shortlist._paths import data_dir
from shortlist._settings import Settings
from shortlist._text import clean, count_of
from shortlist.documents import Changes, Document, Problem
from shortlist.errors import SourceError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.corpus_paths import DATABASE
from shortlist.index.embedders import tools_model
from shortlist.index.embedders.named import make_absolute
from shortlist.index.storage.records import to_record
from shortlist.retrieval.search import search
from shortlist.sources.tools.tool_catalogs import tools_in_catalog

log = logging.getLogger("shortlist.serve")

NAME = "catalog"
FORMAT = 1  # of our files beside the corpus
MOST_ENCODED = 1_000  # tools that a service encodes with our model when it first starts: some ten seconds


class CatalogStore:
    """A corpus that follows a document file. Readers never wait; changes are made one at a time.

    The file is merged three ways: what changed in it since it was last read is applied, and what was changed over HTTP
    stays otherwise. `options` are those of `create_corpus` that the corpus must have; by default, it keeps its own.
    """

    def __init__(self, settings: Settings, document_file: Path | None = None, **options: Any) -> None:
        self._configured = settings
        self._options = options
        self._lock = threading.Lock()
        self.document_file = document_file or Path(settings.documents.source).expanduser().resolve()
        self.problem = ""  # why the last read of the file failed
        self.stamp_read: tuple[int, ...] = (0,)  # the stamp of the file when it was last read
        self.corpus = self._open(self.document_file)
        self._read_at_start()
        search(self.corpus, "ready", "lexical", k=1)  # opens the index now, so that no request waits for it

    def _open(self, file: Path) -> Corpus:
        path, wanted = get_folder(file) / "corpus", self._configured.documents.embedder
        learning = self._configured.usage.learn
        if (path / DATABASE).exists():
            corpus = create_corpus(NAME, path=path, learning=learning)
            config = corpus.config
            embedder = config.embedder if wanted == "auto" else make_absolute(wanted)
            if embedder != config.embedder or tools_model.has_old_model(config):
                corpus.reindex(embedder, **self._options)
            elif any(getattr(config, option) != value for option, value in self._options.items()):
                corpus.reindex(**self._options)  # another version built it
        else:
            embedder = wanted
            if embedder == "auto":
                count = 0
                with suppress(SourceError, OSError):  # reading it at the start reports it
                    count = len(read_catalog(file, self._configured.documents.encoding))
                embedder = tools_model.default_for_tools(count, MOST_ENCODED)
            corpus = create_corpus(NAME, path=path, embedder=embedder, learning=learning, **self._options)
        return corpus

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

    @property
    def is_made(self) -> bool:
        """Whether there is a document file, one is configured, or documents were added over HTTP."""
        return self._configured.source_must_exist or self.document_file.exists() or not self.corpus.is_empty

    def add(self, documents: Iterable[Document]) -> Changes:
        """Add documents; the same id replaces, and of several with the same id the last counts."""
        with self._lock:
            return self.corpus.add(_drop_repeated(documents), strict=True)

    def delete(self, ids: str | Iterable[str]) -> Changes:
        with self._lock:
            return Changes(removed=self.corpus.remove(ids))

    def index(self, documents: Iterable[Document] | None, *, from_file: bool = False) -> Changes:
        """Replace all documents with these, or with those of the file; without either, rebuild the index."""
        with self._lock:
            if from_file:
                return self._read_file(keep_changes=False)
            if documents is not None:
                return self.corpus.sync(_drop_repeated(documents), strict=True)
            self.corpus.reindex()
            return Changes(unchanged=len(self.corpus))

    def reload(self) -> Changes:
        """Read the file again. If it is damaged, all documents stay and an error is raised."""
        with self._lock:
            return self._read_file(keep_changes=True)

    def switch(self, file: Path, store: Callable[[], None]) -> Changes:
        """Serve another file from now on, with the changes made to its documents before.

        `store` is called first, to remember the choice; if it fails, the present file stays.
        """
        with self._lock:
            corpus = self._open(file)
            stamp = stamp_of(file)
            changes = self._import(corpus, file, keep_changes=True)
            store()
            self.corpus, self.document_file, self.stamp_read, self.problem = corpus, file, stamp, ""
            return changes

    def close(self) -> None:
        with self._lock:
            self.corpus.close()

    def _read_file(self, *, keep_changes: bool) -> Changes:
        self.stamp_read = stamp_of(self.document_file)
        try:
            changes = self._import(self.corpus, self.document_file, keep_changes=keep_changes)
        except SourceError as error:
            count = len(self.corpus)
            stored = f" {count_of(count, 'document')} from before stay indexed." if count else ""
            self.problem = f"{error}{stored}"
            raise SourceError(self.problem) from None
        self.problem = ""
        return changes

    def _import(self, corpus: Corpus, file: Path, *, keep_changes: bool) -> Changes:
        """Change the corpus first, then record the import: after a crash between them, it is imported again."""
        record = get_folder(file) / "imported.json"
        with locked(record.with_suffix(".lock")):
            documents = read_catalog(file, self._configured.documents.encoding)
            hashes = {document.id: _hash(document) for document in documents}
            known = read_json(record).get("hashes", {})
            if keep_changes:
                changes = corpus.add(
                    [document for document in documents if known.get(document.id) != hashes[document.id]]
                )
                gone = [id for id in known if id not in hashes]
                changes = replace(changes, removed=corpus.remove(gone) if gone else 0)
            else:
                changes = corpus.sync(documents)
            if hashes != known:
                replace_text(record, json.dumps({"format": FORMAT, "file": str(file), "hashes": hashes}))
            return replace(changes, unchanged=len(corpus) - changes.added - changes.changed)


def read_catalog(path: Path, encoding: str = "utf-8") -> list[Document]:
    """The documents of a catalog, or an error that names the file and each bad entry."""
    documents: dict[str, Document] = {}
    problems = []
    for number, entry in enumerate(tools_in_catalog(path.expanduser(), encoding), 1):
        record = to_record(entry)
        if isinstance(record, Problem):
            place = "" if isinstance(entry, Problem) else f"Entry {number} ({record.id}): "
            problems.append(f"{place}{record.reason}")
        elif documents.setdefault(clean(entry.id), cast(Document, entry)) is not entry:
            problems.append(f"Entry {number} ({record.document.id}): its id is not unique.")
    if problems:
        more = f" And {len(problems) - 10} more." if len(problems) > 10 else ""
        raise SourceError(f"{path} was not loaded. {' '.join(problems[:10])}{more}")
    return list(documents.values())


def get_folder(file: Path) -> Path:
    """The folder of everything that belongs to a document file."""
    path = str(file.expanduser().resolve()).encode(errors="replace")
    return data_dir() / "served" / f"{file.stem[:40]}-{blake2b(path, digest_size=8).hexdigest()}"


def read_json(path: Path) -> dict[str, Any]:
    """The content of one of our files; empty if it does not exist."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, and this version of shortlist reads {FORMAT}")
        return dict(data)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{path} cannot be read ({error}). Fix it, or move it away and start again.") from None


def _drop_repeated(documents: Iterable[Document]) -> list[Document]:
    return list({clean(document.id): document for document in documents}.values())


def _hash(document: Document) -> str:
    record = to_record(document)
    if isinstance(record, Problem):
        raise SourceError(record.reason)
    return record.hash.hex()
