"""The files that name MCP servers: those of a project, which need approval, and those of the user and of agents."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shortlist._paths import config_dir, user_config_folder
from shortlist._plain import MAX_DEPTH, is_deeper
from shortlist._projects import main_worktree, project_folders
from shortlist._text import count_of, printable
from shortlist.documents import Problem
from shortlist.errors import InputError, SourceError
from shortlist.mcp_client.project_trust import is_trusted, key_of
from shortlist.mcp_client.server_config import KEYS, ServerConfig, find_entries, runs_shortlist, servers_of
from shortlist.mcp_client.server_entries import command_line, is_server, list_local, split_command
from shortlist.safety.untrusted_files import LARGEST_DATA, LARGEST_TEXT, read_regular_file

OWN_FILE = "mcp.json"  # in our configuration directory
PROJECT_FILES = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml")
# The user's files: the variable that names their folder, the folder otherwise, below the home folder, and the name.
USER_FILES = (
    ("CLAUDE_CONFIG_DIR", "", ".claude.json"),
    ("", ".cursor", "mcp.json"),
    ("CODEX_HOME", ".codex", "config.toml"),
)
APPLICATION_FILES = ("Claude/claude_desktop_config.json", "Code/User/mcp.json")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class PendingFile(Problem):
    """A project's file that names servers, whose present content the user has not approved."""

    names: tuple[str, ...] = ()

    @property
    def servers(self) -> int:
        return len(self.names)


def review_command(path: Path | str) -> str:
    """The command with which the user reviews a project's file."""
    return f"shortlist mcp trust {shlex.quote(printable(str(path), '?'))}"


def approve_command(tool: str, server: ServerConfig) -> str:
    """The command with which the user approves a tool, in any folder; quoted, as the server chose the name."""
    return _command("approve", tool, server)


def sign_in_command(server: ServerConfig, scopes: str = "") -> str:
    """The command with which the user signs in to a server, in any folder."""
    return _command("login", server.name, server, *(("--scopes", scopes) if scopes else ()))


def _command(act: str, name: str, server: ServerConfig, *options: str) -> str:
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
        """Whether it has a list of servers; the settings of a program may have none. In our own file, a server that is
        not in a list counts, too: reading it is possible or reports where it belongs."""
        is_own = self.path == Path(key_of(config_dir() / OWN_FILE))
        return bool(self.data.keys() & set(KEYS) or self._local or (is_own and any(map(is_server, self.data.values()))))

    def entries(self) -> dict[str, Any]:
        """The servers, with variables as written, without disabled ones and without shortlist itself."""
        entries = find_entries(self.data, str(self.path)).items()
        return {str(name): entry for name, entry in entries if not runs_shortlist(command_line(entry))}

    @cached_property
    def is_trusted(self) -> bool:
        return not self._needs_trust or is_trusted(self.path, self.content)

    def pending(self) -> PendingFile | None:
        """The servers that are pending the user's approval, if any are."""
        names = () if self.is_trusted else tuple(self.entries())
        pending = count_of(len(names), "MCP server", "is pending approval")
        reason = f"{pending} in {printable(str(self.path), '?')}. The user can review them: {review_command(self.path)}"
        return PendingFile(str(self.path), reason, str(self.path), names) if names else None

    def servers(self) -> Iterator[ServerConfig | Problem]:
        """Its servers with variables expanded, without shortlist itself; of a file that is not trusted only what is
        pending."""
        if not self.is_trusted:
            yield from filter(None, [self.pending()])
            return
        has_others = self.data.keys() & set(KEYS) or not self._local
        for project, config in [*self._local, *([(self.project, self.data)] if has_others else [])]:
            # Relative paths start at the project or, if it is for all, at the working directory.
            for server in servers_of(config, project or Path.cwd(), str(self.path)):
                if isinstance(server, Problem):
                    yield server
                elif not runs_shortlist([server.command, *server.args]):
                    yield replace(server, file=self.path, project=project)

    @cached_property
    def _local(self) -> list[tuple[Path, Mapping[str, Any]]]:
        """The current project and its parents for which a file of the user has servers, the nearest first."""
        if self._needs_trust:
            return []
        here = {*project_folders(), main_worktree()}
        found = [
            (Path(folder), {"mcpServers": {name: entry for name, entry in servers.items() if name not in off}})
            for folder, servers, off in list_local(self.data)
            if Path(folder) in here
        ]
        return sorted(found, key=lambda one: -len(one[0].parts))


def user_files() -> list[Path]:
    """The possible configuration files of the user, ours first."""
    applications = [user_config_folder() / name for name in APPLICATION_FILES]
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


def pending_files() -> list[PendingFile]:
    """The files of this project that are pending the user's approval."""
    pending: list[PendingFile] = []
    for path in project_files():
        with contextlib.suppress(SourceError):  # a file that cannot be read names no server
            file = ConfigurationFile(path)
            pending += filter(None, [file.pending() if file.names_servers else None])
    return pending


def servers_in_files(paths: Iterable[Path], *, settings_too: bool = False) -> Iterator[ServerConfig | Problem]:
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
            name = server.name if isinstance(server, ServerConfig) else server.id
            if name not in names:
                names.add(name)
                yield server


def without_comments(text: str) -> str:
    """JSON as editors write it, with spaces instead of comments: every other character keeps its position."""
    return _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)


def without_trailing_commas(text: str) -> str:
    """JSON without comments, with spaces instead of trailing commas."""
    return _TRAILING_COMMA.sub(lambda match: match[1] or " ", text)


_URL = re.compile(r"https?://(?:[^/@]*@)?(?P<host>[^/:?#]+)")


def servers_at(*place: Any, name: str | None = None) -> tuple[str, Callable[[], Iterator[ServerConfig | Problem]]]:
    """A name for, and a reader of, the servers of a configuration (a file, a mapping or, without an argument, the usual
    files of project and user), the one at a URL, or the one that a command runs."""
    if not place:
        return name or "mcp", lambda: servers_in_files(filter(Path.exists, possible_files()), settings_too=True)
    first = place[0]
    if len(place) == 1 and isinstance(first, Mapping):
        return name or "mcp", lambda: servers_of(first, Path.cwd(), "The configuration")
    if not all(isinstance(part, str | Path) and str(part).strip() for part in place):
        raise InputError(f"from_mcp takes a configuration, a URL or a command, not {place!r}.")
    words = [str(part) for part in place]
    server = None
    if len(words) == 1:
        file = Path(first).expanduser()
        if url := _URL.match(words[0]):
            server = ServerConfig(name or url["host"], url=words[0])
        elif isinstance(first, Path) or file.is_file() or file.suffix in (".json", ".toml"):
            return name or "mcp", lambda: servers_in_files([file])
        words = split_command(words[0])
    server = server or ServerConfig(name or Path(words[0]).stem, words[0], tuple(words[1:]))
    return server.name, lambda: iter([server])
