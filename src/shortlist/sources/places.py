"""Where does a project keep what belongs to it?"""

from __future__ import annotations

from pathlib import Path


def project_folders() -> list[Path]:
    """The current folder and those above it up to the root of its repository; outside of one, the current folder."""
    here = Path.cwd()
    folders = [here, *here.parents]
    root = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return folders[: root + 1]
