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
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from shortlist._environment import FILE_MEMORY_MB, FILE_SECONDS, read_variable
from shortlist._limits import ReadLimits, file_limits
from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.safety import processes
from shortlist.sources.decoding import File, explain_error
from shortlist.sources.document_formats import find_reader

CHECK_SECONDS = 0.2  # between two looks at a busy process
IDLE_SECONDS = 30.0  # after which a process without work is ended
ORPHAN_SECONDS = 30.0  # beyond the time limit; then a process ends itself, as its parent must have been killed
MESSAGE_ITEMS, MESSAGE_SECONDS, MESSAGE_CHARACTERS = 100, 0.5, 1_000_000
MAX_CHARACTERS = 50_000_000  # of a document: a small archive may unpack to more than the caller has memory for


_idle: list[_Process] = []


def find_limits() -> ReadLimits:
    """The limits of the service that reads; else what the environment or settings.yaml says, or the defaults."""
    if limits := file_limits.get():
        return limits
    if not any(map(read_variable, (FILE_SECONDS, FILE_MEMORY_MB))) and not os.path.isfile("settings.yaml"):
        return ReadLimits()
    from shortlist._settings import load_file_limits  # noqa: PLC0415  # imports pydantic

    return load_file_limits()


class FileReader:
    """Reads files one after the other in a process, which is ahead of the caller.

    `get_limits` is called before the first of them is sent.
    """

    def __init__(self, files: Iterable[File], get_limits: Callable[[], ReadLimits] = find_limits) -> None:
        self._files, self._get_limits = deque(files), get_limits
        self._process: _Process | None = None

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.release()

    def read_next(self) -> Iterator[Document | Problem]:
        """The documents of the next file."""
        if not sys.executable or getattr(sys, "frozen", False):  # Python cannot be started again
            file = self._files.popleft()
            yield from find_reader(file.path)(file)
            return
        if self._process is None:
            self._process = _take_idle() or _Process()
            self._process.send(self._files, self._get_limits())
        self._files.popleft()
        try:
            yield from self._process.read()
        finally:
            if self._process.has_ended:
                self._process = None


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
        process.end()


class _Process:
    """A process that reads files, and a thread that ends it if it passes a limit or has nothing to do."""

    def __init__(self) -> None:
        self._child = processes.start_worker(__name__)
        self._parent, self._lock, self._limits = os.getpid(), threading.Lock(), ReadLimits()
        self._unread = 0  # files that are not completely read
        self._recognizes = False  # text in pictures, which takes seconds for a page: the time is that of a message then
        self._deadline: float | None = None  # while the caller waits
        self._used = time.monotonic()
        self._is_late = self._is_full = self.has_ended = False
        if not self._readline():
            self.end()
            status = self._child.returncode
            raise SourceError(f"{sys.executable}, which reads this format, ended with status {status} when it started.")
        threading.Thread(target=self._watch, daemon=True).start()

    def is_usable(self) -> bool:
        return self._child.poll() is None and self._parent == os.getpid()  # not inherited by a fork

    def send(self, files: Collection[File], limits: ReadLimits) -> None:
        self._limits, self._unread = limits, len(files)
        self._recognizes = any(file.ocr for file in files)
        request = [limits.seconds, [(str(file.path), file.id, file.source, file.ocr) for file in files]]
        assert self._child.stdin
        with contextlib.suppress(OSError):  # it ended: there is no answer
            self._child.stdin.write(json.dumps(request).encode() + b"\n")
            self._child.stdin.flush()

    def read(self) -> Iterator[Document | Problem]:
        """The documents of the next file that was sent. What the caller does in between takes none of its time."""
        left, is_last = self._limits.seconds, False
        while not is_last:
            self._deadline = end = time.monotonic() + left
            line = self._readline()
            with self._lock:
                self._deadline, left = None, end - time.monotonic()
            if self._is_late or not line.endswith(b"\n"):
                self.end()
                raise SourceError(self._explain_end())
            left = self._limits.seconds if self._recognizes else left
            items, error, is_last = json.loads(line)
            self._unread -= is_last
            yield from map(_decode, items)
            if error:
                raise SourceError(error)

    def release(self) -> None:
        """Keep it for other files, unless the rest of these is not wanted."""
        self._used = time.monotonic()
        if self._unread:
            self.end()
        else:
            _idle.append(self)

    def end(self) -> None:
        self.has_ended = True
        processes.end_worker(self._child)

    def _readline(self) -> bytes:
        assert self._child.stdout
        return self._child.stdout.readline()

    def _watch(self) -> None:
        while self._child.poll() is None:
            time.sleep(CHECK_SECONDS)
            if self._unread:
                self._is_full = _measure_memory(self._child) > self._limits.memory_mb << 20
                with self._lock:
                    self._is_late = self._deadline is not None and time.monotonic() > self._deadline
                    if self._is_full or self._is_late:
                        self._child.kill()
                        return
            elif time.monotonic() - self._used > IDLE_SECONDS:
                with contextlib.suppress(ValueError):  # it is in use again
                    _idle.remove(self)
                    self.end()

    def _explain_end(self) -> str:
        seconds, memory = self._limits
        if self._is_late:
            return _describe_excess(f"{seconds:g} seconds", "file_seconds")
        if self._is_full:
            return _describe_excess(f"{memory} MB of memory", "file_memory_mb")
        status = self._child.returncode
        return f"The process that read it ended with status {status}: a parser crashed. The file may be damaged."


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
    work = _Work()
    threading.Thread(target=work.postpone_end, daemon=True).start()
    for line in sys.stdin.buffer:
        seconds, files = json.loads(line)
        if work.seconds != seconds:
            work.seconds = seconds
            work.set_end()
        for path, id, source, ocr in files:
            work.began = time.monotonic()
            for message in _answer(File(Path(path), id, source, ocr=ocr)):
                work.began = None
                output.write(json.dumps(message).encode() + b"\n")
                output.flush()
                work.began = time.monotonic()
        work.began = None


class _Work:
    """When parsing began, or None while the process waits for its parent, and the time limit."""

    began: float | None = None
    seconds = 0.0

    def postpone_end(self) -> None:
        """End the process if it parses for longer than its parent, which is dead then, would let it.

        The timer of `faulthandler` is one that no parser can stop, though this thread may wait for it.
        """
        known: float | None = 0.0
        while True:
            if self.began is None or self.began != known:
                known = self.began
                self.set_end()
            time.sleep(ORPHAN_SECONDS / 3)

    def set_end(self) -> None:
        faulthandler.dump_traceback_later(self.seconds + ORPHAN_SECONDS, exit=True)


def _answer(file: File) -> Iterator[tuple[list[list[Any]], str, bool]]:
    """Some documents, why there are no more, and whether this is the last message about the file."""
    items: list[list[Any]] = []
    error, sent, characters = "", time.monotonic(), 0
    try:
        for item in find_reader(file.path)(file):
            length = len(item.content) if isinstance(item, Document) else 0
            if length > MAX_CHARACTERS:
                raise SourceError(f"It has a text of more than {MAX_CHARACTERS:,} characters. Split the file.")
            items.append([getattr(item, name) for name in type(item).__slots__])
            characters += length
            is_late = time.monotonic() > sent + MESSAGE_SECONDS
            if is_late or len(items) >= MESSAGE_ITEMS or characters > MESSAGE_CHARACTERS:
                yield items, "", False
                items, sent, characters = [], time.monotonic(), 0
    except Exception as exception:
        error = explain_error(exception)
    yield items, error, True
