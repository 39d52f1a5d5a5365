"""What do live MCP servers offer? Their tools, prompts and resources, read over stdio or HTTP and then let go.

What a server says of its tools is untrusted text. The fingerprint in a document's metadata covers name, description
and schema, so that a tool that has become another one can be told from the one that was approved. How much a server can
say is limited: so long a line, so many, so large an answer, so many entries.
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
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.documents import Document, Problem
from shortlist.errors import InputError, MissingExtra, SourceError
from shortlist.sources.mcp_servers.mcp_config import Server, servers_in_files, servers_of, usual_files
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

# The kind of document, what the server must be able to do, what it is asked, and where the answer lies.
LISTS = (
    ("tool", "tools", "ListToolsRequest", "tools"),
    ("prompt", "prompts", "ListPromptsRequest", "prompts"),
    ("resource", "resources", "ListResourcesRequest", "resources"),
    ("resource", "resources", "ListResourceTemplatesRequest", "resourceTemplates"),
)

SHOWN = ("name", "title", "description", "inputSchema", "annotations")

# They write down addresses and whatever a server prints, in which there may be secrets.
LOGGERS = ("client", "httpcore2", "httpx2", "mcp")

_ADDRESS = re.compile(r"https?://(?:[^/@]*@)?(?P<host>[^/:?#]+)")
_reading = ContextVar("_reading", default=False)


def servers_at(*place: Any, name: str | None = None) -> tuple[str, Callable[[], Iterator[Server | Problem]]]:
    """A name for, and a reader of, the servers that are meant: those of a configuration (a file, a mapping or, without
    an argument, the usual files of project and user), the one at an address, or the one that a command runs."""
    if not place:
        return name or "mcp", lambda: servers_in_files(usual_files(), settings_too=True)
    first = place[0]
    if len(place) == 1 and isinstance(first, Mapping):
        return name or "mcp", lambda: servers_of(first, Path.cwd(), "The configuration")
    if not all(isinstance(part, str | Path) and str(part).strip() for part in place):
        raise InputError(f"from_mcp takes a configuration, an address or a command, not {place!r}.")
    words = [str(part) for part in place]
    address = _ADDRESS.match(words[0]) if len(words) == 1 else None
    if address:
        name = name or address["host"]
        return name, lambda: iter([Server(name, url=words[0])])
    file = Path(first).expanduser()
    if len(words) == 1 and (isinstance(first, Path) or file.is_file() or file.suffix == ".json"):
        return name or "mcp", lambda: servers_in_files([file])
    command, *args = words if len(words) > 1 else shlex.split(words[0])
    name = name or Path(command).stem
    return name, lambda: iter([Server(name, command, tuple(args))])


def read_servers(servers: Iterator[Server | Problem], timeout: float = TIMEOUT) -> Iterator[Document | Problem]:
    """What the servers offer, all asked at once. One that fails is a Problem whose source is its name, so that a corpus
    keeps what it knows of it."""
    import asyncio  # noqa: PLC0415  # like all that is asynchronous, only where servers are read
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


def read_quietly() -> None:
    """Let what is logged while servers are read in this context go nowhere."""
    _reading.set(True)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in LOGGERS:
            logging.getLogger(name).addFilter(_is_public)


def _is_public(record: logging.LogRecord) -> bool:
    return not _reading.get()


async def _read_all(servers: list[Server], timeout: float) -> list[Document | Problem]:
    import anyio  # noqa: PLC0415

    read_quietly()
    found: dict[str, list[Document | Problem]] = {server.name: [] for server in servers}
    async with anyio.create_task_group() as group:
        for server in servers:
            group.start_soon(_read_one, server, timeout, found[server.name])
    return [item for items in found.values() for item in items]


async def _read_one(server: Server, timeout: float, found: list[Document | Problem]) -> None:
    import anyio  # noqa: PLC0415

    complaints = Complaints()
    try:
        with complaints, anyio.fail_after(timeout):
            async with connected(server, complaints) as client:
                await _list_all(server, client, found)
    except Exception as error:  # whatever a server may do, the others are read
        found.append(Problem(server.name, what_happened(server, complaints, error, timeout), server.name))


@asynccontextmanager
async def connected(
    server: Server, complaints: Complaints, on_end: OnEnd | None = None, **options: Any
) -> AsyncIterator[Client]:
    """A client of a server; `on_end` is told if one that a command runs ends before that. Options are the client's."""
    import httpx2  # noqa: PLC0415
    from mcp import Client, StdioServerParameters  # noqa: PLC0415
    from mcp.client.sse import sse_client  # noqa: PLC0415
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

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

            def ended(unheard: str) -> None:
                complaints.unheard = unheard
                if on_end:
                    on_end(unheard)

            transport = run_server(parameters, complaints.stream, ended)
        yield await stack.enter_async_context(Client(transport, cache=None, **options))


