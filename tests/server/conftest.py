"""A catalog of three tools, an application over it in this process, and the service as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from shortlist.compat.retriever_service import create_app
from shortlist.compat.retriever_settings import load_compat_settings

TOOLS: list[dict[str, Any]] = [
    {"id": "refund", "title": "Refund a payment", "content": "Send money back to a card.", "keywords": ["chargeback"]},
    {"id": "track", "title": "Track a parcel", "content": "Where a shipment is now.", "metadata": {"access": "read"}},
    {"id": "invoice", "title": "Write an invoice", "content": "A bill for an order, as PDF."},
]

Make = Callable[..., TestClient]


def write_catalog(path: Path, tools: list[dict[str, Any]]) -> Path:
    """Replaces the file as editors do, so that its stamp always changes."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"documents": tools}), "utf-8")
    os.replace(draft, path)
    return path


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalogs"
    folder.mkdir()
    return write_catalog(folder / "tools.json", TOOLS)


@pytest.fixture
def make(catalog: Path) -> Iterator[Make]:
    """Starts an application over the catalog and ends the previous one, as a restart of the service does."""
    running: list[TestClient] = []

    def end() -> None:
        while running:
            running.pop().__exit__(None, None, None)

    def start(**given: Any) -> TestClient:
        end()
        keys = {key.replace("__", "."): value for key, value in given.items()}
        values = {
            "documents.source": str(catalog), "documents.auto_reload": False, "documents.embedder": "none",
            "server.workers": 0,
        }  # fmt: skip
        app = create_app(load_compat_settings(given=values | keys, environment={}))
        client = TestClient(app, base_url="http://localhost:9200")
        running.append(client.__enter__())
        return client

    yield start
    end()


@pytest.fixture
def client(make: Make) -> TestClient:
    return make()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One application for all requests that change nothing."""
    folder = tmp_path_factory.mktemp("shared")
    source = str(write_catalog(folder / "tools.json", TOOLS))
    values: dict[str, Any] = {"documents.source": source, "documents.embedder": "none"}
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("data", "config", "cache"):
            patch.setenv(f"SHORTLIST_{kind.upper()}_DIR", str(folder / kind))
        values |= {"documents.auto_reload": False, "server.workers": 0}
        app = create_app(load_compat_settings(given=values, environment={}))
    with TestClient(app, base_url="http://localhost:9200") as client:
        yield client


class Service:
    """`shortlist serve` as a process."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shortlist", "serve", "--port", "0", *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            serving = self.wait_for(lambda line: "Serving on" in line["message"])
            self.wait_for(lambda line: "startup complete" in line["message"])
        except BaseException:
            self.process.kill()
            raise
        self.url = str(serving["message"]).split()[-1].rstrip(".")
        self.http = httpx2.Client(base_url=self.url, timeout=30, trust_env=False)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(json.loads(line))

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first matching line of the log."""
        found: dict[str, Any] = until(lambda: next(filter(wanted, self.lines), None), self.process)
        return found

    def end(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Stop it; its exit code and what it wrote to stdout."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(60)
        self._reader.join(60)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        out = self.process.stdout.read()
        self.process.stdout.close()
        self.process.stderr.close()
        self.http.close()
        return code, out


Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Service] = []

    def begin(*arguments: str, **environment: str) -> Service:
        started.append(Service(tmp_path, *arguments, **environment))
        return started[-1]

    yield begin
    for service in started:
        if service.process.stdout and not service.process.stdout.closed:
            service.end(signal.SIGKILL)


def until(look: Callable[[], Any], process: subprocess.Popen[str] | None = None) -> Any:
    """The first true result of `look`, which is called again for up to a minute."""
    for _ in range(1200):
        found = look()
        if found:
            return found
        assert process is None or process.poll() is None, "the service ended"
        time.sleep(0.05)
    raise AssertionError("it did not happen within a minute")


def ids(answer: Any) -> list[str]:
    return [document["id"] for document in answer.json()["documents"]]
