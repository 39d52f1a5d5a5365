"""The servers in an agent's configuration file, and changes of it: shown first, then written with a backup.

Backups are stored in our data folder, so that no copy with secrets is left in a project.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Any

from shortlist._files import replace_text
from shortlist._paths import data_dir, make_folder
from shortlist._plain import MAX_DEPTH, is_deeper
from shortlist._redact import Secret, redact, secrets_in_url, secrets_in_words
from shortlist.errors import InputError, SourceError
from shortlist.install import json_text, toml_text, yaml_text
from shortlist.mcp_client.server_entries import command_line, list_local
from shortlist.safety.untrusted_files import LARGEST_DATA, read_regular_file

NAME = "shortlist"
UNUSUAL = "its servers are written in an unusual way"
MARK = "\ufeff"  # which some editors write at the beginning

Data = dict[str, Any]
SECRET = ("env", "environment", "envs", "headers", "http_headers")  # keys whose values may be secrets
URLS = ("url", "httpUrl", "serverUrl", "uri")
FORMS = {".toml": toml_text, ".yaml": yaml_text}


class UnsafeChange(SourceError):
    """A file that is written in a way in which it cannot be edited."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """The text of a file before and after (None if it does not exist). Nothing is written before `apply`."""

    path: Path
    before: str | None
    after: str | None
    secrets: frozenset[Secret] = frozenset()  # which the diff hides
    is_private: bool = False  # whether only the owner may read the file and its backup from now on

    @property
    def is_needed(self) -> bool:
        return (self.after or "") != (self.before or "") or (self.after is None) > (self.before is None)

    def diff(self) -> str:
        """The change as a unified diff, with secrets hidden."""
        before, after = ((text or "").splitlines() for text in (self.before, self.after))
        old, new = (str(self.path) if text is not None else os.devnull for text in (self.before, self.after))
        lines = difflib.unified_diff(before, after, old, new, lineterm="", n=2)
        return redact("".join(f"{line}\n" for line in lines), self.secrets)

    def check(self) -> None:
        """Raise an error if the file cannot be written."""
        place = self.path.resolve()
        if self.path.is_symlink() and not place.parent.is_dir():
            raise SourceError(f"{self.path} is a link to {place}, whose folder does not exist. Nothing was changed.")
        folder = next(parent for parent in place.parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise SourceError(f"{self.path} cannot be written, as {folder} is read-only. Nothing was changed.")

    def apply(self) -> Path | None:
        """Write the file and return its backup. What another program wrote in the meantime is never lost."""
        if read_text(self.path) != self.before:
            raise SourceError(f"{self.path} was changed by another program in the meantime. Run the command again.")
        if self.is_private and self.before is not None:
            self.path.chmod(self.path.stat().st_mode & 0o600)  # before the backup, which has the same permissions
        backup = _back_up(self.path) if self.before is not None else None
        if self.after is None:
            self.path.resolve().unlink()  # of a link, the file, as the link was there before
            return backup
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(self.path, self.after, private=self.is_private)
        return backup


class AgentConfig:
    """The servers in a JSON, TOML or YAML file. An edit changes both text and data, which must agree at the end."""

    def __init__(self, path: Path, key: str = "mcpServers", *, private: bool = False) -> None:
        self.path, self._key, self._is_private = path, key, private
        self._form: Any = FORMS.get(path.suffix, json_text)
        self._before = read_text(path)
        self._text = (self._before or "").removeprefix(MARK)
        is_windows = 0 < self._text.count("\n") == self._text.count("\r\n")
        self._newline = "\r\n" if is_windows else "\n"
        self._text = self._text.replace(self._newline, "\n")
        try:
            self._data = self._parse()
            if is_deeper(self._data):
                raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        except (ValueError, RecursionError) as error:
            kind = path.suffix[1:].upper()
            raise SourceError(
                f"{path} is not valid {kind}: {error}. Nothing was changed; fix the file first."
            ) from None
        if not isinstance(self._data.get(key, {}), dict):
            raise SourceError(f"'{key}' in {path} is not a mapping. Nothing was changed; fix the file first.")
        self._secrets = set(find_secrets(self._data))

    @property
    def servers(self) -> Data:
        return self.servers_in(None)

    def servers_in(self, folder: str | None) -> Data:
        """The servers for one folder only, which Claude Code has and our own file; None: those for all folders."""
        found: Any = self._data
        for key in self._place(folder):
            found = found.get(key, {}) if isinstance(found, Mapping) else {}
        return found if isinstance(found, dict) else {}

    def list_folders(self) -> dict[str | None, list[Any]]:
        """None and the folders that have servers of their own, with the names of those that are turned off there."""
        return {None: [], **{folder: off for folder, _, off in list_local(self._data, self._key)}}

    def check_ours(self, name: str) -> None:
        if not is_ours(self.servers[name]):
            raise InputError(f"The server {name!r} in {self.path} does not start shortlist. Choose another --name.")

    def put(self, path: Sequence[str], value: Any, folder: str | None = None) -> None:
        path = [*self._place(folder), *path]
        self._edit(self._form.put, path, value)
        inside = self._data
        for key in path[:-1]:
            inside = inside.setdefault(key, {})
        inside[path[-1]] = deepcopy(value)

    def drop(self, name: str, folder: str | None = None) -> None:
        self._edit(self._form.drop, [*self._place(folder), name])
        del self.servers_in(folder)[name]

    def _place(self, folder: str | None) -> list[str]:
        return [self._key] if folder is None else ["projects", folder, self._key]

    def _edit(self, change: Callable[..., str], *arguments: Any) -> None:
        try:
            self._text = change(self._text, *arguments)
        except ValueError as error:
            raise self._make_error(str(error)) from None
        except Exception:  # an editor may fail in any way on a text that only its parser understands
            raise self._make_error(UNUSUAL) from None

    def change(self) -> FileChange:
        """The sum of the edits, after a check that the text has the same data."""
        empty: Data = {self._key: {}}  # a table of TOML without a header of its own goes with the last one in it
        written: Data = {}
        with contextlib.suppress(ValueError):
            written = self._parse()
        if empty | written != empty | self._data:
            raise self._make_error(UNUSUAL)
        mark = MARK if (self._before or "").startswith(MARK) else ""
        secrets = frozenset(self._secrets | set(find_secrets(self._data)))
        after = mark + self._text.replace("\n", self._newline)
        return FileChange(self.path, self._before, after, secrets, self._is_private)

    def _parse(self) -> Data:
        return {key: value for key, value in self._form.read(self._text).items() if value is not None}

    def render(self, name: str, entry: Data) -> str:
        """A file that has only this server, for the user to copy from."""
        text: str = self._form.put("", [self._key, name], entry)
        return text

    def _make_error(self, reason: str) -> SourceError:
        return UnsafeChange(f"{self.path} cannot be changed safely: {reason}. Nothing was changed; edit it by hand.")


def is_ours(entry: Any) -> bool:
    """Whether an entry starts `shortlist`, wherever it is installed and whatever runs it."""
    return any(isinstance(word, str) and PureWindowsPath(word).stem == NAME for word in command_line(entry))


def find_secrets(data: Mapping[str, Any], *, within: bool = False) -> Iterator[Secret]:
    """The values of environments and headers at any depth, and secrets in arguments and URLs."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from find_secrets(value, within=within or key in SECRET)
        elif within and isinstance(value, str):
            yield key, value
        elif key in ("args", "command") and isinstance(value, list):
            yield from secrets_in_words([word for word in value if isinstance(word, str)])
        elif key in URLS and isinstance(value, str):
            yield from secrets_in_url(value)


def read_text(path: Path) -> str | None:
    """The text of a file, with its line ends; None if the file does not exist."""
    try:
        return read_regular_file(path, limit=LARGEST_DATA).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeError as error:
        raise SourceError(f"{path} is not valid UTF-8 ({error}). Nothing was changed; fix the file first.") from None


def _back_up(path: Path) -> Path:
    """A copy in our data folder, at its path below the home folder, named by the time, with the same permissions."""
    place, home = path.absolute().parent, Path.home()
    is_elsewhere = not place.is_relative_to(home)
    inside = Path("root", place.drive.rstrip(":"), *place.parts[1:]) if is_elsewhere else place.relative_to(home)
    folder = data_dir() / "backups" / inside
    make_folder(folder)
    now = datetime.now().strftime("%Y%m%d-%H%M%S")
    copy, number = folder / f"{path.name}.{now}.bak", 1
    while True:
        with contextlib.suppress(FileExistsError), open(copy, "xb", opener=partial(os.open, mode=0o600)) as file:
            file.write(path.read_bytes())
            shutil.copymode(path, copy)
            return copy
        number += 1
        copy = folder / f"{path.name}.{now}-{number}.bak"
