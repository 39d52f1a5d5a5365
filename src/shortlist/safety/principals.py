"""Who sends a request to the service, and what the grants in the settings permit.

Without grants no request has a principal, and nothing is restricted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, NamedTuple

from shortlist.errors import AccessDenied

Right = Literal["read", "write", "admin"]
RIGHTS: tuple[Right, ...] = ("read", "write", "admin")  # each includes those before it
EVERYONE = "everyone"  # the group that every caller has
ANY = "*"  # every corpus

PRINCIPAL = "shortlist.principal"  # its key in the scope of a request
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
