"""What the user has confirmed of files that may come from someone else.

A settings file or an index folder can name an address that queries and passages are sent to, and a project can have
skills with instructions. Each takes effect once the user has confirmed this value at this place (`shortlist trust`).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal, NamedTuple

from shortlist._files import JsonFile
from shortlist._paths import config_dir
from shortlist.errors import SourceError

Kind = Literal["llm", "embedder", "cluster", "project"]


class Confirmation(NamedTuple):
    """A value that a file or folder may use: an address, an embedder, or nothing for a project as a whole."""

    kind: Kind
    place: Path
    value: str = ""

    @property
    def key(self) -> str:
        return f"{self.kind} {self.place.expanduser().resolve()} {self.value}".rstrip()


def is_confirmed(kind: Kind, place: Path, value: str = "") -> bool:
    """Whether the user has confirmed this value for this file or folder. A damaged list confirms nothing."""
    try:
        return Confirmation(kind, place, value).key in _file().read()
    except SourceError:
        return False


def confirm(kind: Kind, place: Path, value: str = "") -> None:
    with _file().changing() as known:
        entry = {"kind": kind, "place": str(place.expanduser().resolve()), "value": value, "at": time.time()}
        known[Confirmation(kind, place, value).key] = entry


def revoke(place: Path) -> int:
    """Withdraw everything that was confirmed for a file or folder and for those inside it; return the number."""
    real = place.expanduser().resolve()
    with _file().changing() as known:
        found = [key for key, entry in known.items() if Path(str(entry.get("place"))).is_relative_to(real)]
        for key in found:
            del known[key]
    return len(found)


def confirmed() -> list[Confirmation]:
    """Everything that is confirmed, by place."""
    entries = _file().read().values()
    return [Confirmation(entry["kind"], Path(entry["place"]), entry["value"]) for entry in entries]


def _file() -> JsonFile:
    repair = ", so nothing is confirmed. Repair it, or move it away and confirm again with: shortlist trust"
    return JsonFile(config_dir() / "confirmed.json", 1, "confirmed", repair, private=True)
