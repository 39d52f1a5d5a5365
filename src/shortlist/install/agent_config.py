"""The servers in an agent's configuration file, and changes of it: shown first, then written with a backup."""

from __future__ import annotations

import difflib
import itertools
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PureWindowsPath
from types import ModuleType
from typing import Any

from shortlist._files import replace_text
from shortlist._redact import Secret, redact, secrets_in_url, secrets_in_words
from shortlist.errors import InputError, SourceError
from shortlist.install import json_text

NAME = "shortlist"
MARK = "\ufeff"  # that some editors write at the beginning

Data = dict[str, Any]


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


class Configuration:
    """The servers in a file of an agent. Each edit is made in its text and in its data, which must agree at the end."""

    def __init__(
        self, path: Path, key: str = "mcpServers", form: ModuleType = json_text, private: bool = False
    ) -> None:
        self.path, self._key, self._form, self._is_private = path, key, form, private
        self._before = read_file(path)
        self._text = (self._before or "").removeprefix(MARK)
        try:
            self._data: Data = form.read(self._text)
        except (ValueError, RecursionError) as error:
            called = "JSON" if form is json_text else "TOML"
            raise SourceError(f"{path} is not valid {called}: {error}. Nothing was changed: fix it first.") from None
        if not isinstance(self._data.get(key, {}), dict):
            raise SourceError(f"In {path}, '{key}' is no mapping of servers. Nothing was changed: fix it first.")
        self._secrets = set(_secrets(self._data))

    @property
    def servers(self) -> Data:
        found: Data = self._data.get(self._key, {})
        return found

    def is_ours(self, name: str) -> bool:
        """Whether a server is `shortlist`, wherever it is installed and whatever runs it."""
        entry = self.servers[name]
        words = [entry.get("command"), *(entry.get("args") or ())] if isinstance(entry, Mapping) else []
        return any(isinstance(word, str) and PureWindowsPath(word).stem == NAME for word in words)

    def check_ours(self, name: str) -> None:
        if not self.is_ours(name):
            raise InputError(
                f"The server {name!r} in {self.path} starts something else than shortlist: choose another --name."
            )

    def put(self, path: Sequence[str], value: Any) -> None:
        try:
            self._text = self._form.put(self._text, [self._key, *path], value)
        except ValueError as error:
            raise self._refusal(str(error)) from None
        inside = self._data.setdefault(self._key, {})
        for key in path[:-1]:
            inside = inside.setdefault(key, {})
        inside[path[-1]] = deepcopy(value)

    def drop(self, name: str) -> None:
        self._text = self._form.drop(self._text, [self._key, name])
        del self.servers[name]

    def change(self) -> Change:
        """The change that the edits amount to, once it is certain that they did what they should."""
        try:
            found = self._form.read(self._text)
        except ValueError:
            found = None
        if self._form is json_text:
            is_as_expected = json.dumps(found) == json.dumps(self._data)  # in the same order, too
        else:  # a table without a header of its own goes with the last one in it
            is_as_expected = found is not None and {self._key: {}, **found} == {self._key: {}, **self._data}
        if not is_as_expected:
            raise self._refusal("its servers are written in an unusual way")
        mark = MARK if (self._before or "").startswith(MARK) else ""
        secrets = frozenset(self._secrets | set(_secrets(self._data)))
        return Change(self.path, self._before, mark + self._text, secrets, self._is_private)

    def _refusal(self, reason: str) -> SourceError:
        return SourceError(f"{self.path} cannot be changed safely: {reason}. Nothing was changed: do it by hand.")


def _secrets(data: Any, *, within: bool = False) -> Iterator[Secret]:
    """The values of environments and headers at any depth, and secrets in arguments and URLs."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _secrets(value, within=within or key in ("env", "headers", "http_headers"))
        elif within and isinstance(value, str):
            yield key, value
        elif key == "args" and isinstance(value, list):
            yield from secrets_in_words([word for word in value if isinstance(word, str)])
        elif key == "url" and isinstance(value, str):
            yield from secrets_in_url(value)


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
