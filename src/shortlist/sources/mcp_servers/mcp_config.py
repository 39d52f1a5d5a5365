"""Configured MCP servers: which files name them, how each is reached, and which files wait for the user's approval."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._paths import config_dir
from shortlist._redact import redact, redact_words, secrets_in_url, secrets_in_words
from shortlist._text import count_of, printable
from shortlist.documents import Problem
from shortlist.errors import SourceError
from shortlist.sources.mcp_servers.mcp_trust import is_trusted, key_of
from shortlist.sources.projects import project_folders

OWN_FILE = "mcp.json"  # in our configuration directory
KEYS = ("mcpServers", "servers")
PROJECT_FILES = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json")
USER_FILES = (".claude.json", ".cursor/mcp.json")
APPLICATION_FILES = ("Claude/claude_desktop_config.json", "Code/User/mcp.json")

# Which tools of a server are wanted, in the words of several programs.
ALLOW = ("allow", "includeTools", "enabled_tools")
DENY = ("deny", "excludeTools", "disabledTools", "disabled_tools")

VALUES: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("url", "command", "cwd"), (str, "string")),
    **dict.fromkeys(("env", "headers"), (Mapping, "mapping")),
    "args": (list, "list"),
}

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is reached: by a command that runs it, or at a URL."""

    name: str
    command: str = field(default="", repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None  # None: the directory that the process which starts it runs in
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_sse: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)  # values of variables, wherever they were put
    allow: tuple[str, ...] = ()  # names of tools, * for anything; none allows all
    deny: tuple[str, ...] = ()
    seconds: float | None = None  # that a call may take, if the configuration says so
    file: Path | None = None  # that configures it
    project: Path | None = None  # whose file configures it; None if the user does

    @property
    def identity(self) -> str:
        """A hash of what it runs or contacts, independent of its name and of secrets."""
        places = [str(place or "") for place in (self.cwd, self.project)]
        text = json.dumps([self.without_secrets(part) for part in (self.command, *self.args, self.url)] + places)
        return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def offers(self, tool: str) -> bool:
        """Whether a tool of it is wanted: allowed (all are, unless some are listed) and not denied."""
        is_denied = any(fnmatchcase(tool, pattern) for pattern in self.deny)
        return not is_denied and any(fnmatchcase(tool, pattern) for pattern in self.allow or ("*",))

    def without_secrets(self, text: str) -> str:
        """A text without the values of its environment, headers and variables, and secrets in its command and URL."""
        named = [*self.env.items(), *self.headers.items(), *(("", value) for value in self.secrets)]
        words = [(name, word) for name, value in named for word in (value, *value.split())]
        return redact(text, [*words, *secrets_in_words([self.command, *self.args]), *secrets_in_url(self.url)])


@dataclass(frozen=True, slots=True)
class Pending(Problem):
    """A project's file that names servers and is not approved by the user as it is now."""

    servers: int = 0

    @classmethod
    def of(cls, path: Path, servers: int) -> Pending:
        pending = count_of(servers, "MCP server", "is pending approval")
        reason = f"{pending} in {printable(str(path), '?')}. The user can review them: {review_command(path)}"
        return cls(str(path), reason, str(path), servers)


def review_command(path: Path | str) -> str:
    """The command with which the user reviews a project's file."""
    return f"shortlist mcp trust {shlex.quote(printable(str(path), '?'))}"


def approve_command(tool: str, server: Server) -> str:
    """The command with which the user approves a tool, in any folder; quoted, as the server chose the name."""
    is_usual = server.file is None or server.file.resolve() in user_files()
    named = () if is_usual else ("--config", str(server.file))
    return shlex.join(printable(word, "?") for word in ("shortlist", "mcp", "approve", tool, *named))


