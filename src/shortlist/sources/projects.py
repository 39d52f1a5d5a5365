"""The folders of a project, and the name of its default index."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path

GLOBAL_INDEX = "documents"  # the index that all projects share, if asked for

_OF_A_PROJECT = f"{GLOBAL_INDEX}@"
_LONGEST_NAME = 60


def project_folders() -> list[Path]:
    """The current folder and those above it up to the root of its repository; outside of one, the current folder."""
    here = Path.cwd()
    folders = [here, *here.parents]
    root = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return folders[: root + 1]


def project_root() -> Path:
    return project_folders()[-1]


def project_index() -> str:
    """The name of the corpus that `ingest` fills and `query` asks by default: one for each project."""
    return _OF_A_PROJECT + re.sub(r"[^\w.-]+", "-", folder_name(project_root()))[-_LONGEST_NAME:]


def is_of_another_project(name: str) -> bool:
    """Whether a corpus is the default index of a project other than this one."""
    return name.startswith(_OF_A_PROJECT) and name != project_index()


def folder_name(folder: Path) -> str:
    """A corpus name for a folder: its own name and a few letters that tell folders of one name apart."""
    full = folder.resolve()
    name = os.fsencode(full.name).decode(errors="replace")
    return f"{name or 'root'}-{blake2b(os.fsencode(full), digest_size=3).hexdigest()}"
