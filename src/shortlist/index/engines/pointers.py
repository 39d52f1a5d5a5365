"""Which cluster keeps the corpus of a folder? A small file says so, without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from shortlist._files import replace_text
from shortlist.errors import CorpusDamaged, InputError
from shortlist.index.engines.address import Address

FILE = "engine.json"


class Pointer(NamedTuple):
    """A cluster, and the name of a corpus in it."""

    address: Address
    name: str


def read(folder: Path) -> Pointer | None:
    """What a folder points to; None if it keeps its corpus itself, or there is nothing."""
    try:
        text = (folder / FILE).read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        said = json.loads(text)
        return Pointer(Address.parse(said["engine"]), str(said["name"]))
    except (ValueError, KeyError, TypeError, InputError) as error:
        raise CorpusDamaged(
            f"{folder / FILE} is damaged ({error}). Nothing was overwritten. Delete it, and open the corpus once with "
            f"engine=ADDRESS."
        ) from None


def write(folder: Path, address: Address, name: str) -> None:
    said = {"engine": str(address), "name": name}
    known = read(folder)
    if known is None or {"engine": str(known.address), "name": known.name} != said:
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / FILE, f"{json.dumps(said)}\n")


def forget(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)
