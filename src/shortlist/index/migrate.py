"""Moves a corpus to another engine: it is copied, compared byte by byte, and only then used there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b

from shortlist._plain import Plain
from shortlist.display.progress import show_progress
from shortlist.documents import Document, Problem, Stamp, Stamps
from shortlist.errors import CorpusError, CorpusMismatch
from shortlist.index.corpus import Corpus, open_corpus
from shortlist.index.corpus_paths import corpus_folder
from shortlist.index.embedders.embedder_binding import EmbedderBinding
from shortlist.index.engine import EMBEDDED
from shortlist.index.engines.address import Address
from shortlist.index.location import Location, find_location
from shortlist.index.storage.records import PAUSE, to_record
from shortlist.protocols import Progress, ProgressOption, report_phase

# What an engine itself stores with a threshold.
_ENGINE_FACTS = ("embedder", "analyzer", "scoring", "documents", "passages", "last_passage", "when")


@dataclass(frozen=True, slots=True)
class Migrated(Plain):
    """What a migration did; `copied` does not count the documents that an earlier attempt had copied."""

    corpus: str
    source: str
    target: str
    documents: int
    passages: int
    copied: int
    deleted_old: bool


def migrate(name: str, to: str, *, delete_old: bool = False, progress: ProgressOption = None) -> Migrated:
    """Move a corpus to the engine `to`: the address of a cluster, or "embedded".

    An interrupted migration can be resumed by calling it again. The name refers to the new engine only after the counts
    and hashes of all documents there match; the old copy stays unless `delete_old` is set.
    """
    folder = corpus_folder(name)
    target = Location(folder, name, None if to == EMBEDDED else Address.parse(to))
    old = find_location(folder, name)
    here, there = old.engine, target.engine
    with open_corpus(name) as source:
        config = source.config
        if here == there:
            facts = source.info()
            return Migrated(name, here, there, facts["documents"], facts["passages"], 0, False)
        embedders = EmbedderBinding(name, folder)
        engine = target.open(embedders) or target.create(replace(config, floors={}, calibrations={}), embedders)
        with (
            Corpus(engine, embedders, name, source.embedder or "none", folder) as moved,
            show_progress(progress, f"migrating {name}") as report,
        ):
            for option in ("analyzer", "embedder_name", "dim", "scoring", "chunk_size", "chunk_overlap"):
                there_is, here_is = getattr(moved.config, option), getattr(config, option)
                if there_is != here_is:
                    raise CorpusMismatch(
                        f"In {there} there already is a corpus {name!r}, built with {option}={there_is!r}, not "
                        f"{here_is!r}. Delete it there, or use another prefix."
                    )
            changes = moved.sync(_Everything(source), progress=report)
            if changes.failed:
                wrong = changes.failed[0]
                raise CorpusError(f"{there} refused {wrong.id!r}: {wrong.reason} The corpus stays where it was.")
            for mode, threshold in config.floors.items():
                known = {"scale": ""} | config.calibrations.get(mode, {})  # an earlier version's stays one
                facts = {k: v for k, v in known.items() if k not in _ENGINE_FACTS}
                moved.set_threshold(mode, threshold, **facts)
            documents, passages = _compare(source, moved, there, report)
    target.write_pointer()
    if delete_old:
        old.delete()
    return Migrated(name, here, there, documents, passages, changes.added + changes.changed, delete_old)


class _Everything:
    """All documents of a corpus, and the stamps of the files that they came from."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._corpus)

    def __iter__(self) -> Iterator[Document]:
        return iter(self._corpus)

    def since(self, known: Stamps) -> Iterable[Document | Problem | Stamp]:
        yield from self._corpus
        yield from self._corpus.stamps().values()


def _compare(source: Corpus, moved: Corpus, there: str, report: Progress | None) -> tuple[int, int]:
    """The number of documents and of passages, which must be the same in both, as must all contents."""
    counts = [
        (corpus.info()["documents"], corpus.info()["passages"], _digest(corpus, report)) for corpus in (source, moved)
    ]
    if counts[0] != counts[1]:
        raise CorpusError(
            f"The copy in {there} differs from the corpus {source.name!r}: it has {counts[1][0]} documents with "
            f"{counts[1][1]} passages, not {counts[0][0]} with {counts[0][1]}, or different contents. If the corpus "
            f"was changed meanwhile, migrate again. The corpus stays where it was."
        )
    return counts[0][:2]


def _digest(corpus: Corpus, report: Progress | None) -> int:
    """A checksum of all documents as they are read back, independent of their order."""
    total, count = 0, len(corpus)
    for done, document in enumerate(corpus):
        if not done % PAUSE:
            report_phase(report, "comparing", done, count)
        record = to_record(document)
        if isinstance(record, Problem):
            raise CorpusError(f"The document {document.id!r} cannot be read back: {record.reason}")
        text = document.id.encode("utf-8", "replace") + record.hash
        total += int.from_bytes(blake2b(text, digest_size=16).digest(), "big")
    return total % (1 << 128)
