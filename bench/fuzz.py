"""Fuzzing of everything that reads what others wrote: no crash, no hang, no traceback, no flood of memory."""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import report

FOUND = Path("build") / "fuzz"  # inputs that failed, with what they caused
CHUNK = 20_000  # inputs of one worker process
SECONDS = 120.0  # for one input, on a busy machine
MEGABYTES = 1_500  # of one worker
SHOWN = 3  # inputs that are saved for one cause
SMALLER_SECONDS = 5.0  # to find a smaller input


def run(arguments: list[Path]) -> None:
    from bench.fuzz_targets import TARGETS

    parser = argparse.ArgumentParser(prog="python -m bench fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="number of inputs of all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=list(TARGETS), metavar="NAME", choices=list(TARGETS))
    parser.add_argument("--minutes", type=float, default=0, help="stop after this time; 0: when all inputs were tried")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--replay", type=Path, metavar="FILE", help="try one saved input on the target of --only")
    options = parser.parse_args([str(argument) for argument in arguments])
    if options.replay:
        data = options.replay.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            _isolate(folder)
            with TARGETS[options.only[0]].open(Path(folder)) as check:
                check(data)
        return
    parts = {name: TARGETS[name].share for name in options.only}
    wanted = {name: max(1, options.inputs * share // sum(parts.values())) for name, share in parts.items()}
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    fuzzing = _Fuzzing(options.seed, wanted, end)
    fuzzing.run(options.workers)
    figures = fuzzing.figures()
    print(json.dumps(figures, indent=2))
    if options.only == list(TARGETS):
        report.save("fuzz", figures)


class _Fuzzing:
    """The chunks that are left, the workers that try them, and what was found."""

    def __init__(self, seed: int, wanted: dict[str, int], end: float) -> None:
        self._seed, self._wanted, self._end = seed, wanted, end
        chunks = [(name, start) for name, count in wanted.items() for start in range(0, count, CHUNK)]
        self._chunks = sorted(chunks, key=lambda chunk: chunk[1] / wanted[chunk[0]])  # all targets advance together
        self._done: Counter[str] = Counter()
        self._seconds: dict[str, float] = dict.fromkeys(wanted, 0.0)
        self._causes: dict[str, Counter[str]] = {name: Counter() for name in wanted}
        self._began = time.monotonic()

    def run(self, workers: int) -> None:
        running: list[_Worker] = []
        try:
            while running or (self._chunks and time.monotonic() < self._end):
                while self._chunks and len(running) < workers and time.monotonic() < self._end:
                    name, start = self._chunks.pop(0)
                    running.append(_Worker(self._seed, name, start, min(start + CHUNK, self._wanted[name])))
                time.sleep(0.2)
                running = [worker for worker in running if not self._collect(worker, time.monotonic() > self._end)]
                self._show(running)
        finally:
            for worker in running:
                worker.check(is_over=True)

    def _collect(self, worker: _Worker, is_over: bool) -> bool:
        """Whether a worker has ended; what it did is counted."""
        if not worker.check(is_over=is_over):
            return False
        self._done[worker.name] += worker.tried
        self._seconds[worker.name] += worker.seconds
        for cause in worker.causes:
            self._note(worker.name, cause)
        if worker.next < worker.end:
            self._chunks.insert(0, (worker.name, worker.next))
        return True

    def _note(self, name: str, cause: dict[str, Any]) -> None:
        self._causes[name][cause["cause"]] += 1
        if (count := self._causes[name][cause["cause"]]) > SHOWN:
            return
        folder = FOUND / name.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', cause['cause'])[:80]}.{count}"
        stem.with_suffix(f".{count}.input").write_bytes(bytes.fromhex(cause["input"]))
        origin = f"seed {self._seed}, input {cause['number']}"
        command = f"python -m bench fuzz --only '{name}' --replay FILE"
        stem.with_suffix(f".{count}.txt").write_text(f"{command}\n{origin}\n\n{cause['details']}\n")
        print(f"\n{name}: {cause['cause']} (input {cause['number']})", flush=True)

    def _show(self, running: list[_Worker]) -> None:
        done = self._done.total() + sum(worker.tried for worker in running)
        total, seconds = sum(self._wanted.values()), time.monotonic() - self._began
        rate = done / seconds
        left = min((total - done) / max(rate, 0.1), self._end - time.monotonic())
        failures = sum(counter.total() for counter in self._causes.values())
        if sys.stderr.isatty():
            bar = "█" * (40 * done // total)
            line = (
                f"{bar:40} {done:,} of {total:,}  {rate:,.0f} a second  {left / 60:.0f} min left  {failures} failures"
            )
            print(f"\r{line}", end="", file=sys.stderr, flush=True)

    def figures(self) -> dict[str, Any]:
        targets = {
            name: {
                "inputs": self._done[name],
                "inputs a second": round(self._done[name] / max(self._seconds[name], 0.001)),
                "failures": dict(self._causes[name]),
            }
            for name in self._wanted
        }
        failures = sum(counter.total() for counter in self._causes.values())
        minutes = round((time.monotonic() - self._began) / 60, 1)
        return {
            "inputs": self._done.total(),
            "failures": failures,
            "minutes": minutes,
            "seed": self._seed,
            "targets": targets,
        }


class _Worker:
    """A process that tries the inputs of a target from a number on. It ends at the first that breaks the process."""

    def __init__(self, seed: int, name: str, start: int, end: int) -> None:
        self.name, self.next, self.end, self.causes = name, start, end, list[dict[str, Any]]()
        self._seed, self._start = seed, start
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz", ignore_cleanup_errors=True)
        place = Path(self._folder.name)
        (place / "progress").write_bytes(start.to_bytes(8, "little"))
        self._progress = (place / "progress").open("rb")
        self._log = (place / "log").open("w+b")
        self._found = place / "found"
        program = f"from bench.fuzz import work; work({seed}, {name!r}, {start}, {end}, {self._folder.name!r})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self._began = self._moved = time.monotonic()

    @property
    def tried(self) -> int:
        return self.next - self._start

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def check(self, *, is_over: bool = False) -> bool:
        """Whether it has ended; one that hangs or takes too much memory is ended."""
        self._progress.seek(0)
        number = int.from_bytes(self._progress.read(8), "little")
        if number != self.next:
            self.next, self._moved = number, time.monotonic()
        status = 0 if is_over else self._process.poll()
        if status is None and time.monotonic() - self._moved > SECONDS:
            return self._end_with("hang")
        if status is None and _memory_of(self._process.pid) > MEGABYTES:
            return self._end_with("memory")
        if status is None:
            return False
        return self._end_with("" if status == 0 else f"the process ended with status {status}")

    def _end_with(self, cause: str) -> bool:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        if self._found.exists():
            self.causes += map(json.loads, self._found.read_text().splitlines())
        if cause:
            self._log.seek(0)
            details = self._log.read()[-5000:].decode(errors="replace")
            data = make_input(self.name, self._seed, self.next)
            self.causes.append({"cause": cause, "number": self.next, "details": details, "input": data.hex()})
            self.next += 1
        self._progress.close()
        self._log.close()
        self._folder.cleanup()
        return True


def _memory_of(process: int) -> float:
    """Megabytes that a process has in memory."""
    with contextlib.suppress(OSError, IndexError):
        return (
            int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1]) * resource.getpagesize() / 2**20
        )
    return 0.0


def make_input(name: str, seed: int, number: int) -> bytes:
    """The same for the same numbers."""
    from bench.fuzz_targets import TARGETS

    return TARGETS[name].make(random.Random(f"{seed} {name} {number}"))


# In a worker


def work(seed: int, name: str, start: int, end: int, place: str) -> None:
    from bench.fuzz_targets import TARGETS

    stack, folder = contextlib.ExitStack(), Path(place, "files")
    folder.mkdir()
    _isolate(place)
    check = stack.enter_context(TARGETS[name].open(folder))
    progress = mmap.mmap(os.open(Path(place, "progress"), os.O_RDWR), 8)
    seen: set[str] = set()
    with Path(place, "found").open("w", encoding="utf-8") as found:
        for number in range(start, end):
            progress[:8] = number.to_bytes(8, "little")
            data = make_input(name, seed, number)
            if problem := try_input(check, data):
                cause, details = problem
                if cause not in seen:
                    seen.add(cause)
                    data = shrink(check, data, cause)
                entry = {"cause": cause, "number": number, "details": details, "input": data.hex()}
                found.write(json.dumps(entry) + "\n")
                found.flush()
    progress[:8] = end.to_bytes(8, "little")
    sys.stdout.flush()
    os._exit(0)  # whatever still runs


def _isolate(place: str) -> None:
    """No target reads or writes what belongs to the user."""
    for kind in ("DATA", "CONFIG", "CACHE"):
        os.environ[f"SHORTLIST_{kind}_DIR"] = str(Path(place, kind.lower()))
    os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = place
    sys.path.insert(0, os.getcwd())
    os.chdir(place)


def try_input(check: Any, data: bytes) -> tuple[str, str] | None:
    """The cause and details of a failure."""
    from shortlist.errors import ShortlistError

    before = os.fstat(2).st_size
    try:
        check(data)
    except ShortlistError as error:
        if not str(error):
            return "an error without a message", traceback.format_exc()
    except Exception as error:
        return f"{type(error).__name__} in {_find_place(error)}", traceback.format_exc()[-5000:]
    if os.fstat(2).st_size > before:
        with open("/proc/self/fd/2", "rb") as log:
            log.seek(before)
            text = log.read().decode(errors="replace")
        if "Traceback" in text:
            last = text.strip().splitlines()[-1]
            return f"a traceback on stderr: {last[:80]}", text[-5000:]
    return None


def _find_place(error: BaseException) -> str:
    """The innermost function of ours."""
    frames = list(_walk_frames(error))
    ours = [frame for frame in frames if f"{os.sep}shortlist{os.sep}" in frame.filename] or frames
    return f"{Path(ours[-1].filename).stem}.{ours[-1].name}" if ours else "?"


def _walk_frames(error: BaseException) -> Iterator[traceback.FrameSummary]:
    yield from traceback.extract_tb(error.__traceback__)


def shrink(check: Any, data: bytes, cause: str) -> bytes:
    """A smaller input with the same cause, as far as there is one near."""
    end, size = time.monotonic() + SMALLER_SECONDS, len(data) // 2
    while size:
        at = 0
        while at < len(data) and time.monotonic() < end:
            smaller = data[:at] + data[at + size :]
            problem = try_input(check, smaller)
            if problem and problem[0] == cause:
                data = smaller
            else:
                at += size
        size //= 2
    return data
