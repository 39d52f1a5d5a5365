"""How do all processes of a test run use one server? A keeper starts it, and stops it when the last of them is gone.

Whoever uses the server holds a shared lock on one file; the keeper waits for the exclusive lock on it. A lock ends with
its process, so the server is stopped however the tests end.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.archive import locked
from tests.servers.cluster import start

ROOT = Path(__file__).parents[2]


@contextmanager
def shared(kind: str, folder: Path) -> Iterator[str]:
    """The address of the one server of this kind that everybody with this folder uses."""
    address, keeper = folder / f"{kind}.url", None
    with (folder / f"{kind}.users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with locked(folder / f"{kind}.starting"):
            if not address.exists():
                keeper = _start_keeper(kind, folder, address)
        yield address.read_text("utf-8")
    if keeper is not None:
        keeper.wait()


def keep(kind: str, folder: Path) -> None:
    """Run the server for as long as anybody uses it."""
    address, written = folder / f"{kind}.url", folder / f"{kind}.url.new"
    with (folder / f"{kind}.users").open("w") as users, start(kind) as cluster:
        written.write_text(cluster.urls[0], "utf-8")
        written.rename(address)
        fcntl.flock(users, fcntl.LOCK_EX)
        address.unlink()


def _start_keeper(kind: str, folder: Path, address: Path) -> subprocess.Popen[bytes]:
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
            raise RuntimeError(f"{kind} could not be started:\n{log.read_text('utf-8')[-3000:]}")
        time.sleep(0.1)
    return keeper
