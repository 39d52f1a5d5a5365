"""Changes of another program's file: shown first, then written as a whole, with a backup."""

from __future__ import annotations

import difflib
import itertools
import os
import stat
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from shortlist._files import replace_text
from shortlist._redact import Secret, redact
from shortlist.errors import SourceError

MARK = "\ufeff"  # that some editors write at the beginning


@dataclass(frozen=True, slots=True)
class Change:
    """The text of a file before, None if there was none, and after. Nothing is written before `apply`."""

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
        names = str(self.path) if self.before is not None else os.devnull, str(self.path)
        before, after = (self.before or "").splitlines(), self.after.splitlines()
        lines = difflib.unified_diff(before, after, *names, lineterm="", n=2)
        return redact("".join(f"{line}\n" for line in lines), self.secrets)

    def apply(self) -> Path | None:
        """Write it, and return the backup. What another program wrote in the meantime is never lost."""
        if read_file(self.path) != self.before:
            raise SourceError(f"{self.path} was changed meanwhile by another program: run it again.")
        backup = _back_up(self.path) if self.before is not None else None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(self.path, self.after, private=self.is_private)
        return backup


def read_file(path: Path) -> str | None:
    """The text of a file, with its line ends; None if there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeError as error:
        raise SourceError(f"{path} is not valid UTF-8 ({error}). Nothing was changed: fix it first.") from None


def _back_up(path: Path) -> Path:
    """A copy beside the file, named by the time, with the same permissions."""
    now = datetime.now().strftime("%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        copy = path.with_name(f"{path.name}.{now}{f'-{number}' if number > 1 else ''}.bak")
        try:
            handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(path.read_bytes())
        os.chmod(copy, stat.S_IMODE(path.stat().st_mode))
        break
    return copy
