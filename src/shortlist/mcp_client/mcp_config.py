"""Configured MCP servers: which files name them, how each is reached, and which files are pending approval."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._paths import config_dir
from shortlist._plain import MAX_DEPTH, is_deeper
from shortlist._projects import project_folders
from shortlist._redact import Secret, redact, redact_words, secrets_in_url, secrets_in_words
from shortlist._text import count_of, printable
from shortlist.documents import Problem
from shortlist.errors import SourceError
from shortlist.mcp_client.mcp_entries import (
    ALLOW,
    DENY,
    command_line,
    is_off,
    is_server,
    normalize,
    tool_patterns,
)
from shortlist.mcp_client.mcp_trust import is_trusted, key_of
from shortlist.safety.untrusted_files import LARGEST_DATA, LARGEST_TEXT, read_regular_file

OWN_FILE = "mcp.json"  # in our configuration directory
KEYS = ("mcpServers", "servers", "mcp_servers")
PROJECT_FILES = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml")
# The user's files: the variable that names their folder, the folder otherwise, below the home folder, and the name.
USER_FILES = (
    ("CLAUDE_CONFIG_DIR", "", ".claude.json"),
    ("", ".cursor", "mcp.json"),
    ("CODEX_HOME", ".codex", "config.toml"),
)
APPLICATION_FILES = ("Claude/claude_desktop_config.json", "Code/User/mcp.json")

# The settings for a sign-in, in snake case; several programs write them in camel case.
OAUTH = ("client_id", "client_secret", "client_metadata_url", "scopes", "callback_port")

VALUES: dict[str, type] = {"url": str, "command": str, "cwd": str, "env": Mapping, "headers": Mapping, "args": list}
SECONDS = {
    "seconds": ("timeout_seconds", "tool_timeout_sec"),
    "start_seconds": ("startup_timeout_sec", "startup_timeout_seconds"),
}
FILE_WIDE = ("new_tools", "redact_results")  # that a file may have for all of its servers
NEW_TOOLS = ("allow", "notify", "hold")  # the strictest last
NOUNS: dict[type, str] = {str: "string", Mapping: "mapping", list: "list"}

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is reached: by a command that runs it, or at a URL."""

    name: str
    command: str = field(default="", repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None  # None: the working directory of the process that starts it
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_sse: bool = False
    oauth: Mapping[str, str] = field(default_factory=dict, repr=False)  # settings for the sign-in, see OAUTH
    sign_in: str = ""  # the id of the stored sign-in when the configuration was read
    secrets: tuple[str, ...] = field(default=(), repr=False)  # the values of expanded variables
    allow: tuple[str, ...] = ()  # patterns of tool names; empty allows all
    deny: tuple[str, ...] = ()
    seconds: float | None = None  # the configured time limit of a call
    start_seconds: float | None = None  # the configured time limit of the start
    new_tools: str = ""  # what happens to tools that are added later, see NEW_TOOLS; empty if it is not configured
    redacts_results: bool | None = None  # whether secrets are removed from results; None if it is not configured
    file: Path | None = None  # that configures it
    project: Path | None = None  # whose file configures it; None if the user does

    @property
    def identity(self) -> str:
        """A hash of what it runs or contacts, independent of its name and of secrets."""
        places = [str(place or "") for place in (self.cwd, self.project)]
        text = json.dumps([self.without_secrets(part) for part in (self.command, *self.args, self.url)] + places)
        return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def offers(self, tool: str) -> bool:
        """Whether a tool is allowed (all are, unless some are listed) and not denied."""
        is_denied = any(fnmatchcase(tool.casefold(), pattern.casefold()) for pattern in self.deny)
        return not is_denied and any(fnmatchcase(tool, pattern) for pattern in self.allow or ("*",))

    def without_secrets(self, text: str) -> str:
        """A text without the values of its environment, headers and variables, and secrets in its command and URL."""
        return redact(text, self.list_secrets())

    def list_secrets(self) -> list[Secret]:
        """The values of its environment, headers and variables, and secrets in its command and URL."""
        unnamed = (*self.secrets, self.oauth.get("client_secret", ""))
        named = [*self.env.items(), *self.headers.items(), *(("", value) for value in unnamed)]
        words = [(name, word) for name, value in named for word in (value, *value.split())]
        return [*words, *secrets_in_words([self.command, *self.args]), *secrets_in_url(self.url)]


@dataclass(frozen=True, slots=True)
class Pending(Problem):
    """A project's file that names servers, whose present content the user has not approved."""

    servers: int = 0


def review_command(path: Path | str) -> str:
    """The command with which the user reviews a project's file."""
    return f"shortlist mcp trust {shlex.quote(printable(str(path), '?'))}"


def approve_command(tool: str, server: Server) -> str:
    """The command with which the user approves a tool, in any folder; quoted, as the server chose the name."""
    return _command("approve", tool, server)


def sign_in_command(server: Server, scopes: str = "") -> str:
    """The command with which the user signs in to a server, in any folder."""
    return _command("login", server.name, server, *(("--scopes", scopes) if scopes else ()))


def _command(act: str, name: str, server: Server, *options: str) -> str:
    is_usual = server.file is None or server.file.resolve() in user_files()
    config = () if is_usual else ("--config", str(server.file))
    return shlex.join(printable(word, "?") for word in ("shortlist", "mcp", act, name, *options, *config))


class ConfigurationFile:
    """A file that names servers, read once: what is checked is what is used."""

    def __init__(self, path: Path, *, needs_trust: bool = False) -> None:
        self.path = Path(key_of(path))
        self.project = project_of(self.path)
        self._needs_trust = needs_trust or self.project is not None
        try:
            largest = LARGEST_TEXT if self._needs_trust else LARGEST_DATA  # some agents store their history, too
            self.content = read_regular_file(path.expanduser(), limit=largest)
        except OSError as error:
            raise SourceError(f"The configuration {path} cannot be read: {error.strerror}.") from None

    @cached_property
    def data(self) -> Mapping[str, Any]:
        try:
            text = self.content.decode("utf-8-sig")
            is_toml = self.path.suffix == ".toml"
            data = tomllib.loads(text) if is_toml else json.loads(without_trailing_commas(without_comments(text)))
            if not isinstance(data, Mapping):
                raise ValueError("it is not a mapping")
            if is_deeper(data):
                raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        except (ValueError, RecursionError) as error:
            raise SourceError(f"The configuration {self.path} cannot be read: {error}.") from None
        return data

    @property
    def names_servers(self) -> bool:
        """Whether it has a list of servers; the settings of a program may have none."""
        return bool(self.data.keys() & set(KEYS))

    def entries(self) -> dict[str, Any]:
        """The servers, with variables as written, without disabled ones and without shortlist itself."""
        entries = _find_entries(self.data, str(self.path)).items()
        return {str(name): entry for name, entry in entries if not runs_shortlist(command_line(entry))}

    @cached_property
    def is_trusted(self) -> bool:
        return not self._needs_trust or is_trusted(self.path, self.content)

    def pending(self) -> Pending | None:
        """The servers that are pending the user's approval, if any are."""
        count = 0 if self.is_trusted else len(self.entries())
        pending = count_of(count, "MCP server", "is pending approval")
        reason = f"{pending} in {printable(str(self.path), '?')}. The user can review them: {review_command(self.path)}"
        return Pending(str(self.path), reason, str(self.path), count) if count else None

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
    from platformdirs import user_config_path  # noqa: PLC0415  # only where configurations are read

    applications = [user_config_path(roaming=True) / name for name in APPLICATION_FILES]
    agents = [
        Path(os.environ.get(variable) or Path.home() / folder).expanduser() / name
        for variable, folder, name in USER_FILES
    ]
    return [place.resolve() for place in (config_dir() / OWN_FILE, *agents, *applications)]


def project_files() -> list[Path]:
    """The possible configuration files of the current project."""
    places = [folder / name for folder in project_folders() for name in PROJECT_FILES]
    return [place for place in places if project_of(place)]


def possible_files() -> list[Path]:
    """The possible configuration files: our own, those of the project, those of the user's agents."""
    own, *agents = user_files()
    return list(dict.fromkeys((own, *project_files(), *agents)))


def project_of(path: Path) -> Path | None:
    """The folder of the project that a file belongs to; None for a file of the user."""
    if path.resolve() in user_files():
        return None
    for parts in (Path(name).parts for name in PROJECT_FILES):
        for place in (path, path.resolve()):  # a link counts by its own name and by its target's
            if place.parts[-len(parts) :] == parts:
                return place.parents[len(parts) - 1]
    return None


def pending_files() -> list[Pending]:
    """The files of this project that are pending the user's approval."""
    pending: list[Pending] = []
    for path in project_files():
        with contextlib.suppress(SourceError):  # a file that cannot be read names no server
            file = ConfigurationFile(path)
            pending += filter(None, [file.pending() if file.names_servers else None])
    return pending


def servers_in_files(paths: Iterable[Path], *, settings_too: bool = False) -> Iterator[Server | Problem]:
    """The servers in these files, the first of each name. With `settings_too` a file may name none, and one that cannot
    be opened is a Problem."""
    names: set[str] = set()
    for path in paths:
        try:
            file = ConfigurationFile(path)
        except SourceError as error:
            if not settings_too:
                raise
            yield Problem(str(path), str(error), str(path))
            continue
        for server in file.servers() if file.names_servers or not settings_too else ():
            name = server.name if isinstance(server, Server) else server.id
            if name not in names:
                names.add(name)
                yield server


def servers_of(config: Mapping[str, Any], folder: Path, where: str) -> Iterator[Server | Problem]:
    """The enabled servers of a configuration; a broken one is a Problem under its name."""
    defaults = {key: config[key] for key in FILE_WIDE if key in config}
    for name, entry in _find_entries(config, where).items():
        try:
            yield _parse_server(str(name), {**defaults, **entry} if isinstance(entry, Mapping) else entry, folder)
        except ValueError as error:
            yield Problem(str(name), f"The server {name} in {where} {error}.", str(name))


def outline(name: str, entry: Any) -> dict[str, Any]:
    """What an entry would run or contact, as written and without secrets.

    Variables and headers are shown by name only, except a value that would be expanded.
    """
    command, *args = redact_words([str(word) for word in command_line(entry)])
    entry = entry if isinstance(entry, Mapping) else {}
    url = str(entry.get("url") or "")
    secrets = [(key, value) for key, value in secrets_in_url(url) if not _VARIABLE.search(value)]
    shown = {"name": name, "command": command, "args": args, "cwd": str(entry.get("cwd") or "")}
    shown["url"] = redact(url, secrets)
    for key in ("env", "headers", "oauth"):
        values = entry[key] if isinstance(entry.get(key), Mapping) else {}
        shown[key] = [f"{one}={value}" if _VARIABLE.search(str(value)) else str(one) for one, value in values.items()]
    return shown


def runs_shortlist(words: Iterable[Any]) -> bool:
    """Whether a command line runs `shortlist mcp`, as that of an agent's own configuration does."""
    stems = [Path(word).stem if isinstance(word, str) else "" for word in words]
    return "shortlist" in stems and "mcp" in stems[stems.index("shortlist") :]


def without_comments(text: str) -> str:
    """JSON as editors write it, with spaces instead of comments: every other character keeps its position."""
    return _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)


