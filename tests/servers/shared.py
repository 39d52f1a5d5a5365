"""One server for all processes of a test run. A keeper process starts it, and stops it when no process uses it.

The first process that needs the server starts the keeper. Each process that uses the server holds a shared lock on one
file; the keeper waits for the exclusive lock on it. A lock ends with its process, so the server is stopped however the
tests end. A server that did not start is not started again for the other processes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.archive import locked
from tests.servers.cluster import start

if sys.platform != "win32":
    import fcntl

ROOT = Path(__file__).parents[2]


@contextmanager
def shared(kind: str, folder: Path) -> Iterator[str]:
    """The URL of the one server of this kind for all processes that pass this folder."""
    address, failure, keeper = folder / f"{kind}.url", folder / f"{kind}.failed", None
    with (folder / f"{kind}.users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with locked(folder / f"{kind}.starting"):
            if not address.exists() and not failure.exists():
                keeper = _start_keeper(kind, folder, address, failure)
        if failure.exists():
            raise RuntimeError(f"The {kind} server for the tests did not start: {failure.read_text('utf-8')}")
        yield address.read_text("utf-8")
    if keeper is not None:
        keeper.wait()


def keep(kind: str, folder: Path) -> None:
    """Run the server for as long as a process uses it."""
    address, written = folder / f"{kind}.url", folder / f"{kind}.url.new"
    with (folder / f"{kind}.users").open("w") as users, start(kind) as cluster:
        written.write_text(cluster.urls[0], "utf-8")
        written.rename(address)
        fcntl.flock(users, fcntl.LOCK_EX)
        address.unlink()


def _start_keeper(kind: str, folder: Path, address: Path, failure: Path) -> subprocess.Popen[bytes]:
    """Start the keeper, and wait until the URL of its server is in `address`, or the reason for none in `failure`."""
    log = folder / f"{kind}.log"
    with log.open("w") as out:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.servers", "keep", kind, str(folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    while not address.exists():
        if keeper.poll() is not None:
            failure.write_text(log.read_text("utf-8").strip() or f"its keeper exited with {keeper.returncode}", "utf-8")
            break
        time.sleep(0.1)
    return keeper
