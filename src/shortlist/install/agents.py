"""The known agents, listed in `agents.json`, and the files in which they store their MCP servers."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from shortlist.errors import InputError
from shortlist.sources.projects import project_folders

Scope = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Places:
    """What the path of a file depends on: the platform, the home, the environment, the project."""

    platform: str = sys.platform
    home: Path = field(default_factory=Path.home)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    project: Path = field(default_factory=lambda: project_folders()[-1])
    which: Callable[[str], str | None] = shutil.which

    def folder(self, name: str) -> Path | None:
        """The folder in a variable, the "home", or the folder of all "settings"; None if there is none."""
        if name == "home":
            return self.home
        if name == "windows package":
            return self._claude_package() if self.platform == "win32" else None
        if name == "settings":
            if self.platform == "darwin":
                return self.home / "Library" / "Application Support"
            if self.platform == "win32":
                return self.folder("APPDATA") or self.home / "AppData" / "Roaming"
            return self.folder("XDG_CONFIG_HOME") or self.home / ".config"
        value = self.environment.get(name)
        return Path(value).expanduser() if value else None

    def _claude_package(self) -> Path | None:
        """The folder of Claude Desktop from the Windows store, which reads no other."""
        packages = (self.folder("LOCALAPPDATA") or self.home / "AppData" / "Local") / "Packages"
        found = [folder / "LocalCache" / "Roaming" / "Claude" for folder in sorted(packages.glob("Claude_*"))]
        used = [folder for folder in found if (folder / "claude_desktop_config.json").exists()]
        used = used or [folder for folder in found if folder.is_dir()]
        if len(used) > 1:
            listed = ", ".join(map(str, used))
            raise InputError(f"Several Claude Desktops are installed; uninstall all but one of {listed}.")
        return used[0] if used else None


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: its files, the key of the servers in them, and the command that shows that it is installed."""

    name: str
    title: str
    user: Mapping[str, str]  # the user's file below each possible folder; the first folder that exists counts
    project: str | None = None  # the file below the folder of a project
    key: str = "mcpServers"
    has_type: bool = False  # whether an entry has a "type"
    command: str | None = None
    gateway_keys: Mapping[str, str] | None = None  # names of an entry's keys in our own file, if they differ; "" omits

    def file(self, scope: Scope, places: Places) -> Path:
        if scope == "user":
            folders = ((places.folder(name), file) for name, file in self.user.items())
            return next(folder / file for folder, file in folders if folder)
        if self.project is None:
            raise InputError(f"{self.title} has no configuration for projects. Use --user.")
        return places.project / self.project

    def is_installed(self, places: Places) -> bool:
        file = self.file("user", places)
        is_configured = file.exists() or (file.parent != places.home and file.parent.is_dir())
        return is_configured or (self.command is not None and places.which(self.command) is not None)


AGENTS = {
    name: Agent(name, **values)
    for name, values in json.loads(Path(__file__).with_name("agents.json").read_bytes()).items()
}