class ConfigurationFile:
    """A file that names servers, read once: what is checked is what is used."""

    def __init__(self, path: Path, *, needs_trust: bool = False) -> None:
        self.path = Path(key_of(path))
        self.project = project_of(self.path)
        self._needs_trust = needs_trust or self.project is not None
        try:
            self.content = path.expanduser().read_bytes()
        except OSError as error:
            raise SourceError(f"The configuration {path} cannot be read: {error}.") from None

    @cached_property
    def data(self) -> Mapping[str, Any]:
        try:
            text = self.content.decode("utf-8-sig")
            data = json.loads(without_trailing_commas(without_comments(text)))
        except (ValueError, RecursionError) as error:
            raise SourceError(f"The configuration {self.path} cannot be read: {error}.") from None
        if not isinstance(data, Mapping):
            raise SourceError(f"The configuration {self.path} is no mapping.")
        return data

    @property
    def names_servers(self) -> bool:
        """Whether it has a list of servers; a program's settings may have none."""
        return bool(self.data.keys() & set(KEYS))

    def entries(self) -> dict[str, Any]:
        """The servers as written, nothing expanded, without disabled ones and without shortlist itself."""
        entries = _entries(self.data, str(self.path)).items()
        return {str(name): entry for name, entry in entries if not _is_off(entry) and not _is_ourselves(entry)}

    @cached_property
    def is_trusted(self) -> bool:
        return not self._needs_trust or is_trusted(self.path, self.content)

    def pending(self) -> Pending | None:
        """What waits for the user's approval, if anything does."""
        count = 0 if self.is_trusted else len(self.entries())
        return Pending.of(self.path, count) if count else None

    def servers(self) -> Iterator[Server | Problem]:
        """Its servers with variables expanded; of a file that is not trusted only what is pending."""
        if not self.is_trusted:
            yield from filter(None, [self.pending()])
            return
        # Relative paths start at the project or, in a file of the user, at the working directory.
        for server in servers_of(self.data, self.project or Path.cwd(), str(self.path)):
            yield replace(server, file=self.path, project=self.project) if isinstance(server, Server) else server


def user_files() -> list[Path]:
    """The possible configuration files of the user, ours first."""
    home = Path.home()
    if sys.platform == "darwin":
        applications = home / "Library" / "Application Support"
    else:
        applications = Path(os.environ.get("APPDATA") or os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    places = [config_dir() / OWN_FILE, *(home / name for name in USER_FILES)]
    return [place.resolve() for place in (*places, *(applications / name for name in APPLICATION_FILES))]


def project_files() -> list[Path]:
    """The possible configuration files of the current project."""
    places = [folder / name for folder in project_folders() for name in PROJECT_FILES]
    return [place for place in places if project_of(place)]


def possible_files() -> list[Path]:
    """The possible configuration files: our own, those of the project, those of the user's agents."""
    own, *agents = user_files()
    return list(dict.fromkeys((own, *project_files(), *agents)))


def project_of(path: Path) -> Path | None:
    """The folder of the project that a file belongs to; None for any file of the user's own."""
    if path.resolve() in user_files():
        return None
    for name in PROJECT_FILES:
        parts = Path(name).parts
        for place in (path, path.resolve()):  # a link counts by its own name and by its target's
            if place.parts[-len(parts) :] == parts:
                return place.parents[len(parts) - 1]
    return None


def pending_files() -> list[Pending]:
    """The files of this project that wait for the user's approval."""
    found = []
    for path in project_files():
        with contextlib.suppress(SourceError):  # one that cannot be read names no server
            file = ConfigurationFile(path)
            found += [file.pending()] if file.names_servers else []
    return [pending for pending in found if pending]


def servers_in_files(paths: Iterable[Path], *, settings_too: bool = False) -> Iterator[Server | Problem]:
    """The servers that these files configure, the first of each name. With `settings_too` a file may name none."""
    taken: set[str] = set()
    for file in map(ConfigurationFile, paths):
        for server in file.servers() if file.names_servers or not settings_too else ():
            name = server.name if isinstance(server, Server) else server.id
            if name not in taken:
                taken.add(name)
                yield server


def servers_of(config: Mapping[str, Any], folder: Path, where: str) -> Iterator[Server | Problem]:
    """The servers of a configuration; a broken one is a Problem under its name."""
    for name, entry in _entries(config, where).items():
        if _is_off(entry):
            continue
        try:
            yield _server(str(name), entry, folder)
        except ValueError as error:
            yield Problem(str(name), f"The server {name} in {where} {error}.", str(name))


def outline(name: str, entry: Any) -> dict[str, Any]:
    """What an entry would run or contact, as written: nothing expanded, secrets hidden.

    Of variables and headers only the names are shown, and the value where it would be expanded.
    """
    read = entry if isinstance(entry, Mapping) else {}
    args, url = read.get("args"), str(read.get("url") or "")
    words = [str(word) for word in (read.get("command") or "", *(args if isinstance(args, list) else ()))]
    command, *shown = redact_words(words)
    found: dict[str, Any] = {"name": name, "command": command, "args": shown, "cwd": str(read.get("cwd") or "")}
    found["url"] = redact(url, [(key, value) for key, value in secrets_in_url(url) if not _VARIABLE.search(value)])
    for key in ("env", "headers"):
        named = read[key] if isinstance(read.get(key), Mapping) else {}
        found[key] = [f"{each}={value}" if _VARIABLE.search(str(value)) else str(each) for each, value in named.items()]
    return found


def runs_shortlist(words: Iterable[Any]) -> bool:
    """Whether a command line runs `shortlist mcp`, as that of an agent's own configuration does."""
    stems = [Path(word).stem if isinstance(word, str) else "" for word in words]
    return "shortlist" in stems and "mcp" in stems[stems.index("shortlist") :]


def without_comments(text: str) -> str:
    """JSON as editors write it, with its comments blanked out: every other character stays at its place."""
    return _COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)


