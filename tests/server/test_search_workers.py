"""Searches in processes of their own: the same answers, changes seen at once, and a process that ends is replaced."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from fastapi.testclient import TestClient

from shortlist.safety import processes
from shortlist.safety.processes import make_command
from shortlist.server.catalog_store import CatalogStore
from shortlist.server.routes.corpora_routes import ServedCorpora, search_in_corpus
from shortlist.server.search_workers import OVERLAPPING, SearchWorkers, count_by_default
from shortlist.server.service_settings import load_settings
from tests.server.conftest import TOOLS, Make, until, write_catalog

SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("/retrieve", {"query": "parcel shipment"}),
    ("/retrieve", {"query": "money", "temperature": 5.0, "llm_tools_cutoff": 0.0}),
    ("/v1/corpora/catalog/search", {"query": "a bill for an order", "k": 2}),
    ("/v1/corpora/catalog/discover", {"query": "track a parcel", "level": "body"}),
    ("/v1/corpora/catalog/discover", {"query": "moon rocket"}),
    ("/v1/corpora/catalog/search-many", {"queries": ["order", "moon rocket"], "k": 2}),
    ("/v1/corpora/catalogue/search", {"query": "order"}),
    ("/v1/corpora/catalog/search", {"query": "order", "filter": {"access": {"$no": 1}}}),
    ("/v1/corpora/catalog/search", {"query": "order", "k": -1}),
]


def ask_all(client: TestClient) -> list[tuple[int, Any]]:
    answers = []
    for path, body in SEARCHES:
        response = client.post(path, json=body)
        answer = response.json()
        answer.pop("request_id", None)
        answers.append((response.status_code, answer))
    return answers


def test_processes_give_the_answers_and_the_errors_of_threads(make: Make) -> None:
    expected = ask_all(make())
    assert [status for status, _ in expected] == [200, 200, 200, 200, 200, 200, 404, 422, 422]
    assert ask_all(make(server__workers=2)) == expected


def test_a_process_sees_changes_of_documents_and_settings_and_another_catalog(make: Make, catalog: Path) -> None:
    write_catalog(catalog.with_name("more.json"), [{"id": "moon", "title": "Moon", "content": "Land on the moon."}])
    client = make(server__workers=1)

    def retrieve(query: str) -> dict[str, Any]:
        answer = client.post("/retrieve", json={"query": query}).json()
        return {"ids": [found["id"] for found in answer["documents"]], "cutoff": answer["settings"]["llm_tools_cutoff"]}

    assert retrieve("rocket") == {"ids": [], "cutoff": 10.0}
    client.post("/documents", json=TOOLS[0] | {"id": "rocket", "title": "Start a rocket"})
    assert retrieve("rocket") == {"ids": ["rocket"], "cutoff": 10.0}
    client.post("/settings", json={"llm_tools_cutoff": 20.0})
    client.delete("/documents/rocket")
    assert retrieve("rocket") == {"ids": [], "cutoff": 20.0}
    client.post("/switch-document-file", json={"file": "more.json"})
    assert retrieve("moon") == {"ids": ["moon"], "cutoff": 20.0}


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_processes_are_started_once_searches_overlap_unless_their_number_is_set(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "count_cores", lambda: 2)
    before = _children()
    expected = ask_all(make())
    _search_at_once(make(), OVERLAPPING, monkeypatch)
    assert _children() == before
    client = make(server__workers=None)
    _search_at_once(client, OVERLAPPING - 1, monkeypatch)
    assert ask_all(client) == expected
    assert _children() == before
    _search_at_once(client, OVERLAPPING, monkeypatch)
    until(lambda: len(_children() - before) == 2)

    def fail(*_: object) -> NoReturn:
        raise AssertionError("a thread searches")

    def is_taken_over() -> bool:
        return client.post("/v1/corpora/catalog/search", json={"query": "order"}).status_code == 200

    monkeypatch.setattr(ServedCorpora, "answer", fail)
    until(is_taken_over)
    assert ask_all(client) == expected


def _search_at_once(client: TestClient, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send this number of searches, none of which ends before all have begun."""
    barrier, answer = threading.Barrier(count), ServedCorpora.answer

    def wait_and_answer(*arguments: Any) -> dict[str, Any]:
        barrier.wait(60)
        return answer(*arguments)

    with monkeypatch.context() as patch, ThreadPoolExecutor(count) as pool:
        patch.setattr(ServedCorpora, "answer", wait_and_answer)
        search = partial(client.post, "/v1/corpora/catalog/search", json={"query": "order"})
        answers = [pool.submit(search) for _ in range(count)]
        assert [answer.result().status_code for answer in answers] == [200] * count