def without_trailing_commas(text: str) -> str:
    """JSON without comments, with spaces instead of trailing commas."""
    return _TRAILING_COMMA.sub(lambda match: match[1] or " ", text)


def _find_entries(config: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The entries of enabled servers, normalized: under one of the usual keys, or the whole configuration."""
    servers = next((config[key] for key in KEYS if key in config), None)
    if servers is None and config and all(map(is_server, config.values())):
        servers = config
    if not isinstance(servers, Mapping):
        raise SourceError(f"{where} has no mapping 'mcpServers' or 'servers' at the top level.")
    return {name: normalize(entry) for name, entry in servers.items() if not is_off(entry)}


def _parse_server(name: str, entry: Any, folder: Path) -> Server:
    """A server, with ${VAR}, ${VAR:-default} and ${env:VAR} expanded. A ValueError describes what is wrong."""
    if not isinstance(entry, Mapping):
        raise ValueError("is not a mapping")
    for key, kind in VALUES.items():
        if entry.get(key) and not isinstance(entry[key], kind):
            raise ValueError(f"has a '{key}' that is not a {NOUNS[kind]}")
    known = {"workspaceFolder": str(folder), "userHome": str(Path.home())}
    secrets: list[str] = []

    def value_of(variable: str) -> str:
        if variable in known:
            return known[variable]
        if variable.startswith("input:"):
            raise ValueError(f"asks for {variable!r} when it starts; use an environment variable instead")
        name, has_default, default = variable.removeprefix("env:").partition(":-")
        if name not in os.environ and not has_default:
            raise ValueError(f"needs the environment variable {name}, which is not set")
        secrets.append(os.environ.get(name) or default)
        return secrets[-1]

    def expand(value: Any) -> str:
        return _VARIABLE.sub(lambda match: value_of(match[1]), str(value))

    values: dict[str, Any] = {key: expand(entry.get(key) or "") for key in ("url", "command", "cwd")}
    if not values["url"] and not values["command"]:
        raise ValueError("has neither a 'command' nor a 'url'")
    values["cwd"] = folder / values["cwd"] if values["cwd"] else None
    values["args"] = tuple(map(expand, entry.get("args") or ()))
    for key in ("env", "headers"):
        given = (entry.get(key) or {}).items()
        values[key] = {str(name): expand(value) for name, value in given if value is not None}
    values["oauth"] = {key: expand(value) for key, value in _read_oauth(entry).items()}
    values |= {"allow": tool_patterns(entry, ALLOW), "deny": tool_patterns(entry, DENY)}
    values |= {field: _limit(entry, keys) for field, keys in SECONDS.items()}
    values |= {"new_tools": read_new_tools(entry), "redacts_results": read_redacts_results(entry)}
    return Server(name, is_sse=entry.get("type") == "sse", secrets=tuple(secrets), **values)


def _read_oauth(entry: Mapping[str, Any]) -> dict[str, str]:
    """The settings for the sign-in to a server as written; without any, it is found out and registered."""
    given = entry["oauth"] if isinstance(entry.get("oauth"), Mapping) else {}
    found = {_CAPITAL.sub(r"_\g<0>", str(key)).lower(): value for key, value in given.items() if value}
    if isinstance(found.get("scopes"), list):
        found["scopes"] = " ".join(map(str, found["scopes"]))
    port = found.get("callback_port", 1)
    if not isinstance(port, int) or not 0 < port < 1 << 16:
        raise ValueError(f"has a 'callback_port' under 'oauth' that is not a port number: {port!r}")
    return {key: str(found[key]) for key in OAUTH if key in found}


def read_new_tools(entry: Mapping[str, Any]) -> str:
    """What happens to new tools, as an entry or a file has it; empty if it does not."""
    found = entry.get("new_tools") or ""
    if found and found not in NEW_TOOLS:
        raise ValueError(f"has a 'new_tools' that is not {', '.join(NEW_TOOLS[:-1])} or {NEW_TOOLS[-1]}: {found!r}")
    return str(found)


def read_redacts_results(entry: Mapping[str, Any]) -> bool | None:
    """Whether results are redacted, as an entry or a file has it; None if it does not."""
    found = entry.get("redact_results")
    if not isinstance(found, bool | None):
        raise ValueError(f"has a 'redact_results' that is not true or false: {found!r}")
    return found


def _limit(entry: Mapping[str, Any], keys: Sequence[str]) -> float | None:
    """The seconds under the first of these keys that is present."""
    key = next((key for key in keys if entry.get(key) is not None), keys[0])
    seconds = entry.get(key)
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0):
        raise ValueError(f"has a '{key}' that is not a number above 0")
    return seconds
