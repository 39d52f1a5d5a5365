"""What goes wrong between us and a cluster is told in a sentence that helps; on real servers, or on real sockets."""

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
from shortlist import Corpus, CorpusMismatch, CorpusNotFound, Document, InputError
from shortlist.errors import EngineError
from shortlist.index.config import Config
from shortlist.index.engines import cluster_client as asking
from shortlist.index.engines import cluster_schema
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_snapshot import ClusterSnapshot, LastSize
from tests.index.engines.conftest import Make, listening, on_servers

Answer = Callable[[str, str], tuple[int, Any]]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """A server on a real socket that answers as it is told."""

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
    """A host where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience is tested elsewhere."""
    monkeypatch.setattr(asking, "PATIENCE_READING", 0.3)
    monkeypatch.setattr(asking, "PATIENCE_UNHEARD", 0.3)


def test_an_engine_that_cannot_be_reached_is_told(closed: str) -> None:
    with pytest.raises(EngineError, match=rf"opensearch\+http://{closed}/p cannot be reached .*see whether it runs"):
        shortlist.open_corpus("tea", engine=f"opensearch+http://{closed}/p")


def test_an_engine_that_does_not_answer_in_time_is_told() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineError, match=r"did not answer in time: .*\?timeout=SECONDS"):
            shortlist.open_corpus("tea", engine=f"elasticsearch+http://{host}/p?timeout=0.2")


@pytest.mark.parametrize(
    ("dialect", "number", "oldest"), [("opensearch", "1.3.9", "2.4"), ("elasticsearch", "7.17.0", "8.4")]
)
def test_a_version_that_is_too_old_is_told(dialect: str, number: str, oldest: str) -> None:
    with (
        answering(hello(number, dialect)) as host,
        pytest.raises(CorpusMismatch, match=f"{dialect} {number}, which is too old: at least {oldest} is needed"),
    ):
        shortlist.open_corpus("tea", engine=f"{dialect}+http://{host}/p")


def test_the_other_kind_of_server_is_told() -> None:
    with (
        answering(hello("8.12.2", "elasticsearch")) as host,
        pytest.raises(CorpusMismatch, match=r"answers elasticsearch 8\.12\.2, not opensearch: begin the address with"),
    ):
        shortlist.open_corpus("tea", engine=f"opensearch+http://{host}/p")


def test_a_refused_user_is_told_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    def answer(method: str, path: str) -> tuple[int, Any]:
        return hello("2.5.0")(method, path) if path == "/" else (401, {"error": "no"})

    caplog.set_level(logging.DEBUG)
    with answering(answer) as host, pytest.raises(EngineError, match="the user 'ann' may not do this") as told:
        shortlist.open_corpus("tea", engine=f"opensearch+http://ann:hush-hush@{host}/p")
    assert "hush" not in str(told.value)
    assert "hush" not in caplog.text


def test_something_else_than_an_engine_is_told() -> None:
    for said in (["a", "list"], {}, {"version": "9"}):
        with (
            answering(lambda method, path, said=said: (200, said)) as host,  # type: ignore[misc]
            pytest.raises(EngineError, match="neither OpenSearch nor Elasticsearch"),
        ):
            shortlist.open_corpus("tea", engine=f"opensearch+http://{host}/p")


def test_what_comes_back_too_busy_is_asked_again() -> None:
    asked: list[str] = []

    def answer(method: str, path: str) -> tuple[int, Any]:
        if path == "/":
            return hello("2.5.0")(method, path)
        asked.append(path)
        return (429, {"error": "busy"}) if len(asked) == 1 else (404, {"found": False})

    with answering(answer) as host, pytest.raises(CorpusNotFound):
        shortlist.open_corpus("tea", engine=f"opensearch+http://{host}/p")
    assert len(asked) >= 2


def reading(host: str) -> ClusterSnapshot:
    cluster = asking.Cluster(Address.parse(f"opensearch+http://{host}/p"))
    return ClusterSnapshot(cluster, cluster_schema.Names("p-tea"), Config("english-v1"), lambda: None, LastSize())


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
def test_a_part_that_lost_its_node_is_asked_for_again(path: str, failing: Any, right: Any) -> None:
    asked: list[str] = []

    def answer(method: str, called: str) -> tuple[int, Any]:
        if called == "/":
            return hello("2.5.0")(method, called)
        asked.append(called)
        return 200, failing if len(asked) < 3 else right

    with answering(answer) as host:
        cluster = asking.Cluster(Address.parse(f"opensearch+http://{host}/p"))
        assert cluster.ask("POST", path, b"{}", patience=30).body == right
        cluster.close()
    assert asked == [path] * 3


def test_a_search_that_failed_for_another_reason_is_told_at_once() -> None:
    asked: list[str] = []

    def answer(method: str, path: str) -> tuple[int, Any]:
        asked.append(path)
        error = {"status": 500, "error": {"type": "null_pointer_exception", "reason": "a mistake"}}
        return hello("2.5.0")(method, path) if path == "/" else (200, {"responses": [error]})

    with answering(answer) as host:
        cluster = asking.Cluster(Address.parse(f"opensearch+http://{host}/p"))
        with pytest.raises(EngineError, match="answered 500: a mistake"):
            cluster.ask_several(b"{}\n{}\n")
        cluster.close()
    assert asked == ["/", "/_msearch"]


