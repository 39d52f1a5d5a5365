"""What the user has confirmed of files that may come from someone else.

A settings file or an index folder can name an address that queries and passages are sent to, or open the service to
other machines, and a project can have skills with instructions. Each takes effect once the user has confirmed this
value at this place (`shortlist trust`). Nothing that an agent can call confirms anything.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal, NamedTuple

from shortlist._files import JsonFile
from shortlist._paths import config_dir
from shortlist._redact import redact
from shortlist._text import printable
from shortlist.errors import SourceError

Kind = Literal["llm", "embedder", "cluster", "project", "setting", "service"]

EFFECTS: dict[str, str] = {
    "llm": "questions and the passages found for them are sent to this address",
    "embedder": "this model is loaded, or downloaded; one at an address is sent documents, queries and OPENAI_API_KEY",
    "cluster": "documents and queries are sent to this address",
    "project": "the skills of this project are shown to agents",
    "service": "SHORTLIST_TOKEN is sent to this address, and plain http to it is allowed",
    "setting": "the service sends data to other machines or accepts requests from them",
}


class Confirmation(NamedTuple):
    """A value that a file or folder may use: an address, an embedder, a setting, or "" for a whole project."""

    kind: Kind
    place: Path
    value: str = ""

    @property
    def key(self) -> str:
        return f"{self.kind} {self.place.expanduser().resolve()} {self.value}".rstrip()

    @property
    def is_confirmed(self) -> bool:
        return is_confirmed(*self)

    def __str__(self) -> str:
        """The request as a sentence, with the command that allows it."""
        shown = self.to_dict()
        value = f" {printable(shown['value'])}" if self.value else ""
        return f"{printable(shown['place'])} asks for the {self.kind}{value}. Allow it with: shortlist trust"

    def to_dict(self) -> dict[str, str]:
        """The request without the secrets of an address, and what happens if it is confirmed."""
        return {"kind": self.kind, "place": str(self.place), "value": redact(self.value), "effect": EFFECTS[self.kind]}


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


def revoke_value(confirmation: Confirmation) -> int:
    """Withdraw one confirmation; return the number, 0 or 1."""
    with _file().changing() as known:
        return int(known.pop(confirmation.key, None) is not None)


def confirmed() -> list[Confirmation]:
    """Everything that is confirmed, by place."""
    entries = _file().read().values()
    return [Confirmation(entry["kind"], Path(entry["place"]), entry["value"]) for entry in entries]


def _file() -> JsonFile:
    repair = ", so nothing is confirmed. Repair it, or move it away and confirm again with: shortlist trust"
    return JsonFile(config_dir() / "confirmed.json", 1, "confirmed", repair, private=True)
