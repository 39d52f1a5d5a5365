"""The service as a process: killed, stopped, and left alone with a file that changes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.conftest import TOOLS, Start, ids, until, write_catalog


def test_what_was_answered_with_200_is_there_after_a_kill(start: Start, catalog: Path) -> None:
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
    assert ids(start("--documents", str(catalog)).http.get("/documents")) == ["refund", "track", "invoice"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_when_it_is_stopped_requests_under_way_finish(start: Start, catalog: Path, how: signal.Signals) -> None:
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
    again = start("--documents", str(catalog))
    assert again.http.get("/documents?limit=0").json()["count"] == 3003


def has_begun(url: str) -> bool:
    """Whether a request is under way beside the one that asks."""
    with httpx2.Client(trust_env=False) as client:
        return "shortlist_requests_in_progress 2.0" in client.get(f"{url}/metrics").text


def test_a_changed_file_is_read_by_itself_and_a_broken_one_changes_nothing(start: Start, catalog: Path) -> None:
    service = start("--documents", str(catalog))
    write_catalog(catalog, TOOLS[:2])
    until(lambda: service.http.get("/documents?limit=0").json()["count"] == 2, service.process)
    catalog.write_text("{")
    until(lambda: service.http.get("/status").json()["problem"], service.process)
    assert ids(service.http.get("/documents")) == ["refund", "track"]
    warning = service.wait_for(lambda line: line["level"] == "warning")
    assert "tools.json" in warning["message"]
    write_catalog(catalog, TOOLS)
    until(lambda: not service.http.get("/status").json()["problem"], service.process)
    assert service.http.get("/documents?limit=0").json()["count"] == 3


def test_without_auto_reload_a_changed_file_waits_until_it_is_asked_for(start: Start, catalog: Path) -> None:
    (catalog.parent.parent / "settings.yaml").write_text(
        f"documents: {{source: {json.dumps(str(catalog))}, auto_reload: false}}\n"
    )
    service = start()
    write_catalog(catalog, TOOLS[:2])
    assert service.http.get("/documents?limit=0").json()["count"] == 3
    assert service.http.post("/reload").json()["removed"] == 1


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


def test_with_reload_it_begins_anew_when_the_settings_file_changes(start: Start, catalog: Path) -> None:
    file = catalog.parent.parent / "settings.yaml"
    text = "server: {reload: true}\ndocuments: {source: catalogs/tools.json, embedder: none}\n"
    file.write_text(text)
    service = start()
    service.http.post("/documents", json=TOOLS[0] | {"id": "kept"})
    file.write_text(text + "bm25s: {temperature: 7}\n")
    serving = until(lambda: [line for line in service.lines if "Serving on" in line["message"]][1:], service.process)
    url = serving[0]["message"].split()[-1].rstrip(".")
    settings = until(lambda: asked(f"{url}/settings"), service.process)
    assert settings["temperature"] == 7.0
    assert asked(f"{url}/documents?limit=0")["count"] == 4
    assert service.end() == (0, "")


def test_with_reload_it_goes_on_as_it_is_while_the_settings_file_makes_no_sense(start: Start, catalog: Path) -> None:
    file = catalog.parent.parent / "settings.yaml"
    text = "server: {reload: true}\ndocuments: {source: catalogs/tools.json, embedder: none}\n"
    file.write_text(text)
    service = start()
    for broken, told in (("bm25s: [", "is not valid YAML"), ("bm25s: {temperature: 70}", "must be a number from 0.1")):
        file.write_text(text + broken)
        until(lambda: [line for line in service.lines if told in line["message"]], service.process)  # noqa: B023
        assert service.http.get("/settings").json()["temperature"] == 0.5
    file.write_text(text + "bm25s: {temperature: 7}\n")
    serving = until(lambda: [line for line in service.lines if "Serving on" in line["message"]][1:], service.process)
    url = serving[0]["message"].split()[-1].rstrip(".")
    assert until(lambda: asked(f"{url}/settings"), service.process)["temperature"] == 7.0
    assert service.end() == (0, "")


def asked(url: str) -> Any:
    try:
        return httpx2.get(url, trust_env=False).json()
    except httpx2.TransportError:
        return {}


def test_a_body_that_does_not_arrive_is_not_waited_for_without_end(start: Start, catalog: Path) -> None:
    (catalog.parent.parent / "settings.yaml").write_text("limits: {request_seconds: 0.2}\n")
    service = start("--documents", str(catalog))
    port = int(service.url.rsplit(":", 1)[1])
    for path in ("/retrieve", "/documents"):
        with socket.create_connection(("127.0.0.1", port), 60) as half:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            half.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            assert half.recv(10_000).startswith(b"HTTP/1.1 408 ")
    assert service.http.get("/health").status_code == 200


def test_a11_connections_that_send_no_request_are_closed(start: Start, catalog: Path) -> None:
    (catalog.parent.parent / "settings.yaml").write_text("limits: {request_seconds: 1}\n")
    service = start("--documents", str(catalog))
    port = int(service.url.rsplit(":", 1)[1])
    whole = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for begun in (b"", b"GET /health HTTP/1.1\r\nHost: loc"):
        with socket.create_connection(("127.0.0.1", port), 60) as idle:
            idle.sendall(begun)
            assert idle.recv(10_000) == b""
    with socket.create_connection(("127.0.0.1", port), 60) as slow:  # a whole request, then a part of the next one
        slow.sendall(whole)
        answer = b""
        while not answer.endswith(b'{"status":"ok"}'):
            answer += slow.recv(10_000)
        slow.sendall(whole[:10])
        assert slow.recv(10_000) == b""
    with socket.create_connection(("127.0.0.1", port), 60) as trickling:  # headers that never end
        trickling.sendall(whole[:-4] + b"\r\nX-Slow: ")
        until(lambda: is_closed_after(trickling, b"x"))
    assert service.http.get("/health").status_code == 200


def is_closed_after(connection: socket.socket, more: bytes) -> bool:
    try:
        connection.sendall(more)
        return connection.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_a11_head_has_no_body(start: Start, catalog: Path) -> None:
    service = start("--documents", str(catalog))
    port = int(service.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall(b"HEAD /documents HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(10_000), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert body == b""


def test_the_log_has_a_line_for_each_request_and_never_the_token(start: Start, catalog: Path) -> None:
    service = start("--documents", str(catalog), SHORTLIST_TOKEN="hidden-word")
    headers = {"Authorization": "Bearer hidden-word", "X-Request-ID": "mine"}
    assert service.http.post("/retrieve", json={"query": "parcel"}, headers=headers).status_code == 200
    assert service.http.get("/documents", headers={"Authorization": "Bearer wrong-word"}).status_code == 401
    line = service.wait_for(lambda line: line.get("request_id") == "mine")
    assert (line["method"], line["path"], line["status"], line["level"]) == ("POST", "/retrieve", 200, "info")
    assert line["ms"] > 0
    service.wait_for(lambda line: line.get("status") == 401)
    assert service.end() == (0, "")
    assert "-word" not in json.dumps(service.lines)


def run(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shortlist", "serve", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, encoding="utf-8", timeout=120
    )


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1"])
def test_other_addresses_than_loopback_want_a_token(catalog: Path, address: str) -> None:
    done = run("--host", address, "--documents", str(catalog), folder=catalog.parent)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no token is set" in done.stderr
    assert done.stderr.count("\n") == 1


def test_with_a_token_or_with_a_waiver_it_listens_there(start: Start, catalog: Path) -> None:
    service = start("--documents", str(catalog), "--host", "0.0.0.0", "--token", "word")
    port = service.url.rsplit(":", 1)[1]
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
        assert http.get("/documents").status_code == 401
        assert http.get("/documents", headers={"Authorization": "Bearer word"}).status_code == 200
    service.end()
    start("--documents", str(catalog), "--host", "0.0.0.0", "--allow-anonymous")


def test_a_port_that_is_taken_is_told(catalog: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("--port", str(port), "--documents", str(catalog), folder=catalog.parent)
    assert done.returncode == 1
    assert f"Port {port} of 127.0.0.1 is taken" in done.stderr
    assert "--port" in done.stderr


def test_a_setting_that_makes_no_sense_stops_it(catalog: Path) -> None:
    done = run("--documents", str(catalog), folder=catalog.parent, BM25S_TEMPERATURE="hot")
    assert done.returncode == 1
    assert "BM25S_TEMPERATURE: bm25s.temperature must be a number from 0.1 to 10, not 'hot'." in done.stderr


def test_a_variable_that_means_nothing_is_told(start: Start, catalog: Path) -> None:
    done = run("--documents", "nothing.yaml", folder=catalog.parent, BM25S_TEMPRATURE="1")
    assert "Did you mean 'BM25S_TEMPERATURE'?" in done.stderr
