"""The small file in a folder that names the cluster of its corpus, without secrets.

Such a file may come with a folder from someone else. So a cluster that it names is trusted only if the folder is in the
data directory, or if the user has confirmed the cluster, or named it on this machine before.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from shortlist._files import replace_text
from shortlist._paths import data_dir, make_folder
from shortlist.errors import CorpusDamaged, InputError
from shortlist.index.corpus_paths import POINTER
from shortlist.index.engines.address import Address
from shortlist.index.foreign import check_file, confirm_named, may_use_cluster
from shortlist.safety.confirmations import Confirmation
from shortlist.safety.untrusted_files import UnsafeFile, read_regular_file

FILE = POINTER
NAMED = "engines.json"  # in the data directory: clusters that the user named before there were confirmations


class Pointer(NamedTuple):
    """A cluster, and the name of a corpus in it."""

    address: Address
    name: str


def read(folder: Path) -> Pointer | None:
    """What a folder points to; None if it stores its corpus itself, or does not exist."""
    check_file(folder / FILE)
    try:
        data = read_regular_file(folder / FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnsafeFile as error:
        raise CorpusDamaged(f"{folder / FILE} is not read: {error.strerror}.") from None
    try:
        pointer = json.loads(data)
        address, name = Address.parse(pointer["engine"]), str(pointer["name"])
    except (ValueError, KeyError, TypeError, RecursionError, InputError) as error:
        raise CorpusDamaged(
            f"{folder / FILE} is damaged ({error}). Nothing was overwritten. Delete it, and open the corpus once with "
            f"engine=ADDRESS."
        ) from None
    is_trusted = may_use_cluster(folder, str(address)) or ",".join(address.urls) in _read_named()
    return Pointer(replace(address, trusted=is_trusted), name)


def write(folder: Path, address: Address, name: str) -> None:
    if address.trusted:
        confirm_named(Confirmation("cluster", folder, str(address)))
    known = read(folder)
    if known is None or (str(known.address), known.name) != (str(address), name):
        make_folder(folder)
        replace_text(folder / FILE, f"{json.dumps({'engine': str(address), 'name': name})}\n")


def forget(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)


def _read_named() -> list[str]:
    with contextlib.suppress(OSError, ValueError):
        return [str(key) for key in json.loads((data_dir() / NAMED).read_bytes())]
    return []
