"""Corpora on every engine: the embedded one, and real servers where they can be had."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

import shortlist
from shortlist import Corpus

Make = Callable[..., Corpus]

KINDS = ("opensearch", "elasticsearch")
# One of the two is enough for every run; the other is asked with -m slow.
MARKS = {"opensearch": [pytest.mark.engine], "elasticsearch": [pytest.mark.engine, pytest.mark.slow]}
EVERYWHERE = ("embedded", *(pytest.param(kind, marks=MARKS[kind]) for kind in KINDS))
SERVERS = EVERYWHERE[1:]


@pytest.fixture
def address(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Where the corpora of a test are kept; None is this machine. What is kept elsewhere is deleted in the end."""
    kind: str = request.param
    if kind == "embedded":
        yield None
        return
    url = request.getfixturevalue(f"{kind}_url")
    prefix = f"t{uuid.uuid4().hex[:10]}"
    yield f"{kind}+{url}/{prefix}"
    import httpx2

    with httpx2.Client(trust_env=False, timeout=30) as client:
        names = [index["index"] for index in client.get(f"{url}/_cat/indices/{prefix}-*?format=json").json()]
        if names:
            client.delete(f"{url}/{','.join(names)}")


@pytest.fixture
def make(address: str | None) -> Iterator[Make]:
    """Makes corpora where the address says."""
    made: list[Corpus] = []

    def create(name: str = "shelf", embedder: Any = "none", **options: Any) -> Corpus:
        made.append(shortlist.create_corpus(name, embedder=embedder, engine=address or "embedded", **options))
        return made[-1]

    yield create
    for corpus in made:
        corpus.close()


@contextmanager
def listening(server: ThreadingHTTPServer) -> Iterator[int]:
    """A server that answers in a thread of its own; its port."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def everywhere(function: Any) -> Any:
    """Run a test on every engine."""
    return pytest.mark.parametrize("address", EVERYWHERE, indirect=True)(function)


def on_servers(function: Any) -> Any:
    """Run a test on every engine but the embedded one."""
    return pytest.mark.parametrize("address", SERVERS, indirect=True)(function)
