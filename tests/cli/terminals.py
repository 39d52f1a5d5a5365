"""Commands in a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest

from tests.cli.conftest import COMMAND, Shell

pytestmark = pytest.mark.process


def read_terminal(ours: int, theirs: int) -> str:
    """All that is written to a terminal until the last process that has it open ends."""
    os.close(theirs)
    written = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        written += data
    os.close(ours)
    return written.decode()


def in_a_terminal(shell: Shell, *arguments: str, **environment: str) -> str:
    """What a command writes to a terminal, with all its escapes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=shell.folder,
        env=shell.environment | {"TERM": "xterm-256color"} | environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    written = read_terminal(ours, theirs)
    process.wait(timeout=60)
    return written


def wait_for(something: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not something():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


class Terminal:
    """A command in a pseudo-terminal."""

    def __init__(self, shell: Shell, *arguments: str, **environment: str) -> None:
        self.screen = ""
        self.pid, self._file = pty.fork()
        if self.pid == 0:  # pragma: no cover
            os.chdir(shell.folder)
            os.execvpe(sys.executable, [*COMMAND, *arguments], {**shell.environment, "TERM": "dumb", **environment})

    def send(self, text: str) -> None:
        os.write(self._file, text.encode())

    def wait_for(self, text: str, seconds: float = 60) -> str:
        """What has come since the last wait, up to this text."""
        ends = time.monotonic() + seconds
        while text not in self.screen:
            assert time.monotonic() < ends, f"{text!r} did not come: {self.screen!r}"
            if select.select([self._file], [], [], 0.1)[0]:
                self.screen += os.read(self._file, 65536).decode(errors="replace")
        seen, self.screen = self.screen.split(text, 1)
        return seen + text

    def interrupt_until(self, text: str) -> None:
        """Press Ctrl-C until this comes: Python may miss one that comes just before it begins to read a line."""
        for _ in range(30):
            self.send("\x03")
            with suppress(AssertionError):
                self.wait_for(text, seconds=2)
                return
        raise AssertionError(f"{text!r} did not come: {self.screen!r}")

    def end(self) -> int:
        try:
            while read := os.read(self._file, 65536):
                self.screen += read.decode(errors="replace")
        except OSError:  # the other side is closed
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self._file)
        return os.waitstatus_to_exitcode(status)
