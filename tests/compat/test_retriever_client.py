"""The client against a running service."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import shortlist
from shortlist import InputError, ServiceError
from shortlist.compat import BM25SClient
from tests.server.conftest import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    from tests.server.conftest import TOOLS, write_catalog

    folder: Path = tmp_path_factory.mktemp("client")
    catalog = write_catalog(folder / "tools.json", TOOLS)
    running = Service(
        folder, "--documents", str(catalog), SHORTLIST_DATA_DIR=str(folder / "data"), SHORTLIST_TOKEN="word"
    )
    yield running
    running.end()


@pytest.fixture
def client(service: Service) -> Iterator[BM25SClient]:
    with BM25SClient(service.url + "/", token="word") as client:
        client.index_documents(
            [
                {"id": "refund", "title": "Refund", "content": "Send money back."},
                {"id": "track", "title": "Track", "content": "Find a parcel."},
            ]
        )
        client.update_settings({"temperature": 0.5, "ignore_zero": True, "llm_tools_cutoff": 10.0})
        yield client


def test_it_retrieves_with_options_for_one_call(client: BM25SClient) -> None:
    found = client.retrieve("where is the parcel")
    assert [document["id"] for document in found["documents"]] == ["track"]
    found = client.retrieve("parcel", temperature=2.0, ignore_zero=False, llm_tools_cutoff=0.0)
    assert found["settings"] == {"temperature": 2.0, "ignore_zero": False, "llm_tools_cutoff": 0.0}
    assert len(found["documents"]) == 2


def test_it_adds_lists_and_deletes_documents(client: BM25SClient) -> None:
    client.add_document(
        {"id": "a/ö %", "title": "New", "content": "x", "keywords": ["keyword1"], "metadata": {"category": "trading"}}
    )
    listed = client.get_documents()
    assert listed["count"] == len(listed["documents"]) == 3
    assert listed["documents"][2]["metadata"] == {"category": "trading"}
    assert client.delete_document("a/ö %")["count"] == 2
    with pytest.raises(ServiceError, match="There is no document") as error:
        client.delete_document("a/ö %")
    assert error.value.status == 404


def test_it_reads_and_changes_settings(client: BM25SClient) -> None:
    assert client.get_settings()["temperature"] == 0.5
    assert client.update_settings({"temperature": 2})["llm_tools_cutoff"] == 10.0
    assert client.get_settings() == {"temperature": 2.0, "ignore_zero": True, "llm_tools_cutoff": 10.0}
    with pytest.raises(ServiceError, match="less than or equal to 10") as error:
        client.update_settings({"temperature": 99})
    assert error.value.status == 422


def test_it_reports_and_forgets_use(client: BM25SClient) -> None:
    assert client.feedback("catalog", "lost in the mail", "track")["stored"] is True
    client.feedback("catalog", "nothing came", "refund", "failed", shown=["refund", "track"], session="a")
    usage = client.usage("catalog")
    assert (usage["searches"], usage["uses"], usage["documents"]) == (2, 2, 1)
    with pytest.raises(ServiceError, match="'trac'") as error:
        client.feedback("catalog", "lost in the mail", "trac")
    assert error.value.status == 404
    with pytest.raises(ServiceError, match="no/where") as error:
        client.usage("no/where")
    assert error.value.status == 404
    assert client.forget("catalog", "refund & more") == {"forgotten": 0}
    assert client.forget("catalog", "refund") == {"forgotten": 1}
    assert client.forget("catalog") == {"forgotten": 1}


def test_it_indexes_reloads_and_asks_for_the_status(client: BM25SClient) -> None:
    assert client.index_documents()["count"] == 2
    assert client.index_documents([])["count"] == 0
    assert client.retrieve("refund")["success"] is False
    assert client.reload()["success"] is True
    assert client.get_status()["documents"] == 0


def test_a_missing_token_is_an_error(service: Service) -> None:
    with BM25SClient(service.url) as client, pytest.raises(ServiceError, match="token") as error:
        client.get_status()
    assert error.value.status == 401


def test_a_server_that_is_not_a_service_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer_html, args=(server,)).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with BM25SClient(url) as client, pytest.raises(ServiceError, match="answered 200") as error:
            client.get_status()
    assert error.value.status == 200


def answer_html(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(10_000)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p/>")


class Flaky:
    """Closes some connections without an answer, then answers."""

    def __init__(self, failures: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.asked = 0
        self._failures = failures
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            connection, _ = self._server.accept()
            with connection:
                if not connection.recv(10_000):
                    return
                self.asked += 1
                if self.asked > self._failures:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    def __enter__(self) -> Flaky:
        return self

    def __exit__(self, *_: object) -> None:
        socket.create_connection(self._server.getsockname()).close()
        self._thread.join()
        self._server.close()


def test_reads_are_tried_again_when_the_connection_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.compat.retriever_client.FIRST_WAIT", 0.0)
    with Flaky(3) as service, BM25SClient(service.url) as client:
        assert client.retrieve("x") == {}
        assert service.asked == 4
    with Flaky(9) as service, BM25SClient(service.url) as client:
        with pytest.raises(ServiceError, match="shortlist serve") as error:
            client.get_documents()
        assert (error.value.status, service.asked) == (None, 4)


def test_changes_are_not_retried_since_they_may_have_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.compat.retriever_client.FIRST_WAIT", 0.0)
    with Flaky(1) as service, BM25SClient(service.url) as client:
        with pytest.raises(ServiceError, match="cannot be reached"):
            client.add_document({"id": "x"})
        assert service.asked == 1


def test_a_missing_answer_is_a_timeout() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        BM25SClient(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=0.1) as client,
        pytest.raises(ServiceError, match="in time"),
    ):
        client.get_status()


@pytest.mark.parametrize("url", ["localhost:9200", "ftp://x", "http://", "", "http://[::"])
def test_an_invalid_address_is_an_error(url: str) -> None:
    with pytest.raises(InputError, match="not a valid address"):
        BM25SClient(url)


def test_the_default_address_is_the_documented_one() -> None:
    with BM25SClient() as client:
        assert client.base_url == "http://localhost:9200"
    with pytest.deprecated_call(match="shortlist.compat.BM25SClient"):
        assert shortlist.BM25SClient is BM25SClient
