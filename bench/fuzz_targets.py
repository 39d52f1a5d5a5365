"""What `bench.fuzz` feeds inputs to. A target raises only our own errors, whatever its input is."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from bench.mutations import Make, change_archive, from_bytes, from_data

ROOT = Path(__file__).parent.parent
DATA = ROOT / "examples" / "data"
SLOWEST = 15.0  # seconds for an answer

Check = Callable[[bytes], Any]


class Target(NamedTuple):
    """How inputs are made, what is done with them (after `open` made a folder ready), and their share of all."""

    make: Make
    open: Callable[[Path], AbstractContextManager[Check]]
    share: int


class Failure(Exception):
    """An answer that must not be."""


# Files


def _file(name: str, read: Callable[[Path], Iterable[Any]]) -> Callable[[Path], AbstractContextManager[Check]]:
    """A target that writes its input to a file, and takes all that is read from it."""
    from shortlist.documents import Document, Problem

    @contextmanager
    def open(folder: Path) -> Iterator[Check]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)

        def check(data: bytes) -> None:
            path.write_bytes(data)
            for item in read(path):
                if isinstance(item, Document) and not all(
                    isinstance(t, str) for t in (item.id, item.title, item.content)
                ):
                    raise Failure(f"not a document: {item!r:.500}")
                if isinstance(item, Problem) and ("Traceback" in item.reason or not item.reason):
                    raise Failure(f"not a reason: {item!r:.500}")

        yield check

    return open


def _read_files(path: Path) -> Iterable[Any]:
    from shortlist._limits import ReadLimits, file_limits
    from shortlist.sources.folder import read_folder

    file_limits.set(ReadLimits(SLOWEST / 2, 1024))
    return read_folder(path)({})


def _read_tools(path: Path) -> Iterator[Any]:
    from shortlist import Document
    from shortlist.errors import SourceError
    from shortlist.sources.tools.openapi import read_openapi
    from shortlist.sources.tools.tool_catalogs import describe_tool, read_tools, tools_in_catalog

    for read in (read_tools, tools_in_catalog, read_openapi):
        try:
            for item in read(path):
                yield item
                if isinstance(item, Document):
                    describe_tool(item)
        except SourceError:
            continue


def _read_cases(path: Path) -> Iterator[Any]:
    from shortlist.errors import InputError
    from shortlist.eval import cases

    for read in (cases.load_cases, cases.load_qrels, lambda place: cases.load_trec(place, path.with_name("qrels"))):
        path.with_name("qrels").write_text("1 0 a 1\n")
        try:
            yield from read(path)
        except InputError:
            continue


def _read_settings(path: Path) -> Iterable[Any]:
    from shortlist.compat.retriever_settings import load_compat_settings

    return [load_compat_settings(path, environment={}).rows()]


def _read_ignored(path: Path) -> Iterable[Any]:
    from shortlist.sources.folder import walk

    for name in ("a.txt", "b/c.md", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/b.c"):
        (path.parent / name).parent.mkdir(exist_ok=True)
        (path.parent / name).touch()
    return walk(path.parent)


def _edit_agent_config(key: str) -> Callable[[Path], Iterable[Any]]:
    """Add an entry, change it, and remove it again."""

    def edit(path: Path) -> Iterable[Any]:
        from shortlist.install.agent_config import AgentConfig, is_ours

        config = AgentConfig(path, key)
        for name in [name for name in config.servers if isinstance(name, str)][:2]:
            is_ours(config.servers[name])
            config.drop(name)
        config.put(["shortlist"], {"command": "shortlist", "args": ["mcp"]})
        config.put(["shortlist", "env"], {"A": "b"})
        config.change().diff()
        config.drop("shortlist")
        return [config.change().diff()]

    return edit


def _read_servers(path: Path) -> Iterable[Any]:
    from shortlist.mcp_client.config_files import servers_in_files

    return list(servers_in_files([path], settings_too=True))


def _read_skills(path: Path) -> Iterable[Any]:
    from shortlist import CorpusSource

    return [*CorpusSource.from_skills(path.parent), *CorpusSource.from_md_reports(path.parent)]


# Values


def _load(data: bytes) -> Any:
    """The value of a JSON text, as far as a caller could have it."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode(errors="surrogateescape")


