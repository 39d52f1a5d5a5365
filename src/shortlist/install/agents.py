"""The known agents, listed in `agents.json`, and the files in which they store their MCP servers."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from shortlist._projects import project_folders
from shortlist.errors import InputError

Scope = Literal["user", "project"]
Files = str | list[str]  # of several files the first that exists counts, or the last one


@dataclass(frozen=True, slots=True)
class Places:
    """What the path of a file depends on: the platform, the home, the environment, the project."""

    platform: str = sys.platform
    home: Path = field(default_factory=Path.home)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    project: Path = field(default_factory=lambda: project_folders()[-1])
    which: Callable[[str], str | None] = shutil.which

    def folder(self, name: str) -> Path | None:
        """The folder in a variable, the "home", or the folder of all "settings"; None if there is none.

        "config" is the same, except that macOS uses the one of Linux and Windows has none.
        """
        if name == "home":
            return self.home
        if name == "config" and self.platform == "win32":
            return None
        if name == "windows package":
            return self._claude_package() if self.platform == "win32" else None
        if name == "settings":
            if self.platform == "darwin":
                return self.home / "Library" / "Application Support"
            if self.platform == "win32":
                return self.folder("APPDATA") or self.home / "AppData" / "Roaming"
        if name in ("config", "settings"):
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
    """An agent: its files, how it writes an entry, and the command that shows that it is installed."""

    name: str
    title: str
    user: Mapping[str, Files]  # the user's file below each possible folder; the first folder that exists counts
    project: Files | None = None  # the file below the folder of a project
    key: str = "mcpServers"
    fixed: Mapping[str, Any] = field(default_factory=dict)  # what our entry has besides what starts us
    names: Mapping[str, str] = field(default_factory=dict)  # its names of the usual keys, where they differ
    has_list: bool = False  # whether "command" is a list with the arguments
    variables: str | None = None  # the key for the names of variables that the agent passes on
    timeout_unit: float | None = None  # of the "timeout" of a call, in seconds
    url_is_sse: bool = False  # whether a "url" without a type is an SSE endpoint
    has_plain_variables: bool = False  # whether $NAME is a variable, like ${NAME}
    depth: int = 1  # of the user's file below the folder that shows that the agent is installed
    command: str | None = None
    is_desktop: bool = False  # whether it is started without a shell, whose PATH it does not have
    hint: str = ""  # where to paste the entry, if the agent has no file

    def file(self, scope: Scope, places: Places) -> Path:
        if self.hint:
            raise InputError(f"{self.title} has no configuration file. Paste the entry into {self.hint}.")
        if scope == "user":
            folders = ((places.folder(name), file) for name, file in self.user.items())
            return next(_choose_file(folder, file) for folder, file in folders if folder)
        if self.project is None:
            raise InputError(f"{self.title} has no configuration for projects. Use --user.")
        return _choose_file(places.project, self.project)

    def is_installed(self, places: Places) -> bool:
        if self.hint:
            return False
        file = self.file("user", places)
        folder = file.parents[self.depth - 1]
        is_configured = file.exists() or (folder != places.home and folder.is_dir())
        return is_configured or (self.command is not None and places.which(self.command) is not None)

    def make_entry(self, name: str, words: list[str], variables: Mapping[str, str]) -> dict[str, Any]:
        """The entry of this name that runs a command, as the agent writes it."""
        entry: dict[str, Any] = {"command": words} if self.has_list else {"command": words[0], "args": words[1:]}
        entry |= {"env": dict(variables)} if variables else {}
        entry = {self.names.get(key, key): value for key, value in entry.items()}
        named = {"name": name} if "name" in self.fixed else {}
        kind = {"type": self.fixed["type"]} if "type" in self.fixed else {}  # at the beginning, as is usual
        return {**kind, **entry, **self.fixed, **named}


def _choose_file(folder: Path, names: Files) -> Path:
    files = [folder / name for name in ([names] if isinstance(names, str) else names)]
    return next((file for file in files if file.exists()), files[-1])


AGENTS = {
    name: Agent(name, **values)
    for name, values in json.loads(Path(__file__).with_name("agents.json").read_bytes()).items()
}
