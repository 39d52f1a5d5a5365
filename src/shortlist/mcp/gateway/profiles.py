"""Profiles: named sets of servers, of which the user chooses one. A project's file can only narrow that choice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Any, NamedTuple

from shortlist._text import did_you_mean
from shortlist.errors import InputError, SourceError

ALL = "all"  # the profile of all servers


class ServerChoice(NamedTuple):
    """What is chosen of the configured servers; by default all, or the profile that the user's file names."""

    only: tuple[str, ...] = ()  # names or patterns of servers
    profile: str = ""  # that the user chose
    narrowed_to: str = ""  # the profile that a file of the project names

    def digest(self) -> str:
        """A hash in the name of a folder on disk, so the text that it covers never changes."""
        return hash_text(f"Choice(only={self.only!r}, profile={self.profile!r}, narrowed_to={self.narrowed_to!r})")


class Profiles(NamedTuple):
    """The user's profiles, each with the names or patterns of its servers, and the name of the default one."""

    sets: Mapping[str, Sequence[str]] = {}
    default: str = ""

    @classmethod
    def of(cls, data: Mapping[str, Any], path: Any) -> Profiles:
        """The profiles in a configuration file."""
        sets, default = data.get("profiles") or {}, data.get("profile") or ""
        are_lists = isinstance(sets, Mapping) and all(
            isinstance(names, list) and all(isinstance(name, str) for name in names) for names in sets.values()
        )
        if not are_lists:
            raise SourceError(f"'profiles' in {path} must map names of profiles to lists of servers.")
        if not isinstance(default, str):
            raise SourceError(f"'profile' in {path} must be the name of a profile, not {default!r}.")
        return cls(sets, default)

    def servers_of(self, name: str) -> Sequence[str]:
        if name in self.sets or name == ALL:
            return self.sets.get(name, ("*",))
        known = did_you_mean(name, [ALL, *self.sets]) or f" Profiles: {', '.join([*self.sets, ALL])}."
        raise InputError(f"{name!r} is not a profile.{known} Profiles are defined under 'profiles' in mcp.json.")


class ActiveProfile(NamedTuple):
    """The choice in force: the name of the user's profile, the one that the project narrows it to, and all sets that a
    server must be in."""

    profile: str = ""
    narrowed_to: str = ""
    sets: tuple[Sequence[str], ...] = ()
    problem: str = ""

    def includes(self, server: str) -> bool:
        return all(any(fnmatchcase(server, pattern) for pattern in patterns) for patterns in self.sets)


def hash_text(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def resolve(choice: ServerChoice, profiles: Profiles) -> ActiveProfile:
    """The choice in force. An unknown profile that the user chose is an error; one that a project names is a problem.

    A profile that the user chose for this run counts alone. Otherwise a project may narrow the user's default, which is
    all servers or a profile: the servers must be in both.
    """
    profile = choice.profile or profiles.default
    sets: list[Sequence[str]] = [choice.only] if choice.only else []
    sets += [profiles.servers_of(profile)] if profile else []
    if not choice.narrowed_to or choice.profile:
        return ActiveProfile(profile, sets=tuple(sets))
    try:
        return ActiveProfile(profile, choice.narrowed_to, (*sets, profiles.servers_of(choice.narrowed_to)))
    except InputError as error:
        return ActiveProfile(profile, sets=tuple(sets), problem=f"{error} The settings of the project name it.")


def find_unknown(names: Iterable[str], servers: Collection[str]) -> list[str]:
    """A sentence for each name or pattern that no configured server has."""
    return [
        f"{name!r} is not a configured MCP server.{did_you_mean(name, servers)}"
        for name in dict.fromkeys(names)
        if name != "*" and not any(fnmatchcase(server, name) for server in servers)
    ]
