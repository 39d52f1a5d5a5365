"""Errors of a cluster become helpful messages; tested on real servers, or on real sockets."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

import shortlist
from shortlist import CorpusMismatch, CorpusNotFound, Document
from shortlist.errors import EngineError
from shortlist.index.config import Config
from shortlist.index.engines import cluster_client, cluster_schema
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_ranking import KnownFacts
from shortlist.index.engines.cluster_snapshot import ClusterSnapshot
from tests.index.engines.conftest import Make, listening, on_servers

Answer = Callable[[str, str], tuple[int, Any]]


@contextmanager
def serve_answers(answer: Answer) -> Iterator[str]:
    """A server on a real socket with scripted answers."""

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = answer(self.command, self.path)
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _reply  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield f"127.0.0.1:{port}"


def hello(number: str, distribution: str = "opensearch") -> Answer:
    version = {"number": number, **({"distribution": distribution} if distribution == "opensearch" else {})}
    return lambda method, path: (200, {"version": version})


@pytest.fixture
def closed() -> str:
    """A host without a listening server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up early; other tests cover how long requests are repeated."""
    monkeypatch.setattr(cluster_client, "PATIENCE_READING", 0.3)
    monkeypatch.setattr(cluster_client, "PATIENCE_UNREACHABLE", 0.3)


def test_unreachable_engine_is_reported(closed: str) -> None:
    with pytest.raises(EngineError, match=rf"opensearch\+http://{closed}/p cannot be reached"):
        shortlist.open_corpus("tea", engine=f"opensearch+http://{closed}/p")


def test_engine_that_does_not_answer_in_time_is_reported() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match=r"did not answer in time.*\?timeout=SECONDS"):
            shortlist.open_corpus("tea", engine=f"elasticsearch+http://{host}/p?timeout=0.2")


@pytest.mark.parametrize(
    ("dialect", "number", "oldest"), [("opensearch", "1.3.9", "2.4"), ("elasticsearch", "7.17.0", "8.4")]
)
def test_version_that_is_too_old_is_reported(dialect: str, number: str, oldest: str) -> None:
    with (
        serve_answers(hello(number, dialect)) as host,
        pytest.raises(CorpusMismatch, match=f"{dialect} {number}.*{oldest}"),
    ):
        shortlist.open_corpus("tea", engine=f"{dialect}+http://{host}/p")


def test_other_kind_of_server_is_reported() -> None:
    with (
        serve_answers(hello("8.12.2", "elasticsearch")) as host,
        pytest.raises(CorpusMismatch, match=r"elasticsearch 8\.12\.2, not opensearch"),
    ):
        shortlist.open_corpus("tea", engine=f"opensearch+http://{host}/p")


def test_refused_user_is_reported_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    def answer(method: str, path: str) -> tuple[int, Any]:
        return hello("2.5.0")(method, path) if path == "/" else (401, {"error": "no"})

    caplog.set_level(logging.DEBUG)
    with serve_answers(answer) as host, pytest.raises(EngineError, match="'ann'") as caught:
        shortlist.open_corpus("tea", engine=f"opensearch+http://ann:hush-hush@{host}/p")
    assert "hush" not in str(caught.value)
    assert "hush" not in caplog.text


def test_server_of_another_kind_is_reported() -> None:
    for body in (["a", "list"], {}, {"version": "9"}):
        with (
            serve_answers(lambda method, path, body=body: (200, body)) as host,  # type: ignore[misc]
            pytest.raises(EngineError, match="neither OpenSearch nor Elasticsearch"),
        ):
            shortlist.open_corpus("tea", engine=f"opensearch+http://{host}/p")


def test_request_to_a_busy_server_is_repeated() -> None:
    asked: list[str] = []

    def answer(method: str, path: str) -> tuple[int, Any]:
        if path == "/":
            return hello("2.5.0")(method, path)
        asked.append(path)
        return (429, {"error": "busy"}) if len(asked) == 1 else (404, {"found": False})

    with serve_answers(answer) as host, pytest.raises(CorpusNotFound):
        shortlist.open_corpus("tea", engine=f"opensearch+http://{host}/p")
    assert len(asked) >= 2


def open_state(host: str) -> ClusterSnapshot:
    cluster = cluster_client.Cluster(Address.parse(f"opensearch+http://{host}/p"))
    return ClusterSnapshot(cluster, "p-tea", Config("english-v1"), lambda: None, KnownFacts())


GONE = {"type": "node_disconnected_exception", "reason": "[node-2][search[phase/fetch/id]] disconnected"}


CUT_OFF = {"status": 500, "error": {"type": "search_phase_execution_exception", "root_cause": [GONE]}}


NO_SHARD = {"error": {"type": "no_shard_available_action_exception", "reason": "No shard available"}}


FOUND = {"hits": {"hits": [{"fields": {"document": ["a"], "ordinal": [0]}}]}}


@pytest.mark.parametrize(
    ("path", "failing", "right"),
    [
        ("/_msearch", {"responses": [FOUND, NO_SHARD | {"status": 503}]}, {"responses": [FOUND, FOUND]}),
        ("/_msearch", {"responses": [FOUND, CUT_OFF]}, {"responses": [FOUND, FOUND]}),
        ("/p-tea-passages/_mget", {"docs": [{"_id": "1"} | NO_SHARD]}, {"docs": [{"_id": "1", "found": False}]}),
    ],
)
def test_part_that_lost_its_node_is_requested_again(path: str, failing: Any, right: Any) -> None:
    asked: list[str] = []

    def answer(method: str, called: str) -> tuple[int, Any]:
        if called == "/":
            return hello("2.5.0")(method, called)
        asked.append(called)
        return 200, failing if len(asked) < 3 else right

    with serve_answers(answer) as host:
        cluster = cluster_client.Cluster(Address.parse(f"opensearch+http://{host}/p"))
        assert cluster.request("POST", path, b"{}", patience=30) == right
        cluster.close()
    assert asked == [path] * 3


def test_search_that_failed_for_another_reason_is_reported_at_once() -> None:
    asked: list[str] = []

    def answer(method: str, path: str) -> tuple[int, Any]:
        asked.append(path)
        error = {"status": 500, "error": {"type": "null_pointer_exception", "reason": "a mistake"}}
        return hello("2.5.0")(method, path) if path == "/" else (200, {"responses": [error]})

    with serve_answers(answer) as host:
        cluster = cluster_client.Cluster(Address.parse(f"opensearch+http://{host}/p"))
        with pytest.raises(EngineError, match="answered 500: a mistake"):
            cluster.request("POST", "/_msearch", b"{}\n{}\n")
        cluster.close()
    assert asked == ["/", "/_msearch"]


def test_passage_whose_shard_has_no_node_does_not_count_as_removed() -> None:
    def answer(method: str, path: str) -> tuple[int, Any]:
        if "_mget" in path:
            return 200, {"docs": [{"_id": "1"} | NO_SHARD]}
        return hello("2.5.0")(method, path) if path == "/" else (200, {"responses": [FOUND]})

    with serve_answers(answer) as host:
        state = open_state(host)
        positions = state.locate(FOUND["hits"]["hits"])
        with pytest.raises(EngineError, match=r"has lost shards or nodes \(No shard available\)"):
            state.passages(positions)
        with pytest.raises(EngineError, match=r"has lost shards or nodes \(No shard available\)"):
            state.neighbors("a", "", 0, 0)
        state.cluster.close()


@on_servers
def test_reader_uses_another_node_when_one_is_gone(address: str, closed: str, make: Make) -> None:
    make("tea").add([Document("a", "", "green tea")])
    both = address.replace("127.0.0.1", f"{closed},127.0.0.1")
    with shortlist.open_corpus("tea", engine=both) as corpus:
        assert [[hit.id for hit in shortlist.search(corpus, "tea")] for _ in range(5)] == [["a"]] * 5
        corpus.add([Document("b", "", "black tea")])
        assert len(corpus) == 2


@on_servers
def test_missing_corpus_is_reported(address: str) -> None:
    with pytest.raises(CorpusNotFound, match="'nothing'"):
        shortlist.open_corpus("nothing", engine=address)


@pytest.mark.slow
@on_servers
def test_shards_without_a_node_are_reported_when_read_and_when_written(
    address: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make("tea")
    corpus.add([Document("a", "", "green tea")])
    with corpus.snapshot() as state:
        found = state.lexical.rank("tea", 1).positions
    base, prefix = address.split("+")[1].rsplit("/", 1)
    monkeypatch.setattr(cluster_client, "PATIENCE_WRITING", 0.5)
    with httpx2.Client(trust_env=False, timeout=30) as client:
        (index,) = client.get(f"{base}/_alias/{prefix}-tea-passages").json()
        body = cluster_schema.settings(
            "passages", corpus.config, Address.parse(address), cluster_schema.DIALECTS[address.split("+")[0]]
        )
        body["settings"]["index.routing.allocation.require._name"] = "missing"
        client.delete(f"{base}/{index}")
        made = body | {"aliases": {f"{prefix}-tea-passages": {}}}
        assert client.put(f"{base}/{index}?wait_for_active_shards=0", json=made).is_success
    with pytest.raises(EngineError, match=r"red|shards"):
        shortlist.search(corpus, "tea")
    with pytest.raises(EngineError, match=r"red|shards"):
        state.passages(found)
    with pytest.raises(EngineError, match=r"lost shards or nodes \(shards without a node: \d\)"):
        corpus.add([Document("b", "", "black tea")])
    assert corpus.ids() == ["a"]
    with pytest.raises(EngineError, match="red"):
        corpus.info()


def test_credentials_are_not_stored(tmp_path: Path) -> None:
    entry = shortlist.register("tea", "files", tmp_path, engine="opensearch+https://ann:secret@host/p")
    assert entry.engine == "opensearch+https://host:9200/p"
    from shortlist.library.registry import registry_file

    assert "secret" not in registry_file().read_text("utf-8")
