"""Which servers are upstream? Those of our own file, then those of the usual files of project and user."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from shortlist._paths import config_dir, data_dir
from shortlist.errors import SourceError
from shortlist.sources.mcp_config import Server, servers_in_files, usual_files
from shortlist.sources.places import project_folders
from shortlist.types import Problem

FILE = "mcp.json"
INSIDE = "SHORTLIST_GATEWAY"  # set for every server that a gateway runs, so that none of them runs the others again


@dataclass(frozen=True, slots=True)
class Configured:
    """The servers, what is wrong with the others, and the folder for what belongs to this configuration alone."""

    servers: tuple[Server, ...] = ()
    problems: tuple[Problem, ...] = ()
    home: Path = Path()


def configured(files: Sequence[str | Path] = ()) -> Configured:
    """The servers that the given files name or, without any, those that are usual here; of one name the first.

    A usual file that cannot be read is a problem, one that was given an error.
    """
    given = [Path(file).expanduser().resolve() for file in files]
    home = _home(given)
    if os.environ.get(INSIDE):
        reason = "This was started by another gateway, which reaches the servers itself."
        return Configured(problems=(Problem(INSIDE, reason),), home=home)
    servers: dict[str, Server] = {}
    problems: dict[str, Problem] = {}
    for file in given or [place for place in (config_dir() / FILE, *usual_files()) if place.is_file()]:
        try:
            for found in servers_in_files([file], settings_too=not given):
                name = found.name if isinstance(found, Server) else found.id
                if name in servers or name in problems:
                    continue
                if isinstance(found, Problem):
                    problems[name] = found
                elif not _is_ourselves(found):
                    servers[name] = replace(found, env={**found.env, INSIDE: "1"})
        except SourceError as error:
            if given:
                raise
            problems[str(file)] = Problem(str(file), str(error), str(file))
    return Configured(tuple(servers.values()), tuple(problems.values()), home)


def _is_ourselves(server: Server) -> bool:
    """Whether an entry runs `shortlist mcp`, as that of an agent's own configuration does."""
    words = [Path(word).stem for word in (server.command, *server.args)]
    return "shortlist" in words and "mcp" in words[words.index("shortlist") :]


def _home(given: Sequence[Path]) -> Path:
    told = "\n".join(map(str, given or [project_folders()[-1]]))
    return data_dir() / "mcp" / blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()
