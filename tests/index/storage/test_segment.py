"""Segment files: every fault is noticed, none crashes the process."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import CorpusError
from shortlist.index.storage import segment, writer
from shortlist.index.storage.segment import SegmentDamaged
from tests.index.storage.corrupted_segments import (
    EMBEDDER,
    Arrays,
    Fuzzer,
    Template,
    answers,
    flip_bit,
    serialize,
    small_tables,
)

FUZZED = 300


def change(name: str, place: Any, value: Any) -> Callable[[Arrays], Arrays]:
    def changed(arrays: Arrays) -> Arrays:
        array = arrays[name].copy()
        array[place] = value(array) if callable(value) else value
        return {**arrays, name: array}

    return changed


def cut(name: str) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, name: arrays[name][:-1]}


FAULTS = {
    "starts do not begin at 0": change("starts", 0, 1),
    "starts below 0": change("starts", 0, -1),
    "starts are not ascending": change("starts", 5, 2**40),
    "starts end after the postings": change("starts", -1, lambda starts: starts[-1] + 1),
    "a passage after the last": change("docs", 3, lambda _: 10**6),
    "a passage as far as possible": change("docs", slice(None), 2_000_000_000),
    "a passage below 0": change("docs", 0, -1),
    "passages of a term are not ascending": lambda arrays: {**arrays, "docs": arrays["docs"][::-1].copy()},
    "keys are not ascending": change("keys", 3, 0),
    "a large count without a place": change("counts", 0, 0),
    "a place without a large count": change("large_places", 0, lambda places: places[0] + 1),
    "a length below 0": change("lengths", (0, 0), -5),
    "sums of other lengths": change("length_sums", 0, 2**60),
    "a name of no passage": change("name_docs", 0, 2**31 - 1),
    "names are not ascending": change("name_keys", 0, 2**64 - 1),
    "a place after its stretch": change("impacts.packed", 0, 64 << 8),
    "skips are not ascending": change("impacts.skips", (0, 1), 2**32 - 1),
    "skips of another term": change("impacts.skips", (-1, -1), lambda skips: skips[-1, -1] - 1),
    "a frequent term after the last": change("impacts.frequent", -1, 10**6),
    "passages are not ascending": change("passages", 1, 1),
    "passages of another segment": change("passages", -1, 10**9),
    "a document below 1": change("documents", 0, -7),
    "a vector that is not a number": change("vectors", (0, 0), np.nan),
    "a rounded vector that is not a number": change("rounded.facts", (0, 1), np.inf),
    "an estimate that is not a number": change("rounded.factors", 0, np.nan),
    **{f"{name} is too short": cut(name) for name in segment._ARRAYS if name != "tfs"},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_segment_with_a_fault_and_a_valid_checksum_is_rebuilt(
    fault: Callable[[Arrays], Arrays], template: Template, caplog: pytest.LogCaptureFixture
) -> None:
    data, checksum = _serialize(fault(template.arrays), template)
    template.install(data, checksum, template.row.size)
    file = template.folder / "segments" / template.row.file
    row = template.row._replace(checksum=checksum, bytes=len(data), written=file.stat().st_mtime_ns)
    with pytest.raises(SegmentDamaged):
        segment.read(file, row, is_trusted=False)
    with shortlist.open_corpus(template.folder, EMBEDDER) as corpus:
        assert answers(corpus) == template.expected
    assert caplog.text.count("was rebuilt") == 1


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_mapped_segment_with_a_fault_does_not_crash_a_search_and_is_not_merged(
    fault: Callable[[Arrays], Arrays], mapped: Template
) -> None:
    data, checksum = _serialize(fault(mapped.arrays), mapped)
    mapped.install(data, checksum, mapped.row.size)
    with shortlist.open_corpus(mapped.folder, EMBEDDER) as corpus:
        with mapped_errors():
            answers(corpus)
        corpus.compact()
        assert corpus.verify()["status"] != "damaged"
        assert answers(corpus) == mapped.expected


def mapped_errors() -> Any:
    return contextlib.suppress(CorpusError)  # the only error that a search may raise before the check


def _serialize(arrays: Arrays, template: Template) -> tuple[bytes, int]:
    return serialize(_Never(), arrays, template.header)


class _Never(random.Random):
    """No strange header."""

    def random(self) -> float:
        return 1.0


HEADERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "null": lambda header: None,
    "a list": lambda header: [header],
    "nothing": lambda header: {},
    "arrays are a list": lambda header: header | {"arrays": []},
    "a negative length": lambda header: header["arrays"]["docs"].__setitem__(1, [-1]) or header,
    "a huge shape": lambda header: header["arrays"]["docs"].__setitem__(1, [2**62, 2**62]) or header,
    "objects": lambda header: header["arrays"]["docs"].__setitem__(0, "|O") or header,
    "a negative offset": lambda header: header["arrays"]["docs"].__setitem__(2, -64) or header,
    "an offset that is not aligned": lambda header: header["arrays"]["docs"].__setitem__(2, 3) or header,
    "an offset after the end": lambda header: header["arrays"]["docs"].__setitem__(2, 2**40) or header,
    "an array is missing": lambda header: header["arrays"].pop("lengths") and header,
    "another array": lambda header: header["arrays"].update(more=["<i8", [1], 0]) or header,
    "impacts of no formula": lambda header: header["impacts"]["scoring"].update(formula=[]) or header,
    "impacts of a text": lambda header: header | {"impacts": "x"},
    "a scale without an end": lambda header: header["impacts"].update(scale=10**400) or header,
}


@pytest.mark.parametrize("damage", HEADERS.values(), ids=HEADERS)
def test_a_header_of_any_shape_is_noticed(damage: Callable[[dict[str, Any]], Any], template: Template) -> None:
    data, checksum = _serialize(template.arrays, template)
    _, length, _ = segment._PREFIX.unpack_from(data)
    before = segment._align(segment._PREFIX.size + length)
    text = json.dumps(damage(json.loads(data[segment._PREFIX.size : segment._PREFIX.size + length]))).encode()
    prefix = segment._PREFIX.pack(segment.MAGIC, len(text), zlib.crc32(text)) + text
    file = template.folder / "segments" / template.row.file
    file.write_bytes(prefix.ljust(segment._align(len(prefix)), b"\0") + data[before:])
    with pytest.raises(SegmentDamaged):
        segment.read(file, template.row._replace(checksum=checksum))


def test_corrupted_segments_raise_no_error_that_is_not_ours(tmp_path: Path) -> None:
    with small_tables():
        fuzzer = Fuzzer(tmp_path, seed=1)
        for number in range(FUZZED):
            fuzzer.run(number)
    assert fuzzer.counts["refused by its values"] > FUZZED / 4
    assert fuzzer.counts["repaired"] > FUZZED / 20


def test_a_merge_does_not_give_damage_a_valid_checksum(mapped: Template) -> None:
    file = mapped.folder / "segments" / mapped.row.file
    place = file.read_bytes().index(mapped.arrays["vectors"].tobytes())
    flip_bit(file, 8 * place + 3)
    with shortlist.open_corpus(mapped.folder, EMBEDDER) as corpus:
        corpus.compact()
        assert answers(corpus) == mapped.expected


@pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses to truncate a mapped file.")
@pytest.mark.parametrize("size", [0, 4096, 12_000])
def test_a_file_that_is_truncated_while_it_is_mapped_is_rebuilt(size: int, mapped: Template) -> None:
    with shortlist.open_corpus(mapped.folder, EMBEDDER) as corpus:
        assert answers(corpus) == mapped.expected
        for file in (mapped.folder / "segments").iterdir():
            os.truncate(file, min(size, file.stat().st_size // 2))
        with mapped_errors():
            assert answers(corpus) == mapped.expected
        assert answers(corpus) == mapped.expected


@pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses to truncate a mapped file.")
def test_a_merge_of_a_file_that_is_truncated_meanwhile_changes_nothing(
    mapped: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    def truncate_first(parts: Any) -> Any:
        for file in (mapped.folder / "segments").iterdir():
            os.truncate(file, 0)
        return segment.merge(parts)

    with shortlist.open_corpus(mapped.folder, EMBEDDER) as corpus:
        with monkeypatch.context() as patched:
            patched.setattr(writer, "merge", truncate_first)
            with pytest.raises(CorpusError, match="truncated"):
                corpus.compact()
        with mapped_errors():
            answers(corpus)
        assert answers(corpus) == mapped.expected


@pytest.mark.skipif(sys.platform == "win32", reason="There is no such signal.")
def test_a_bus_error_that_is_not_ours_still_ends_the_process(mapped: Template) -> None:
    program = (
        "import mmap, os, sys, shortlist; from shortlist.index.storage import segment; segment.MAPPED_FROM = 1\n"
        "from tests.index.storage.corrupted_segments import EMBEDDER, answers\n"
        "corpus = shortlist.open_corpus(__import__('pathlib').Path(sys.argv[1]), EMBEDDER); answers(corpus)\n"
        "file = open(sys.argv[1] + '/other', 'w+b'); file.write(bytes(100)); file.flush()\n"
        "other = mmap.mmap(file.fileno(), 0); file.truncate(0); print(other[0])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(mapped.folder)], capture_output=True, check=False)
    (mapped.folder / "other").unlink()
    assert done.returncode == -signal.SIGBUS, done.stderr
