"""A small disk in a file, which can fill up, become read-only and lose its power. Needs root on Linux."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

MEGABYTES = 192
SHUTDOWN, WITHOUT_FLUSH = 0x8004587D, 2  # EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
REPAIRED = 1  # the exit code of e2fsck
PATIENCE = 20.0  # seconds until no process uses the disk any more


class Disk:
    """An ext4 file system, mounted on a folder."""

    def __init__(self, image: Path, folder: Path) -> None:
        self._image, self._folder = image, folder
        self._filler = folder / "filler"

    def create(self) -> str:
        """Create and mount it, or explain why that is not possible."""
        if os.geteuid() != 0:
            return "needs root"
        if shutil.which("mkfs.ext4") is None:
            return "needs mkfs.ext4"
        with self._image.open("wb") as file:
            file.truncate(MEGABYTES << 20)
        try:
            _run("mkfs.ext4", "-q", "-m", "0", "-F", str(self._image))
            self._mount()
        except subprocess.CalledProcessError as error:
            return f"needs loop devices ({error.stderr.strip()})"
        return ""

    def fill(self) -> None:
        with contextlib.suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        with contextlib.suppress(OSError), self._filler.open("ab", buffering=0) as file:
            while True:  # the last blocks
                file.write(bytes(512))

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def make_read_only(self) -> None:
        """As the kernel does after an error of the device: files that are open for writing are read-only too."""
        _run("mount", "-o", "remount,abort", str(self._folder))

    def cut_power(self) -> None:
        """Lose everything that was not synced."""
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
        finally:
            os.close(folder)

    def mount_again(self) -> None:
        """After a fault, once no process uses the disk. It is checked first, since a failed one loses free space."""
        self.unmount()
        check = subprocess.run(["e2fsck", "-fy", str(self._image)], capture_output=True, text=True, check=False)
        if check.returncode > REPAIRED:
            raise OSError(f"The disk cannot be repaired: {check.stdout}")
        self._mount()

    def unmount(self) -> None:
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                _run("umount", str(self._folder))
                return
            except subprocess.CalledProcessError as error:
                if "not mounted" in error.stderr:
                    return
                if time.monotonic() > ends:
                    raise
            time.sleep(0.1)

    def _mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self._folder))
        self.free()  # a power cut may undo that


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
