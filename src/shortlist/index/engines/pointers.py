"""The small file in a folder that names the cluster of its corpus, without secrets.

Such a file may come with a folder from someone else. So a cluster that it names is trusted only if the folder is in the
data directory, or if the user has named the same cluster on this machine before, which is stored.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from shortlist._files import locked, replace_text
from shortlist._paths import data_dir
from shortlist.errors import CorpusDamaged, InputError
from shortlist.index.engines.address import Address

FILE = "engine.json"
NAMED = "engines.json"  # in the data directory: the clusters that the user named for folders outside of it


class Pointer(NamedTuple):
    """A cluster, and the name of a corpus in it."""

    address: Address
    name: str


def read(folder: Path) -> Pointer | None:
    """What a folder points to; None if it stores its corpus itself, or does not exist."""
    try:
        text = (folder / FILE).read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        pointer = json.loads(text)
        address, name = Address.parse(pointer["engine"]), str(pointer["name"])
    except (ValueError, KeyError, TypeError, InputError) as error:
        raise CorpusDamaged(
            f"{folder / FILE} is damaged ({error}). Nothing was overwritten. Delete it, and open the corpus once with "
            f"engine=ADDRESS."
        ) from None
    return Pointer(replace(address, trusted=_is_ours(folder) or _key(address) in _read_named()), name)


def write(folder: Path, address: Address, name: str) -> None:
    if address.trusted and not _is_ours(folder) and _key(address) not in _read_named():
        file = data_dir() / NAMED
        with locked(file.with_suffix(".lock")):
            replace_text(file, json.dumps(sorted({*_read_named(), _key(address)})))
    known = read(folder)
    if known is None or (str(known.address), known.name) != (str(address), name):
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / FILE, f"{json.dumps({'engine': str(address), 'name': name})}\n")


def forget(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)


def _is_ours(folder: Path) -> bool:
    return folder.resolve().is_relative_to(data_dir().resolve())


def _key(address: Address) -> str:
    return ",".join(address.urls)


def _read_named() -> list[str]:
    with contextlib.suppress(OSError, ValueError):
        return [str(key) for key in json.loads((data_dir() / NAMED).read_bytes())]
    return []