def without_trailing_commas(text: str) -> str:
    """JSON without comments, with its trailing commas blanked out."""
    return _TRAILING_COMMA.sub(lambda found: found[1] or " ", text)


def _entries(config: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    servers = next((config[key] for key in KEYS if key in config), None)
    are_entries = [isinstance(entry, Mapping) and ("command" in entry or "url" in entry) for entry in config.values()]
    if servers is None and config and all(are_entries):
        servers = config
    if not isinstance(servers, Mapping):
        raise SourceError(f"{where} has no mapping named 'mcpServers' or 'servers' at its top.")
    return servers


def _is_off(entry: Any) -> bool:
    return isinstance(entry, Mapping) and (entry.get("disabled") is True or entry.get("enabled") is False)


def _is_ourselves(entry: Any) -> bool:
    if not isinstance(entry, Mapping):
        return False
    args = entry.get("args")
    return runs_shortlist([entry.get("command"), *(args if isinstance(args, list) else ())])


def _server(name: str, entry: Any, folder: Path) -> Server:
    """A server, with ${VAR}, ${VAR:-default} and ${env:VAR} expanded. A ValueError says what is wrong."""
    if not isinstance(entry, Mapping):
        raise ValueError("is no mapping")
    for key, (kind, noun) in VALUES.items():
        if entry.get(key) and not isinstance(entry[key], kind):
            raise ValueError(f"has a '{key}' that is no {noun}")
    seconds = entry.get("timeout_seconds")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0):
        raise ValueError("has a 'timeout_seconds' that is no number above 0")
    known = {"workspaceFolder": str(folder), "userHome": str(Path.home())}
    secrets: list[str] = []

    def value_of(variable: str) -> str:
        if variable in known:
            return known[variable]
        if variable.startswith("input:"):
            raise ValueError(f"asks for {variable!r} when it starts; name an environment variable instead")
        name, has_default, default = variable.removeprefix("env:").partition(":-")
        if name not in os.environ and not has_default:
            raise ValueError(f"needs the environment variable {name}, which is not set")
        secrets.append(os.environ.get(name) or default)
        return secrets[-1]

    def expand(value: Any) -> str:
        return _VARIABLE.sub(lambda found: value_of(found[1]), str(value))

    url, command, cwd = (expand(entry.get(key) or "") for key in ("url", "command", "cwd"))
    if not url and not command:
        raise ValueError("has neither a 'command' nor a 'url'")
    env, headers = (
        {str(name): expand(value) for name, value in (entry.get(key) or {}).items() if value is not None}
        for key in ("env", "headers")
    )
    return Server(
        name,
        command,
        args=tuple(map(expand, entry.get("args") or ())),
        env=env,
        cwd=folder / cwd if cwd else None,
        url=url,
        headers=headers,
        is_sse=entry.get("type") == "sse",
        secrets=tuple(secrets),
        allow=_patterns(entry, ALLOW),
        deny=_patterns(entry, DENY),
        seconds=seconds,
    )


def _patterns(entry: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    """The names of tools under the first of these keys that is there."""
    key = next((key for key in keys if entry.get(key) is not None), keys[0])
    names = entry.get(key) or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"has a '{key}' that is no list of texts")
    return tuple(names)
