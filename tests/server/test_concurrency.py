"""Readers never fail and never wait while documents change."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from shortlist.documents import Changes
from tests.server.conftest import TOOLS, Make, Start, ids, write_catalog


def test_no_read_fails_while_documents_are_added_deleted_and_indexed_again(client: TestClient) -> None:
    ended = threading.Event()

    def read() -> list[int]:
        statuses: list[int] = []
        while not ended.is_set() or not statuses:
            answer = client.post("/retrieve", json={"query": "track a parcel"})
            statuses.append(answer.status_code if ids(answer)[:1] == ["track"] else 0)
        return statuses

    with ThreadPoolExecutor(4) as pool:
        reading = [pool.submit(read) for _ in range(4)]
        for number in range(20):
            one = {"id": f"n{number}", "title": "New", "content": f"Something about number {number}."}
            assert client.post("/documents", json=one).status_code == 200
            assert client.post("/index").status_code == 200
            assert client.delete(f"/documents/n{number}").status_code == 200
            assert client.post("/index", json={"documents": TOOLS}).status_code == 200
        ended.set()
    assert {status for future in reading for status in future.result()} == {200}


def test_a_reader_does_not_wait_for_a_change(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make()
    begun, release = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> Changes:
        begun.set()
        assert release.wait(60)
        return Changes()

    monkeypatch.setattr("shortlist.index.corpus.Corpus.add", slow)
    with ThreadPoolExecutor(12) as pool:
        writing = [pool.submit(client.post, "/documents", json=TOOLS[0]) for _ in range(10)]
        assert begun.wait(60)
        assert ids(client.post("/retrieve", json={"query": "parcel"})) == ["track"]
        for path in ("/documents", "/status", "/settings", "/v1/corpora", "/metrics", "/ready", "/document-files"):
            assert client.get(path).status_code == 200
        assert not any(future.done() for future in writing)
        release.set()
        assert {future.result().status_code for future in writing} == {200}


def test_retrieving_does_not_wait_for_other_readers(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make()
    release = threading.Event()

    def slow(*_: object) -> dict[str, object]:
        assert release.wait(60)
        return {"folder": "", "current": "", "files": []}

    monkeypatch.setattr("shortlist.compat.served_retriever.ServedRetriever.document_files", slow)
    with ThreadPoolExecutor(12) as pool:
        reading = [pool.submit(client.get, "/document-files") for _ in range(10)]
        assert ids(client.post("/retrieve", json={"query": "parcel"})) == ["track"]
        assert client.post("/documents", json=TOOLS[0]).status_code == 200
        assert not any(future.done() for future in reading)
        release.set()
        assert {future.result().status_code for future in reading} == {200}


def test_two_services_on_one_catalog_see_each_other(start: Start, catalog: Path) -> None:
    first, second = start("--documents", str(catalog)), start("--documents", str(catalog))
    first.http.delete("/documents/track")
    assert ids(second.http.get("/documents")) == ["refund", "invoice"]
    second.http.post("/documents", json=TOOLS[1])
    assert ids(first.http.post("/retrieve", json={"query": "parcel"})) == ["track"]
    write_catalog(catalog, TOOLS[:1])
    second.http.post("/reload")
    assert first.http.post("/reload").json()["count"] == 1


def test_many_changes_at_once_are_all_made(client: TestClient) -> None:
    with ThreadPoolExecutor(8) as pool:
        new = [{"id": f"n{number}", "title": "New", "content": "x"} for number in range(40)]
        statuses = [answer.status_code for answer in pool.map(lambda one: client.post("/documents", json=one), new)]
    assert statuses == [200] * 40
    assert client.get("/documents").json()["count"] == 43
