"""A corpus behind a service: its documents over HTTP. The service ranks, so only what it offers can be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, cast

from shortlist.client import operations
from shortlist.client.addresses import parse_address
from shortlist.client.service_clients import Client
from shortlist.documents import Changes, Document, Problem
from shortlist.errors import CorpusError, CorpusNotFound, ServiceError
from shortlist.index.config import Config, Drift

if TYPE_CHECKING:
    from shortlist.documents import Stamps
    from shortlist.index.engine import Documents, State, Viewer
    from shortlist.protocols import Embedder, Progress
    from shortlist.results import Hits, MergeFacts, Mode

PAGE = 1_000  # documents that are read at once


def connect(url: str, *, token: str | None = None, allow_http: bool = False) -> ServiceEngine:
    """The corpus at an address such as https://host/handbook.

    The address of the service may have a path, and the name of the corpus slashes: the first split counts at which a
    service has the corpus.
    """
    address = parse_address(url, allow_http=allow_http)
    failures: list[CorpusNotFound | ServiceError] = []
    for base, name in address.choices if address.path.strip("/") else ():
        client = Client(base, token=token, allow_http=allow_http)
        try:
            return ServiceEngine(client, name, client.info(name))
        except (CorpusNotFound, ServiceError) as error:
            client.close()
            failures.append(error)
            if isinstance(error, ServiceError) and error.status is None:
                break  # it cannot be reached, with whatever path
        except BaseException:
            client.close()
            raise
    if not failures:
        raise CorpusNotFound(
            f"{url!r} names no corpus. Add its name to the address, such as {address.origin}/handbook."
        )
    raise next((error for error in failures if isinstance(error, CorpusNotFound)), failures[0])


class ServiceFilter:
    """A filter that the service checks; see `engine.Allowed`."""

    def __init__(self, filter: Mapping[str, Any]) -> None:
        self.filter = dict(filter)

    def __and__(self, other: ServiceFilter) -> ServiceFilter:
        if not self.filter or not other.filter:
            return self if self.filter else other
        return ServiceFilter({"$and": [self.filter, other.filter]})

    def __or__(self, other: ServiceFilter) -> ServiceFilter:
        return ServiceFilter({"$or": [self.filter, other.filter]})

    def __invert__(self) -> ServiceFilter:
        return ServiceFilter({"$not": self.filter})


class ServiceState:
    """What can be read of a corpus behind a service. Every request sees the last committed state."""

    size, generation, has_vectors, embedder, can_share_threads = 0, None, False, None, False

    def __init__(self, engine: ServiceEngine) -> None:
        self._engine = engine

    @property
    def config(self) -> Config:
        return self._engine.config()

    def search(
        self, query: str, mode: Mode, k: int, allowed: ServiceFilter | None, *, exact: bool = False
    ) -> tuple[Hits, MergeFacts]:
        """The k best hits, and what a merge with those of other corpora needs."""
        engine = self._engine
        condition = allowed.filter if allowed else None
        return engine.client.perform(operations.search_with_facts(engine.name, query, mode, k, condition, exact=exact))

    def read_body(self, id: str) -> tuple[str | None, str]:
        """The body of a document as the service discloses it, and the note about it."""
        (shown,) = self._engine.client.disclose(self._engine.name, [id], "body")
        return shown.body, shown.note

    def everything(self) -> ServiceFilter:
        return ServiceFilter({})

    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> ServiceFilter:
        return ServiceFilter({key: {operator: operand}})

    def get(self, id: str) -> Document | None:
        return self._engine.get(id)

    def count(self) -> int:
        return self._engine.count()

    def refuse(self, what: str) -> CorpusError:
        return self._engine.refuse(what)

    def __getattr__(self, name: str) -> NoReturn:
        raise self.refuse(name)


class ServiceEngine:
    """The engine of a corpus behind a service: reading and changing documents."""

    is_own = False

    def __init__(self, client: Client, name: str, info: Mapping[str, Any]) -> None:
        self.client, self.name = client, name
        self._info = dict(info)

    def refuse(self, what: str) -> CorpusError:
        """The error for something that only the machine of the service can do."""
        return CorpusError(
            f"The corpus {self.name!r} is behind the service {self.client.url}, which does not offer {what}. Do it on "
            f"the machine of the service."
        )

    def close(self) -> None:
        self.client.close()

    def for_viewer(self, viewer: Viewer) -> NoReturn:
        raise self.refuse("hiding documents")

    def config(self) -> Config:
        known = {name: self._info[name] for name in ("analyzer", "dim", "floors") if name in self._info}
        return Config(embedder_name=str(self._info.get("embedder", "none")), **known)

    def facts(self) -> dict[str, Any]:
        self._info = self.client.info(self.name)
        return self._info

    def sync(self, documents: Documents, prune: bool, progress: Progress | None, strict: bool) -> Changes:
        if prune:
            raise self.refuse("sync")
        items = list(documents)
        failed = tuple(item for item in items if isinstance(item, Problem))
        if failed and strict:
            raise CorpusError(f"{failed[0].id or 'A document'} cannot be stored: {failed[0].reason}")
        changes = self.client.add(self.name, [item for item in items if isinstance(item, Document)])
        if progress:
            progress(len(items), len(items))
        return Changes(changes.added, changes.changed, changes.unchanged, changes.removed, failed)

    def remove(self, ids: Sequence[str]) -> int:
        return self.client.remove(self.name, ids)

    def get(self, id: str) -> Document | None:
        return self.client.get(self.name, id)

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]:
        if limit is not None:
            return self.client.browse(self.name, text, offset, limit)
        found, count = self.client.browse(self.name, text, offset, PAGE)
        while offset + len(found) < count:
            page, count = self.client.browse(self.name, text, offset + len(found), PAGE)
            if not page:
                break
            found += page
        return found, count

    def scan(self) -> Iterator[Document]:
        return iter(self.browse("", 0, None)[0])

    def ids(self) -> list[str]:
        return [document.id for document in self.scan()]

    def count(self) -> int:
        return self.client.browse(self.name, limit=0)[1]

    def kinds(self) -> dict[str, int]:
        return dict(Counter(document.kind for document in self.scan()).most_common())

    def snapshot(self) -> AbstractContextManager[State]:
        return nullcontext(cast("State", ServiceState(self)))

    def verify(self) -> None:
        return None

    def since(self, mark: dict[str, Any]) -> Drift:
        raise self.refuse("calibration")

    def configure(self, change: Callable[[Config], Config]) -> None:
        raise self.refuse("calibration")

    def mark(self) -> dict[str, Any]:
        raise self.refuse("calibration")

    def compare(self, documents: Documents, progress: Progress | None) -> Changes:
        raise self.refuse("compare")

    def compact(self) -> None:
        raise self.refuse("compact")

    def reindex(
        self, change: Callable[[Config], Config], embedder: Embedder | None, progress: Progress | None = None
    ) -> None:
        raise self.refuse("reindex")

    def stamps(self) -> Stamps:
        raise self.refuse("stamps")
