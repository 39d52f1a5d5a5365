"""Traces, metrics and the ids that connect them with log lines; each process sends to a collector on loopback."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.web.conftest import environment

pytestmark = pytest.mark.process

SEARCH = """
import shortlist
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

printer = ConsoleSpanExporter(formatter=lambda span: span.to_json(None) + "\\n")
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(printer))
corpus = shortlist.create_corpus(in_memory=True, embedder="none")
corpus.add([shortlist.Document("refund", "Refund a payment", "Returns money."), shortlist.Document("ship", "Ship", "")])
shortlist.discover(corpus, "refund a payment", mode="lexical")
shortlist.ask(corpus, "What returns money?")
"""


class Collector:
    """Receives what OpenTelemetry exports over HTTP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: set[str] = set()
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.receive(self.path, body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def receive(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            for part in ExportTraceServiceRequest.FromString(body).resource_spans:
                names = {pair.key: pair.value.string_value for pair in part.resource.attributes}
                self.services.add(names["service.name"])
                self.spans += [span for scope in part.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for reading in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {metric.name for scope in reading.scope_metrics for metric in scope.metrics}

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def test_spans_of_the_library_appear_in_an_application_that_records_them() -> None:
    done = subprocess.run([sys.executable, "-c", SEARCH], capture_output=True, text=True, check=True)
    spans: dict[str, Any] = {}
    for span in map(json.loads, done.stdout.splitlines()):
        spans.setdefault(span["name"], span)
    discover = spans["shortlist.discover"]
    for name in ("shortlist.retrieve", "shortlist.select", "shortlist.disclose"):
        assert spans[name]["context"]["trace_id"] == discover["context"]["trace_id"]
    assert discover["attributes"] == {"shortlist.mode": "lexical", "shortlist.selected": 1}
    assert spans["shortlist.ask"]["attributes"]["shortlist.by"] in ("extract", "gate")
    assert "refund a payment" not in done.stdout


def test_nothing_is_loaded_unless_the_application_uses_it() -> None:
    code = (
        "import sys, shortlist; shortlist.search(['a tool'], 'tool', mode='lexical'); "
        "print([name for name in sys.modules if 'telemetry.' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("workers", [0, 1])
def test_a_request_its_log_lines_and_its_trace_have_the_same_ids(
    tmp_path: Path, collector: Collector, workers: int
) -> None:
    (tmp_path / "tools.yaml").write_text(
        "documents:\n- {id: refund, title: Refund a payment, content: Returns money.}\n", "utf-8"
    )
    (tmp_path / "audited.yaml").write_text("audit: {file: audit.jsonl}\n", "utf-8")
    variables = environment(tmp_path) | {"SHORTLIST_TELEMETRY": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    command = [sys.executable, "-m", "shortlist", "serve", "--documents", "tools.yaml", "--port", "0"]
    command += ["--workers", str(workers), "--settings", "audited.yaml"]
    process = subprocess.Popen(command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    lines = []
    for line in process.stderr:
        lines.append(json.loads(line))
        if "Application startup complete" in line:
            break
    url = next(line["message"].split()[2].rstrip(".") for line in lines if "Serving on" in line["message"])
    trace, agents_trace = "0af7651916cd43dd8448eb211c80319c", "1bf7651916cd43dd8448eb211c80319d"

    def post(path: str, body: Any, trace: str, **headers: str) -> Any:
        headers |= {"Content-Type": "application/json", "traceparent": f"00-{trace}-b7ad6b7169203331-01"}
        request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
            return answer.headers

    headers = post("/v1/corpora/catalog/discover", {"query": "refund a payment"}, trace, **{"X-Request-ID": "order-66"})
    assert headers["X-Request-ID"] == "order-66"
    accepted = {"Accept": "application/json, text/event-stream"}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
    session = {"Mcp-Session-Id": post("/mcp", message, "f" * 32, **accepted)["Mcp-Session-Id"]}
    arguments = {"query": "refund a payment", "kind": "document"}
    message |= {"method": "tools/call", "params": {"name": "discover", "arguments": arguments}}
    post("/mcp", message, agents_trace, **accepted, **session)
    process.terminate()
    _, rest = process.communicate(timeout=60)
    logged, *_ = [line for line in map(json.loads, rest.splitlines()) if line["message"] == "request"]
    audited = list(map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines()))
    assert [audited[1][key] for key in ("request_id", "trace_id", "span_id")] == [
        logged[key] for key in ("request_id", "trace_id", "span_id")
    ]
    assert [(line["action"], line.get("trace_id")) for line in audited[2:-1]] == [
        ("mcp initialize", "f" * 32),
        ("mcp discover", agents_trace),
    ]
    (span,) = collector.named("POST /v1/corpora/{name:path}/discover")
    assert span.trace_id.hex() == logged["trace_id"] == trace
    assert span.span_id.hex() == logged["span_id"]
    described = {pair.key: pair.value for pair in span.attributes}
    assert described["shortlist.request_id"].string_value == logged["request_id"] == "order-66"
    assert described["http.response.status_code"].int_value == 200
    inner, of_agent = collector.named("shortlist.discover")
    assert (inner.trace_id, inner.parent_span_id) == (span.trace_id, span.span_id)
    assert of_agent.trace_id.hex() == agents_trace
    assert "shortlist.operation.duration" in collector.metrics
    assert collector.services == {"shortlist"}


def test_a_call_through_the_gateway_is_one_trace(tmp_path: Path, collector: Collector) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER, "utf-8")
    config = {"mcpServers": {"shop": {"command": sys.executable, "args": [str(server)]}}}
    (tmp_path / "mcp.json").write_text(json.dumps(config), "utf-8")
    variables = environment(tmp_path) | {"SHORTLIST_TELEMETRY": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    arguments = ["-m", "shortlist", "mcp", "--config", str(tmp_path / "mcp.json")]

    async def call() -> Any:
        transport = StdioServerParameters(command=sys.executable, args=arguments, env=variables, cwd=tmp_path)
        async with Client(transport) as client:
            while True:
                result = await client.call_tool("call", {"tool": "shop__refund", "arguments": {"order": "7"}})
                if not result.is_error:
                    return result
                assert "Try again" in str(result.content)  # the server is starting
                await asyncio.sleep(0.1)

    result = asyncio.run(call())
    assert "Refunded 7" in str(result)
    (ours,) = collector.named("shortlist.call")
    assert {pair.key: pair.value.string_value for pair in ours.attributes}["shortlist.server"] == "shop"
    assert ours.trace_id in [span.trace_id for span in collector.named("tools/call call")]


SERVER = """
from mcp.server import MCPServer

server = MCPServer("shop")


@server.tool()
def refund(order: str) -> str:
    return f"Refunded {order}"


server.run()
"""
