"""Reads files that need third-party parsers in a process of its own, which may crash, hang or fill its memory."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.decoding import File, explain_error
from shortlist.sources.document_formats import read_docx, read_html, read_pdf
from shortlist.sources.tables import read_workbook

READERS: dict[str, Callable[[File], Iterator[Document | Problem]]] = {
    ".pdf": read_pdf,
    ".docx": read_docx,
    **dict.fromkeys((".html", ".htm", ".xhtml"), read_html),
    **dict.fromkeys((".xlsx", ".xlsm"), read_workbook),
}

CHECK_SECONDS = 0.2  # between two looks at a busy process
IDLE_SECONDS = 30.0  # after which a process without work is ended
ORPHAN_SECONDS = 60.0  # beyond the time limit; then a process ends itself, as its parent must have been killed
MESSAGE_ITEMS, MESSAGE_SECONDS = 100, 0.5


class ReadLimits(NamedTuple):
    """Limits of reading one file: seconds, and megabytes of memory."""

    seconds: float = 60.0
    memory_mb: int = 2048


limits: ReadLimits | None = None  # None: what the environment or settings.yaml says when a file is first read
_idle: list[_Process] = []


def read_in_process(file: File) -> Iterator[Document | Problem]:
    """The documents of a file, from a process that is started for the first file and reads later ones, too."""
    if not sys.executable or getattr(sys, "frozen", False):  # Python inside another program cannot be started again
        yield from READERS[file.path.suffix.lower()](file)
        return
    process = _take_idle() or _Process()
    try:
        yield from process.read(file, _load_limits())
    finally:
        process.give_back()


def _take_idle() -> _Process | None:
    with contextlib.suppress(IndexError):
        while True:
            process = _idle.pop()
            if process.is_usable():
                return process
    return None


@atexit.register
def close_idle() -> None:
    """End the processes that have nothing to do."""
    while process := _take_idle():
        process.close()


def _load_limits() -> ReadLimits:
    global limits
    if limits is None and (
        any(name.startswith("SHORTLIST_FILE_") for name in os.environ) or os.path.isfile("settings.yaml")
    ):
        from shortlist._settings import load_file_limits  # noqa: PLC0415  # imports pydantic

        limits = ReadLimits(*load_file_limits())
    return limits or ReadLimits()


class _Process:
    """A process that reads one file at a time, and a thread that ends it if it passes a limit or has nothing to do."""

    def __init__(self) -> None:
        program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._parent, self._lock = os.getpid(), threading.Lock()
        self._limits, self._deadline, self._excess = ReadLimits(), 0.0, ""
        self._is_waiting, self._is_busy, self._used = False, False, time.monotonic()
        if not self._child.stdout.readline():  # type: ignore[union-attr]
            raise SourceError(f"The process that reads files ended with status {self._child.wait()} when it started.")
        threading.Thread(target=self._watch, daemon=True).start()

    def is_usable(self) -> bool:
        return self._child.poll() is None and self._parent == os.getpid()  # not inherited by a fork

    def read(self, file: File, limits: ReadLimits) -> Iterator[Document | Problem]:
        self._limits, self._is_busy, left = limits, True, limits.seconds
        request = json.dumps([limits.seconds, str(file.path), file.id, file.source]).encode() + b"\n"
        while self._is_busy:
            self._deadline, self._is_waiting = time.monotonic() + left, True
            answer, request = self._exchange(request), b""
            left = self._deadline - time.monotonic()
            self._is_busy = not answer["is_last"]
            yield from map(_decode, answer["items"])
            if answer["error"]:
                raise SourceError(answer["error"])

    def _exchange(self, request: bytes) -> Any:
        assert self._child.stdin
        assert self._child.stdout
        answer = None
        with contextlib.suppress(OSError, ValueError):  # it ended
            self._child.stdin.write(request)
            self._child.stdin.flush()
            answer = json.loads(self._child.stdout.readline())
        with self._lock:
            self._is_waiting = False
        if answer is None or self._excess:
            self._child.kill()
            status = self._child.wait()
            reason = f"The process that read it ended with status {status}: a parser crashed. The file may be damaged."
            raise SourceError(self._excess or reason)
        return answer

    def give_back(self) -> None:
        self._used = time.monotonic()
        if self._is_busy:  # it failed, or the rest of the file is not wanted
            self.close()
        else:
            _idle.append(self)

    def close(self) -> None:
        if self._is_busy:
            self._child.kill()
        with contextlib.suppress(OSError), self._child:  # closes the pipes, which ends it, and waits
            pass

    def _watch(self) -> None:
        while self._child.poll() is None:
            time.sleep(CHECK_SECONDS)
            with self._lock:
                if self._is_waiting and (excess := self._find_excess()):
                    self._excess = excess
                    self._child.kill()
            if not self._is_busy and time.monotonic() - self._used > IDLE_SECONDS:
                with contextlib.suppress(ValueError):  # it is in use again
                    _idle.remove(self)
                    self.close()

    def _find_excess(self) -> str:
        seconds, memory = self._limits
        if time.monotonic() > self._deadline:
            return _describe_excess(f"{seconds:g} seconds", "file_seconds")
        is_full = _measure_memory(self._child) > memory << 20
        return _describe_excess(f"{memory} MB of memory", "file_memory_mb") if is_full else ""


def _describe_excess(limit: str, key: str) -> str:
    advice = f"If it is not damaged, raise limits.{key} (SHORTLIST_{key.upper()})."
    return f"Reading it takes more than {limit}. {advice}"


def _measure_memory(child: subprocess.Popen[bytes]) -> int:
    """The bytes that a process has in memory; 0 if that is unknown."""
    try:
        if sys.platform == "linux":
            return int(Path(f"/proc/{child.pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        if sys.platform == "win32":
            counters = (ctypes.c_size_t * 10)()  # PROCESS_MEMORY_COUNTERS: two numbers of 32 bits, then sizes
            handle, size = ctypes.c_void_p(int(child._handle)), ctypes.sizeof(counters)
            ctypes.windll.kernel32.K32GetProcessMemoryInfo(handle, ctypes.byref(counters), size)
            return counters[2]  # WorkingSetSize
        shown = subprocess.run(["ps", "-o", "rss=", "-p", str(child.pid)], capture_output=True, check=False)
        return int(shown.stdout) << 10
    except (OSError, ValueError, IndexError):
        return 0


def _decode(item: list[Any]) -> Document | Problem:
    if len(item) == 3:
        return Problem(*item)
    *fields, kind, source, locator, payload = item
    return Document(*fields, kind=kind, source=source, locator=locator, payload=payload)


# In the process that reads


def main() -> None:
    """Answer the requests on stdin, each a line, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the parent ends this one
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # for everything that prints
    output.write(b"ready\n")
    output.flush()
    armed = 0.0
    for line in sys.stdin.buffer:
        seconds, path, id, source = json.loads(line)
        if time.monotonic() > armed + IDLE_SECONDS / 2:
            armed = time.monotonic()
            faulthandler.dump_traceback_later(seconds + ORPHAN_SECONDS, exit=True)
        for message in _answer(File(Path(path), id, source)):
            output.write(json.dumps(message).encode() + b"\n")
            output.flush()


def _answer(file: File) -> Iterator[dict[str, Any]]:
    items: list[list[Any]] = []
    error, sent = "", time.monotonic()
    try:
        for item in READERS[file.path.suffix.lower()](file):
            items.append([getattr(item, name) for name in type(item).__slots__])
            if len(items) >= MESSAGE_ITEMS or time.monotonic() > sent + MESSAGE_SECONDS:
                yield {"items": items, "error": "", "is_last": False}
                items, sent = [], time.monotonic()
    except Exception as exception:
        error = explain_error(exception)
    yield {"items": items, "error": error, "is_last": True}
