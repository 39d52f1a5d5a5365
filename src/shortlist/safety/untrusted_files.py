"""Reads files that may come from someone else, such as those of a cloned folder.

Only regular files are read, up to a size, and only if their path, links resolved, stays inside a given folder.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from shortlist._paths import data_dir

LARGEST_TEXT = 4 << 20  # bytes of a file that a person writes: a skill, a configuration, a .gitignore
LARGEST_DATA = 256 << 20  # bytes of a file that a program writes: a catalog, a list of cases
NOT_REGULAR = "it is not a regular file"

_CHUNK = 1 << 20


class UnsafeFile(OSError):
    """A file that is not read; `strerror` is the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(0, reason, str(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def read_regular_file(path: Path, *, limit: int = LARGEST_TEXT, root: Path | None = None) -> bytes:
    """The content of a regular file of at most `limit` bytes; with `root`, of one inside that folder.

    A device, a pipe, a larger file and a link that leaves the folder raise `UnsafeFile`; a missing file raises
    `FileNotFoundError`.
    """
    if root is not None:
        check_inside(path, root)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeFile(path, NOT_REGULAR)
        content = bytearray()
        while status.st_size <= limit and len(content) <= limit and (part := os.read(descriptor, _CHUNK)):
            content += part
        if status.st_size > limit or len(content) > limit:
            raise UnsafeFile(path, f"it is larger than {limit:,} bytes")
        return bytes(content)
    finally:
        os.close(descriptor)


def read_text(path: Path, *, limit: int = LARGEST_TEXT, root: Path | None = None) -> str:
    """As `read_regular_file`, as text: UTF-8, with or without a byte order mark, and any line ends."""
    return re.sub(r"\r\n?", "\n", read_regular_file(path, limit=limit, root=root).decode("utf-8-sig"))


def check_inside(path: Path, root: Path) -> None:
    """Raise `UnsafeFile` if the path, links resolved, is outside a folder."""
    if not path.resolve().is_relative_to(root.resolve()):
        raise UnsafeFile(path, f"it is a link that leaves {root}")


def is_in_data_dir(folder: Path) -> bool:
    """Whether a folder is in our data directory, where only this program writes."""
    return folder.resolve().is_relative_to(data_dir().resolve())
