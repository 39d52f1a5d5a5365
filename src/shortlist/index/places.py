"""Where do things lie? The XDG directories, each with a variable that overrides it."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from shortlist.errors import InputError
from shortlist.index.records import clean

APPLICATION = "shortlist"
LONGEST = 200  # bytes; most file systems take 255


def data_dir() -> Path:
    return _place("SHORTLIST_DATA_DIR", "user_data_dir")


def config_dir() -> Path:
    return _place("SHORTLIST_CONFIG_DIR", "user_config_dir")


def cache_dir() -> Path:
    return _place("SHORTLIST_CACHE_DIR", "user_cache_dir")


def corpus_dir(name: str) -> Path:
    """The folder of a named corpus: the name itself, with what a file system might refuse written as %XX."""
    if not name.strip() or len(name) > 100:
        raise InputError(f"A corpus name has 1 to 100 characters, not {len(name)}.")
    if clean(name) != name:
        raise InputError(f"The corpus name {clean(name)!r} holds characters that no file name can.")
    folder = "".join(letter if letter.isalnum() else quote(letter, safe=" @+,=") for letter in name)
    if not folder.strip("."):
        folder = folder.replace(".", "%2E")
    if len(folder.encode()) > LONGEST:
        folder = f"{folder[:40]}~{blake2b(name.encode(), digest_size=8).hexdigest()}"
    return data_dir() / "corpora" / folder


def _place(variable: str, function: str) -> Path:
    override = os.environ.get(variable)
    if override:
        return Path(override).expanduser()
    import platformdirs  # noqa: PLC0415  # only when no variable is set

    return Path(getattr(platformdirs, function)(APPLICATION, appauthor=False))
