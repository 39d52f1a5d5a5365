"""The servers behind the gateway: our own file, then the usual files of project and user; and what may be called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from shortlist._files import stamp_of
from shortlist._paths import config_dir, data_dir
from shortlist.documents import Problem
from shortlist.errors import SourceError
from shortlist.mcp.gateway.permissions import DENY_ALL, NO_RULES, Permissions
from shortlist.sources.mcp_servers.mcp_config import (
    OWN_FILE,
    ConfigurationFile,
    Pending,
    Server,
    project_files,
    runs_shortlist,
    user_files,
)
from shortlist.sources.mcp_servers.mcp_trust import key_of, trust_file
from shortlist.sources.projects import project_folders

INSIDE = "SHORTLIST_GATEWAY"  # set for every server that a gateway runs, so that none of them runs the others again


@dataclass(frozen=True, slots=True)
class Configured:
    """The servers, project files that wait for approval, what is wrong with others, and what the user permits."""

    servers: tuple[Server, ...] = ()
    pending: tuple[Pending, ...] = ()
    problems: tuple[Problem, ...] = ()
    permissions: Permissions = NO_RULES


class Configuration:
    """The files that configure the gateway: those that were given or, without any, the usual ones.

    `needs_trust` holds for files that the user did not name, such as those that a project's settings name: like the
    usual files of a project they wait for approval.
    """

    def __init__(self, files: Sequence[str | Path] = (), *, needs_trust: bool = False) -> None:
        self._given = [Path(file).expanduser() for file in files]
        self.needs_trust = needs_trust
        own, *agents = user_files()
        # Every file that may configure something; a usual one need not be there.
        self._places = self._given or list(dict.fromkeys((own, *project_files(), *agents)))
        places = "\n".join(str(path.resolve()) for path in self._given or [project_folders()[-1]])
        # For what belongs to this configuration alone.
        self.home = data_dir() / "mcp" / blake2b(places.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def stamps(self) -> tuple[int, ...]:
        """What changes with any of the files and with what is approved."""
        return stamp_of(*self._places, config_dir() / OWN_FILE, trust_file())

    def read(self, *, strict: bool = True) -> Configured:
        """What is configured now; of one name the first server. A usual file that cannot be read is a problem, one that
        was given an error if `strict`."""
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
        permissions = DENY_ALL  # if the rules cannot be read: they may deny anything
        try:
            permissions = self._permissions()
        except SourceError as error:
            problems["permissions"] = Problem("permissions", f"{error} Until that is fixed, no tool can be called.")
        return Configured(
            tuple(servers.values()),
            tuple(found for found in problems.values() if isinstance(found, Pending)),
            tuple(found for found in problems.values() if not isinstance(found, Pending)),
            permissions,
        )

    def _servers_in(self, path: Path) -> list[Server | Problem]:
        if not self._given and not path.is_file():
            return []
        file = ConfigurationFile(path, needs_trust=self.needs_trust)
        return [] if not self._given and not file.names_servers else list(file.servers())

    def _permissions(self) -> Permissions:
        """The rules of the files that the user named and of our own file; a project permits nothing to itself."""
        rules: dict[str, str] = {}
        for path in [*([] if self.needs_trust else self._given), config_dir() / OWN_FILE]:
            file = ConfigurationFile(path) if path.is_file() else None
            if file and file.project is None:
                rules = {**_rules(file), **rules}
        return Permissions.of(rules)


def _rules(file: ConfigurationFile) -> Mapping[str, str]:
    rules = file.data.get("permissions") or {}
    if not isinstance(rules, Mapping):
        raise SourceError(f"'permissions' in {file.path} must map servers or tools to read, write or never.")
    return rules
