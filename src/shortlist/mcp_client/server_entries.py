"""The entries of MCP servers in one form, whichever program wrote them, and how the same server is recognized."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import PureWindowsPath
from typing import Any

Entry = dict[str, Any]

# Keys of other programs: Goose (cmd, envs, uri), opencode (environment), Gemini CLI (httpUrl), Windsurf (serverUrl),
# Codex (http_headers).
NAMES = {
    "cmd": "command",
    "environment": "env",
    "envs": "env",
    "uri": "url",
    "serverUrl": "url",
    "httpUrl": "url",
    "http_headers": "headers",
    "transport": "type",
}

# The keys of several programs for the tools of a server that are wanted and unwanted.
ALLOW = ("allow", "includeTools", "enabled_tools", "tools", "available_tools")
DENY = ("deny", "excludeTools", "disabled_tools", "disabledTools")

# Programs that run others: which copy of them runs makes no difference.
LAUNCHERS = ("npx", "uvx", "bunx", "pnpx", "node", "docker", "podman")
LONG_LAUNCHERS = {("npm", "exec"): "npx", ("npm", "x"): "npx", ("uv", "tool", "run"): "uvx", ("bun", "x"): "bunx"}
SILENT = ("-y", "--yes", "-q", "--quiet", "--")  # flags of launchers that do not change what runs

_FOREIGN_VARIABLE = re.compile(r"(?<!\$)\{env:(\w+)\}")  # of opencode
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)\}|\$(\w+)")


def normalize(entry: Any) -> Any:
    """An entry with our keys: `command`, `args`, `env`, `cwd`, `url`, `headers`. What is no mapping stays as it is."""
    if not isinstance(entry, Mapping):
        return entry
    plain: Entry = {key: _rewrite(value) for key, value in entry.items() if key not in NAMES}
    plain |= {NAMES[key]: _rewrite(value) for key, value in entry.items() if key in NAMES and value}
    if isinstance(command := plain.get("command"), Mapping):  # of Zed, formerly
        plain |= {key: value for key, value in command.items() if key in ("args", "env")}
        plain["command"] = command.get("path")
    elif isinstance(command, list) and command:
        plain |= {"command": command[0], "args": [*command[1:], *_items(plain.get("args"))]}
    headers, env = {}, {}
    if variable := plain.pop("bearer_token_env_var", None):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    for header, variable in _pairs(plain.pop("env_http_headers", None)):
        headers[header] = f"${{{variable}}}"
    for variable in _items(plain.pop("env_vars", None)):  # which Codex passes on to the server
        name = variable.get("name") if isinstance(variable, Mapping) else variable
        env[name] = f"${{{name}:-}}"
    if headers:
        plain["headers"] = {**dict(_pairs(plain.get("headers"))), **headers}
    if env:
        plain["env"] = {**env, **dict(_pairs(plain.get("env")))}
    return plain


def is_server(entry: Any) -> bool:
    """Whether an entry names a command or a URL; programs list other things beside servers."""
    plain = normalize(entry)
    return isinstance(plain, Mapping) and bool(plain.get("command") or plain.get("url"))


def is_off(entry: Any) -> bool:
    return isinstance(entry, Mapping) and (entry.get("disabled") is True or entry.get("enabled") is False)


def list_local(config: Mapping[str, Any], key: str = "mcpServers") -> Iterator[tuple[str, Entry, list[Any]]]:
    """The folders for which a file has servers of their own, as that of Claude Code does, each with its servers and the
    names of those that are turned off there."""
    for folder, about in _pairs(config.get("projects")):
        if isinstance(about, Mapping) and isinstance(servers := about.get(key), dict):
            yield str(folder), servers, _items(about.get("disabledMcpServers"))


def tool_patterns(entry: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    """The names of tools under the first of these keys that is present; some programs use "tools" differently."""
    present = [key for key in keys if entry.get(key) is not None]
    key = next((key for key in present if key != "tools" or _is_names(entry[key])), keys[0])
    names = entry.get(key) or []
    if not _is_names(names):
        raise ValueError(f"has a '{key}' that is not a list of strings")
    return tuple(names)


def command_line(entry: Any) -> list[Any]:
    """The command and arguments of an entry as written."""
    plain = normalize(entry)
    return [plain.get("command") or "", *_items(plain.get("args"))] if isinstance(plain, Mapping) else [""]


def split_command(text: str, platform: str = sys.platform) -> list[str]:
    """The words of a command that a person wrote. On Windows, a backslash is part of a path and escapes nothing."""
    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters = True, ""
    if platform == "win32":
        words.escape = ""
    return list(words)


def fingerprint(entry: Any) -> tuple[Any, ...] | None:
    """What an entry runs or contacts, and with which values: equal for the same server, however it is written.

    A broken entry has none.
    """
    if not is_server(entry):
        return None
    plain = normalize(entry)
    try:
        tools = [sorted(tool_patterns(plain, keys)) for keys in (ALLOW, DENY)]
    except ValueError:
        return None
    if url := plain.get("url"):
        headers = {str(name).lower(): value for name, value in _pairs(plain.get("headers"))}
        return (_plain_text(url).rstrip("/"), _sorted(headers), tools)
    words = [_plain_text(word) for word in command_line(entry)]
    return (_plain_words(words), _sorted(dict(_pairs(plain.get("env")))), str(plain.get("cwd") or ""), tools)


def variables_in(value: Any) -> set[str]:
    """The environment variables that entries of ours mention."""
    if isinstance(value, Mapping):
        return {name for each in value.values() for name in variables_in(each)}
    if isinstance(value, list):
        return {name for each in value for name in variables_in(each)}
    names = re.findall(r"\$\{(?:env:)?(\w+)(?::-[^}]*)?\}", value) if isinstance(value, str) else ()
    return {name for name in names if name not in ("workspaceFolder", "userHome")}


def _plain_words(words: list[str]) -> list[str]:
    """A command line without what depends on the machine or the habits of the writer."""
    if [_stem(words[0]), *words[1:2]] == ["cmd", "/c"]:  # how Windows runs a script
        words = words[2:] or words
    for long, short in LONG_LAUNCHERS.items():
        if (_stem(words[0]), *words[1 : len(long)]) == long:
            words = [short, *words[len(long) :]]
    program, *args = words
    if _stem(program) not in LAUNCHERS:
        return [shutil.which(program) or program, *args]
    flags = list(takewhile(lambda word: word.startswith("-"), args))
    rest = args[len(flags) :]
    rest[:1] = [word.removesuffix("@latest") for word in rest[:1]]
    return [_stem(program), *(flag for flag in flags if flag not in SILENT), *rest]


def _stem(program: str) -> str:
    path = PureWindowsPath(program)  # which splits at slashes too
    return path.stem if path.suffix.lower() in (".exe", ".cmd", ".bat") else path.name


def _plain_text(value: Any) -> str:
    return _VARIABLE.sub(lambda match: f"${{{match[1] or match[2]}}}", str(value))


def _sorted(values: Mapping[Any, Any]) -> list[tuple[str, str]]:
    return sorted((str(name), _plain_text(value)) for name, value in values.items() if value is not None)


def _rewrite(value: Any) -> Any:
    """A value with its variables as we write them."""
    if isinstance(value, str):
        return _FOREIGN_VARIABLE.sub(r"${\1}", value)
    if isinstance(value, Mapping):
        return {key: _rewrite(each) for key, each in value.items()}
    return [_rewrite(each) for each in value] if isinstance(value, list) else value


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _pairs(value: Any) -> Any:
    return value.items() if isinstance(value, Mapping) else ()


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
