"""Flips single bits of mapped segments, keeping size and time: no crash, and no wrong result after the check.

`python -m bench flips [COUNT [SEED]]`. Each flip is one bit of a segment file, as bit rot would leave it. A corpus is
opened, searched at once, and again after the background check. Processes are forked, so that a crash is counted.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import shortlist
from bench import report
from bench.segment_fuzz import EMBEDDER, Template, answers, small_tables
from shortlist import ShortlistError
from shortlist.index.storage import segment, segment_checks

FLIPS_PER_PROCESS = 25


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


def run_many(template: Template, count: int, seed: int) -> Counter[str]:
    """Flip bits in forked processes; a process that dies is a crash."""
    counts = Counter[str]()
    for start in range(0, count, FLIPS_PER_PROCESS):
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            for number in range(start, min(start + FLIPS_PER_PROCESS, count)):
                os.write(writer, json.dumps(try_flip(template, random.Random(f"{seed} {number}"))).encode() + b"\n")
            os._exit(0)
        os.close(writer)
        with open(reader, encoding="utf-8") as lines:
            for line in lines:
                counts.update(json.loads(line))
        counts["crashes"] += os.waitpid(process, 0)[1] != 0
    return counts


def run(arguments: list[Path]) -> None:
    count, seed = (int(str(text)) for text in (*arguments, *("500", "0")[len(arguments) :]))
    logging.getLogger("shortlist").setLevel(logging.ERROR)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, small_tables():
        segment.MAPPED_FROM = 1
        counts = run_many(Template(Path(folder)), count, seed)
    print(f"{count} flips in {time.perf_counter() - began:.0f} s: {dict(counts)}")
    report.save("flips", {"flips": count, "seed": seed, "wrong after the check": 0, **counts})
    if counts["crashes"] or counts["wrong after the check"]:
        raise SystemExit(1)


if __name__ == "__main__":
    run([Path(text) for text in sys.argv[1:]])
