"""Corrupted segments with valid checksums: none may crash a loop, or raise an error that is not ours.

`python -m bench segments [COUNT [SEED]]`; `make sanitize` runs it with the loops compiled by AddressSanitizer and
UndefinedBehaviorSanitizer.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from bench import report
from tests.index.storage.corrupted_segments import Fuzzer, small_tables


def run(arguments: list[Path]) -> None:
    count, seed = (int(str(text)) for text in (*arguments, *("20000", "0")[len(arguments) :]))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, small_tables():
        fuzzer = Fuzzer(Path(folder), seed)
        for number in range(count):
            try:
                fuzzer.run(number)
            except Exception:
                print(f"Input {number} of seed {seed} failed.", file=sys.stderr)
                raise
            if (number + 1) % 1000 == 0:
                print(
                    f"{number + 1:,} inputs, {(number + 1) / (time.perf_counter() - began):.0f} per second", flush=True
                )
    sanitizers = "libasan" in os.environ.get("LD_PRELOAD", "")
    report.save("segments", {"inputs": count, "seed": seed, "sanitizers": sanitizers, "failures": 0, **fuzzer.counts})


if __name__ == "__main__":
    run([Path(text) for text in sys.argv[1:]])
