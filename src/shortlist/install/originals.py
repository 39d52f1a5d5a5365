"""The files of agents as they were before `install`, so that `uninstall` can give them back byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._files import JsonFile
from shortlist._paths import data_dir, make_folder
from shortlist.errors import SourceError
from shortlist.install import json_text
from shortlist.install.agent_config import FORMS, MARK, FileChange, read_text

FORMAT = 1


def write(change: FileChange) -> Path | None:
    """Write a change, note what the file was before the first of our changes, and return the backup."""
    store = _open_store()
    make_folder(store.path.parent)
    missing = [folder for folder in change.path.parents if not folder.exists()]
    backup = change.apply()
    with store.changing() as known:
        ours = {folder for one in known.values() for folder in one["folders"]}
        folders = [str(folder) for folder in change.path.parents if folder in missing or str(folder) in ours]
        found = known.pop(str(change.path), None)
        if found is None or found["after"] != _hash(change.before):  # another program has changed it since
            found = {"original": backup and str(backup), "folders": folders}
        if change.after is not None:
            known[str(change.path)] = found | {"after": _hash(change.after)}
    if change.after is None:
        _remove_folders(found["folders"])
    return backup


def give_back(change: FileChange) -> FileChange:
    """A change that undoes ours; if it leaves what was there before, the file as it was then."""
    try:
        found = _open_store().read().get(str(change.path))
    except SourceError:  # a damaged record
        return change
    if found is None or not change.is_needed or change.after is None or found["after"] != _hash(change.before):
        return change
    data = _parse(change.path, change.after)
    if found["original"] is None:
        return replace(change, after=None) if data == {} else change
    original = read_text(Path(found["original"]))
    is_same = original is not None and data is not None and _parse(change.path, original) == data
    return replace(change, after=original) if is_same else change


def _open_store() -> JsonFile:
    repair = ", so agents' files are not given back byte for byte. Remove it."
    return JsonFile(data_dir() / "backups" / "originals.json", FORMAT, "files", repair, private=True)


def _hash(text: str | None) -> str:
    return blake2b((text or "").encode(), digest_size=16).hexdigest()


def _parse(path: Path, text: str) -> Any:
    """The data of a file without empty parts, which an edit may leave or remove; None if it cannot be read."""
    form: Any = FORMS.get(path.suffix, json_text)
    try:
        return _without_empty(form.read(text.removeprefix(MARK)))
    except (ValueError, RecursionError):
        return None


def _without_empty(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    inner = {key: _without_empty(each) for key, each in value.items()}
    return {key: each for key, each in inner.items() if each not in ({}, [], None)}


def _remove_folders(folders: list[str]) -> None:
    """Remove the folders that we made, the innermost first, if they are empty."""
    for folder in folders:
        try:
            Path(folder).rmdir()
        except OSError:  # something else is in it, or it is gone
            return
