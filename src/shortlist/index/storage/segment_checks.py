"""Compares mapped segments with their checksums in the background, once for each corpus that is open.

Bit rot changes neither the size nor the time of a file, and reading a large file as a whole takes too long before a
first search. One thread of the process reads such files at half the speed of the disk, beginning a second after they
were opened, so that a short command is not slowed down.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from queue import Queue

DELAY_SECONDS = 1.0

# When to begin, and what to do with a function that pauses.
_Check = tuple[float, Callable[[Callable[[float], object]], None]]
_waiting: Queue[_Check]
_thread: threading.Thread | None


def _reset() -> None:
    """Begin without a thread: none survives a fork."""
    global _waiting, _thread
    _waiting, _thread = Queue(), None


_reset()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)


def begin(check: Callable[[Callable[[float], object]], None]) -> None:
    """Let the thread do a check later; the check calls its argument with the seconds that each step took."""
    global _thread
    _waiting.put((time.monotonic() + DELAY_SECONDS, check))
    if _thread is None:
        _thread = threading.Thread(target=_work, name="segment checks", daemon=True)
        _thread.start()


def wait() -> None:
    """Wait until all checks are done."""
    _waiting.join()


def _work() -> None:
    waiting = _waiting
    while True:
        due, check = waiting.get()
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            check(time.sleep)
        finally:
            del check  # it may be the last one to refer to a corpus
            waiting.task_done()
