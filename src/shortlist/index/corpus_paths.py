"""The folders of stored corpora, the names of the files in them, and how the names of corpora are written."""

from __future__ import annotations

import os
import sys
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote, unquote

from shortlist._paths import DEVICE, data_dir
from shortlist._projects import SKILLS, stored_name
from shortlist._text import clean
from shortlist.errors import InputError

DATABASE = "corpus.db"
SEGMENTS = "segments"
USAGE = "usage.db"
GROUPS_USAGE = "usage-of-groups"  # the folder of the logs of use of callers with groups
VECTORS = "vectors.db"
FILES_MARK = "files.mark"  # the state of the files that a corpus was built from
POINTER = "engine.json"
COUNT_KINDS = "SELECT kind, count(*) FROM documents GROUP BY kind ORDER BY count(*) DESC, kind"

LONGEST = 200  # bytes of a folder name; most file systems allow 255
OF_A_PATH = TOOLS, DOCS, SKILLS_AT = ("tools:", "docs:", "skills:")  # prefixes of names that contain a path


def corpus_folder(name: str | Path, path: str | Path | None = None) -> Path:
    """The folder of a corpus: its path, or its name in the data directory.

    A name with a slash is a path, except docs:PATH, tools:PATH and skills:PATH, which are names.
    """
    if path is not None:
        return Path(os.path.expanduser(path))
    if isinstance(name, str) and name.startswith(OF_A_PATH):
        return _corpora_dir() / _folder_name(full_name(name))
    if isinstance(name, Path) or is_path(name):
        return Path(os.path.expanduser(name))
    return corpus_dir(name)


def corpus_dir(name: str) -> Path:
    """The folder of a named corpus: the name itself, with characters that a file system might refuse as %XX.

    `skills` is in every project the name of another corpus.
    """
    if not name.strip() or len(name) > 100:
        raise InputError(f"A corpus name must have 1 to 100 characters, not {len(name)}.")
    if clean(name) != name:
        raise InputError(f"The corpus name {clean(name)!r} contains characters that a file name cannot have.")
    return _corpora_dir() / _folder_name(name)


def is_path(name: str) -> bool:
    """Whether a name without a prefix can only be a path."""
    return "/" in name or "\\" in name or name == "~"


def full_name(name: str) -> str:
    """The name with the path in it made absolute, so that it means the same in every folder."""
    if not name.startswith(OF_A_PATH):
        return name
    prefix, _, path = name.partition(":")
    return f"{prefix}:{clean(str(Path(os.path.expanduser(path)).resolve()))}"


def stored_corpora() -> dict[str, Path]:
    """The folders in the data directory by the names of their corpora.

    One whose name was too long, or is now that of another corpus, is listed by its path.
    """
    try:
        folders = sorted(folder for folder in _corpora_dir().iterdir() if folder.is_dir())
    except OSError:
        return {}
    named = [(_given_name(unquote(folder.name)), folder) for folder in folders]
    return {name if _folder_name(name) == folder.name else str(folder): folder for name, folder in named}


def is_stored(name: str) -> bool:
    """Whether `stored_corpora` has this name, found without listing all."""
    folder = _corpora_dir() / _folder_name(name)
    return folder.is_dir() and _given_name(unquote(folder.name)) == name


def _given_name(name: str) -> str:
    """The name that a corpus is opened by, of that which it is stored under."""
    return SKILLS if name.startswith(f"{SKILLS}@") and name == stored_name(SKILLS) else name


def _corpora_dir() -> Path:
    return data_dir() / "corpora"


def _folder_name(name: str) -> str:
    name = stored_name(name)
    folder = "".join(letter if letter.isalnum() else quote(letter, safe=" @+,=") for letter in name)
    if not folder.strip("."):
        folder = folder.replace(".", "%2E")
    if sys.platform == "win32" or not os.path.isdir(_corpora_dir() / folder):  # earlier versions used names as they are
        if DEVICE.fullmatch(folder):
            folder = f"%{ord(folder[0]):02X}{folder[1:]}"
        if folder.endswith((".", " ")):
            folder = f"{folder[:-1]}%{ord(folder[-1]):02X}"
    if len(folder.encode()) > LONGEST:
        folder = f"{folder[:40]}~{blake2b(name.encode(), digest_size=8).hexdigest()}"
    return folder
