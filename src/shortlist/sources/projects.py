"""The folders of a project, and the name of its default index."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path

GLOBAL_INDEX = "documents"  # the index that all projects share, if asked for

_PROJECT_PREFIX = f"{GLOBAL_INDEX}@"
_MAX_NAME = 60


def project_folders() -> list[Path]:
    """The current folder and its parents up to the root of the repository; outside of one, the current folder."""
    here = Path.cwd()
    folders = [here, *here.parents]
    root = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return folders[: root + 1]


def project_root() -> Path:
    return project_folders()[-1]


def project_index() -> str:
    """The name of the project's corpus, which `ingest` fills and `query` searches by default."""
    return _PROJECT_PREFIX + re.sub(r"[^\w.-]+", "-", folder_name(project_root()))[-_MAX_NAME:]


def is_of_another_project(name: str) -> bool:
    """Whether a corpus is the default index of a project other than this one."""
    return name.startswith(_PROJECT_PREFIX) and name != project_index()


def folder_name(folder: Path) -> str:
    """A corpus name for a folder: its own name, and a hash that distinguishes folders with the same name."""
    full = folder.resolve()
    name = os.fsencode(full.name).decode(errors="replace")
    return f"{name or 'root'}-{blake2b(os.fsencode(full), digest_size=3).hexdigest()}"
