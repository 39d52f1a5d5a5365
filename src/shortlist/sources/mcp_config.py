"""Which MCP servers are configured, and how is each reached?"""

from __future__ import annotations

import builtins
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist.errors import SourceError
from shortlist.sources.places import project_folders
from shortlist.types import Problem

KEYS = ("mcpServers", "servers")
PROJECT_FILES = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json")
USER_FILES = (".claude.json", ".cursor/mcp.json")
APPLICATION_FILES = ("Claude/claude_desktop_config.json", "Code/User/mcp.json")

# Which tools of a server are wanted, in the words of several programs.
ALLOW = ("allow", "includeTools", "enabled_tools")
DENY = ("deny", "excludeTools", "disabledTools", "disabled_tools")

SHORTEST_SECRET = 4  # what is shorter, such as a port or a flag, stands in many a message by chance

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is reached: by a command that runs it, or at an address."""

    name: str
    command: str = field(default="", repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_sse: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)  # values of variables, wherever they were put
    allow: tuple[str, ...] = ()  # names of tools, * for anything; none allows all
    deny: tuple[str, ...] = ()
    seconds: float | None = None  # that a call may take, if the configuration says so

    @property
    def identity(self) -> str:
        """What it is, whatever it is called and whichever secrets it is given."""
        told = [self.command, *self.args, self.url, str(self.folder or "")]
        text = json.dumps([self.without_secrets(part) for part in told])
        return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def offers(self, tool: str) -> bool:
        """Whether a tool of it is wanted: what is denied is not, and where some are allowed, only those are."""
        if any(fnmatchcase(tool, pattern) for pattern in self.deny):
            return False
        return not self.allow or any(fnmatchcase(tool, pattern) for pattern in self.allow)

    def without_secrets(self, text: str) -> str:
        """A text without what was in the server's environment, headers, query or variables."""
        address, _, query = self.url.partition("?")
        user, _, _ = address.partition("://")[2].rpartition("@")
        hidden = [*self.env.values(), *self.headers.values(), *self.secrets, *re.split("[&=]", query), *user.split(":")]
        words = {word for value in hidden for word in (value, *value.split()) if len(word) >= SHORTEST_SECRET}
        for word in sorted(words, key=len, reverse=True):
            text = text.replace(word, "***")
        return text


def usual_files() -> list[Path]:
    """The configuration files of project and user that are there, the project's first."""
    home = Path.home()
    if sys.platform == "darwin":
        applications = home / "Library" / "Application Support"
    else:
        applications = Path(os.environ.get("APPDATA") or os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    places = [folder / name for folder in project_folders() for name in PROJECT_FILES]
    places += [home / name for name in USER_FILES] + [applications / name for name in APPLICATION_FILES]
    return list(dict.fromkeys(place.resolve() for place in places if place.is_file()))


def servers_in_files(paths: list[Path], *, settings_too: bool = False) -> Iterator[Server | Problem]:
    """The servers that these files configure; of one name the first. A program's settings may name none at all."""
    taken: set[str] = set()
    for path in paths:
        config = _load(path)
        if settings_too and not config.keys() & set(KEYS):
            continue
        folder = path.parent.parent if path.parent.name in (".vscode", ".cursor") else path.parent
        for server in servers_of(config, folder, str(path)):
            name = server.name if isinstance(server, Server) else server.id
            if name not in taken:
                taken.add(name)
                yield server


def servers_of(config: Mapping[str, Any], folder: Path, where: str) -> Iterator[Server | Problem]:
    """The servers of a configuration; one that is broken is a Problem under its name."""
    servers = next((config[key] for key in KEYS if key in config), None)
    if servers is None and config and all(_is_entry(entry) for entry in config.values()):
        servers = config
    if not isinstance(servers, Mapping):
        raise SourceError(f"{where} has no mapping named 'mcpServers' or 'servers' at its top.")
    for name, entry in servers.items():
        if isinstance(entry, Mapping) and (entry.get("disabled") is True or entry.get("enabled") is False):
            continue
        try:
            yield _server(str(name), entry, folder)
        except ValueError as error:
            yield Problem(str(name), f"The server {name} in {where} {error}.", str(name))


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, Mapping) and ("command" in entry or "url" in entry)


def _load(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        data = json.loads(_without_comments(text))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"The configuration {path} cannot be read: {error}.") from None
    if not isinstance(data, Mapping):
        raise SourceError(f"The configuration {path} is no mapping.")
    return data


def _without_comments(text: str) -> str:
    """JSON out of the JSON with comments and last commas that editors write."""
    for pattern in (_STRING_OR_COMMENT, _STRING_OR_LAST_COMMA):
        text = pattern.sub(lambda found: found[1] or "", text)
    return text


def _server(name: str, entry: Any, folder: Path) -> Server:
    if not isinstance(entry, Mapping):
        raise ValueError("is no mapping")
    read = _Entry(entry, folder)
    url, command = read.text("url"), read.text("command")
    if not url and not command:
        raise ValueError("has neither a 'command' nor a 'url'")
    return Server(
        name,
        command,
        read.list("args"),
        read.mapping("env"),
        folder / read.text("cwd"),
        url,
        read.mapping("headers"),
        entry.get("type") == "sse",
        tuple(read.secrets),
        read.names(ALLOW),
        read.names(DENY),
        read.number("timeout_seconds"),
    )


class _Entry:
    """The values of an entry, with their ${VAR}, ${VAR:-default} and ${env:VAR} replaced."""

    def __init__(self, entry: Mapping[str, Any], folder: Path) -> None:
        self._entry = entry
        self._known = {"workspaceFolder": str(folder), "userHome": str(Path.home())}
        self.secrets: list[str] = []

    def text(self, key: str) -> str:
        value = self._entry.get(key) or ""
        if not isinstance(value, str):
            raise ValueError(f"has a '{key}' that is no string")
        return self._expand(value)

    def list(self, key: str) -> tuple[str, ...]:
        values = self._entry.get(key) or []
        if not isinstance(values, builtins.list):
            raise ValueError(f"has '{key}' that are no list")
        return tuple(self._expand(str(value)) for value in values)

    def names(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The texts that the first of these keys lists."""
        key = next((key for key in keys if self._entry.get(key) is not None), keys[0])
        names = self._entry.get(key) or []
        if not isinstance(names, builtins.list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"has a '{key}' that is no list of texts")
        return tuple(names)

    def number(self, key: str) -> float | None:
        value = self._entry.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
            raise ValueError(f"has a '{key}' that is no number above 0")
        return value

    def mapping(self, key: str) -> dict[str, str]:
        values = self._entry.get(key) or {}
        if not isinstance(values, Mapping):
            raise ValueError(f"has '{key}' that are no mapping")
        return {str(name): self._expand(str(value)) for name, value in values.items() if value is not None}

    def _expand(self, text: str) -> str:
        return _VARIABLE.sub(lambda found: self._value(found[1]), text)

    def _value(self, variable: str) -> str:
        if variable in self._known:
            return self._known[variable]
        if variable.startswith("input:"):
            raise ValueError(f"asks for {variable!r} when it starts; name an environment variable instead")
        name, has_default, default = variable.removeprefix("env:").partition(":-")
        if name not in os.environ and not has_default:
            raise ValueError(f"needs the environment variable {name}, which is not set")
        value = os.environ.get(name) or default
        self.secrets.append(value)
        return value
