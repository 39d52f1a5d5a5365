"""Ends the MCP servers of a process that was killed. A small shell has a pipe to it, and kills them when that closes.

Only the operating system closes the pipe of a process that gets SIGKILL. A signal for the death of a parent exists on
Linux alone, is sent when the thread ends that started the server, and does not reach what the server has started. On
Windows, servers are in a job that ends with its last handle.
"""

from __future__ import annotations

import atexit
import re
import subprocess
import threading

SHELL = "/bin/sh"
WATCH = """
servers=" "
while read -r sign pid; do
  case "$sign" in
    +) servers="$servers$pid " ;;
    -) servers="${servers%% $pid *} ${servers#* $pid }" ;;
  esac
done
for pid in $servers; do kill -9 "-$pid"; done
"""
# A server waits for a line before it begins: until then, the shell may not know it yet.
WAIT = 'read -r line && exec "$@"'
GO = b"\n"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ServerWatcher:
    """The shell and the servers that it knows. Each is the leader of a process group, which is killed as a whole."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shell: subprocess.Popen[bytes] | None = None
        self._pids: set[int] = set()

    def add(self, pid: int) -> None:
        with self._lock:
            self._pids.add(pid)
            self._send(f"+ {pid}")

    def remove(self, pid: int) -> None:
        with self._lock:
            if pid in self._pids:
                self._pids.remove(pid)
                self._send(f"- {pid}")

    def close(self) -> None:
        """End the shell, and with it all servers that were not removed."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._shell is not None:
            self._shell.communicate()  # closes the pipe, and waits
            self._shell = None

    def _send(self, *lines: str) -> None:
        text = "".join(f"{line}\n" for line in lines).encode()
        try:
            if self._shell is None:
                raise BrokenPipeError
            _write(self._shell, text)
        except BrokenPipeError:  # it was not started yet, or killed
            self._end()
            self._shell = subprocess.Popen(
                [SHELL, "-c", WATCH],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,  # what ends our process group must not end it
            )
            _write(self._shell, "".join(f"+ {pid}\n" for pid in self._pids).encode())


def _write(shell: subprocess.Popen[bytes], text: bytes) -> None:
    assert shell.stdin
    shell.stdin.write(text)


def can_wait(environment: dict[str, str]) -> bool:
    """Whether a shell can start a server: it would drop variables whose names it does not support."""
    return all(map(_NAME.fullmatch, environment))


watcher = ServerWatcher()  # of this process
atexit.register(watcher.close)
