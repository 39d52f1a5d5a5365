"""What the user permits each tool: to be called as one that only reads, to be called, or never."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from shortlist.errors import SourceError

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


NO_RULES = Permissions()
DENY_ALL = Permissions((("*", "never"),))


def _specificity(rule: tuple[str, Any]) -> tuple[bool, bool, int, str]:
    """Tools before patterns before servers; of patterns the longest; the stricter of what is equal."""
    name = rule[0]
    return "/" not in name, "*" in name or "?" in name or "[" in name, -len(name), name