async def _limit(response: Any) -> None:
    """Break off an answer that is larger than any could be."""
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
    """The end of what a server writes to its standard error, and the last refusal of one that speaks HTTP."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.stream = os.fdopen(writing, "w", encoding="utf-8")
        self._end = b""
        self.unheard = ""  # why it is no longer listened to
        self._listener = threading.Thread(target=self._listen, args=(reading,), daemon=True)
        self._listener.start()

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stream.close()
        self._listener.join(timeout=1)  # longer only if a child of the server lives on

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as stream:
            while data := stream.read(1 << 16):
                self._end = (self._end + data)[-MEMORY:]
                if len(data) == 1 << 16:
                    time.sleep(0.01)  # no hurry with one that floods

    async def note_refusal(self, response: Any) -> None:
        if response.is_error:
            self._end = f"HTTP {response.status_code} {response.reason_phrase}".encode()

    def last_line(self) -> str:
        lines = self._end.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""


async def _list_all(server: Server, client: Client, found: list[Document | Problem]) -> None:
    for kind, ability, request, key in LISTS:
        if getattr(client.server_capabilities, ability) is not None:
            async for entry in entries(client, request, key):
                if kind != "tool" or server.offers(str(entry["name"])):
                    found.append(document_of(server.name, kind, entry))


async def entries(client: Client, request: str, key: str) -> AsyncIterator[dict[str, Any]]:
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
        params = mcp_types.PaginatedRequestParams(cursor=cursor)
        try:
            asked = getattr(mcp_types, request)(params=params)
            page = await client.session.send_request(asked, as_it_is)  # type: ignore[type-var]
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
    """What a server offers, as a document. Only what the protocol knows is understood; the payload has it all."""
    name, where = str(entry["name"]), entry.get("uri") or entry.get("uriTemplate")
    id = {"tool": name, "prompt": f"prompt:{name}"}.get(kind, where)
    told = {key: entry[key] for key in SHOWN if key in entry}
    arguments = {one["name"]: one for one in entry.get("arguments") or ()}
    if arguments:
        told["inputSchema"] = {"properties": arguments}
    document = tool_of(told, f"the {kind}s of {server}", to_json(entry))
    if isinstance(document, Problem):
        return Problem(f"{server}/{id}", document.reason, server)
    notes = {"uri": where, "mime_type": entry.get("mimeType"), "annotations": entry.get("annotations")}
    metadata = {key: value for key, value in notes.items() if value}
    metadata |= {"server": server, "fingerprint": _fingerprint(entry)}
    return replace(document, id=f"{server}/{id}", kind=kind, source=server, metadata=metadata)


def _fingerprint(entry: Mapping[str, Any]) -> str:
    told = {key: entry.get(key) for key in ("name", "description", "inputSchema", "arguments", "uri", "uriTemplate")}
    return blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=16).hexdigest()


def what_happened(server: Server, complaints: Complaints, error: BaseException, timeout: float) -> str:
    """Why a server could not be read, and its own last words, without its secrets."""
    reason = server.without_secrets(f"The server {server.name} {complaints.unheard or _in_words(error, timeout)}.")
    words = server.without_secrets(complaints.last_line())[-LAST_WORDS:]
    return f"{reason}{WORDS}{words}" if words else reason


def _in_words(error: BaseException, timeout: float) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"did not answer within {timeout:g} seconds"
    if hasattr(error, "errors"):  # of a validation
        first = error.errors()[0]
        return f"broke the protocol at {'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"failed: {error}"
