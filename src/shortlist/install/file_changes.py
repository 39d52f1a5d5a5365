"""How is a file of somebody else's program changed? Looked at first, then replaced as a whole, with a copy kept."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from shortlist._files import replace_text
from shortlist._redact import Secret, redact
from shortlist.errors import SourceError

MARK = "\ufeff"  # that some editors write at the beginning


@dataclass(frozen=True, slots=True)
class Change:
    """What a file held, if it was there, and what it shall hold. Nothing is written before `apply`."""

    path: Path
    before: str | None
    after: str
    secrets: frozenset[Secret] = frozenset()  # not to be shown
    is_private: bool = False  # whether a new file is for its owner alone

    @property
    def is_one(self) -> bool:
        return self.after != (self.before or "")

    def diff(self) -> str:
        """The change as a unified diff, with secrets hidden."""
        old, new = (self.before or "").splitlines(), self.after.splitlines()
        name = str(self.path)
        lines = difflib.unified_diff(old, new, name if self.before is not None else os.devnull, name, lineterm="", n=2)
        return redact("".join(f"{line}\n" for line in lines), self.secrets)

    def apply(self) -> Path | None:
        """Write it; where the copy is of what was there. What another program wrote meanwhile is never lost."""
        if read_file(self.path) != self.before:
            raise SourceError(f"{self.path} was changed meanwhile by another program: run it again.")
        kept = _copy(self.path) if self.before is not None else None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(self.path, self.after, private=self.is_private)
        return kept


def read_file(path: Path) -> str | None:
    """What a file holds, to the letter; None if there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeError as error:
        raise SourceError(f"{path} is not valid UTF-8 ({error}). Nothing was changed: mend it first.") from None


def _copy(path: Path) -> Path:
    """A copy beside the file, named by the time, that no more people can read."""
    mode = stat.S_IMODE(path.stat().st_mode)
    for name in _names(path.name):
        try:
            handle = os.open(path.with_name(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(path.read_bytes())
        os.chmod(path.with_name(name), mode)
        return path.with_name(name)
    raise AssertionError("there is always another name")


def _names(name: str) -> Iterable[str]:
    now = datetime.now().strftime("%Y%m%d-%H%M%S")
    yield f"{name}.{now}.bak"
    yield from (f"{name}.{now}-{number}.bak" for number in range(2, 1000))
