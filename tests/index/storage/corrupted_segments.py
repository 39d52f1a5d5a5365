"""Corrupted segments with valid checksums, and what a corpus and the loops do with them.

Each input is a segment with all tables, in which numbers, lengths or the header were changed. It is used twice:
directly by the loops, which rank and merge it without validation, as when a mapped file changes after it was opened;
and from its file, in turn small and mapped, by a corpus that searches, compacts, adds or verifies. Of the small files
that are refused when they are opened, one of four is repaired by a corpus. `bench/segment_fuzz.py` runs many of them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import shutil
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import shortlist
from shortlist import Corpus, Document, ShortlistError
from shortlist.index.dense import dense_ranker
from shortlist.index.dense.dense_ranker import VectorPart, Wanted
from shortlist.index.foreign import record_created
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Impacts, Part
from shortlist.index.snapshot import Snapshot
from shortlist.index.storage import database, segment, segment_checks, writer
from shortlist.index.storage.segment import Segment, SegmentDamaged
from shortlist.index.storage.sql_tables import SegmentRow, read_id
from shortlist.index.text.analyzers import get_analyzer
from shortlist.index.text.query_terms import analyze
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.results import Vectors

QUERIES = ("often rare7 word3 name5", "rare9 rare8")
EXTREMES = (0, 1, -1, 2, 63, 64, 65, 255, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**62, 2**63 - 1, -(2**63))
ODD: tuple[Any, ...] = (
    None, True, "", "x", [], {}, -1, 0, 1, 2**31, 2**63, 2**70, 1.5, -0.0, 1e308, float("nan"), float("inf"), [[]],
    ["<i8", [1], 0], {"a": 1}, "|O", "|O8", "<f8", [-1], [2**62, 2**62], [2**40], "9" * 40,
)  # fmt: skip
Arrays = dict[str, NDArray[Any]]


def make_documents() -> list[Document]:
    """150 documents with frequent and rare terms, names, and terms that occur more often than a byte can count."""
    draw = random.Random(1)
    documents = []
    for number in range(150):
        words = ["often"] * (40 if number % 50 == 0 else 1 + number % 3) + [f"rare{number % 75}"]
        words += [f"word{draw.randrange(12)}" for _ in range(draw.randrange(3, 20))]
        documents.append(
            Document(f"id{number}", f"name{number}", " ".join(words), [f"key{number % 7}"], {"group": number % 7})
        )
    return documents


@contextlib.contextmanager
def small_tables() -> Iterator[None]:
    """All tables in segments of any size, two segments for these documents, and no delay of checks."""
    settings: list[tuple[Any, str, Any]] = [
        (segment, "IMPACTS_FROM", 1),
        (segment, "ROUNDED_FROM", 1),
        (dense_ranker, "SIGNS_FROM", 1),
        (dense_ranker, "LEAST_SIGNS", 1),
        (segment, "MAPPED_FROM", segment.MAPPED_FROM),
        (segment_checks, "DELAY_SECONDS", 0),
        (database, "SYNCHRONOUS", "OFF"),
        (writer, "MERGE_BUDGET", 0),
        (writer, "MERGE_SHARE", 0),
    ]
    before = [getattr(module, name) for module, name, _ in settings]
    for module, name, value in settings:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(settings, before, strict=True):
            setattr(module, name, value)


class Template:
    """A corpus of two segments, the first of which is replaced by corrupted ones."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._whole = folder / "corpus", folder / "whole"
        documents = make_documents()
        with shortlist.build(documents[:120], path=self.folder, embedder=EMBEDDER) as corpus:
            corpus.add(documents[120:])
            corpus.remove([f"id{number}" for number in range(0, 150, 11)])
            self.expected = answers(corpus)
        shutil.copytree(self.folder, self._whole)
        with contextlib.closing(sqlite3.connect(self.folder / "corpus.db")) as connection:
            columns = "first, last, size, file, bytes, written, checksum"
            rows = [SegmentRow(*row) for row in connection.execute(f"SELECT {columns} FROM segments ORDER BY first")]
            self._id = read_id(connection)
        self.row, other = rows[0], rows[1]
        self.other = segment.read(self.folder / "segments" / other.file, other)
        file = self.folder / "segments" / self.row.file
        data = file.read_bytes()
        _, length, _ = segment._PREFIX.unpack_from(data)
        self.header: dict[str, Any] = json.loads(data[segment._PREFIX.size : segment._PREFIX.size + length])
        whole = segment.read(file, self.row)
        self.arrays: Arrays = {"passages": whole.passages, "documents": whole.documents, **whole.postings.arrays()}
        assert whole.vectors is not None
        assert whole.impacts is not None
        assert whole.rounded is not None
        assert whole.columns is not None
        self.arrays |= {"vectors": whole.vectors, **whole.impacts.arrays(), **whole.rounded.arrays()}
        self.arrays |= whole.columns.arrays()
        assert list(self.arrays) == list(self.header["arrays"])

    def restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self._whole, self.folder)
        record_created(self.folder, self._id)  # a plain copy is foreign

    def install(self, data: bytes, checksum: int, size: int) -> None:
        """Put a segment in place of the first one, with a row that agrees with it."""
        file = self.folder / "segments" / self.row.file
        file.write_bytes(data)
        with contextlib.closing(sqlite3.connect(self.folder / "corpus.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(
                "UPDATE segments SET size = ?, bytes = ?, written = ?, checksum = ? WHERE first = ?",
                (size, len(data), os.stat(file).st_mtime_ns, checksum, self.row.first),
            )


class LetterEmbedder:
    """Vectors of the letters of a text: as good as any here, and fast."""

    name, dim, cached = "letters", 16, False

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        counts = [[text.count(letter) + 0.1 * at for at, letter in enumerate("oftenrawdmky0123")] for text in texts]
        vectors = np.array(counts, np.float32).reshape(len(texts), self.dim)
        unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def encode_query(self, text: str) -> Vectors:
        (vector,) = self.encode_documents([text])
        return np.asarray(vector, np.float32)


EMBEDDER = LetterEmbedder()


def answers(corpus: Corpus) -> list[tuple[str, str, float]]:
    """What a corpus finds by words, by names and by vectors."""
    found: list[tuple[str, str, float]] = []
    with corpus.snapshot() as state:
        assert isinstance(state, Snapshot)
        for query in QUERIES:
            (names,) = state.lexical.named([analyze(state.lexical.analyzer, query)])
            named = np.array([*names], np.int64)
            for ranking in (
                state.lexical.rank(query, 5),
                state.dense.rank(query, 2, exact=True),
                Ranking(named, np.ones(len(named))),
            ):
                passages = zip(state.passages(ranking.positions), ranking.scores.tolist(), strict=True)
                found += [(query, passage.document_id, round(score, 5)) for passage, score in passages]
        in_group = state.match("group", "$eq", 3, lambda group: bool(group == 3)) & state.everything()
        found += [("group 3", id, 1.0) for id in state.ids(np.flatnonzero(in_group))]
    return sorted(found)


def corrupt(draw: random.Random, arrays: Arrays) -> Arrays:
    """A copy of the arrays with some numbers or lengths changed."""
    changed = dict(arrays)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        name = draw.choice([*changed])
        array = changed[name].copy()
        flat = array.reshape(-1)
        how = draw.randrange(9)
        if not len(flat) or how == 0:
            rows = draw.choice((0, 1, len(array) - 1, len(array) + 1, 2 * len(array)))
            array = np.resize(array, (max(rows, 0), *array.shape[1:]))
        elif how == 1:
            data = flat.view(np.uint8)
            for _ in range(draw.choice((1, 1, 4, 40))):
                data[draw.randrange(len(data))] = draw.randrange(256)
        elif how in (2, 3, 4):
            value = draw.choice((*EXTREMES, len(arrays["docs"]), len(arrays["lengths"]), len(arrays["keys"])))
            value += draw.choice((-1, 0, 0, 1))
            places = slice(None) if how == 4 else draw.sample(range(len(flat)), min(len(flat), draw.choice((1, 3, 30))))
            if array.dtype.kind == "f":
                flat[places] = draw.choice((float("nan"), float("inf"), -float("inf"), 1e38, float(value)))
            else:
                bits = 8 * array.dtype.itemsize
                flat[places] = np.array(value % 2**bits, np.uint64).astype(f"u{array.dtype.itemsize}").view(array.dtype)
        elif how == 5:
            one, two = draw.randrange(len(flat)), draw.randrange(len(flat))
            flat[[one, two]] = flat[[two, one]]
        elif how == 6:
            place = draw.randrange(len(flat))
            with np.errstate(over="ignore"):
                flat[place] += np.array(draw.choice((1, 255)) % 256, np.uint8).astype(array.dtype)
        elif how == 7:
            flat[:] = flat[::-1].copy()
        else:
            flat[:] = np.roll(flat, draw.choice((-1, 1, 7)))
        changed[name] = array
    return changed


def serialize(draw: random.Random, arrays: Arrays, header: dict[str, Any]) -> tuple[bytes, int]:
    """A file with these arrays, now and then with a strange header, and its checksum, which is valid."""
    layout: dict[str, Any] = {}
    body, checksum = b"", 0
    for name, array in arrays.items():
        data = array.tobytes()
        layout[name] = [array.dtype.str, list(array.shape), len(body)]
        body += data.ljust(segment._align(len(data)), b"\0")
        checksum = zlib.crc32(data, checksum)
    columns = zlib.crc32(arrays["columns.values"].tobytes(), zlib.crc32(arrays["columns.codes"].tobytes()))
    described: Any = {**header, "arrays": layout, "bytes": len(body), "checksum": checksum, "columns": columns}
    if draw.random() < 0.25:
        described = _corrupt_header(draw, json.loads(json.dumps(described)))
        if isinstance(described, dict) and isinstance(described.get("checksum"), int):
            checksum = described["checksum"] % 2**63
    text = json.dumps(described).encode()
    if draw.random() < 0.01:
        text = b"[" * 100_000
    prefix = segment._PREFIX.pack(segment.MAGIC, len(text), zlib.crc32(text)) + text
    return prefix.ljust(segment._align(len(prefix)), b"\0") + body, checksum


def _corrupt_header(draw: random.Random, header: Any) -> Any:
    """The header with one of its values, at any depth, replaced by an odd one, removed or moved."""
    place = header
    while True:
        keys = [*place] if isinstance(place, dict) else [*range(len(place))]
        key = draw.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and draw.random() < 0.8:
            place = place[key]
            continue
        how = draw.randrange(4)
        if how == 0:
            del place[key]
        elif how == 1 and isinstance(place[key], int):
            place[key] += draw.choice((-64, -1, 1, 64))
        elif how == 2 and isinstance(place, dict):
            place[draw.choice(("more", "tfs", "vectors"))] = place[key]
        else:
            place[key] = draw.choice(ODD)
        return header if draw.random() < 0.98 else draw.choice(ODD)


class Fuzzer:
    """Uses corrupted segments, and counts what came of them."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.template, self.seed, self.counts = Template(folder), seed, Counter[str]()

    def run(self, number: int) -> None:
        """Use one corrupted segment. An error that is not ours is raised, and a crash ends the process."""
        draw = random.Random(f"{self.seed} {number}")
        arrays = corrupt(draw, self.template.arrays)
        self._use_directly(draw, arrays)
        data, checksum = serialize(draw, arrays, self.template.header)
        size = len(arrays["passages"]) if draw.random() < 0.5 else self.template.row.size
        segment.MAPPED_FROM = 1 if number % 2 else 4 << 20
        if number % 8 and number % 2 == 0 and self._is_refused(data, checksum, size):
            return  # what a corpus does then is the same for all
        self.template.restore()
        self.template.install(data, checksum, size)
        self._use_file(draw, is_mapped=bool(number % 2))

    def _is_refused(self, data: bytes, checksum: int, size: int) -> bool:
        file = self.template.folder.with_name("refused.seg")
        file.write_bytes(data)
        try:
            segment.read(file, self.template.row._replace(checksum=checksum, size=size), is_trusted=False)
        except SegmentDamaged:
            self.counts["refused by a corpus"] += 1
            return True
        return False

    def _use_file(self, draw: random.Random, is_mapped: bool) -> None:
        handler = _Warnings()
        logging.getLogger("shortlist").addHandler(handler)
        logging.getLogger("shortlist").propagate = False
        try:
            with shortlist.open_corpus(self.template.folder, EMBEDDER) as corpus:
                found = self._try("search", lambda: answers(corpus))
                if handler.repairs:
                    self.counts["repaired"] += 1
                    if found is not None and found != self.template.expected:
                        raise AssertionError("a repaired segment gives other results")
                action = draw.choice(("compact", "add", "verify"))
                if action == "add":
                    self._try("add", lambda: corpus.add([Document("new", "", "often new")]))
                else:
                    self._try(action, getattr(corpus, action))
                self._try("search after it", lambda: answers(corpus))
        finally:
            logging.getLogger("shortlist").removeHandler(handler)
            logging.getLogger("shortlist").propagate = True
            if is_mapped:
                segment_checks.wait()

    def _try(self, what: str, work: Any) -> Any:
        try:
            result = work()
        except ShortlistError as error:
            self.counts[f"{what}: {type(error).__name__}"] += 1
            return None
        self.counts[what] += 1
        return result

    def _use_directly(self, draw: random.Random, arrays: Arrays) -> None:
        """Rank and merge arrays that no one has validated; each is in memory of its own, where the end is noticed."""
        row = self.template.row._replace(size=len(arrays["passages"]))
        own = {name: array.copy() for name, array in arrays.items()}
        try:
            header = self.template.header
            corrupted = segment._assemble(own, segment._Layout({}, header["impacts"], header["columns"]), row)
        except SegmentDamaged:
            self.counts["refused by its lengths"] += 1
            return
        if corrupted.find_fault(row):
            self.counts["refused by its values"] += 1
        else:
            self.counts["accepted"] += 1
        scoring = draw.choice((Scoring(weights=(1.0, 1.0, 1.0)), Scoring("bm25l"), Scoring("robertson", k1=0.0)))
        for each in (scoring, Scoring("tfidf")):
            self._rank(draw, corrupted, each)
        Impacts.of(corrupted.postings, scoring, 10.0)
        if corrupted.vectors is not None and corrupted.vectors.shape[1] == self.template.other.dim:
            part = VectorPart(corrupted.vectors, None, 0, corrupted.rounded)
            with np.errstate(all="ignore"):
                nearest = Wanted(np.ones(corrupted.dim, np.float32), 2, exact=True)
                part.nearest(nearest)
                part.nearest(nearest._replace(added=np.zeros(len(corrupted.vectors)), factor=0.5))
        with contextlib.suppress(IndexError, ValueError):  # of numpy: a merge validates its segments before
            segment.merge([(corrupted, None), (self.template.other, None)])

    def _rank(self, draw: random.Random, corrupted: Segment, scoring: Scoring) -> None:
        analyzer = get_analyzer()
        part = Part(corrupted.postings, 0, corrupted.impacts)
        part = part.without(np.array(draw.sample(range(corrupted.size), min(corrupted.size, 3)), np.int64))
        ranker = Lexical([part, Part(self.template.other.postings, corrupted.size)], analyzer, scoring)
        with np.errstate(all="ignore"):
            for query in QUERIES:
                terms = analyzer.terms(query)
                found = ranker.rank(terms, 5)
                ranker.covered_at(terms, found.positions)
                ranker.scores(terms)
                (names,) = ranker.named([analyze(analyzer, query)])
                named = np.array([*names], np.int64)
                ((_, counted),) = ranker.find([analyze(analyzer, query)])
                ranker.rank_all([counted], 5, None)()
                for positions in (found.positions, named, ranker.rank(counted, 5).positions):
                    if len(positions) and not 0 <= positions.min() <= positions.max() < ranker.size:
                        raise AssertionError("a position is outside of the index")


def flip_bit(file: Path, bit: int) -> None:
    """Flip a bit of a file, whose size and time stay."""
    status = file.stat()
    with file.open("r+b") as data:
        data.seek(bit // 8)
        (byte,) = data.read(1)
        data.seek(bit // 8)
        data.write(bytes([byte ^ 1 << bit % 8]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def try_flip(template: Template, draw: random.Random) -> Counter[str]:
    """Flip one bit; what a corpus found before and after the check."""
    template.restore()
    counts = Counter[str]()
    file = draw.choice(sorted((template.folder / "segments").iterdir()))
    flip_bit(file, draw.randrange(8 * file.stat().st_size))
    with shortlist.open_corpus(template.folder, EMBEDDER) as corpus:
        try:
            is_right = answers(corpus) == template.expected
            counts["right before the check" if is_right else "wrong before the check"] += 1
        except ShortlistError:
            counts["refused before the check"] += 1
        segment_checks.wait()
        counts["right after the check" if answers(corpus) == template.expected else "wrong after the check"] += 1
    counts["noticed" if not file.exists() else "not noticed: in the padding between arrays"] += 1
    return counts


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.repairs = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.repairs += "was rebuilt" in record.getMessage()
