"""Files of someone else that must not be read, and limits for the tests that try to read them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

SECONDS = 60
MORE_MEMORY = 2 << 30
HUGE = 1 << 36  # bytes of a file without content


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """End what does not end by itself, or would fill the memory, with an error."""
    import resource  # not on Windows

    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it does not end")

    before, handler = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGALRM, stop)
    used = int(Path("/proc/self/statm").read_text("utf-8").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY, before[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def make_endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_huge(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE)


UNSAFE = {"endless": make_endless, "pipe": make_pipe, "huge": make_huge}
REASONS = {"endless": "not a regular file", "pipe": "not a regular file", "huge": "is larger than"}