@pytest.mark.parametrize(("cores", "expected"), [(1, 0), (2, 2), (64, 4)])
def test_the_number_of_processes_by_default_follows_the_cores(
    cores: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "count_cores", lambda: cores)
    assert count_by_default() == expected


def test_threads_search_if_no_process_can_be_started(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "count_cores", lambda: 2)
    monkeypatch.setattr(processes, "make_command", lambda module: ["/nothing/is/here"])
    client = make(server__workers=None)
    for _ in range(2):
        _search_at_once(client, OVERLAPPING, monkeypatch)


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_a_process_that_was_killed_is_replaced(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.server.search_workers.RESTART_SECONDS", 0.0)
    before = _children()
    client = make(server__workers=1)
    (worker,) = _children() - before
    os.kill(worker, signal.SIGKILL)
    statuses = []
    while 200 not in statuses:
        statuses.append(client.post("/retrieve", json={"query": "parcel"}).status_code)
        assert set(statuses) <= {200, 503}
    assert client.post("/retrieve", json={"query": "parcel"}).json()["documents"][0]["id"] == "track"


def test_a_process_that_ends_while_the_service_starts_is_replaced(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.server.search_workers.RESTART_SECONDS", 0.0)
    open_worker = SearchWorkers._open
    killed: list[int] = []

    async def open_and_kill(self: SearchWorkers) -> Any:
        worker = await open_worker(self)
        if not killed:
            killed.append(worker.process.pid)
            worker.process.kill()
        return worker

    monkeypatch.setattr(SearchWorkers, "_open", open_and_kill)
    client = make(server__workers=1)
    assert client.post("/retrieve", json={"query": "parcel"}).json()["documents"][0]["id"] == "track"
    assert killed


def test_a_process_ends_quietly_when_no_one_reads_its_answers() -> None:
    given: list[Any] = [load_settings(environment={}), (1, pickle.dumps(("", {}, len, "", {})))]
    messages = [pickle.dumps(message) for message in given]
    pipe = subprocess.PIPE
    process = subprocess.Popen(make_command(SearchWorkers.__module__), stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdout
    process.stdout.close()
    framed = b"".join(len(data).to_bytes(4, "little") + data for data in messages)
    _, complaints = process.communicate(framed, timeout=60)
    assert (complaints, process.returncode) == (b"", 1)


def test_a_search_that_a_process_cannot_load_or_do_is_an_error_and_the_next_one_is_answered(catalog: Path) -> None:
    given = {"documents.source": str(catalog), "documents.embedder": "none", "server.workers": 1}
    settings = load_settings(given=given, environment={})
    store = CatalogStore(settings)

    async def run() -> None:
        workers = SearchWorkers(settings, store)
        await workers.start()
        with pytest.raises((AttributeError, pickle.PicklingError)):
            await workers.answer(lambda corpus: {}, "catalog", {})  # has no name by which it could be loaded
        with pytest.raises(TypeError):
            await workers.answer(search_in_corpus, "catalog", {"nothing": 1})
        found = json.loads(await workers.answer(search_in_corpus, "catalog", {"query": "parcel"}))
        assert [hit["id"] for hit in found["hits"]] == ["track"]
        await workers.close()

    asyncio.run(run())
    store.close()


def _children() -> set[int]:
    """The processes that the threads of this process started."""
    children: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the thread has ended
            children.update(map(int, (task / "children").read_text().split()))
    return children


def test_a_process_stops_work_on_a_request_that_is_over(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
import time
from shortlist._limits import check_canceled
from shortlist.server import search_workers
answer = search_workers.ServedCorpora.answer
def answer_or_search_forever(self, kind, name, options):
    while options["query"] == "forever":
        check_canceled()
        time.sleep(0.01)
    return answer(self, kind, name, options)
search_workers.ServedCorpora.answer = answer_or_search_forever
search_workers.main()
"""
    command = [*processes.make_command("shortlist.server.search_workers")[:-1], program]
    monkeypatch.setattr(processes, "make_command", lambda module: command)
    client = make(server__workers=1, limits__request_seconds=1)
    for _ in range(3):
        assert client.post("/retrieve", json={"query": "forever"}).status_code == 503
    until(lambda: client.post("/retrieve", json={"query": "parcel"}).status_code == 200)


def test_processes_have_the_limits_of_the_service(make: Make) -> None:
    client = make(server__workers=1, limits__max_query_characters=20_000)
    assert client.post("/v1/corpora/catalog/search", json={"query": "x" * 15_000}).status_code == 200
