"""Uploaded files. A corpus of them is registered with its folder in the data folder, so it can be built again."""

from __future__ import annotations

import os
import re
import shutil
import threading
import unicodedata
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

from shortlist._files import hash_file, replace_file
from shortlist._paths import DEVICE, UNSAFE_LETTER, data_dir, make_folder
from shortlist._text import clean, count_of
from shortlist.errors import InputError
from shortlist.index.corpus_paths import corpus_dir
from shortlist.library import registry

MAX_FILES = 10_000  # of a corpus
MAX_BYTES = 2 << 30  # of the files of a corpus together
MAX_DEPTH = 20
MAX_NAME_BYTES = 200  # of a file or folder; file systems allow 255
KIND = "files"

_MAX_SUFFIX_BYTES = 20


def upload_folder(name: str) -> Path:
    """The folder of the uploaded files of a corpus."""
    return data_dir() / "uploads" / corpus_dir(name).name / "files"


def is_uploaded(name: str) -> bool:
    """Whether a corpus is registered with its folder of uploaded files."""
    entry = registry.registered().get(name)
    return entry is not None and entry.kind == KIND and entry.roots == (str(upload_folder(name).resolve()),)


def remove_uploads(name: str) -> None:
    """Delete the uploaded files of a corpus."""
    shutil.rmtree(upload_folder(name).parent, ignore_errors=True)


def make_safe(given: str) -> tuple[str, ...]:
    """The parts of a path below the folder, without what could leave it, hide a file or name a device."""
    parts = [part for part in re.split(r"[/\\]", given) if part.strip(" .") or part == ".."]
    if not parts or ".." in parts:
        raise InputError(f"{given!r} is not the path of a file below a folder. Send one such as 'guides/returns.md'.")
    if len(parts) > MAX_DEPTH:
        raise InputError(f"The path {given[:100]!r} is more than {MAX_DEPTH} folders deep.")
    return tuple(_make_safe_name(part) for part in parts)


def _make_safe_name(name: str) -> str:
    text = unicodedata.normalize("NFC", clean(name))
    text = "".join(letter if letter.isprintable() else "_" for letter in text)
    text = UNSAFE_LETTER.sub("_", text).strip().rstrip(" .")
    if text.startswith(".") or DEVICE.fullmatch(text):  # a .gitignore would change what is read
        text = f"_{text.lstrip('.')}"
    if len(text.encode()) <= MAX_NAME_BYTES:
        return text
    stem, suffix = os.path.splitext(text)
    suffix = suffix if len(suffix.encode()) <= _MAX_SUFFIX_BYTES else ""
    return stem.encode()[: MAX_NAME_BYTES - len(suffix.encode())].decode(errors="ignore") + suffix


class Uploads:
    """Saves files in the folders of their corpora, up to a number and size per corpus."""

    def __init__(self, max_files: int = MAX_FILES, max_bytes: int = MAX_BYTES) -> None:
        self._max_files, self._max_bytes = max_files, max_bytes
        self._lock = threading.Lock()
        self._sizes: dict[Path, dict[str, int]] = {}  # of the files by path, for each folder

    def save(self, name: str, given: str, content: bytes) -> str:
        """Save a file and return its path below the folder; the same path replaces. A new name is registered."""
        parts = make_safe(given)
        with self._lock:
            self._prepare(name)
            folder = upload_folder(name)
            make_folder(folder)
            path = "/".join(parts)
            sizes = self._check_limits(name, folder, path, len(content))
            target = _make_parents(folder, parts) / parts[-1]
            if target.is_dir() and not target.is_symlink():
                raise InputError(f"{path!r} is a folder of {name!r}. Rename the file.")
            draft = folder.parent / f"{uuid.uuid4().hex}.draft"
            try:
                draft.write_bytes(content)
                replace_file(draft, target)  # which replaces a link itself and not what it leads to
            finally:
                draft.unlink(missing_ok=True)
            sizes[path] = len(content)
            return path

    def compare(self, name: str, hashes: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Of these paths, those whose files are not stored with this SHA-256; and the stored paths besides these."""
        given: dict[str, str] = {}
        for path in hashes:
            safe = "/".join(make_safe(path))
            if (other := given.setdefault(safe, path)) != path:
                raise InputError(f"{other!r} and {path!r} would both be stored as {safe!r}. Rename one of them.")
        if not is_uploaded(name):
            if name in registry.names():
                raise _make_taken(name)
            return list(hashes), []
        folder = upload_folder(name)
        with self._lock:
            files = {path.relative_to(folder).as_posix(): path for path in _list_stored(folder)}
            same = {safe for safe in given.keys() & files if hash_file(files[safe]) == hashes[given[safe]]}
        return [path for safe, path in given.items() if safe not in same], sorted(files.keys() - given)

    def delete_paths(self, name: str, paths: Iterable[str]) -> int:
        """Delete files by their paths; the next build removes their documents. Returns how many there were."""
        if not is_uploaded(name):
            return 0
        return self.delete(name, (str(upload_folder(name).joinpath(*make_safe(path))) for path in paths))

    def delete(self, name: str, sources: Iterable[str]) -> int:
        """Delete the files that documents came from. Returns how many there were."""
        with self._lock:
            folder, count = upload_folder(name).resolve(), 0
            for source in map(Path, sources):
                is_file = source.is_symlink() or source.is_file()
                if is_file and source.parent.resolve().is_relative_to(folder):
                    source.unlink(missing_ok=True)
                    count += 1
            self._sizes.pop(upload_folder(name), None)
            return count

    def _prepare(self, name: str) -> None:
        if is_uploaded(name):
            return
        if name in registry.names():
            raise _make_taken(name)
        registry.register(name, KIND, root=upload_folder(name))
        remove_uploads(name)  # of a corpus of this name that was removed
        self._sizes.pop(upload_folder(name), None)

    def _check_limits(self, name: str, folder: Path, path: str, size: int) -> dict[str, int]:
        sizes = self._sizes.get(folder)
        if sizes is None:
            stored = _list_stored(folder)
            sizes = self._sizes[folder] = {file.relative_to(folder).as_posix(): file.stat().st_size for file in stored}
        if path not in sizes and len(sizes) >= self._max_files:
            raise InputError(f"{name!r} already has {count_of(len(sizes), 'file')}, the maximum. Use another corpus.")
        if sum(sizes.values()) - sizes.get(path, 0) + size > self._max_bytes:
            raise InputError(f"{path!r} would make {name!r} larger than {self._max_bytes} bytes. Use another corpus.")
        return sizes


def _list_stored(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]


def _make_taken(name: str) -> InputError:
    return InputError(f"{name!r} has another source than uploaded files. Choose another name.")


def _make_parents(folder: Path, parts: tuple[str, ...]) -> Path:
    for part in parts[:-1]:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise InputError(f"{part!r} is not a folder. Rename the folder of {parts[-1]!r}.")
        folder.mkdir(exist_ok=True)
    return folder
