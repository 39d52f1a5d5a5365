"""The tools, prompts and resources of live MCP servers, read over stdio or HTTP.

What a server says is untrusted text. The fingerprint in a document's metadata covers name, description and schema, so
that a changed tool can be told from the approved one. Lines, answers and lists of a server are limited in size.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from contextvars import ContextVar
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.documents import Document, Problem
from shortlist.errors import InputError, MissingExtra, SourceError
from shortlist.sources.mcp_servers.mcp_config import Server, possible_files, servers_in_files, servers_of
from shortlist.sources.mcp_servers.mcp_transport import LONGEST_LINE, OnEnd, run_server
from shortlist.sources.structured import to_json
from shortlist.sources.tools.tool_catalogs import tool_of

if TYPE_CHECKING:
    from mcp import Client

TIMEOUT = 30.0
WORDS = " It said: "
LAST_WORDS = 300  # characters of a failed server's own complaint that are shown
MOST_ENTRIES = 10_000  # of a list
MEMORY = 4096  # bytes of it that are remembered: more than are shown, so that no secret is cut and then not known again

# The kind of document, the capability of the server, the request, and the key of the answer.
LISTS = (
    ("tool", "tools", "ListToolsRequest", "tools"),
    ("prompt", "prompts", "ListPromptsRequest", "prompts"),
    ("resource", "resources", "ListResourcesRequest", "resources"),
    ("resource", "resources", "ListResourceTemplatesRequest", "resourceTemplates"),
)
SHOWN = ("name", "title", "description", "inputSchema", "annotations")
LOGGERS = ("client", "httpcore2", "httpx2", "mcp")  # they log URLs and whatever a server prints, secrets included

_ADDRESS = re.compile(r"https?://(?:[^/@]*@)?(?P<host>[^/:?#]+)")
_reading = ContextVar("_reading", default=False)


def servers_at(*place: Any, name: str | None = None) -> tuple[str, Callable[[], Iterator[Server | Problem]]]:
    """A name for, and a reader of, the servers of a configuration (a file, a mapping or, without an argument, the usual
    files of project and user), the one at a URL, or the one that a command runs."""
    if not place:
        return name or "mcp", lambda: servers_in_files(filter(Path.is_file, possible_files()), settings_too=True)
    first = place[0]
    if len(place) == 1 and isinstance(first, Mapping):
        return name or "mcp", lambda: servers_of(first, Path.cwd(), "The configuration")
    if not all(isinstance(part, str | Path) and str(part).strip() for part in place):
        raise InputError(f"from_mcp takes a configuration, an address or a command, not {place!r}.")
    words = [str(part) for part in place]
    if len(words) == 1:
        if address := _ADDRESS.match(words[0]):
            server = Server(name or address["host"], url=words[0])
            return server.name, lambda: iter([server])
        file = Path(first).expanduser()
        if isinstance(first, Path) or file.is_file() or file.suffix == ".json":
            return name or "mcp", lambda: servers_in_files([file])
        words = shlex.split(words[0])
    server = Server(name or Path(words[0]).stem, words[0], tuple(words[1:]))
    return server.name, lambda: iter([server])


def read_servers(servers: Iterator[Server | Problem], timeout: float = TIMEOUT) -> Iterator[Document | Problem]:
    """What the servers offer, all asked at once. One that fails is a Problem whose source is its name, so that a corpus
    keeps what it has of it."""
    import asyncio  # noqa: PLC0415  # slow to load, and only servers need it
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    found = list(servers)
    yield from (item for item in found if isinstance(item, Problem))
    reachable = [item for item in found if isinstance(item, Server)]
    if not reachable:
        return
    try:
        import anyio  # noqa: PLC0415
        import mcp  # noqa: F401, PLC0415  # takes two seconds
    except ImportError as error:
        raise MissingExtra("mcp", "mcp", "Reading MCP servers") from error
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        yield from anyio.run(_read_all, reachable, timeout)
    else:  # a loop of the caller's runs in this thread
        with ThreadPoolExecutor(1) as pool:
            yield from pool.submit(anyio.run, _read_all, reachable, timeout).result()


def silence_logs() -> None:
    """Drop what the SDK logs in this context."""
    _reading.set(True)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in LOGGERS:
            logging.getLogger(name).addFilter(_is_public)


def _is_public(record: logging.LogRecord) -> bool:
    return not _reading.get()


async def _read_all(servers: list[Server], timeout: float) -> list[Document | Problem]:
    import anyio  # noqa: PLC0415

    async def read(server: Server, found: list[Document | Problem]) -> None:
        complaints = Complaints()
        try:
            with closing(complaints), anyio.fail_after(timeout):
                async with connect(server, complaints) as client:
                    for kind, capability, request, key in LISTS:
                        if getattr(client.server_capabilities, capability) is not None:
                            async for entry in list_entries(client, request, key):
                                if kind != "tool" or server.offers(str(entry["name"])):
                                    found.append(document_of(server.name, kind, entry))
        except Exception as error:  # whatever a server does, the others are read
            found.append(Problem(server.name, describe_failure(server, complaints, error, timeout), server.name))

    silence_logs()
    results: dict[str, list[Document | Problem]] = {server.name: [] for server in servers}
    async with anyio.create_task_group() as group:
        for server in servers:
            group.start_soon(read, server, results[server.name])
    return [item for items in results.values() for item in items]


@asynccontextmanager
async def connect(
    server: Server, complaints: Complaints, on_end: OnEnd | None = None, **options: Any
) -> AsyncIterator[Client]:
    """A client of a server, with options of the SDK's client; `on_end` is called if a command's output ends early."""
    import httpx2  # noqa: PLC0415
    from mcp import Client, StdioServerParameters  # noqa: PLC0415
    from mcp.client.sse import sse_client  # noqa: PLC0415
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    def note_end(unheard: str) -> None:
        complaints.unheard = unheard
        if on_end:
            on_end(unheard)

    headers = dict(server.headers)
    async with AsyncExitStack() as stack:
        if server.is_sse:
            transport: Any = sse_client(server.url, headers=headers)
        elif server.url:
            hooks = {"response": [complaints.note_refusal, _limit]}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=None, event_hooks=hooks))
            transport = streamable_http_client(server.url, http_client=http)
        else:
            parameters = StdioServerParameters(
                command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
            )
            transport = run_server(parameters, complaints.stream, note_end)
        yield await stack.enter_async_context(Client(transport, cache=None, **options))


async def _limit(response: Any) -> None:
    """Break off an answer that is too large."""
    import httpx2  # noqa: PLC0415

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            taken = 0
            async for piece in stream:
                taken += len(piece)
                if taken > LONGEST_LINE:
                    raise httpx2.ReadError(f"an answer of more than {LONGEST_LINE >> 20} MiB")
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    stream = response.stream
    response.stream = Limited()


class Complaints:
    """The end of what a server writes to its standard error, or its last HTTP error."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.stream = os.fdopen(writing, "w", encoding="utf-8")
        self.unheard = ""  # why its transport stopped it
        self._end = b""
        self._listener = threading.Thread(target=self._listen, args=(reading,), daemon=True)
        self._listener.start()

    def close(self) -> None:
        self.stream.close()
        self._listener.join(timeout=1)  # longer only if a child of the server lives on

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as stream:
            while data := stream.read(1 << 16):
                self._end = (self._end + data)[-MEMORY:]
                if len(data) == 1 << 16:
                    time.sleep(0.01)  # slow down one that floods

    async def note_refusal(self, response: Any) -> None:
        if response.is_error:
            self._end = f"HTTP {response.status_code} {response.reason_phrase}".encode()

    def last_line(self) -> str:
        lines = self._end.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""


