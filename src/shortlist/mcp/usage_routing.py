"""The log of use of the gateway, divided by the owner of each server.

What the user's own servers taught is shared by all projects. What the servers of a project taught stays there.
A search is stored where its documents belong. One that showed documents of both is stored in the project, and a use of
a document that is shared is stored again, without what was shown: so nothing that a project's servers did to a search
is seen in another project. Both parts have the same time, session and query, and are read as one search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from shortlist._text import clean
from shortlist.index.storage.usage_log import FILE, FORGOTTEN, Search, UsageLog, Use, normalize
from shortlist.mcp_client.server_config import ServerConfig

if TYPE_CHECKING:
    from shortlist.results import Vectors

Servers = Callable[[], Mapping[str, ServerConfig]]  # a new mapping after each change


def open_usage(path: Path, shared: Path | None, servers: Servers) -> UsageLog:
    """The log at a path, with that of the folder `shared` for the user's own servers if there is one."""
    return UsageLog(path) if shared is None else RoutedLog(path, shared, servers)


class _Owners(NamedTuple):
    """How the ids of tools begin, by the owner of their server."""

    servers: Mapping[str, ServerConfig]
    user: tuple[str, ...]
    project: tuple[str, ...]


class RoutedLog(UsageLog):
    """The log of a project, together with the one that all projects share for the user's own servers.

    What earlier versions stored in the project about these servers is still read there. The number of a search in the
    shared log is negative.
    """

    def __init__(self, path: Path, shared_folder: Path, servers: Servers) -> None:
        super().__init__(path)
        self.shared_folder, self._servers = shared_folder, servers
        self._shared = UsageLog(shared_folder / FILE)
        self._owners = _Owners({}, (), ())

    def is_shared(self, id: str) -> bool:
        """Whether a tool is of a server that the user has configured, and of none of the project."""
        owners = self._find_owners()
        return id.startswith(owners.user) and not id.startswith(owners.project)

    def _find_owners(self) -> _Owners:
        servers = self._servers()
        if self._owners.servers is not servers:
            prefixes = {f"{clean(server.name)}/": server.project is not None for server in servers.values()}
            user = tuple(prefix for prefix, is_of_project in prefixes.items() if not is_of_project)
            project = tuple(prefix for prefix, is_of_project in prefixes.items() if is_of_project)
            self._owners = _Owners(servers, user, project)
        return self._owners

    def add(
        self,
        query: str,
        shown: Sequence[tuple[str, float | None]] = (),
        uses: Sequence[Use] = (),
        session: str = "",
        at: float | None = None,
    ) -> int:
        at = time.time() if at is None else at
        ids = [*(id for id, _ in shown), *(use.id for use in uses)]
        if ids and all(map(self.is_shared, ids)):
            return -self._shared.add(query, shown, uses, session, at)
        shared = [use for use in uses if self.is_shared(use.id)]
        number = super().add(query, shown, [use for use in uses if use not in shared], session, at)
        if shared:
            self._shared.add(query, (), shared, session, at)
        return number

    def add_use(self, search: int, use: Use) -> None:
        is_shared = self.is_shared(use.id)
        if is_shared and search < 0:
            self._shared.add_use(-search, use)
        elif not is_shared and search > 0:
            super().add_use(search, use)
        elif found := self._shared.find_search(-search) if search < 0 else self.find_search(search):
            add = self._shared.add if is_shared else super().add
            add(found.query, (), [use], found.session, found.at)

    def version(self) -> int:
        number = super().version() + self._shared.version()
        # What the shared log says about a name is no longer read once a server of the project has that name.
        names = "\n".join(sorted(self._find_owners().project))
        return number + crc32(names.encode("utf-8", "replace")) * FORGOTTEN**2 if number else 0

    def __iter__(self) -> Iterator[Search]:
        searches = list(super().__iter__())
        parts = {(search.at, search.session, search.query): search for search in searches}
        hidden = self._find_owners().project
        for search in self._shared:
            shown = {id: relevance for id, relevance in search.shown.items() if not id.startswith(hidden)}
            uses = [use for use in search.uses if not use.id.startswith(hidden)]
            if part := parts.get((search.at, search.session, search.query)):
                part.shown.update(shown)
                part.uses.extend(uses)
            elif shown or uses or not (search.shown or search.uses):
                searches.append(Search(search.at, search.session, search.query, shown, uses))
        return iter(sorted(searches, key=lambda search: search.at))

    def vectors(
        self, queries: Sequence[str], model: str, encode: Callable[[str], Vectors], seconds: float
    ) -> dict[str, Vectors]:
        ends, shared = time.monotonic() + seconds, self._shared.list_queries()
        found = self._shared.vectors([query for query in queries if query in shared], model, encode, seconds)
        others = [query for query in queries if query not in shared]
        return found | super().vectors(others, model, encode, ends - time.monotonic())

    def withdraw(self, query: str, id: str, session: str = "") -> int:
        return super().withdraw(query, id, session) + self._shared.withdraw(query, id, session)

    def forget(self, id: str | None = None, query: str | None = None) -> int:
        wanted = None if query is None else normalize(query)
        times = [
            search.at
            for search in self
            if wanted in (None, search.query) and (id is None or any(use.id == id for use in search.uses))
        ]
        super().forget(id, query)
        self._shared.forget(id, query)
        if id is not None:  # the part of a search without the use has its query, too
            self.forget_times(times)
            self._shared.forget_times(times)
        return len(times)

    def facts(self) -> dict[str, Any]:
        searches = list(self)
        uses = [use for search in searches for use in search.uses]
        return {
            "searches": len(searches),
            "since": min((search.at for search in searches), default=None),
            "uses": len(uses),
            "documents": len({use.id for use in uses if use.outcome not in ("failed", "wrong")}),
            "bytes": super().facts()["bytes"] + self._shared.facts()["bytes"],
        }

    def close(self) -> None:
        super().close()
        self._shared.close()
