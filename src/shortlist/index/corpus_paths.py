"""The folders of stored corpora and how their names are written."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote, unquote

from shortlist._paths import data_dir
from shortlist.errors import InputError
from shortlist.index.storage.records import clean

LONGEST = 200  # bytes; most file systems take 255
OF_A_PATH = ("tools:", "docs:")  # names that are a path with a word before it


def corpus_dir(name: str) -> Path:
    """The folder of a named corpus: the name itself, with what a file system might refuse written as %XX."""
    if not name.strip() or len(name) > 100:
        raise InputError(f"A corpus name has 1 to 100 characters, not {len(name)}.")
    if clean(name) != name:
        raise InputError(f"The corpus name {clean(name)!r} holds characters that no file name can.")
    return _corpora_dir() / _folder_name(name)


def full_name(name: str) -> str:
    """The name with a path in it written out, so that it means the same from everywhere; another is itself."""
    if not name.startswith(OF_A_PATH):
        return name
    prefix, _, path = name.partition(":")
    return f"{prefix}:{clean(str(Path(path).expanduser().resolve()))}"


def corpus_dir_of_path(name: str) -> Path:
    return _corpora_dir() / _folder_name(full_name(name))


def stored_corpora() -> dict[str, Path]:
    """The folders in the data directory by the names of their corpora; one whose name was too long, by its path."""
    try:
        folders = sorted(folder for folder in _corpora_dir().iterdir() if folder.is_dir())
    except OSError:
        return {}
    names = [unquote(folder.name) for folder in folders]
    pairs = zip(names, folders, strict=True)
    return {name if _folder_name(name) == folder.name else str(folder): folder for name, folder in pairs}


def _corpora_dir() -> Path:
    return data_dir() / "corpora"


def _folder_name(name: str) -> str:
    folder = "".join(letter if letter.isalnum() else quote(letter, safe=" @+,=") for letter in name)
    if not folder.strip("."):
        folder = folder.replace(".", "%2E")
    if len(folder.encode()) > LONGEST:
        folder = f"{folder[:40]}~{blake2b(name.encode(), digest_size=8).hexdigest()}"
    return folder
