"""The known agents, and where each stores the servers that it starts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Literal

from shortlist.errors import InputError
from shortlist.install import json_text, toml_text
from shortlist.sources.projects import project_folders

Scope = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Places:
    """What the place of a file depends on: the system, the home, the environment, the project."""

    platform: str = sys.platform
    home: Path = field(default_factory=Path.home)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    project: Path = field(default_factory=lambda: project_folders()[-1])
    which: Callable[[str], str | None] = shutil.which

    def of(self, variable: str, otherwise: Path) -> Path:
        """The folder that a variable names."""
        named = self.environment.get(variable)
        return Path(named).expanduser() if named else otherwise

    @property
    def applications(self) -> Path:
        """Where programs store their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.of("APPDATA", self.home / "AppData" / "Roaming")
        return self.of("XDG_CONFIG_HOME", self.home / ".config")


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: its files, the key of the servers in them, and what shows that it is installed."""

    name: str
    title: str
    user: Callable[[Places], Path]
    project: str | None = None  # below the folder of the project
    key: str = "mcpServers"
    form: ModuleType = json_text
    says_type: bool = False  # whether an entry has a "type"
    command: str | None = None

    def file(self, scope: Scope, places: Places) -> Path:
        if scope == "user":
            return self.user(places)
        if self.project is None:
            raise InputError(f"{self.title} has no configuration of a project, only that of the user.")
        return places.project / self.project

    def is_here(self, places: Places) -> bool:
        file = self.user(places)
        # the home is always there, and says nothing
        is_configured = file.exists() or (file.parent != places.home and file.parent.is_dir())
        return is_configured or (self.command is not None and places.which(self.command) is not None)


def _claude_code(places: Places) -> Path:
    return places.of("CLAUDE_CONFIG_DIR", places.home) / ".claude.json"


def _claude_desktop(places: Places) -> Path:
    """On Windows the package from the store has folders of its own, and reads no others."""
    name = "claude_desktop_config.json"
    if places.platform == "win32":
        packages = places.of("LOCALAPPDATA", places.home / "AppData" / "Local") / "Packages"
        found = [folder / "LocalCache" / "Roaming" / "Claude" for folder in sorted(packages.glob("Claude_*"))]
        folders = [folder for folder in found if (folder / name).exists()] or [one for one in found if one.is_dir()]
        if len(folders) > 1:
            listed = ", ".join(map(str, folders))
            raise InputError(f"There are several Claude Desktops, and it is not clear which one is used: {listed}.")
        if folders:
            return folders[0] / name
    return places.applications / "Claude" / name


def _cursor(places: Places) -> Path:
    return places.home / ".cursor" / "mcp.json"


def _vscode(places: Places) -> Path:
    if portable := places.environment.get("VSCODE_PORTABLE"):
        return Path(portable) / "user-data" / "User" / "mcp.json"
    return places.of("VSCODE_APPDATA", places.applications) / "Code" / "User" / "mcp.json"


def _codex(places: Places) -> Path:
    return places.of("CODEX_HOME", places.home / ".codex") / "config.toml"


AGENTS = {
    agent.name: agent
    for agent in (
        Agent("claude-code", "Claude Code", _claude_code, ".mcp.json", says_type=True, command="claude"),
        Agent("claude-desktop", "Claude Desktop", _claude_desktop),
        Agent("cursor", "Cursor", _cursor, ".cursor/mcp.json", command="cursor"),
        Agent("vscode", "VS Code", _vscode, ".vscode/mcp.json", "servers", says_type=True, command="code"),
        Agent("codex", "Codex", _codex, ".codex/config.toml", "mcp_servers", toml_text, command="codex"),
    )
}
