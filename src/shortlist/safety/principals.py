"""Who sends a request to the service, and what the grants in the settings permit.

Without grants no request has a principal, and nothing is restricted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Literal, NamedTuple

from shortlist.errors import AccessDenied

Right = Literal["read", "write", "admin"]
RIGHTS: tuple[Right, ...] = ("read", "write", "admin")  # each includes those before it
EVERYONE = "everyone"  # the group that every caller has
ANY = "*"  # every corpus

PRINCIPAL = "shortlist.principal"  # its key in the scope of a request
SOURCE = "source"  # the key in answers of the path or URL that a document is from
OF_OTHERS = ("metadata", "definition")  # keys of what others wrote, in which `source` means something else
NOTES = "shortlist.notes"  # the key of a mapping with what the audit log is to record besides

Groups = frozenset[str]


class Grants(NamedTuple):
    """The groups that have each right, by corpus, and those that may use the MCP servers of each profile."""

    corpora: Mapping[str, Mapping[Right, Sequence[str]]] = {}
    profiles: Mapping[str, Sequence[str]] = {}
    documents: Mapping[str, Mapping[str, Sequence[str]]] = {}  # groups that ids need, by pattern, by corpus


NO_GRANTS = Grants()


@dataclass(frozen=True, slots=True)
class Principal:
    """Who sends a request, and the right that its route needs for the corpora that it names."""

    user: str
    groups: Groups = frozenset()
    grants: Grants = NO_GRANTS
    is_operator: bool = False  # who sends the one token of the settings, and may do everything
    right: Right = "read"

    def may(self, right: Right, corpus: str) -> bool:
        if self.is_operator:
            return True
        rules = [rule for rule in (self.grants.corpora.get(corpus), self.grants.corpora.get(ANY)) if rule]
        wanted = RIGHTS[RIGHTS.index(right) :]
        return any(self._is_in(rule.get(name, ())) for rule in rules for name in wanted)

    @property
    def profile(self) -> str | None:
        """The first profile whose MCP servers the caller may use."""
        return next((name for name, groups in self.grants.profiles.items() if self._is_in(groups)), None)

    @property
    def has_any(self) -> bool:
        """Whether the caller may do anything at all."""
        return self.profile is not None or any(self.may("read", corpus) for corpus in (ANY, *self.grants.corpora))

    def sees_all(self, corpus: str) -> bool:
        """Whether the `access` of documents does not matter: who changes a corpus must see what is in it."""
        return self.may("write", corpus)

    def require(self, corpus: str) -> None:
        """Raise AccessDenied unless the caller has the right that the route needs."""
        if not self.may(self.right, corpus):
            raise AccessDenied(f"{self.user} may not {describe_right(self.right)} {describe_corpus(corpus)}.")

    def _is_in(self, groups: Sequence[str]) -> bool:
        return EVERYONE in groups or not self.groups.isdisjoint(groups)


def describe_right(right: Right) -> str:
    return {"read": "read", "write": "change", "admin": "administer"}[right]


def describe_corpus(corpus: str) -> str:
    return "the service" if corpus == ANY else f"the corpus {corpus!r}"


# The caller of the current request; None if nothing is restricted.
current_principal: ContextVar[Principal | None] = ContextVar("current_principal", default=None)


def require(corpus: str) -> None:
    """Raise AccessDenied unless the current caller has the right that its route needs."""
    if caller := current_principal.get():
        caller.require(corpus)


def follows_paths() -> bool:
    """Whether files may be read that the metadata of a document name, which anyone with `write` can choose."""
    caller = current_principal.get()
    return caller is None or caller.is_operator


def sees_all(corpus: str) -> bool:
    """Whether nothing of a corpus is hidden from the current caller."""
    caller = current_principal.get()
    return caller is None or caller.sees_all(corpus)


def may_read(corpus: str) -> bool:
    """Whether the current caller may read a corpus."""
    caller = current_principal.get()
    return caller is None or caller.may("read", corpus)


def sees_folders() -> bool:
    """Whether the current caller sees paths of this machine, as administrators of the service do."""
    caller = current_principal.get()
    return caller is None or caller.may("admin", ANY)


def show_source(source: str) -> str:
    """A source as the current caller sees it: of a path of this machine only the name, unless they see folders."""
    return source if sees_folders() else _name_of(source)


def show_problem(problem: str) -> str:
    """Why a corpus cannot be read, which may name folders."""
    return problem if sees_folders() else "It cannot be read. Administrators of the service see why."


def show_sources(answer: Any) -> Any:
    """An answer with its sources as the current caller sees them, also where the metadata of documents repeat them."""
    return answer if sees_folders() else _show_sources(answer)


def _show_sources(answer: Any) -> Any:
    if isinstance(answer, list | tuple):
        return list(map(_show_sources, answer))
    if not isinstance(answer, Mapping):
        return answer
    shown = {key: value if key in OF_OTHERS else _show_sources(value) for key, value in answer.items()}
    if isinstance(source := answer.get(SOURCE), str) and (name := _name_of(source)) != source:
        shown[SOURCE] = name
        if "metadata" in shown:
            shown["metadata"] = _shorten(shown["metadata"], {source, *map(str, _path_of(source).parents)})
    return shown


def _shorten(data: Any, paths: set[str]) -> Any:
    if isinstance(data, Mapping):
        return {key: _shorten(value, paths) for key, value in data.items()}
    if isinstance(data, list):
        return [_shorten(value, paths) for value in data]
    return _name_of(data) if isinstance(data, str) and data in paths else data


def _path_of(source: str) -> PurePath:
    return PurePosixPath(source) if source.startswith("/") else PureWindowsPath(source)


def _name_of(source: str) -> str:
    path = _path_of(source)
    return path.name if path.is_absolute() else source
