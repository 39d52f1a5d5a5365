"""Starts the processes of a soak run, lets faults happen, and collects what the processes report."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.soak.disk import Disk
from bench.soak.processes import MARK, find_processes, kill, measure, subtree

# Mean seconds between two events of a kind.
EVERY = {"kill": 3.0, "disk": 20.0, "damage": 8.0, "clock": 12.0}
DISK_FAULTS = ("full disk", "read-only disk", "power cut")
FAULT_SECONDS = (4.0, 8.0)  # that a disk stays full or read-only
SAMPLE_SECONDS = 5.0
SILENCE_SECONDS = 240.0  # without a report from a process that is not under a fault: it hangs
START_SECONDS = 180.0
STOP_SECONDS = 60.0
MOST_KEPT = 50  # violations in the report
JUMPS = (0, -7_200, 7_200, -300_000, 40_000_000, -600_000_000)  # seconds
HERE = Path(__file__).parent

# What may grow in the second half of a run of at least ten minutes.
JUDGED_FROM = 10.0  # minutes
MOST_MB, MOST_SHARE = 24.0, 0.10
MOST_HANDLES = 8
LARGEST_LOG = 64 << 20  # bytes: four times the size to which a write-ahead log is truncated

KILLED_ROLES = {"writer", "reader", "syncer", "command", "service", "gateway", "upstream"}


@dataclass
class Job:
    """A process that is started again whenever it ends."""

    name: str
    role: str
    home: str
    command: list[str]
    spared: bool = False
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    number: int = 0  # of the fault when it was started
    expected_end: bool = False
    last_report: float = field(default_factory=time.monotonic)


class Soak:
    """One run, in a folder of its own."""

    def __init__(self, folder: Path, minutes: float, seed: int, servers: Path | None) -> None:
        self._folder, self._minutes, self._seed = folder, minutes, seed
        self._draw = random.Random(seed)
        self._mark = uuid.uuid4().hex
        self._homes = {"steady": folder / "steady", "volume": folder / "volume"}
        for name in ("events", "logs", "ledgers", "home", *self._homes):
            (folder / name).mkdir(parents=True)
        self._disk = Disk(folder / "disk.img", self._homes["volume"])
        self._fault, self._fault_number, self._fault_ends = "", 0, 0.0
        self._next_faults: list[str] = []
        self._set_fault("")
        self._left_out: dict[str, str] = {}
        self._servers = servers
        self._jobs: list[Job] = []
        self._offsets: dict[str, int] = {}
        self._active: set[str] = set()  # the jobs that have done something
        self.operations: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()  # by the gateway, and operations whose process was killed
        self.kills: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.errors: dict[str, Counter[str]] = defaultdict(Counter)
        self.examples: dict[str, str] = {}
        self.violations: list[dict[str, Any]] = []
        self._series: dict[tuple[str, int], list[tuple[float, float, int]]] = defaultdict(list)
        self._largest_log = 0
        self._began = time.monotonic()

    def run(self) -> dict[str, Any]:
        """All figures. Ctrl-C ends the run early."""
        was_interrupted = False
        for stop in (signal.SIGINT, signal.SIGTERM):  # a shell may have told a background process to ignore Ctrl-C
            signal.signal(stop, signal.default_int_handler)
        checks: dict[str, Any] = {}
        self._has_disk = self._mount()
        try:
            try:
                self._prepare()
                self._start_all()
                self._loop()
            except KeyboardInterrupt:
                was_interrupted = True
                print("Interrupted; the run ends and is checked.", flush=True)
            minutes = (time.monotonic() - self._began) / 60
            self._end_fault()
            self._stop()
            checks = {home: self._check(home) for home in self._homes}
        finally:
            kill([process.pid for process in find_processes(self._mark)])
            if self._has_disk:
                self._disk.unmount()
        return self._figures(minutes, was_interrupted, checks)

    # Start

    def _mount(self) -> bool:
        if reason := self._disk.create():
            self._left_out |= dict.fromkeys(DISK_FAULTS, reason)
        for fault, why in self._left_out.items():
            print(f"Left out: {fault} ({why})", flush=True)
        return not reason

    def _environment(self, role: str, home: str, spared: bool) -> dict[str, str]:
        place = self._homes[home]
        ours = {f"SHORTLIST_{kind.upper()}_DIR": str(place / kind) for kind in ("data", "config", "cache")}
        soak = {MARK: self._mark, "SOAK_ROLE": role, "SOAK_HOME": home, "SOAK_SPARED": str(int(spared))}
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith("SHORTLIST_")},
            "HOME": str(self._folder / "home"),
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": f"{HERE.parents[1]}{os.pathsep}{HERE / 'clock'}",
            "SOAK_CLOCK": str(self._folder / "clock"),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            **ours,
            **soak,
        }

    def _prepare(self) -> None:
        (self._folder / "clock").write_text("0")
        for home in self._homes:
            self._call(home, "bench.soak.actors", "prepare", f"prepare-{home}", str(self._folder), home, "0")
            self._add(home, "writer-a", "writer", "a", spared=home == "steady")
            self._add(home, "writer-b", "writer", "b")
            self._add(home, "reader", "reader", spared=home == "steady")
            self._add(home, "syncer", "syncer")
            port = str(_free_port())
            spared = home == "steady"
            command = [sys.executable, "-m", "shortlist", "serve", "--port", port, "--workers", "1"]
            command += ["--documents", str(self._folder / f"catalog-{home}.json"), "-c", "shared,files"]
            (self._folder / f"catalog-{home}.json").write_text('{"documents": []}')
            self._jobs.append(Job(f"{home}-service", "service", home, command, spared))
            self._add(home, "client", "client", port, str(int(spared)), module="clients", spared=True)
            config = self._write_servers(home)
            self._add(home, "agent", "agent", str(config), str(int(spared)), module="clients", spared=spared)
        self._add("steady", "reader-b", "reader")
        self._add("volume", "command", "command")

    def _add(
        self, home: str, name: str, kind: str, *options: str, module: str = "actors", spared: bool = False
    ) -> None:
        full = f"{home}-{name}"
        command = [sys.executable, "-m", f"bench.soak.{module}", kind, full, str(self._folder), home, "SEED", *options]
        self._jobs.append(Job(full, kind, home, command, spared))

    def _write_servers(self, home: str) -> Path:
        """The configuration of the gateway, with a mark for its servers, which get no other variables."""
        path = self._folder / f"servers-{home}.json"
        entries: dict[str, Any] = {"echo": {"command": sys.executable, "args": ["-m", "bench.soak.echo_server"]}}
        if self._servers:
            entries = json.loads(self._servers.read_text())["mcpServers"]
        marks = {MARK: self._mark, "SOAK_ROLE": "upstream", "SOAK_HOME": home}
        marks["PYTHONPATH"] = str(HERE.parents[1])
        for entry in entries.values():
            entry["env"] = entry.get("env", {}) | marks
        path.write_text(json.dumps({"mcpServers": entries}))
        return path

    def _call(self, home: str, module: str, *arguments: str) -> str:
        """The output of a program that must succeed."""
        command, environment = [sys.executable, "-m", module, *arguments], self._environment("check", home, True)
        with (self._folder / "logs" / f"{home}-{module}.log").open("ab") as log:
            done = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, stderr=log, cwd=self._folder, check=True
            )
        return done.stdout.decode()

    def _start(self, job: Job) -> None:
        seed = f"{self._seed} {job.name} {job.starts}"
        command = [seed if part == "SEED" else part for part in job.command]
        with (self._folder / "logs" / f"{job.name}.log").open("ab") as log:
            job.process = subprocess.Popen(
                command,
                env=self._environment(job.role, job.home, job.spared),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        job.starts, job.number, job.expected_end = job.starts + 1, self._fault_number, False
        job.last_report = time.monotonic()

    # The run

    def _start_all(self) -> None:
        """Start all processes, and wait until each has done something."""
        for job in self._jobs:
            self._start(job)
        ends = time.monotonic() + START_SECONDS
        while waiting := [job.name for job in self._jobs if job.role != "service" and job.name not in self._active]:
            if time.monotonic() > ends:
                self._add_violation(f"not started in {START_SECONDS:g} seconds: {', '.join(waiting)}")
                return
            self._restart_ended()
            self._read_events()
            time.sleep(0.1)

    def _loop(self) -> None:
        events: dict[str, Callable[[], None]] = {"kill": self._kill_one, "damage": self._damage, "clock": self._jump}
        events |= {"disk": self._begin_fault} if self._has_disk else {}
        now = self._began = time.monotonic()
        due = {name: now + self._pause(name) for name in events}
        next_sample, next_line, ends = now, now + 60, now + 60 * self._minutes
        while (now := time.monotonic()) < ends:
            for name, event in events.items():
                if now >= due[name]:
                    event()
                    due[name] = time.monotonic() + self._pause(name)
            if self._fault and now >= self._fault_ends:
                self._end_fault()
            self._restart_ended()
            self._read_events()
            if now >= next_sample:
                self._sample()
                next_sample = now + SAMPLE_SECONDS
            if now >= next_line:
                self._show(now)
                next_line += 60
            time.sleep(0.1)
        self._show(ends)

    def _pause(self, name: str) -> float:
        return min(self._draw.expovariate(1 / EVERY[name]), 4 * EVERY[name])

    def _show(self, now: float) -> None:
        minute, done = (now - self._began) / 60, sum(self.operations.values())
        faults = "".join(f"{count} {name}, " for name, count in sorted(self.faults.items()))
        counts = f"{done:,} operations, {self.kills.total()} kills, {faults}{len(self.violations)} violations"
        print(f"minute {minute:.1f}: {counts}", flush=True)

    def _kill_one(self) -> None:
        """Kill any process, except those that are spared, and the clients that keep the ledgers of the service."""
        processes = [*find_processes(self._mark)]
        possible = [one for one in processes if one.role in KILLED_ROLES and (one.role == "upstream" or not one.spared)]
        if not possible:
            return
        victim = self._draw.choice(possible)
        job = next((job for job in self._jobs if job.process and job.process.pid == victim.pid), None)
        if job:
            job.expected_end = True
        kill(subtree(victim.pid, processes) if job and victim.role != "service" else [victim.pid])
        self.kills[victim.role if job or victim.role in ("gateway", "upstream") else f"{victim.role}, child"] += 1

    def _damage(self) -> None:
        """Flip bytes of a segment file, cut it or delete it. It is derived, so nothing is lost.

        As with bit rot, a flip changes neither the size nor the time of the file.
        """
        files = [path for home in self._homes.values() for path in home.glob("data/*/*/**/segments/*.seg")]
        if not files:
            return
        path, how = self._draw.choice(files), self._draw.choice(("flip", "cut", "delete"))
        try:
            if how == "delete":
                path.unlink()
            else:
                status, data = path.stat(), bytearray(path.read_bytes())
                data[self._draw.randrange(len(data))] ^= 0xFF
                path.write_bytes(data if how == "flip" else data[: len(data) // 2])
                if how == "flip":
                    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        except (OSError, ValueError):  # merged meanwhile, empty, or on a disk with a fault
            return
        self.faults["damaged segment"] += 1

    def _jump(self) -> None:
        (self._folder / "clock").write_text(str(self._draw.choice(JUMPS)))
        self.faults["clock jump"] += 1

    def _begin_fault(self) -> None:
        if self._fault:
            return
        self._next_faults = self._next_faults or self._draw.sample(DISK_FAULTS, len(DISK_FAULTS))
        fault = self._next_faults.pop()
        self._set_fault(fault)
        self.faults[fault] += 1
        if fault == "full disk":
            self._disk.fill()
        elif fault == "read-only disk":
            self._disk.make_read_only()
        else:
            self._disk.cut_power()
        seconds = self._draw.uniform(*FAULT_SECONDS) if fault != "power cut" else 0.5
        self._fault_ends = time.monotonic() + seconds

    def _end_fault(self) -> None:
        if self._fault == "full disk":
            self._disk.free()
        elif self._fault:  # a file system that failed is mounted again, and no process may use it then
            roles = KILLED_ROLES - {"upstream"}
            kill([one.pid for one in find_processes(self._mark) if one.home == "volume" and one.role in roles])
            for job in self._jobs:
                job.expected_end |= job.home == "volume" and job.role in roles
            self._disk.mount_again()
        self._set_fault("")

    def _set_fault(self, fault: str) -> None:
        self._fault, self._fault_number = fault, self._fault_number + 1
        draft = self._folder / "fault.draft"
        draft.write_text(json.dumps([self._fault_number, fault]))
        draft.replace(self._folder / "fault")

    def _restart_ended(self) -> None:
        for job in self._jobs:
            if job.process is not None and (status := job.process.poll()) is not None:
                had_fault = job.home == "volume" and (self._fault or job.number != self._fault_number)
                if not job.expected_end and not had_fault:
                    text = (self._folder / "logs" / f"{job.name}.log").read_text(errors="replace")[-3000:]
                    self._add_violation(f"{job.name} ended with status {status}", text)
                self._start(job)

    def _add_violation(self, what: str, details: str = "") -> None:
        minute = round((time.monotonic() - self._began) / 60, 2)
        self.violations.append({"minute": minute, "what": what, "details": details, "fault": self._fault})
        print(f"minute {minute}: VIOLATION: {what[:500]}", flush=True)

    def _read_events(self) -> None:
        now = time.monotonic()
        for job in self._jobs:
            path = self._folder / "events" / f"{job.name}.jsonl"
            if job.role == "service" or not path.exists():
                continue
            with path.open() as file:
                file.seek(self._offsets.get(job.name, 0))
                while (line := file.readline()).endswith("\n"):
                    self._offsets[job.name] = file.tell()
                    event = json.loads(line)
                    self._take(event)
                    if event.get("counts"):
                        self._active.add(job.name)
                    job.last_report = now
            if self._fault and job.home == "volume":
                job.last_report = now
            if now - job.last_report > SILENCE_SECONDS:
                self._add_violation(f"{job.name} did not report for {SILENCE_SECONDS:g} seconds")
                job.last_report = now

    def _take(self, event: dict[str, Any]) -> None:
        for name, count in event.get("counts", {}).items():
            (self.refusals if name.startswith(("refused", "interrupted")) else self.operations)[name] += count
        if "error" in event:
            self.errors[event["during"]][event["error"]] += 1
            self.examples.setdefault(
                f"{event['during']}, {event['what']}", event["message"].replace(f"{self._folder}/", "")[:300]
            )
        if "violation" in event:
            self._add_violation(event["violation"], event["details"])

    def _sample(self) -> None:
        now = time.monotonic() - self._began
        for process in find_processes(self._mark):
            if process.spared and process.role in ("writer", "reader", "service", "gateway"):
                measured = measure(process.pid)
                if measured:
                    self._series[(process.role, process.pid)].append((now, *measured))
        for home in self._homes.values():
            for path in home.glob("data/**/*-wal"):
                try:
                    self._largest_log = max(self._largest_log, path.stat().st_size)
                except OSError:
                    continue

    # End

    def _stop(self) -> None:
        """End all processes as their users would, and look for those that stay."""
        for roles in (("writer", "reader", "syncer", "command", "client", "agent"), ("service",)):
            waiting = [job for job in self._jobs if job.role in roles and job.process and job.process.poll() is None]
            for job in waiting:
                assert job.process
                job.process.send_signal(signal.SIGTERM)
            for job in waiting:
                assert job.process
                try:
                    status = job.process.wait(STOP_SECONDS)
                    if status not in (0, -signal.SIGTERM) and not (job.expected_end and status == -signal.SIGKILL):
                        self._add_violation(f"{job.name} ended with status {status} when it was stopped")
                except subprocess.TimeoutExpired:
                    self._add_violation(f"{job.name} did not stop in {STOP_SECONDS:g} seconds")
        self._read_events()
        ends = time.monotonic() + 15
        while (left := [*find_processes(self._mark)]) and time.monotonic() < ends:
            time.sleep(0.2)
        if left:
            self._add_violation(f"processes are left: {left}")
        for log in sorted((self._folder / "logs").glob("*.log")):
            text = log.read_text(errors="replace")
            if "Traceback (most recent call last)" in text:
                at = text.index("Traceback (most recent call last)")
                count = text.count("Traceback (most recent call last)")
                self._add_violation(f"{log.name} has {count} tracebacks", text[max(0, at - 300) : at + 3000])

    def _check(self, home: str) -> Any:
        try:
            result = json.loads(self._call(home, "bench.soak.checks", str(self._folder), home))
        except (subprocess.CalledProcessError, ValueError) as error:
            self._add_violation(f"the checks of {home} failed: {error}")
            return {}
        for violation in result["violations"]:
            self._add_violation(violation)
        return result["figures"]

    def _figures(self, minutes: float, was_interrupted: bool, checks: dict[str, Any]) -> dict[str, Any]:
        growth = {f"{role} {pid}": _fit(series, minutes) for (role, pid), series in self._series.items()}
        for name, row in growth.items():
            if minutes < JUDGED_FROM or "MB in the second half" not in row:
                continue
            if row["MB in the second half"] > max(MOST_MB, MOST_SHARE * row["MB at the end"]):
                self._add_violation(f"the memory of {name} grows: {row}")
            if row["open files in the second half"] > MOST_HANDLES:
                self._add_violation(f"the open files of {name} grow: {row}")
        if self._largest_log > LARGEST_LOG:
            self._add_violation(f"a write-ahead log had {self._largest_log:,} bytes")
        print(f"{len(self.violations)} violations", flush=True)
        return {
            "minutes": round(minutes, 1),
            "seed": self._seed,
            "interrupted": was_interrupted,
            "left out": self._left_out,
            "MCP servers": sorted(json.loads((self._folder / "servers-steady.json").read_text())["mcpServers"]),
            "operations": dict(sorted(self.operations.items())),
            "operations in all": sum(self.operations.values()),
            "interrupted and refused": dict(sorted(self.refusals.items())),
            "starts": {job.name: job.starts for job in self._jobs},
            "kills": dict(self.kills),
            "faults": dict(self.faults),
            "errors during faults": {fault: dict(counts) for fault, counts in self.errors.items()},
            "examples of errors": self.examples,
            "growth": growth,
            "largest write-ahead log, bytes": self._largest_log,
            "checks at the end": checks,
            "violations": len(self.violations),
            "details": self.violations[:MOST_KEPT],
        }


def _fit(series: list[tuple[float, float, int]], minutes: float) -> dict[str, float]:
    """Memory and open files of one process, and their growth in the second half of the run, by a linear fit."""
    row: dict[str, float] = {
        "MB at first": round(series[0][1], 1),
        "MB at the end": round(series[-1][1], 1),
        "open files at the end": series[-1][2],
    }
    half = 60 * minutes / 2
    late = np.array([point for point in series if point[0] >= half])
    if len(late) >= 5 and series[0][0] < half:
        seconds = late[:, 0]
        for column, name in ((1, "MB in the second half"), (2, "open files in the second half")):
            slope = float(np.polyfit(seconds, late[:, column], 1)[0])
            row[name] = round(slope * half, 2)
    return row


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
