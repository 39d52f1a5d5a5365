"""The service as a process: killed, stopped, restarted, and with a document file that changes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from shortlist.cli import run
from tests.server.conftest import TOOLS, Make, Start, ids, until, write_catalog


def test_confirmed_changes_survive_a_kill(start: Start, make: Make, catalog: Path) -> None:
    write_catalog(catalog.parent / "other.json", TOOLS)
    service = start("--documents", str(catalog))
    for number in range(5):
        assert service.http.post("/documents", json=TOOLS[0] | {"id": f"new{number}"}).status_code == 200
    assert service.http.delete("/documents/track").status_code == 200
    assert service.http.post("/settings", json={"temperature": 4}).status_code == 200
    assert service.end(signal.SIGKILL)[0] == -signal.SIGKILL
    service = start("--documents", str(catalog))
    kept = ["refund", "invoice", *(f"new{number}" for number in range(5))]
    assert ids(service.http.get("/documents")) == kept
    assert service.http.get("/settings").json()["temperature"] == 4.0
    assert service.http.post("/switch-document-file", json={"file": "other.json"}).status_code == 200
    service.end(signal.SIGKILL)
    assert ids(make().get("/documents")) == ["refund", "track", "invoice"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_requests_under_way_finish_when_it_is_stopped(
    start: Start, make: Make, catalog: Path, how: signal.Signals
) -> None:
    (catalog.parent.parent / "settings.yaml").write_text("documents: {embedder: default}\n")  # which is fast
    service = start("--documents", str(catalog))
    many = [TOOLS[0] | {"id": f"n{number}", "content": f"word{number} " * 50} for number in range(3000)]
    answers: list[httpx2.Response] = []
    sending = threading.Thread(target=lambda: answers.append(service.http.post("/documents", json=many)))
    sending.start()
    until(lambda: has_begun(service.url) or not sending.is_alive())
    code, out = service.end(how)
    sending.join(60)
    assert (code, out) == (0, "")
    assert [answer.status_code for answer in answers] == [200]
    assert not list((catalog.parent.parent).rglob("*.draft"))
    assert make(documents__embedder="default").get("/documents?limit=0").json()["count"] == 3003


def has_begun(url: str) -> bool:
    """Whether a request is under way besides this one."""
    with httpx2.Client(trust_env=False) as client:
        return "shortlist_requests_in_progress 2.0" in client.get(f"{url}/metrics").text


def test_a_changed_file_is_reloaded_and_a_broken_one_changes_nothing(
    make: Make, catalog: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = make(documents__auto_reload=True)
    write_catalog(catalog, TOOLS[:2])
    until(lambda: client.get("/documents?limit=0").json()["count"] == 2)
    catalog.write_text("{", encoding="utf-8")
    until(lambda: client.get("/status").json()["problem"])
    assert ids(client.get("/documents")) == ["refund", "track"]
    until(lambda: [one for one in caplog.records if one.levelname == "WARNING" and "tools.json" in one.getMessage()])
    write_catalog(catalog, TOOLS)
    until(lambda: not client.get("/status").json()["problem"])
    assert client.get("/documents?limit=0").json()["count"] == 3


def test_without_auto_reload_a_changed_file_is_read_on_request(client: TestClient, catalog: Path) -> None:
    write_catalog(catalog, TOOLS[:2])
    assert client.get("/documents?limit=0").json()["count"] == 3
    assert client.post("/reload").json()["removed"] == 1


def test_settings_of_file_environment_and_command_line_reach_the_retriever(start: Start, catalog: Path) -> None:
    (catalog.parent.parent / "settings.yaml").write_text(
        "bm25s: {temperature: 2, llm_tools_cutoff: 30, ignore_zero: false}\n"
        "documents: {source: catalogs/tools.json}\nserver: {port: 1, log_level: error}\n"
    )
    service = start(BM25S_CUTOFF="0", BM25S_PORT="2", BM25S_LOG_LEVEL="INFO")
    answer = service.http.post("/retrieve", json={"query": "parcel"}).json()
    assert answer["settings"] == {"temperature": 2.0, "ignore_zero": False, "llm_tools_cutoff": 0.0}
    assert len(answer["documents"]) == 3
    origins = {row["key"]: row["origin"] for row in service.http.get("/status").json()["configuration"]}
    assert origins["bm25s.temperature"] == "settings.yaml"
    assert origins["bm25s.llm_tools_cutoff"] == "BM25S_CUTOFF"
    assert origins["server.port"] == "--port"
    assert origins["server.host"] == "default"


def test_with_reload_it_restarts_when_the_settings_file_changes_unless_that_is_invalid(
    start: Start, catalog: Path
) -> None:
    file = catalog.parent.parent / "settings.yaml"
    text = "server: {reload: true}\ndocuments: {source: catalogs/tools.json, embedder: none}\n"
    file.write_text(text)
    service = start()
    service.http.post("/documents", json=TOOLS[0] | {"id": "kept"})
    for broken, message in (
        ("bm25s: [", "is not valid YAML"),
        ("bm25s: {temperature: 70}", "bm25s.temperature"),
    ):
        file.write_text(text + broken)
        until(lambda: [line for line in service.lines if message in line["message"]], service.process)  # noqa: B023
        assert service.http.get("/settings").json()["temperature"] == 0.5
    file.write_text(text + "bm25s: {temperature: 7}\n")
    serving = until(lambda: [line for line in service.lines if "Serving on" in line["message"]][1:], service.process)
    url = serving[0]["message"].split()[-1].rstrip(".")
    assert until(lambda: fetch(f"{url}/settings"), service.process)["temperature"] == 7.0
    assert fetch(f"{url}/documents?limit=0")["count"] == 4
    assert service.end() == (0, "")


def fetch(url: str) -> Any:
    try:
        return httpx2.get(url, trust_env=False).json()
    except httpx2.TransportError:
        return {}


def test_a11_bodies_and_headers_have_a_time_limit(start: Start, catalog: Path) -> None:
    (catalog.parent.parent / "settings.yaml").write_text("limits: {request_seconds: 1}\n")
    service = start("--documents", str(catalog))
    address = "127.0.0.1", int(service.url.rsplit(":", 1)[1])
    whole = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:

        def send(data: bytes) -> socket.socket:
            connection = stack.enter_context(socket.create_connection(address, 60))
            connection.sendall(data)
            return connection

        more = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        halves = [send(b"POST %b HTTP/1.1\r\n" % path + more) for path in (b"/retrieve", b"/documents")]
        idle = [send(b""), send(b"GET /health HTTP/1.1\r\nHost: loc")]
        trickling = send(whole[:-4] + b"\r\nX-Slow: ")  # headers that never end
        slow = send(whole)  # a whole request, then a part of the next one
        answer = b""
        while not answer.endswith(b'{"status":"ok"}'):
            answer += slow.recv(10_000)
        slow.sendall(whole[:10])
        until(lambda: is_closed_after(trickling, b"x"))
        assert [half.recv(10_000)[:13] for half in halves] == 2 * [b"HTTP/1.1 408 "]
        assert [connection.recv(10_000) for connection in (*idle, slow)] == 3 * [b""]
    assert service.http.get("/health").status_code == 200


def test_idle_connections_are_closed_their_number_is_limited_and_clients_that_do_not_read_are_dropped(
    start: Start, catalog: Path
) -> None:
    write_catalog(catalog, [TOOLS[0] | {"content": "long " * 200_000}])
    limits = "limits: {idle_seconds: 0.3, request_seconds: 1, max_connections: 2}\n"
    (catalog.parent.parent / "settings.yaml").write_text(limits)
    service = start("--documents", str(catalog))
    address = "127.0.0.1", int(service.url.rsplit(":", 1)[1])
    service.http.close()
    with socket.create_connection(address, 60) as idle:
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b"".join(iter(lambda: idle.recv(10_000), b""))  # until it is closed
        assert received.startswith(b"HTTP/1.1 200 ")
    with socket.create_connection(address, 60), socket.create_connection(address, 60):
        with socket.create_connection(address, 60) as third:
            refusal = b"".join(iter(lambda: third.recv(10_000), b""))
        assert refusal.startswith(b"HTTP/1.1 503 ")
        assert b"limits.max_connections" in refusal
    until(lambda: is_healthy(service.url), service.process)
    with socket.socket() as stalled, socket.socket() as other:
        for connection in (stalled, other):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(60)
            connection.connect(address)
            connection.sendall(20 * b"GET /documents HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: is_healthy(service.url), service.process)


def is_healthy(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health", trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


def is_closed_after(connection: socket.socket, more: bytes) -> bool:
    try:
        connection.sendall(more)
        return connection.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_with_a_token_it_listens_on_other_addresses_and_logs_each_request_but_never_the_token(
    start: Start, catalog: Path
) -> None:
    service = start("--documents", str(catalog), "--host", "0.0.0.0", SHORTLIST_TOKEN="hidden-word")
    service.http.base_url = service.url.replace("0.0.0.0", "127.0.0.1")
    headers = {"Authorization": "Bearer hidden-word", "X-Request-ID": "mine"}
    assert service.http.post("/retrieve", json={"query": "parcel"}, headers=headers).status_code == 200
    assert service.http.get("/documents", headers={"Authorization": "Bearer wrong-word"}).status_code == 401
    line = service.wait_for(lambda line: line.get("request_id") == "mine")
    assert (line["method"], line["path"], line["status"], line["level"]) == ("POST", "/retrieve", 200, "info")
    assert line["ms"] > 0
    with socket.create_connection(("127.0.0.1", int(service.url.rsplit(":", 1)[1])), 60) as connection:
        connection.sendall(b"HEAD /docs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        head, _, body = b"".join(iter(lambda: connection.recv(10_000), b"")).partition(b"\r\n\r\n")
    assert (head[:13], body) == (b"HTTP/1.1 200 ", b"")
    service.wait_for(lambda line: line.get("status") == 401)
    assert service.end() == (0, "")
    assert "-word" not in json.dumps(service.lines)


def test_on_a_terminal_it_prints_one_line_with_its_address(catalog: Path) -> None:
    terminal, stderr = pty.openpty()
    command = [sys.executable, "-m", "shortlist", "serve", "--port", "0", "--documents", str(catalog)]
    service = subprocess.Popen(command, cwd=catalog.parent, stdout=subprocess.DEVNULL, stderr=stderr)
    os.close(stderr)
    try:
        shown = ""
        while "\n" not in shown:
            assert select.select([terminal], [], [], 60)[0], "the service printed nothing"
            shown += os.read(terminal, 10_000).decode()
        address = re.fullmatch(r"shortlist is running at (http://127\.0\.0\.1:\d+) \(Ctrl-C to stop\)\r\n", shown)
        assert address, shown
        assert fetch(f"{address[1]}/documents?limit=0")["count"] == 3
    finally:
        service.send_signal(signal.SIGINT)
        assert service.wait(60) == 0
    with contextlib.suppress(OSError):  # raised at the end of a terminal
        assert os.read(terminal, 10_000) == b""  # no line for the request
    os.close(terminal)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1"])
def test_addresses_other_than_loopback_need_a_token(
    catalog: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--host", address, "--documents", str(catalog)]) == 1
    out, err = capsys.readouterr()
    assert "no token is set" in err
    assert (out, err.count("\n")) == ("", 1)


def test_a_port_in_use_is_an_error_and_an_unknown_variable_a_warning(catalog: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "shortlist", "serve", "--port", str(port), "--documents", str(catalog)]
        environment = {**os.environ, "BM25S_TEMPRATURE": "1"}
        done = subprocess.run(
            command, cwd=catalog.parent, env=environment, capture_output=True, encoding="utf-8", timeout=120
        )
    assert done.returncode == 1
    for part in (f"Port {port} of 127.0.0.1 is already in use", "--port", "Did you mean 'BM25S_TEMPERATURE'?"):
        assert part in done.stderr


def test_an_invalid_setting_is_an_error(
    catalog: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BM25S_TEMPERATURE", "hot")
    assert run(["serve", "--documents", str(catalog)]) == 1
    assert "BM25S_TEMPERATURE: bm25s.temperature must be a number from 0.1 to 10" in capsys.readouterr().err


ENDLESS = {
    "header": b"GET /settings HTTP/1.1\r\nHost: localhost\r\nX-Large: ",
    "trailer": b"POST /retrieve HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ",
    "chunk extension": b"POST /retrieve HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;",
}


def test_endless_headers_are_refused_without_being_buffered(start: Start, catalog: Path) -> None:
    service = start("--documents", str(catalog))
    address = ("127.0.0.1", int(service.url.rsplit(":", 1)[1]))
    for part, begun in ENDLESS.items():
        with socket.create_connection(address, 60) as endless:
            endless.sendall(begun)
            sent = 0
            with contextlib.suppress(ConnectionError):  # it was closed
                while sent < 50 << 20:
                    sent += endless.send(b"x" * (1 << 16))
            assert sent < 50 << 20, part
            assert service.http.get("/settings").status_code == 200
