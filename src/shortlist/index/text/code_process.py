"""Cuts source code in a process of its own, as a grammar may crash, hang or fill the memory; then code is text."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading

from shortlist.index.text.source_code import GRAMMARS, MAX_BYTES, CodeSection, find_sections
from shortlist.safety import processes

SECONDS = 10.0  # for a file
IDLE_SECONDS = 60.0  # after which a process without work ends itself
MEMORY = 1 << 30  # bytes of the process

_lock = threading.Lock()
_child: subprocess.Popen[bytes] | None = None
_owner = 0  # the process that started it: a fork must not use it


def request_sections(text: str, suffix: str, size: int) -> list[CodeSection]:
    """What `find_sections` finds; empty if the code cannot be cut, within the limits."""
    if not _has_grammar(suffix) or len(text) > MAX_BYTES or not sys.executable or getattr(sys, "frozen", False):
        return []
    request = json.dumps([text, suffix, size]).encode() + b"\n"
    with _lock:
        for _ in range(2):  # it may have ended itself a moment ago
            child = _get_child()
            assert child.stdin
            assert child.stdout
            with contextlib.suppress(OSError):
                child.stdin.write(request)
                child.stdin.flush()
                if child.stdout.readline():  # it has begun
                    answer = child.stdout.readline()
                    return [CodeSection(*section) for section in json.loads(answer)] if answer else []
            close()
    return []


@atexit.register
def close() -> None:
    """End the process."""
    global _child
    child, _child = _child, None
    if child and _owner == os.getpid():
        processes.end_worker(child)


def _has_grammar(suffix: str) -> bool:
    module, _ = GRAMMARS.get(suffix, ("", ""))
    return bool(module and importlib.util.find_spec("tree_sitter") and importlib.util.find_spec(module))


def _get_child() -> subprocess.Popen[bytes]:
    global _child, _owner
    if _child is None or _owner != os.getpid() or _child.poll() is not None:
        close()
        _owner = os.getpid()
        _child = processes.start_worker(__name__)
    return _child


# In the process that cuts


def main() -> None:
    """Answer the requests on stdin, each a line, until it ends. The timer of `faulthandler` needs no help of Python."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the parent ends this one
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415  # not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        faulthandler.dump_traceback_later(IDLE_SECONDS, exit=True)
        if not (line := sys.stdin.buffer.readline()):
            return
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        _write(b"\n")
        try:
            sections = find_sections(*json.loads(line))
        except Exception:  # such as code that is nested too deep: it is text
            sections = []
        _write(json.dumps(sections).encode() + b"\n")


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
