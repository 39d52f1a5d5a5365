"""The configuration of one MCP server: how it is reached, and which of its tools may be used."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import Any

from shortlist._redact import Secret, redact, redact_words, secrets_in_url, secrets_in_words
from shortlist.documents import Problem
from shortlist.errors import SourceError
from shortlist.mcp_client.server_entries import (
    ALLOW,
    DENY,
    command_line,
    is_off,
    is_server,
    normalize,
    tool_patterns,
)

KEYS = ("mcpServers", "servers", "mcp_servers")

# The settings for a sign-in, in snake case; several programs write them in camel case.
OAUTH = ("client_id", "client_secret", "client_metadata_url", "scopes", "callback_port")

VALUES: dict[str, type] = {"url": str, "command": str, "cwd": str, "env": Mapping, "headers": Mapping, "args": list}
TIME_LIMIT_KEYS = {
    "seconds": ("timeout_seconds", "tool_timeout_sec"),
    "start_seconds": ("startup_timeout_sec", "startup_timeout_seconds"),
}
IDLE = "idle_timeout_seconds"
FILE_WIDE = ("new_tools", "redact_results", "result_characters", IDLE)  # that a file may have for all of its servers
NEW_TOOLS = ("allow", "notify", "hold")  # the strictest last
NOUNS: dict[type, str] = {str: "string", Mapping: "mapping", list: "list"}

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")


@dataclass(frozen=True, slots=True)
class ServerConfig:
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
    idle_seconds: float | None = None  # without requests, after which it is configured to be stopped; 0: never
    new_tools: str = ""  # what happens to tools that are added later, see NEW_TOOLS; empty if it is not configured
    redacts_results: bool | None = None  # whether secrets are removed from results; None if it is not configured
    result_budgets: tuple[tuple[str, int], ...] = ()  # characters of a result by patterns of tool names
    file: Path | None = None  # that configures it
    project: Path | None = None  # that it is configured for; None: for all

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

    def result_budget(self, tool: str) -> int | None:
        """The configured number of characters of a result of a tool."""
        return next((budget for pattern, budget in self.result_budgets if fnmatchcase(tool, pattern)), None)

    def without_secrets(self, text: str) -> str:
        """A text without the values of its environment, headers and variables, and secrets in its command and URL."""
        return redact(text, self.list_secrets())

    def list_secrets(self) -> list[Secret]:
        """The values of its environment, headers and variables, and secrets in its command and URL."""
        unnamed = (*self.secrets, self.oauth.get("client_secret", ""))
        named = [*self.env.items(), *self.headers.items(), *(("", value) for value in unnamed)]
        words = [(name, word) for name, value in named for word in (value, *value.split())]
        return [*words, *secrets_in_words([self.command, *self.args]), *secrets_in_url(self.url)]


def servers_of(config: Mapping[str, Any], folder: Path, where: str) -> Iterator[ServerConfig | Problem]:
    """The enabled servers of a configuration; a broken one is a Problem under its name."""
    defaults = {key: config[key] for key in FILE_WIDE if key in config}
    for name, entry in find_entries(config, where).items():
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


def find_entries(config: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The entries of enabled servers, normalized: under one of the usual keys, or the whole configuration."""
    servers = next((config[key] for key in KEYS if key in config), None)
    if servers is None and config and all(map(is_server, config.values())):
        servers = config
    if not isinstance(servers, Mapping):
        raise SourceError(f"{where} has no mapping 'mcpServers' or 'servers' at the top level.")
    return {name: normalize(entry) for name, entry in servers.items() if not is_off(entry)}


def _parse_server(name: str, entry: Any, folder: Path) -> ServerConfig:
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
    values |= {field: _limit(entry, keys) for field, keys in TIME_LIMIT_KEYS.items()}
    values["idle_seconds"] = 0 if entry.get(IDLE) == 0 else _limit(entry, (IDLE,))
    values |= {"new_tools": read_new_tools(entry), "redacts_results": read_redacts_results(entry)}
    values["result_budgets"] = read_result_budgets(entry)
    return ServerConfig(name, is_sse=entry.get("type") == "sse", secrets=tuple(secrets), **values)


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


def read_result_budgets(entry: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The characters of a result by patterns of tool names, the longest pattern first; one number is for all tools."""
    found = entry.get("result_characters")
    budgets = found if isinstance(found, Mapping) else {} if found is None else {"*": found}
    for budget in budgets.values():
        if isinstance(budget, bool) or not isinstance(budget, int) or budget <= 0:
            raise ValueError(f"has a 'result_characters' that is not a whole number above 0: {budget!r}")
    return tuple(sorted(((str(name), budget) for name, budget in budgets.items()), key=lambda one: -len(one[0])))


def _limit(entry: Mapping[str, Any], keys: Sequence[str]) -> float | None:
    """The seconds under the first of these keys that is present."""
    key = next((key for key in keys if entry.get(key) is not None), keys[0])
    seconds = entry.get(key)
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0):
        raise ValueError(f"has a '{key}' that is not a number above 0")
    return seconds
