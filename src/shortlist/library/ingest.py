"""Ingests files and folders into a corpus, one batch of files per commit.

Ingesting a path again updates it; other documents stay. Ids are full paths, so folders may have files of the same name.
An interrupted ingest resumes where it stopped: batches are committed as a whole, known files are skipped, and outdated
parts of a changed file are removed before the new ones are added.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from shortlist._projects import GLOBAL_INDEX, project_index
from shortlist._text import clean
from shortlist.display.progress import show_progress
from shortlist.documents import Document, Problem, Skipped, Stamp, Stamps
from shortlist.errors import SourceError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.embedders import tools_model
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.location import find_corpus_file
from shortlist.index.text.chunking import split
from shortlist.protocols import Countable, Progress, ProgressOption, report_phase
from shortlist.sources import CorpusSource
from shortlist.sources.decoding import File
from shortlist.sources.folder import list_files

# A batch ends after this number of files or characters, whichever comes first.
BATCH_FILES = 200
BATCH_CHARACTERS = 8_000_000
BATCH_SECONDS = 1.0  # of reading, while a bar is shown: it counts the files that are stored
READING = "reading files"
SAMPLE_FILES = 20  # whose languages decide about the embedder

Item = Document | Problem | Stamp


@dataclass(slots=True)
class Ingested:
    """Counts of an ingest: files read, unchanged, skipped (no text) and removed; pages and chunks; failures."""

    read: int = 0
    unchanged: int = 0
    removed: int = 0
    pages: int = 0
    chunks: int = 0
    added: int = 0
    changed: int = 0
    failed: list[Problem] = field(default_factory=list)
    skipped_files: list[Problem] = field(default_factory=list)

    @property
    def skipped(self) -> int:
        return len(self.skipped_files)

    @property
    def files(self) -> int:
        return self.read + self.unchanged + self.skipped + len({problem.source for problem in self.failed} - {""})

    def to_dict(self) -> dict[str, Any]:
        data = {each.name: getattr(self, each.name) for each in fields(self)} | {"skipped": self.skipped}
        return data | {name: [one.to_dict() for one in data[name]] for name in ("failed", "skipped_files")}


OnCounts = Callable[[Ingested], None]


def ingest(
    paths: str | Path | Iterable[str | Path],
    name: str | None = None,
    *,
    path: str | Path | None = None,
    embedder: EmbedderSpec = None,
    engine: str | None = None,
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    analyzer: str | None = None,
    language: str | None = None,
    scoring: Scoring | None = None,
    default_embedder: str = "default",
    progress: ProgressOption = None,
    on_counts: OnCounts | None = None,
) -> tuple[Corpus, Ingested]:
    """Ingest files and folders; return the corpus and the counts.

    It does for each path what `build(CorpusSource.from_files(path), prune=False)` does, but commits every batch of
    files, uses full paths as ids, and removes files of these paths that are gone.

    The default corpus is the index of this project: of the repository of the current folder, or of the folder itself.
    `path` is a folder for the corpus instead of a name. A new chunk size, overlap or language applies to all
    stored documents. `language` is the code of the language of the files; by default that of each passage is detected.
    A bar shows the progress in a terminal and in a notebook; `progress=False` turns it off, and a function is called
    with the number of files that are done and of all. `on_counts` is called with all counts after each file.
    """
    name = name or (GLOBAL_INDEX if path else project_index())
    places = [Path(place).expanduser() for place in ([paths] if isinstance(paths, str | Path) else paths)]
    gone = [place for place in places if not place.exists()]
    is_new = find_corpus_file(name, path) is None
    if gone and is_new:
        raise SourceError(f"{gone[0]} does not exist.")
    with show_progress(progress, f"ingesting into {name}") as report:
        if is_new and embedder is None and default_embedder == "default":
            default_embedder = _choose_embedder(places)
        corpus = create_corpus(
            name,
            path=path,
            embedder=embedder,
            engine=engine,
            default_embedder=default_embedder,
            analyzer=analyzer,
            scoring=scoring,
            chunk_size=chunk_size if is_new else None,
            chunk_overlap=chunk_overlap if is_new else None,
            language=language if is_new else None,
        )
        config = corpus.config
        wanted = {"chunk_size": chunk_size, "chunk_overlap": chunk_overlap, "language": language}
        if any(value not in (None, getattr(config, option)) for option, value in wanted.items()):
            bar = report if isinstance(report, Countable) else None
            corpus.reindex(chunk_size=chunk_size, chunk_overlap=chunk_overlap, language=language, progress=bar)
        reports = _FileProgress(report)
        reports.count_all(corpus, (place for place in places if place not in gone))
        done, known = Ingested(), corpus.stamps()
        for place in places:
            seen = set() if place in gone else _read(corpus, place, known, done, reports, on_counts)
            removed = _remove_others(corpus, place, seen)
            if place in gone and not removed:
                corpus.close()
                raise SourceError(f"{place} does not exist, and nothing was ingested from it before.")
            done.removed += removed
        return corpus, done


def _choose_embedder(places: Sequence[Path]) -> str:
    """The default embedder for files, by the languages of the first ones, which are read twice."""
    found = islice((path for place in places for path in place.rglob("*")), tools_model.MOST_DOCUMENTS + 1)
    if sum(1 for _ in found) > tools_model.MOST_DOCUMENTS:
        return "default"
    files = islice((file for place in places for file in _files(place, {})), SAMPLE_FILES)
    return tools_model.default_for_documents(
        item for file in files for item in file.items if isinstance(item, Document)
    )


def _read(
    corpus: Corpus, place: Path, known: Stamps, done: Ingested, reports: _FileProgress, on_counts: OnCounts | None
) -> set[str]:
    """Ingest what is new or changed at a path; return the ids of all files there."""
    seen: set[str] = set()
    config = corpus.config
    batch = _Batch(corpus, done, reports, config.chunk_size, config.chunk_overlap)
    for file in _files(place, known):
        if _is_own(corpus, file.id):
            continue
        if not isinstance(file.items[0], Skipped):
            seen.add(clean(file.id))
        batch.take(file, known)
        if on_counts:
            on_counts(done)
    batch.commit()
    return seen


def _is_own(corpus: Corpus, file: str) -> bool:
    """Whether a file belongs to the index, which may be stored among the files."""
    return corpus.path is not None and file.startswith(_prefix(corpus.path.resolve()))


def _remove_others(corpus: Corpus, place: Path, seen: Container[str]) -> int:
    """Remove stored files of a path that no longer exist; return their number."""
    with corpus.snapshot() as snapshot:
        files = {id: file_of(id, locator) for id, _, locator in snapshot.places()}
    real = place.resolve()
    whole, below = clean(real.as_posix()), clean(_prefix(real))
    gone = {id: file for id, file in files.items() if file not in seen and (file == whole or file.startswith(below))}
    if gone:
        corpus.remove(gone)
    return len(set(gone.values()))


def _prefix(folder: Path) -> str:
    return f"{folder.as_posix().rstrip('/')}/"


def file_of(id: str, locator: str) -> str:
    """The id of the file that contains a document."""
    return id.removesuffix(f"#{locator}")


@dataclass(slots=True)
class _File:
    """What was read from one file."""

    source: str
    items: list[Item]
    chunks: int = 0

    @property
    def id(self) -> str:
        for document in self.documents[:1]:
            return file_of(document.id, document.locator)
        item = self.items[-1]
        return item.id if item.source else item.id.rpartition("#")[0]

    @property
    def documents(self) -> list[Document]:
        return [item for item in self.items if isinstance(item, Document)]

    @property
    def problems(self) -> list[Problem]:
        return [item for item in self.items if isinstance(item, Problem)]

    @property
    def stamp(self) -> Stamp | None:
        return next((item for item in self.items if isinstance(item, Stamp)), None)

    @property
    def ids(self) -> set[str]:
        return {clean(item.id) for item in self.items if not isinstance(item, Stamp)}


def _files(place: Path, known: Stamps) -> Iterator[_File]:
    """The files at a path with their items; ids are full paths."""
    real = place.resolve()
    prefix = _prefix(real if real.is_dir() else real.parent)
    below = {
        id.removeprefix(prefix): replace(stamp, id=id.removeprefix(prefix))
        for id, stamp in known.items()
        if id.startswith(prefix)
    }
    last = ""

    def source_of(item: Item) -> str:
        nonlocal last
        last = item.source or last  # a problem of one row has no source
        return last

    for source, items in groupby(CorpusSource.from_files(place).since(below), source_of):
        yield _File(source, [replace(item, id=prefix + item.id) for item in items])


class _FileProgress:
    """The progress of an ingest: the files that are stored; to a bar also the phases, and parts of a batch of files."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.bar = progress if isinstance(progress, Countable) else None
        self._total = 0
        self._stored = 0

    def count_all(self, corpus: Corpus, places: Iterable[Path]) -> None:
        if self._progress:
            report_phase(self.bar, "counting")
            files = (file for place in places for file in list_files(place))
            self._total = sum(isinstance(file, File) and not _is_own(corpus, file.source) for file in files)
            self.add(0)

    def add(self, files: int) -> None:
        """Report files that are stored, or unchanged."""
        self._stored += files
        if self.bar:
            self.bar.count(self._stored, self._total, "files")
            report_phase(self.bar, READING)
        elif self._progress and files:
            self._progress(self._stored, self._total)

    def of_batch(self, files: Sequence[_File]) -> Progress | None:
        """The callback for storing a batch of files."""
        return _BatchProgress(self.bar, self._stored, self._total, files) if self.bar else None