def test_a_passage_whose_shard_has_no_node_is_not_taken_for_a_removed_one() -> None:
    def answer(method: str, path: str) -> tuple[int, Any]:
        if "_mget" in path:
            return 200, {"docs": [{"_id": "1"} | NO_SHARD]}
        return hello("2.5.0")(method, path) if path == "/" else (200, {"responses": [FOUND]})

    with answering(answer) as host:
        state = reading(host)
        positions = state.note(FOUND["hits"]["hits"])
        with pytest.raises(EngineError, match=r"has lost shards or nodes \(No shard available\)"):
            state.passages(positions)
        with pytest.raises(EngineError, match=r"has lost shards or nodes \(No shard available\)"):
            state.neighbors("a", "", 0, 0)
        state.cluster.close()


# On real servers


@on_servers
def test_a_reader_asks_another_node_when_one_is_gone(address: str, closed: str, make: Make) -> None:
    make("tea").add([Document("a", "", "green tea")])
    both = address.replace("127.0.0.1", f"{closed},127.0.0.1")
    with shortlist.open_corpus("tea", engine=both) as corpus:
        assert [[hit.id for hit in shortlist.search(corpus, "tea")] for _ in range(5)] == [["a"]] * 5
        corpus.add([Document("b", "", "black tea")])
        assert len(corpus) == 2


@on_servers
def test_a_corpus_that_is_not_there_is_told(address: str) -> None:
    with pytest.raises(CorpusNotFound, match="'nothing'"):
        shortlist.open_corpus("nothing", engine=address)


@pytest.mark.slow
@on_servers
def test_shards_without_a_node_are_told_when_read_and_when_written(
    address: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make("tea")
    corpus.add([Document("a", "", "green tea")])
    with corpus.snapshot() as state:
        found = state.lexical.rank("tea", 1).positions
    base, prefix = address.split("+")[1].rsplit("/", 1)
    monkeypatch.setattr("shortlist.index.engines.cluster_engine.PATIENCE_WRITING", 0.5)
    monkeypatch.setattr("shortlist.index.engines.cluster_writer.PATIENCE_WRITING", 0.5)
    with httpx2.Client(trust_env=False, timeout=30) as client:
        (index,) = client.get(f"{base}/_alias/{prefix}-tea-passages").json()
        body = cluster_schema.settings(
            "passages", corpus.config, Address.parse(address), cluster_schema.DIALECTS[address.split("+")[0]]
        )
        body["settings"]["index.routing.allocation.require._name"] = "nobody"
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


@on_servers
def test_an_index_of_somebody_else_is_not_used(address: str) -> None:
    base, prefix = address.split("+")[1].rsplit("/", 1)
    with httpx2.Client(trust_env=False, timeout=30) as client:
        mappings = {"properties": {"what": {"type": "text"}}}
        assert client.put(f"{base}/{prefix}-tea-state", json={"mappings": mappings}).is_success
        body = {"what": "config", "config": "{}"}
        assert client.put(f"{base}/{prefix}-tea-state/_doc/config?refresh=true", json=body).is_success
    with pytest.raises(CorpusMismatch, match="cannot be used"):
        shortlist.open_corpus("tea", engine=address)
    with pytest.raises(CorpusMismatch, match="cannot be used"):
        shortlist.create_corpus("tea", engine=address, embedder="none")


@on_servers
def test_a_field_with_another_mapping_is_told_by_name(address: str, make: Make) -> None:
    make("tea").close()
    base, prefix = address.split("+")[1].rsplit("/", 1)
    with httpx2.Client(trust_env=False, timeout=30) as client:
        (index,) = client.get(f"{base}/_alias/{prefix}-tea-passages").json()
        mapping = client.get(f"{base}/{index}/_mapping").json()[index]["mappings"]
        mapping["properties"]["body"] = {"type": "keyword"}
        client.delete(f"{base}/{index}")
        body = {"mappings": mapping, "aliases": {f"{prefix}-tea-passages": {}}}
        assert client.put(f"{base}/{index}", json=body).is_success
    with pytest.raises(CorpusMismatch, match="body is keyword, not text"):
        shortlist.open_corpus("tea", engine=address)


@on_servers
def test_a_formula_that_an_engine_cannot_rank_by_is_refused(make: Make) -> None:
    with pytest.raises(InputError, match="'bm25l' is known to the embedded engine only"):
        make("tea", scoring=shortlist.Scoring("bm25l"))


def test_credentials_are_not_written_down(tmp_path: Path) -> None:
    entry = shortlist.register("tea", "files", tmp_path, engine="opensearch+https://ann:secret@host/p")
    assert entry.engine == "opensearch+https://host:9200/p"
    from shortlist.library.registry import registry_file

    assert "secret" not in registry_file().read_text("utf-8")


@on_servers
def test_a_pointer_has_no_credentials(address: str) -> None:
    signed = address.replace("http://", "http://ann:secret@")
    with shortlist.create_corpus("tea", embedder="none", engine=signed) as corpus:
        assert corpus.path is not None
        assert "secret" not in (corpus.path / "engine.json").read_text("utf-8")
        assert "secret" not in repr(corpus)
        assert "secret" not in json.dumps(corpus.info())
    with shortlist.open_corpus("tea") as again:
        assert isinstance(again, Corpus)