async def list_entries(client: Client, request: str, key: str) -> AsyncIterator[dict[str, Any]]:
    """The entries of a list, page by page, as the server wrote them."""
    import mcp_types  # noqa: PLC0415
    from mcp import MCPError  # noqa: PLC0415
    from pydantic import TypeAdapter  # noqa: PLC0415

    as_it_is = TypeAdapter(dict[str, Any])
    cursor: str | None = None
    cursors: set[str | None] = set()
    count = 0
    while cursor not in cursors:
        cursors.add(cursor)
        message = getattr(mcp_types, request)(params=mcp_types.PaginatedRequestParams(cursor=cursor))
        try:
            page = await client.session.send_request(message, as_it_is)  # type: ignore[type-var]
        except MCPError as error:
            if error.code == mcp_types.METHOD_NOT_FOUND:
                return
            raise
        for entry in page[key]:
            count += 1
            if count > MOST_ENTRIES:
                raise SourceError(f"its list of {key} has more than {MOST_ENTRIES} entries")
            yield entry
        cursor = page.get("nextCursor")
        if cursor is None:
            return
    raise SourceError(f"its list of {key} has no end, for the cursor {cursor!r} came twice")


def document_of(server: str, kind: str, entry: dict[str, Any]) -> Document | Problem:
    """An entry of a server as a document. Only what the protocol defines is indexed; the payload has it all."""
    name, uri = str(entry["name"]), entry.get("uri") or entry.get("uriTemplate")
    local = {"tool": name, "prompt": f"prompt:{name}"}.get(kind, uri)
    id = f"{server}/{local}"
    shown = {key: entry[key] for key in SHOWN if key in entry}
    if arguments := {one["name"]: one for one in entry.get("arguments") or ()}:
        shown["inputSchema"] = {"properties": arguments}
    document = tool_of(shown, f"the {kind}s of {server}", to_json(entry))
    if isinstance(document, Problem):
        return Problem(id, document.reason, server)
    signed = {key: entry.get(key) for key in ("name", "description", "inputSchema", "arguments", "uri", "uriTemplate")}
    fingerprint = blake2b(json.dumps(signed, sort_keys=True).encode(), digest_size=16).hexdigest()
    notes = {"uri": uri, "mime_type": entry.get("mimeType"), "annotations": entry.get("annotations")}
    metadata = {key: value for key, value in notes.items() if value} | {"server": server, "fingerprint": fingerprint}
    return replace(document, id=id, kind=kind, source=server, metadata=metadata)


def describe_failure(server: Server, complaints: Complaints, error: BaseException, timeout: float) -> str:
    """Why a server could not be read, and its own last words, without its secrets."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        reason = f"did not answer within {timeout:g} seconds"
    elif hasattr(error, "errors"):  # of a validation
        first = error.errors()[0]
        reason = f"broke the protocol at {'.'.join(map(str, first['loc']))}: {first['msg']}"
    else:
        reason = f"failed: {error}"
    shown = server.without_secrets(f"The server {server.name} {complaints.unheard or reason}.")
    words = server.without_secrets(complaints.last_line())[-LAST_WORDS:]
    return f"{shown}{WORDS}{words}" if words else shown