@contextmanager
def _check_tool_list(folder: Path) -> Iterator[Check]:
    """The tools that a server lists: described, reviewed, compared, and their arguments explained."""
    import mcp_types
    from pydantic import ValidationError

    from shortlist.mcp.gateway.arguments import explain_problems, parse_arguments
    from shortlist.mcp.gateway.tool_changes import find_changes
    from shortlist.mcp.gateway.tool_checks import find_defect, find_risk
    from shortlist.sources.mcp_tools import document_of
    from shortlist.sources.tools.tool_catalogs import tools_of

    def check(data: bytes) -> None:
        loaded = _load(data)
        entries = loaded if isinstance(loaded, list) else [loaded]
        list(tools_of(entries))
        for entry in entries:
            try:
                mcp_types.Tool.model_validate(entry)  # as the client of the SDK does
            except ValidationError:
                continue
            if find_defect(entry):
                continue
            document_of("server", "tool", entry)
            find_risk(entry, str(entry["name"]))
            for change in (*find_changes(TOOLS[0], entry), *find_changes(entry, TOOLS[1])):
                change.to_dict()
            explain_problems(
                "t", entry.get("inputSchema") or {}, parse_arguments("t", {"city": 5, "day": "x" * 300, "a": [1]})
            )

    yield check


@contextmanager
def _check_search(folder: Path) -> Iterator[Check]:
    """A query, a filter, or both, as a request would have them."""
    import shortlist
    from shortlist import Document

    corpus = shortlist.create_corpus(in_memory=True, embedder="none")
    metadata: list[dict[str, Any]] = [
        {"year": 1998, "tags": ["a", "b"], "size": {"height": 4}},
        {"year": "2001", "sold": True},
        {"x": None},
    ]
    corpus.add([Document(f"d{at}", f"Title {at}", "some text here", [], one) for at, one in enumerate(metadata)])

    def check(data: bytes) -> None:
        loaded = _load(data)
        if isinstance(loaded, dict):
            shortlist.discover(corpus, str(loaded.pop("query", "text")), filter=loaded)
        elif isinstance(loaded, str):
            shortlist.discover(corpus, loaded)

    with corpus:
        yield check


@contextmanager
def _check_documents(folder: Path) -> Iterator[Check]:
    """Any data as documents: indexed, searched and disclosed."""
    import shortlist

    def check(data: bytes) -> None:
        loaded = _load(data)
        with shortlist.create_corpus(in_memory=True, embedder="none") as corpus:
            corpus.sync(shortlist.CorpusSource.from_list(loaded if isinstance(loaded, list) else [loaded]))
            shortlist.disclose(shortlist.search(corpus, str(loaded)[:300]), "body")

    yield check


# Servers


@contextmanager
def _check_http(folder: Path) -> Iterator[Check]:
    """Requests to the application, written as in HTTP, without a network between."""
    from shortlist.compat.retriever_service import create_app
    from shortlist.compat.retriever_settings import load_compat_settings

    (folder / "tools.json").write_text(json.dumps({"documents": CATALOG}))
    (folder / "servers.json").write_text('{"mcpServers": {}}')
    given: dict[str, Any] = {
        "documents.source": str(folder / "tools.json"),
        "documents.embedder": "none",
        "server.allowed_hosts": ["*"],
    }
    given |= {"mcp.config": (str(folder / "servers.json"),), "documents.auto_reload": False}
    app = create_app(load_compat_settings(given=given, environment={}))
    ended = asyncio.Event()

    async def live(ready: asyncio.Future[Any]) -> None:
        async with app.router.lifespan_context(app) as state:
            ready.set_result(state)
            await ended.wait()

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        ready = loop.create_future()
        living = loop.create_task(live(ready))
        state = loop.run_until_complete(ready)

        def check(data: bytes) -> None:
            status = loop.run_until_complete(asyncio.wait_for(_request(app, state, data), SLOWEST))
            if living.done() or (status >= 500 and status != 503):
                raise Failure(f"status {status}")

        yield check
        ended.set()
        loop.run_until_complete(living)