class _BatchProgress:
    """A bar of files, as the bar of the sync that stores a batch of them."""

    def __init__(self, bar: Countable, before: int, total: int, files: Sequence[_File]) -> None:
        self._bar, self._before, self._total, self._files = bar, before, total, len(files)
        self._documents = max(sum(len(file.documents) for file in files), 1)

    def __call__(self, done: int, total: int | None) -> None:
        self.count(done, total)

    def count(self, done: float, total: int | None, unit: str = "") -> None:
        share = min(done / self._documents, 1.0)
        self._bar.count(self._before + share * self._files, self._total, "files")

    def phase(self, name: str, done: int = 0, total: int | None = None) -> None:
        self._bar.phase(READING if name == "reading" else name, done, total)


@dataclass(slots=True)
class _Batch:
    """Files that are committed together."""

    corpus: Corpus
    done: Ingested
    reports: _FileProgress
    chunk_size: int
    chunk_overlap: int
    files: list[_File] = field(default_factory=list)
    characters: int = 0
    began: float = field(default_factory=time.monotonic)

    def take(self, file: _File, known: Stamps) -> None:
        documents, problems, done = file.documents, file.problems, self.done
        stamp = file.stamp
        if stamp and stamp.skipped:
            done.skipped_files.append(Problem(stamp.id, stamp.reason, stamp.source))
        if stamp and not documents and stamp == known.get(stamp.id):
            done.unchanged += not stamp.skipped
            self.reports.add(1)
            return
        file.chunks = sum(len(split(one, self.chunk_size, self.chunk_overlap)) for one in documents)
        done.failed += problems
        done.read += bool(documents)
        done.pages += len(documents)
        done.chunks += file.chunks
        self.files.append(file)
        self.characters += sum(len(document.content) for document in documents)
        is_late = self.reports.bar and time.monotonic() - self.began > BATCH_SECONDS
        if is_late or len(self.files) >= BATCH_FILES or self.characters >= BATCH_CHARACTERS:
            self.commit()

    def commit(self) -> None:
        if not self.files:
            return
        stored = self._stored_ids()
        readable = [(file, ids) for file, ids in stored if not any(problem.source for problem in file.problems)]
        if gone := [id for file, ids in readable for id in ids - file.ids]:
            self.corpus.remove(gone)
        items = _Items([item for file in self.files for item in file.items])
        changes = self.corpus.add(items, self.reports.of_batch(self.files))
        done = self.done
        done.added += changes.added
        done.changed += changes.changed
        for file, ids in stored:
            if file.documents and not file.problems and ids == file.ids and ids.isdisjoint(changes.changed_ids):
                # too new for its stamp to be reliable, so it was read, but its content is unchanged
                done.read -= 1
                done.unchanged += 1
                done.pages -= len(file.documents)
                done.chunks -= file.chunks
        reported = {problem.id for problem in done.failed}
        done.failed += [problem for problem in changes.failed if problem.id not in reported]
        self.reports.add(sum(not isinstance(file.items[0], Skipped) for file in self.files))
        self.files, self.characters, self.began = [], 0, time.monotonic()

    def _stored_ids(self) -> list[tuple[_File, set[str]]]:
        """Each file with the ids of its stored documents."""
        with self.corpus.snapshot() as snapshot:
            files = self.files if snapshot.size else ()
            return [(file, snapshot.ids_of_file(clean(file.id), clean(file.source))) for file in files]


@dataclass(frozen=True, slots=True)
class _Items:
    """Documents with their stamps, in the form that a sync needs."""

    items: Sequence[Item]

    def __iter__(self) -> Iterator[Document | Problem]:
        return (item for item in self.items if not isinstance(item, Stamp))

    def since(self, known: Stamps) -> Iterable[Item]:
        return self.items
