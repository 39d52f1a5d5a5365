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

from bench import report
from shortlist.index.storage import segment
from tests.index.storage.corrupted_segments import Template, small_tables, try_flip

FLIPS_PER_PROCESS = 25


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