async def _request(app: Any, state: Any, data: bytes) -> int:
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, target = first.decode("latin-1").partition(" ")
    raw, _, query = target.partition("?")
    headers = [(b"host", b"localhost:9200"), (b"content-length", b"%d" % len(body))]
    for line in lines:
        name, _, value = line.partition(b":")
        if name and name.replace(b"-", b"").isalnum() and name.isascii():
            headers.append((name.lower(), value.strip().replace(b"\r", b"").replace(b"\0", b"")))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
        "method": method if method.isalpha() and method.isascii() else "GET",
        "path": unquote("/" + raw.lstrip("/")), "raw_path": raw.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "headers": headers, "client": ("127.0.0.1", 5), "server": ("localhost", 9200), "state": dict(state or {}),
    }  # fmt: skip
    messages, status, ended = [{"type": "http.request", "body": body, "more_body": False}], 0, asyncio.Event()

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await asyncio.wait([asyncio.create_task(ended.wait())], timeout=0.5)  # a client that leaves a stream
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            ended.set()

    await app(scope, receive, send)
    return status


class _Lines:
    """The lines of a process, from a thread, so that one can wait for them with a limit."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        with contextlib.suppress(OSError), self.process:
            self._reader.join()

    def wait_for(self, id: int) -> None:
        while line := self.lines.get(timeout=SLOWEST):
            if b"Unexpected error" in line or b"Traceback" in line:
                raise Failure(line[:2000].decode(errors="replace"))
            if json.loads(line).get("id") == id:
                return
        raise Failure(f"the server ended with status {self.process.wait()}")


@contextmanager
def _check_agent_messages(folder: Path) -> Iterator[Check]:
    """Lines to `shortlist mcp`, which answers a ping afterwards."""
    (folder / "servers.json").write_text('{"mcpServers": {}}')
    (folder / ".claude/skills/brew-tea").mkdir(parents=True)
    (folder / ".claude/skills/brew-tea/SKILL.md").write_bytes(SKILL[0])
    command = [sys.executable, "-m", "shortlist", "mcp", "--config", str(folder / "servers.json")]
    running: list[_Lines] = []
    number = 10**6

    def check(data: bytes) -> None:
        nonlocal number
        if not running:
            running.append(_Lines(command, folder))
            running[0].send(json.dumps(REQUESTS[0]).encode())
            running[0].send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        number += 1
        try:
            running[0].send(data.replace(b"\n", b" "))
            running[0].send(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number)
            running[0].wait_for(number)
        except (Failure, queue.Empty, OSError):
            running.pop().end()
            raise

    yield check
    while running:
        running.pop().end()


UPSTREAM = """
import base64, json, sys
for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    raw = b""
    result = {}
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        result["serverInfo"] = {"name": "u", "version": "1"}
    elif method == "tools/list":
        result = {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        raw = base64.b64decode(message["params"]["arguments"]["raw"]).replace(b'"ID"', json.dumps(id).encode())
        raw = raw.replace(b"\\n", b" ") + b"\\n"
    if id is not None:
        answer = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\\n"
        sys.stdout.buffer.write(raw + answer)
        sys.stdout.buffer.flush()
"""


@contextmanager
def _check_upstream_messages(folder: Path) -> Iterator[Check]:
    """Lines of a server to the gateway, in place of and before its answer to a call."""
    from shortlist.mcp.gateway import upstream
    from shortlist.mcp.gateway.dispatch import Gateway
    from shortlist.mcp.gateway.gateway_config import GatewayConfig
    from shortlist.mcp.protocol_handlers import complete
    from shortlist.mcp_client import stdio_transport

    (folder / "upstream.py").write_text(UPSTREAM)
    entry = {"command": sys.executable, "args": [str(folder / "upstream.py")]}
    (folder / "servers.json").write_text(json.dumps({"mcpServers": {"u": entry}}))
    gateways: list[Gateway] = []

    async def call(data: bytes) -> Any:
        if not gateways:
            gateways.append(Gateway(GatewayConfig([folder / "servers.json"])))
        raw = base64.b64encode(data).decode()
        return complete((await gateways[0].call("u/say", {"raw": raw})).result)

    limits = (stdio_transport, "MOST_LINES"), (upstream, "FIRST_PAUSE_SECONDS"), (upstream, "LONGEST_PAUSE_SECONDS")
    with asyncio.Runner() as runner, contextlib.ExitStack() as stack:
        for (module, name), value in zip(limits, (10**9, 0.01, 0.01), strict=True):
            stack.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, value)
        yield lambda data: runner.run(asyncio.wait_for(call(data), 4 * SLOWEST))
        for gateway in gateways:
            runner.run(gateway.close())


# Seeds


def _tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


DAY = {"type": "string", "format": "date", "pattern": "^[0-9-]+$", "default": "today"}
PLACE = {"$ref": "#/$defs/place"}
TOOLS = [
    _tool("get_forecast", "Weather forecast for a city.", city={"type": "string", "description": "Its name."}, day=DAY),
    _tool("find_way", "A way.", place={"anyOf": [PLACE, {"type": "null"}]}, mode={"enum": ["car", "foot"], "const": 3}),
    {"type": "function", "function": {"name": "send", "parameters": {"type": "object", "properties": {"to": DAY}}}},
    {
        "name": "count",
        "input_schema": {"allOf": [{"properties": {"n": {"type": "integer", "minimum": 1}}}]},
        "tags": ["a"],
    },
]
TOOLS[1]["inputSchema"]["$defs"] = {"place": {"type": "object", "properties": {"near": PLACE, "x": {"type": "number"}}}}
CATALOG: list[dict[str, Any]] = [
    {"id": "refund", "title": "Refund a payment", "content": "Send money back to a card.", "keywords": ["chargeback"]},
    {
        "id": "track",
        "title": "Track a parcel",
        "content": "Where a shipment is.",
        "metadata": {"access": "read", "n": 3},
    },
]
OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://{host}/v1", "variables": {"host": {"default": "example.org"}}}],
    "paths": {
        "/orders/{id}": {
            "parameters": [{"$ref": "#/components/parameters/id"}],
            "get": {"operationId": "getOrder", "summary": "One order.", "tags": ["orders"], "responses": {}},
            "put": {
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}
            },
        },
        "/pets": {"$ref": "#/components/pathItems/pets"},
    },
    "components": {
        "parameters": {"id": {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}},
        "schemas": {
            "Order": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Order"}, "n": DAY}}
        },
        "pathItems": {"pets": {"post": {"description": "Add a pet.", "deprecated": True}}},
    },
}
BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (n + 1, n + 1, *[n] * 8) for n in range(97, 110)
)
CONFIG: dict[str, Any] = {
    "mcpServers": {
        "weather": {"command": "npx", "args": ["-y", "weather", "--key=secret"], "env": {"API_KEY": "x"}},
        "remote": {"url": "https://user:pass@example.org/mcp?token=1", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "shortlist": {"command": "/usr/bin/shortlist", "args": ["mcp"], "timeout": 5, "disabled": False},
    },
    "theme": "dark",
    "list": [1, 2.5, None, {"deep": [[]]}],
}
JSONC = b'// mine\n{\n    "a": [1, 2,], /* b */\n    "mcpServers": {\n        "x": {"command": "y"}, // z\n    },\n}\n'
TOML = [
    b'# mine\nmodel = "o" # stays\n\n[mcp_servers.a] # one\ncommand = "x"\n'
    b'args = [\n  "y", # z\n  ["w"],\n]\ntext = """\n[b]\n"""\n'
    b"\n[mcp_servers.\"b c\".env]\nK = 'v'\nd = 1979-05-27T07:32:00Z\n",
    b'mcp_servers = { a = { command = "x", args = [] }, shortlist = {command = "shortlist"} }\n'
    b"[[rows]]\nn = 1e3\n[[rows]]\nn = 0xff\n",
    b'mcp_servers.a.command = "x"\nmcp_servers.shortlist.command = "shortlist"\n\n[other]\nx = true\n# end\n',
    b"",
]
SKILL = [
    b"---\nname: brew-tea\ndescription: >-\n  How to brew tea.\n  Use it for tea.\n"
    b"metadata: {a: [1, 2], date: 2024-01-01}\n---\n# Tea\n\nBoil.\n",
    b"---\n# nothing\n---\ntext",
    b"---\ntitle: \"A: b\"\ntags:\n  - x\n  - 'y'\n---\n\n## Two\n| a | b |\n",
    b"---\r\nname: x\r\n---\r\n" + BOMB,
]
CASES = [
    b'{"query": "refund a card", "gold": ["refund"], "id": "1"}\n{"query": "none", "gold": []}\n'
    b'{"query": "x", "grades": {"a": 2}}\n',
    b'{"_meta": {"made": "by hand"}}\n{"query": "x", "relevant": "a", "meta": {"n": 1}}\n',
    b"query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t0\n",
    b"1 0 a 1\n1 0 b 0.5\n",
    b"<top>\n<num> Number: 1\n<title> Topic: tea & milk\n</top>\n",
    b'<topic number="1"><query>tea &amp; milk</query></topic>',
]
SETTINGS = [
    {
        "bm25s": {"temperature": 0.5, "ignore_zero": True},
        "documents": {"source": "tools.yaml", "folder": None, "encoding": "utf-8"},
        "server": {"host": "127.0.0.1", "port": 0, "allowed_hosts": ["a"], "token": "x", "workers": 2},
        "limits": {"max_body_bytes": 2048, "request_seconds": 1.5},
        "llm": {"url": "http://localhost/v1", "model": "m", "key": "k"},
        "mcp": {"config": ["a.json"], "profile": "work"},
        "usage": {"learn": "on"},
    }
]
FILTERS = [
    {"query": "text", "year": {"$gte": 1998, "$lt": 2000}},
    {"$and": [{"tags": {"$in": ["a"]}}, {"$not": {"sold": True}}]},
    {"$or": [{"size.height": 4}, {"id": {"$nin": ["d0"]}}, {"x": {"$exists": False}}]},
    {"title": {"$ne": "Title 1", "$not": {"$eq": "a"}}, "kind": "text"},
]
DOCUMENTS = [
    [
        {"id": "a", "title": "T", "content": "Some text.", "keywords": ["k"], "metadata": {"n": 1, "l": [1, "x"]}},
        "plain",
    ],
    [
        {"text": "# Head\n\nBody with words. " * 20, "year": 1},
        {"id": "b", "title": "", "content": "x", "kind": "skill"},
    ],
]
REQUESTS: list[Any] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    },
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"cursor": "a"}},
    *(
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for name, arguments in (
            ("discover", {"query": "tea", "kind": "skill", "limit": 3}),
            ("read", {"id": "brew-tea", "corpus": "skills", "locator": "whole", "offset": 10}),
            ("call", {"tool": "a/b", "arguments": {"x": [1]}}),
            ("call_read", {"tool": "a/b", "arguments": '{"x": 1}'}),
            ("ask", {"question": "How?", "corpus": "docs"}),
            ("status", {}),
        )
    ),
    {"jsonrpc": "2.0", "id": 4, "method": "resources/list", "params": {"cursor": "0", "_meta": {"progressToken": 1}}},
    {"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "shortlist://skills/brew-tea"}},
    {"jsonrpc": "2.0", "id": 6, "method": "resources/read", "params": {"uri": "skill://brew-tea/SKILL.md"}},
    {"jsonrpc": "2.0", "id": 7, "method": "prompts/get", "params": {"name": "a", "arguments": {"b": "c"}}},
    {"jsonrpc": "2.0", "id": 8, "method": "logging/setLevel", "params": {"level": "debug"}},
    {
        "jsonrpc": "2.0",
        "id": 9,
        "method": "completion/complete",
        "params": {"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "b", "value": "c"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3, "reason": "no"}},
    {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
    {"jsonrpc": "2.0", "id": 3, "result": {"roots": [{"uri": "file:///a", "name": "a"}]}},
    {"jsonrpc": "2.0", "id": 3, "error": {"code": -32000, "message": "no", "data": {}}},
]
ANSWERS: list[Any] = [
    {"jsonrpc": "2.0", "id": "ID", "result": result}
    for result in (
        {
            "content": [{"type": "text", "text": "x"}],
            "isError": False,
            "structuredContent": {"a": 1},
            "_meta": {"b": 2},
        },
        {
            "content": [
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "audio", "data": "aGk=", "mimeType": "a/b"},
            ]
        },
        {"content": [{"type": "resource_link", "uri": "note://1", "name": "n", "size": 5}], "isError": True},
        {"content": [{"type": "resource", "resource": {"uri": "note://2", "text": "t", "blob": "aGk="}}]},
        {"resultType": "input_required", "inputRequests": {}, "requestState": "s"},
    )
]
ANSWERS += [
    {"jsonrpc": "2.0", "id": "ID", "error": {"code": -32602, "message": "bad", "data": {"a": 1}}},
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1, "total": 2}},
    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "logger": "l", "data": {"m": 1}}},
    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
    {"jsonrpc": "2.0", "id": 7, "method": "roots/list"},
    {
        "jsonrpc": "2.0",
        "id": 8,
        "method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
    },
    {"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9}},
]
_SEARCH = b'{"query": "refund", "k": 3, "mode": "lexical", "filter": {"access": "read"}}'
_MCP = b"POST /mcp\nAccept: application/json, text/event-stream\n"
_JSON = b"Content-Type: application/json\n\n"
HTTP = [
    b"GET /documents?offset=0&limit=5&q=refund\n\n",
    b"GET /v1/corpora\nAccept: application/json\nOrigin: http://localhost:9200\n\n",
    b"GET /v1/corpora/catalog/documents/refund\n\n",
    b"GET /metrics\n\n", b"GET /status\n\n", b"GET /docs\n\n", b"GET /openapi.json\n\n", b"GET /\n\n",
    b"GET /v1/corpora/catalog/usage\n\n", b"DELETE /v1/corpora/catalog/usage?id=refund\n\n", b"GET /v1/mcp\n\n",
    b"DELETE /documents/track\n\n", b"POST /reload\n\n",
    b"POST /retrieve\n" + _JSON + b'{"query": "refund", "temperature": 0.5, "ignore_zero": true, "llm_tools_cutoff":1}',
    b"POST /documents\n" + _JSON + json.dumps(CATALOG).encode(),
    b"POST /index\n" + _JSON + json.dumps({"documents": CATALOG}).encode(),
    b"POST /settings\n" + _JSON + b'{"temperature": 1}',
    b"POST /switch-document-file\n" + _JSON + b'{"file": "tools.json"}',
    *(b"POST /v1/corpora/catalog/%s\n%s%s" % (route, _JSON, body) for route, body in (
        (b"search", _SEARCH),
        (b"discover", b'{"query": "refund", "strategy": "gap", "max_k": 3, "rel": 0.5, "min_relevance": null}'),
        (b"explain", b'{"query": "refund", "id": "track", "k": 2}'),
        (b"disclose", b'{"ids": ["refund", "no"], "level": "brief"}'),
        (b"feedback", b'{"query": "refund", "id": "refund", "outcome": "used", "shown": ["track"], "session": "s"}'),
        (b"documents", json.dumps({"documents": CATALOG}).encode()),
        (b"ask", b'{"question": "Who?", "k": 2, "history": [{"question": "a", "answer": "b"}], "stream": false}'),
        (b"eval", b'{"cases": [{"query": "refund", "gold": ["refund"]}], "mode": "lexical", "stream": false}'),
        (b"lint", b'{"k": 3, "stream": false}'),
    )),
    _MCP + b"MCP-Protocol-Version: 2025-06-18\n" + _JSON + json.dumps(REQUESTS[1]).encode(),
    _MCP + _JSON + json.dumps(REQUESTS[2]).encode(),
]  # fmt: skip
CSV = [
    b'name,price\napple,1\n"pear, large",2\n',
    b"a;b\n1;2\n3;4;5\n",
    b"sep=|\nx|y\n1|2\n",
    b"\xef\xbb\xbfa\tb\n\n1\t2\n",
    "ä,ö\n1,2\n".encode("cp1252"),
]
HTML = [
    b"<!doctype html><html><head><title>T</title><meta charset='latin-1'></head><body><nav>n</nav><h1>H</h1>"
    b"<p>a<br>b</p>"
    b"<table><tr><th>x<td>y</table><ul><li>1<li>2</ul><pre> c </pre><script>d</script>"
    b"<select><option>e</select></body></html>",
    b"<p>one<p hidden>two<div role=navigation>x</div><svg><title>s</title></svg><template>t</template>",
]
IGNORE = [b"*.log\n!a.log\n/build/\n**/x/**\n# c\n\\#d\n[a-c]?.txt\n", b"a\n b \n\xff\n"]


@functools.cache
def _samples() -> dict[str, list[bytes]]:
    from tests.sources import samples  # slow to make, and only for some targets

    table = [["a", "b"], ["1", "2"]]
    return {
        "pdf": [samples.pdf(["One page.", samples.IMAGE, ""], "T"), samples.encrypted_pdf(samples.pdf(["x"]), "")],
        "docx": [samples.docx(["# Head", "Text.", table, "## Two"], "T")],
        "xlsx": [samples.xlsx({"S": table, "T": [["n", 1.5, True], [None, 2]]})],
    }


def _read_examples(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(DATA.rglob(pattern)) if path.stat().st_size < 20_000]


EXAMPLES = [json.loads(data) for data in _read_examples("*.json")]
TARGETS: dict[str, Target] = {
    "catalog json": Target(
        from_data([CATALOG, {"documents": CATALOG}, TOOLS, {"result": {"tools": TOOLS}}, *EXAMPLES], "json"),
        _file("a.json", _read_tools), 120),
    "catalog yaml": Target(
        from_data([{"documents": CATALOG}, {"tools": TOOLS}], "yaml", BOMB, b"documents:\n- *a\n" + BOMB),
        _file("a.yaml", _read_tools), 30),
    "openapi json": Target(from_data([OPENAPI], "json"), _file("api.json", _read_tools), 60),
    "openapi yaml": Target(from_data([OPENAPI], "yaml"), _file("api.yaml", _read_tools), 20),
    "tool list": Target(from_data([TOOLS], "json"), _check_tool_list, 15),
    "rows json": Target(from_data([CATALOG, DOCUMENTS[1]], "json"), _file("a.json", _read_files), 60),
    "rows jsonl": Target(
        from_bytes([b"".join(json.dumps(row).encode() + b"\n" for row in CATALOG), CASES[0]], "json"),
        _file("a.jsonl", _read_files), 90),
    "csv": Target(from_bytes([*CSV, *_read_examples("*.csv")], "csv"), _file("a.csv", _read_files), 90),
    "text": Target(from_bytes([*SKILL, *CSV, *HTML], "md"), _file("a.md", _read_files), 80),
    "html": Target(from_bytes(HTML, "xml"), _file("a.html", _read_files), 50),
    "pdf": Target(lambda rng: from_bytes(_samples()["pdf"], "pdf")(rng), _file("a.pdf", _read_files), 15),
    "docx": Target(lambda rng: change_archive(rng, *_samples()["docx"]), _file("a.docx", _read_files), 5),
    "xlsx": Target(lambda rng: change_archive(rng, *_samples()["xlsx"]), _file("a.xlsx", _read_files), 15),
    "skill": Target(
        from_bytes([*SKILL, *_read_examples("SKILL.md")], "md", "yaml"), _file("s/SKILL.md", _read_skills), 50),
    "gitignore": Target(from_bytes(IGNORE, "gitignore"), _file("f/.gitignore", _read_ignored), 20),
    "agent json": Target(
        from_data([CONFIG], "json", JSONC, b"{}", b""), _file("c.json", _edit_agent_config("mcpServers")), 60),
    "agent toml": Target(from_bytes(TOML, "toml"), _file("c.toml", _edit_agent_config("mcp_servers")), 40),
    "agent yaml": Target(from_data([CONFIG], "yaml", BOMB), _file("c.yaml", _edit_agent_config("mcpServers")), 10),
    "server config": Target(from_data([CONFIG], "json", JSONC, *TOML), _file("mcp.json", _read_servers), 50),
    "settings": Target(from_data(SETTINGS, "yaml", b"server: *a\n" + BOMB), _file("settings.yaml", _read_settings), 30),
    "cases": Target(from_bytes(CASES, "json", "xml", "csv"), _file("cases.jsonl", _read_cases), 80),
    "filter": Target(from_data(FILTERS, "json", b"plain words", b'"phrase" -not'), _check_search, 60),
    "documents": Target(from_data(DOCUMENTS, "json"), _check_documents, 12),
    "http": Target(from_bytes(HTTP, "http", "json"), _check_http, 10),
    "agent messages": Target(from_data(REQUESTS, "json"), _check_agent_messages, 25),
    "upstream messages": Target(from_data(ANSWERS, "json"), _check_upstream_messages, 3),
}  # fmt: skip
os.environ.setdefault("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
