"""The configured servers behind the gateway, and which of their tools the user permits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, get_args

from shortlist._files import stamp_of
from shortlist._paths import config_dir, data_dir
from shortlist.documents import Problem
from shortlist.errors import SourceError
from shortlist.sources.mcp_servers.mcp_config import (
    OWN_FILE,
    ConfigurationFile,
    Pending,
    Server,
    possible_files,
    runs_shortlist,
)
from shortlist.sources.mcp_servers.mcp_trust import key_of, trust_file
from shortlist.sources.projects import project_folders

INSIDE = "SHORTLIST_GATEWAY"  # set for every server that a gateway runs, so that none of them runs the others again

Access = Literal["read", "write", "never"]


@dataclass(frozen=True, slots=True)
class Permissions:
    """Rules for servers ("github"), tools ("github/get_issue") and patterns ("github/get_*"), most specific first."""

    rules: tuple[tuple[str, Access], ...] = ()

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> Permissions:
        for name, access in rules.items():
            if access not in get_args(Access):
                raise SourceError(f"The permission of {name!r} must be read, write or never, not {access!r}.")
        return cls(tuple(sorted(rules.items(), key=_specificity)))

    def access(self, server: str, tool: str, annotations: Any) -> Access:
        """The user's rule or, without one, whether the server marks the tool as read-only."""
        id = f"{server}/{tool}"
        for pattern, access in self.rules:
            if pattern in (server, id) or fnmatchcase(id, pattern):
                return access
        is_read_only = isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True
        return "read" if is_read_only else "write"


def _specificity(rule: tuple[str, Any]) -> tuple[bool, bool, int, str]:
    """Tools before patterns before servers, and longer patterns first."""
    name = rule[0]
    return "/" not in name, "*" in name or "?" in name or "[" in name, -len(name), name


NO_RULES = Permissions()
DENY_ALL = Permissions((("*", "never"),))


@dataclass(frozen=True, slots=True)
class Configured:
    """The servers, project files that wait for approval, problems with other files, and the user's permissions."""

    servers: tuple[Server, ...] = ()
    pending: tuple[Pending, ...] = ()
    problems: tuple[Problem, ...] = ()
    permissions: Permissions = NO_RULES


class Configuration:
    """The files that configure the gateway: those that were given or, without any, the usual ones.

    `needs_trust` is for files that the user did not name, such as those that a project's settings name: like the usual
    files of a project they wait for approval.
    """

    def __init__(self, files: Sequence[str | Path] = (), *, needs_trust: bool = False) -> None:
        self._given = [Path(file).expanduser() for file in files]
        self.needs_trust = needs_trust
        self._places = self._given or possible_files()
        places = "\n".join(str(path.resolve()) for path in self._given or [project_folders()[-1]])
        # For what belongs to this configuration alone.
        self.home = data_dir() / "mcp" / blake2b(places.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def stamps(self) -> tuple[int, ...]:
        """A value that changes with any of the files and with what is approved."""
        return stamp_of(*self._places, config_dir() / OWN_FILE, trust_file())

    def read(self, *, strict: bool = True) -> Configured:
        """The current configuration, the first server of each name. A usual file that cannot be read is a problem, one
        that was given an error if `strict`."""
        if os.environ.get(INSIDE):
            reason = "This was started by another gateway, which reaches the servers itself."
            return Configured(problems=(Problem(INSIDE, reason),))
        servers: dict[str, Server] = {}
        problems: dict[str, Problem] = {}
        for path in self._places:
            try:
                for found in self._servers_in(path):
                    name = found.name if isinstance(found, Server) else found.id
                    if name in servers or name in problems:
                        continue
                    if isinstance(found, Problem):
                        problems[name] = found
                    elif not runs_shortlist([found.command, *found.args]):
                        servers[name] = replace(found, env={**found.env, INSIDE: "1"})
            except SourceError as error:
                if self._given and strict:
                    raise
                problems[str(path)] = Problem(str(path), str(error), key_of(path))
        try:
            permissions = self._permissions()
        except SourceError as error:
            permissions = DENY_ALL  # the rules may deny anything
            problems["permissions"] = Problem("permissions", f"{error} Until that is fixed, no tool can be called.")
        pending = tuple(found for found in problems.values() if isinstance(found, Pending))
        others = tuple(found for found in problems.values() if not isinstance(found, Pending))
        return Configured(tuple(servers.values()), pending, others, permissions)

    def _servers_in(self, path: Path) -> list[Server | Problem]:
        if not self._given and not path.is_file():
            return []
        file = ConfigurationFile(path, needs_trust=self.needs_trust)
        return list(file.servers()) if self._given or file.names_servers else []

    def _permissions(self) -> Permissions:
        """The rules of the files that the user named and of our own file; a project permits nothing to itself."""
        rules: dict[str, str] = {}
        for path in [*([] if self.needs_trust else self._given), config_dir() / OWN_FILE]:
            file = ConfigurationFile(path) if path.is_file() else None
            if file and file.project is None:
                permitted = file.data.get("permissions") or {}
                if not isinstance(permitted, Mapping):
                    raise SourceError(
                        f"'permissions' in {file.path} must map servers or tools to read, write or never."
                    )
                rules = {**permitted, **rules}
        return Permissions.of(rules)
