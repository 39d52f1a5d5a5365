"""The folders of a project, and the names of the corpora that belong to it."""

from __future__ import annotations

import os
import re
from pathlib import Path

GLOBAL_INDEX = "documents"  # the index that all projects share, if asked for
SKILLS = "skills"  # in every project, the name of a corpus of its own

_MAX_NAME = 60


def project_folders() -> list[Path]:
    """The current folder and its parents up to the root of the repository; outside of one, the current folder."""
    here = Path.cwd()
    folders = [here, *here.parents]
    root = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return folders[: root + 1]


def project_root() -> Path:
    return project_folders()[-1]


def main_worktree() -> Path | None:
    """The main working tree of the repository, if the current folder is in a linked one that the repository knows."""
    link = project_root() / ".git"
    try:
        about = (link.parent / link.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
        is_linked = about.parts[-3:-1] == (".git", "worktrees")
        is_known = is_linked and (about / (about / "gitdir").read_text("utf-8").strip()).resolve() == link.resolve()
    except (OSError, ValueError):
        return None
    return about.parents[2] if is_known else None


def find_in_project(name: str) -> Path:
    """The nearest file of that name, from the current folder to the root of the project; without one, the name."""
    if Path(name).exists():
        return Path(name)
    return next((folder / name for folder in project_folders()[1:] if (folder / name).is_file()), Path(name))


def project_index() -> str:
    """The name of the project's corpus, which `ingest` fills and `query` searches by default."""
    return _of_project(GLOBAL_INDEX)


def stored_name(name: str) -> str:
    """The name that a corpus is stored under: that of the skills is of this project."""
    return _of_project(name) if name == SKILLS else name


def _of_project(name: str) -> str:
    return f"{name}@" + re.sub(r"[^\w.-]+", "-", folder_name(project_root()))[-_MAX_NAME:]


def is_of_another_project(name: str) -> bool:
    """Whether a corpus is the default index or the skills of a project other than this one."""
    return any(name.startswith(f"{of}@") and name != _of_project(of) for of in (GLOBAL_INDEX, SKILLS))


def folder_name(folder: Path) -> str:
    """A corpus name for a folder: its own name, and a hash that distinguishes folders with the same name."""
    from hashlib import blake2b  # noqa: PLC0415  # takes 2 ms, and not every hook needs it

    full = folder.resolve()
    name = os.fsencode(full.name).decode(errors="replace")
    return f"{name or 'root'}-{blake2b(os.fsencode(full), digest_size=3).hexdigest()}"
