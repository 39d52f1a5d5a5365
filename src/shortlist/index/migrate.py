"""Moves a corpus to another engine: it is copied, compared byte by byte, and only then used there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

from shortlist.documents import Document, Problem, Stamp, Stamps
from shortlist.errors import CorpusError, CorpusMismatch
from shortlist.index.config import Config
from shortlist.index.corpus import Corpus, open_corpus
from shortlist.index.engine import EMBEDDED
from shortlist.index.engines.address import Address
from shortlist.index.location import LocalStore, RemoteStore, close_on_error, corpus_folder, find_store
from shortlist.index.storage.records import to_record
from shortlist.protocols import Progress

# What an engine itself stores with a threshold.
_OF_THE_ENGINE = ("embedder", "analyzer", "scoring", "documents", "passages", "last_passage", "when")


@dataclass(frozen=True, slots=True)
class Migrated:
    """What a migration did; `copied` is without the documents that an earlier attempt had copied."""

    corpus: str
    source: str
    target: str
    documents: int
    passages: int
    copied: int
    deleted_old: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def migrate(name: str, to: str, *, delete_old: bool = False, progress: Progress | None = None) -> Migrated:
    """Move a corpus to the engine `to`: the address of a cluster, or "embedded".

    An interrupted migration can be resumed by calling it again. The name refers to the new engine only after the counts
    and hashes of all documents there match; the old copy stays unless `delete_old` is set.
    """
    folder = corpus_folder(name)
    target = LocalStore(folder) if to == EMBEDDED else RemoteStore(Address.parse(to), folder, name)
    there = target.engine
    old = find_store(folder, name)
    with open_corpus(name) as source:
        config, here = source.config, old.engine
        if here == there:
            target.close()
            facts = source.info()
            return Migrated(name, here, there, facts["documents"], facts["passages"], 0, False)
        with close_on_error(target):
            if not target.exists():
                target.create(replace(config, floors={}, calibrations={}))
        with Corpus(target, name, source.embedder or "none", folder) as moved:
            _check_same(config, moved.config, name, there)
            changes = moved.sync(_Everything(source), progress=progress)
            if changes.failed:
                wrong = changes.failed[0]
                raise CorpusError(f"{there} did not take {wrong.id!r}: {wrong.reason} The corpus stays where it was.")
            for mode, floor in config.floors.items():
                facts = {k: v for k, v in config.calibrations.get(mode, {}).items() if k not in _OF_THE_ENGINE}
                moved.set_floor(mode, floor, **facts)
            documents, passages = _compare(source, moved, there)
    target.point()
    if delete_old:
        old.delete()
    return Migrated(name, here, there, documents, passages, changes.added + changes.changed, delete_old)


class _Everything:
    """All documents of a corpus, and the stamps of the files that they came from."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._corpus)

    def __iter__(self) -> Iterator[Document | Problem]:
        return iter(self._corpus)

    def since(self, known: Stamps) -> Iterable[Document | Problem | Stamp]:
        yield from self._corpus
        yield from self._corpus.stamps().values()


def _check_same(config: Config, other: Config, name: str, there: str) -> None:
    for option in ("analyzer", "embedder_name", "dim", "scoring", "chunk_size", "chunk_overlap"):
        if getattr(config, option) != getattr(other, option):
            raise CorpusMismatch(
                f"In {there} there already is a corpus {name!r}, built with {option}={getattr(other, option)!r}, not "
                f"{getattr(config, option)!r}: delete it there, or take another prefix."
            )


def _compare(source: Corpus, moved: Corpus, there: str) -> tuple[int, int]:
    """The number of documents and of passages, which must be the same in both, as must all contents."""
    counts = [(corpus.info()["documents"], corpus.info()["passages"], _digest(corpus)) for corpus in (source, moved)]
    if counts[0] != counts[1]:
        raise CorpusError(
            f"What {there} holds is not what the corpus {source.name!r} holds: {counts[1][0]} documents with "
            f"{counts[1][1]} passages, not {counts[0][0]} with {counts[0][1]}, or others. If somebody changed it "
            f"meanwhile, migrate again. The corpus stays where it was."
        )
    return counts[0][:2]


def _digest(corpus: Corpus) -> int:
    """A checksum of all documents as they are read back, independent of their order."""
    total = 0
    for document in corpus:
        record = to_record(document)
        if isinstance(record, Problem):
            raise CorpusError(f"The document {document.id!r} cannot be read back: {record.reason}")
        text = document.id.encode("utf-8", "replace") + record.hash
        total += int.from_bytes(blake2b(text, digest_size=16).digest(), "big")
    return total % (1 << 128)
