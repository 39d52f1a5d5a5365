"""A running service over real corpora, and both clients of it behind one interface."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import shortlist
from shortlist import AsyncClient, Client, Document
from shortlist.library import opening
from shortlist.server.application import create_app
from shortlist.server.service_settings import load_settings
from tests.server.conftest import until

HANDBOOK = [
    Document("refunds", "Refunds", "Customers get their money back within 14 days.", metadata={"area": "pay"}),
    Document("shipping", "Shipping", "Parcels are sent with the post office. Each parcel has a tracking number."),
    Document("holidays", "Holidays", "Every employee has 30 days of paid vacation.", metadata={"area": "people"}),
    Document("laptops", "Laptops", "New employees choose a laptop.", ["computer"], payload="LAPTOP GUIDE"),
]  # fmt: skip
TOOLS = [
    Document("refund_payment", "Refund a payment", "Send the money of a payment back to the card.", kind="tool"),
    Document("track_parcel", "Track a parcel", "Find where a parcel is now.", kind="tool"),
    Document("book_flight", "Book a flight", "Reserve a seat on a plane.", kind="tool",
             metadata={"parameters": {"type": "object", "required": ["date"], "properties": {"date": {}}}}),
]  # fmt: skip
NAMES = {"handbook": ("default", HANDBOOK), "tools": ("none", TOOLS), "faq": ("default", HANDBOOK[:2])}

Call = Callable[..., Any]


def use_places(folder: Path, patch: pytest.MonkeyPatch) -> None:
    for kind in ("data", "config", "cache"):
        patch.setenv(f"SHORTLIST_{kind.upper()}_DIR", str(folder / kind))
    patch.delenv("SHORTLIST_TOKEN", raising=False)


@contextlib.contextmanager
def serve(folder: Path, app: Any = None, **given: Any) -> Iterator[str]:
    """Run an application, or the service, in a thread; yields its address."""
    if app is None:
        keys = {key.replace("__", "."): value for key, value in given.items()}
        catalog = folder / "catalog.json"
        catalog.write_text('{"documents": []}', "utf-8")
        values = {"documents.source": str(catalog), "documents.auto_reload": False, "documents.embedder": "none"}
        app = create_app(load_settings(given=values | keys, environment={}))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(60)


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the corpora are stored that the service has, and the library opens by name."""
    folder = tmp_path_factory.mktemp("service")
    with pytest.MonkeyPatch.context() as patch:
        use_places(folder, patch)
        for name, (embedder, documents) in NAMES.items():
            with shortlist.create_corpus(name, embedder=embedder) as corpus:
                corpus.add(documents)
        (folder / "notes").mkdir()
        (folder / "notes" / "office.md").write_text("# Office\n\nThe office opens at nine.\n", "utf-8")
        shortlist.build(f"docs:{folder / 'notes'}", embedder="none").close()
        yield folder


@pytest.fixture
def notes(places: Path) -> str:
    """A name with slashes."""
    return f"docs:{places / 'notes'}"


@pytest.fixture(autouse=True)
def own_places(places: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library and the service see the same corpora."""
    use_places(places, monkeypatch)
    yield
    opening._open.clear()


@pytest.fixture(scope="session")
def url(places: Path) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        use_places(places, patch)
        with serve(places) as address:
            yield address


def make_caller(kind: str, url: str, **options: Any) -> Call:
    """Calls a method of the blocking or the asynchronous client by name."""

    def call(name: str, *arguments: Any, **given: Any) -> Any:
        if kind == "sync":
            with Client(url, **options) as client:
                return getattr(client, name)(*arguments, **given)

        async def run() -> Any:
            async with AsyncClient(url, **options) as client:
                return await getattr(client, name)(*arguments, **given)

        return asyncio.run(run())

    return call


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def call(kind: str, url: str) -> Call:
    return make_caller(kind, url)
