"""The tools, prompts and resources of live MCP servers, read over stdio or HTTP.

What a server sends is untrusted text. The fingerprint in a document's metadata covers name, description and schema, so
that a changed tool can be distinguished from the approved one. Answers and lists of a server are limited in size.
"""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from contextvars import ContextVar
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.documents import Document, Problem
from shortlist.errors import InputError, SourceError, import_extra
from shortlist.sources.mcp_servers.mcp_config import Server, possible_files, servers_in_files, servers_of, user_files
from shortlist.sources.mcp_servers.mcp_tokens import NEEDS_SIGN_IN
from shortlist.sources.mcp_servers.mcp_transport import LONGEST_LINE, Complaints, run_server
from shortlist.sources.structured import to_json
from shortlist.sources.tools.tool_catalogs import tool_of

if TYPE_CHECKING:
    from mcp import Client

TIMEOUT = 30.0
WORDS = " It said: "
LAST_WORDS = 300  # characters of a failed server's own error message that are shown
MOST_ENTRIES = 10_000  # of a list

# The kind of document, the capability of the server, the request, and the key of the answer.
LISTS = (
    ("tool", "tools", "ListToolsRequest", "tools"),
    ("prompt", "prompts", "ListPromptsRequest", "prompts"),
    ("resource", "resources", "ListResourcesRequest", "resources"),
    ("resource", "resources", "ListResourceTemplatesRequest", "resourceTemplates"),
)
SHOWN = ("name", "title", "description", "inputSchema", "annotations")
SIGNED = ("name", "description", "inputSchema", "arguments", "uri", "uriTemplate")
LOGGERS = ("client", "httpcore2", "httpx2", "mcp")  # they log URLs and the output of servers, secrets included

_URL = re.compile(r"https?://(?:[^/@]*@)?(?P<host>[^/:?#]+)")
_is_reading = ContextVar("_is_reading", default=False)


def servers_at(*place: Any, name: str | None = None) -> tuple[str, Callable[[], Iterator[Server | Problem]]]:
    """A name for, and a reader of, the servers of a configuration (a file, a mapping or, without an argument, the usual
    files of project and user), the one at a URL, or the one that a command runs."""
    if not place:
        return name or "mcp", lambda: servers_in_files(filter(Path.exists, possible_files()), settings_too=True)
    first = place[0]
    if len(place) == 1 and isinstance(first, Mapping):
        return name or "mcp", lambda: servers_of(first, Path.cwd(), "The configuration")
    if not all(isinstance(part, str | Path) and str(part).strip() for part in place):
        raise InputError(f"from_mcp takes a configuration, a URL or a command, not {place!r}.")
    words = [str(part) for part in place]
    server = None
    if len(words) == 1:
        file = Path(first).expanduser()
        if url := _URL.match(words[0]):
            server = Server(name or url["host"], url=words[0])
        elif isinstance(first, Path) or file.is_file() or file.suffix in (".json", ".toml"):
            return name or "mcp", lambda: servers_in_files([file])
        words = shlex.split(words[0])
    server = server or Server(name or Path(words[0]).stem, words[0], tuple(words[1:]))
    return server.name, lambda: iter([server])


def read_servers(servers: Iterator[Server | Problem], timeout: float = TIMEOUT) -> Iterator[Document | Problem]:
    """What the servers offer, all read at once. One that fails is a Problem whose source is its name, so that a corpus
    keeps the documents of it."""
    import asyncio  # noqa: PLC0415  # slow to load, and only servers need it
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    reachable = []
    for server in servers:
        if isinstance(server, Problem):
            yield server
        else:
            reachable.append(server)
    if not reachable:
        return
    import anyio  # noqa: PLC0415

    import_extra("mcp", "mcp", "Reading MCP servers")  # takes two seconds
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        yield from anyio.run(_read_all, reachable, timeout)
    else:  # the caller runs an event loop in this thread
        with ThreadPoolExecutor(1) as pool:
            yield from pool.submit(anyio.run, _read_all, reachable, timeout).result()


def silence_logs() -> None:
    """Drop what the SDK logs in this context."""
    _is_reading.set(True)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in LOGGERS:
            logging.getLogger(name).addFilter(_is_public)


def _is_public(record: logging.LogRecord) -> bool:
    return not _is_reading.get()


async def _read_all(servers: list[Server], timeout: float) -> list[Document | Problem]:
    import anyio  # noqa: PLC0415

    async def read(server: Server, items: list[Document | Problem]) -> None:
        complaints, seconds = Complaints(), server.start_seconds or timeout
        try:
            with closing(complaints), anyio.fail_after(seconds):
                async with connect(server, complaints) as client:
                    for kind, capability, request, key in LISTS:
                        if getattr(client.server_capabilities, capability) is not None:
                            async for entry in list_entries(client, request, key):
                                if kind != "tool" or server.offers(str(entry["name"])):
                                    items.append(document_of(server.name, kind, entry))
        except Exception as error:  # whatever a server does, the others are read
            items.append(Problem(server.name, describe_failure(server, complaints, error, seconds), server.name))

    silence_logs()
    results: dict[str, list[Document | Problem]] = {server.name: [] for server in servers}
    async with anyio.create_task_group() as group:
        for server in servers:
            group.start_soon(read, server, results[server.name])
    return [item for items in results.values() for item in items]


@asynccontextmanager
async def connect(
    server: Server,
    complaints: Complaints,
    on_end: Callable[[], None] | None = None,
    auth: Any = None,
    *,
    make: Callable[..., Client] | None = None,
    **options: Any,
) -> AsyncIterator[Client]:
    """A client of a server: `make` or the SDK's client, with options. `on_end` is called if a command's output ends.

    Requests to a URL are authorized by `auth`, by default with the stored sign-in unless a header is configured.
    """
    import httpx2  # noqa: PLC0415
    from mcp import Client, StdioServerParameters  # noqa: PLC0415
    from mcp.client.sse import sse_client  # noqa: PLC0415
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    headers = dict(server.headers)
    if server.url and auth is None and not any(name.lower() == "authorization" for name in headers):
        from shortlist.sources.mcp_servers.mcp_sign_in import StoredSignIn  # noqa: PLC0415  # imports the SDK

        auth = StoredSignIn(server)
        silence_logs()  # those of the modules that were just loaded, too
    async with AsyncExitStack() as stack:
        if server.is_sse:
            transport: Any = sse_client(server.url, headers=headers, auth=auth)
        elif server.url:
            hooks = {"response": [complaints.note_http_error, _limit_size]}
            http = httpx2.AsyncClient(headers=headers, timeout=None, event_hooks=hooks, auth=auth)
            await stack.enter_async_context(http)
            transport = streamable_http_client(server.url, http_client=http)
        else:
            parameters = StdioServerParameters(
                command=server.command,
                args=list(server.args),
                env={**_protect_imports(server), **server.env},
                cwd=server.cwd,
            )
            transport = run_server(parameters, complaints, on_end)
        yield await stack.enter_async_context((make or Client)(transport, cache=None, **options))


def _protect_imports(server: Server) -> dict[str, str]:
    """A variable that keeps `python -m` in a configuration for all projects from running modules of this one."""
    runs_module = "-m" in server.args and Path(server.command).name.startswith("python")
    is_for_all_projects = server.cwd is None and server.file is not None and server.file.resolve() in user_files()
    return {"PYTHONSAFEPATH": "1"} if runs_module and is_for_all_projects else {}


async def _limit_size(response: Any) -> None:
    """Abort a response that is too large."""
    import httpx2  # noqa: PLC0415

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in stream:
                size += len(piece)
                if size > LONGEST_LINE:
                    raise httpx2.ReadError(f"an answer of more than {LONGEST_LINE >> 20} MiB")
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    stream = response.stream
    response.stream = Limited()


async def list_entries(client: Client, request: str, key: str) -> AsyncIterator[dict[str, Any]]:
    """The entries of a list, page by page, as the server wrote them."""
    import mcp_types  # noqa: PLC0415
    from mcp import MCPError  # noqa: PLC0415
    from pydantic import TypeAdapter  # noqa: PLC0415

    unchanged = TypeAdapter(dict[str, Any])
    cursor: str | None = None
    cursors: set[str | None] = set()
    count = 0
    while cursor not in cursors:
        cursors.add(cursor)
        message = getattr(mcp_types, request)(params=mcp_types.PaginatedRequestParams(cursor=cursor))
        try:
            page = await client.session.send_request(message, unchanged)  # type: ignore[type-var]
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
    raise SourceError(f"its list of {key} does not end: the cursor {cursor!r} was repeated")


def document_of(server: str, kind: str, entry: dict[str, Any]) -> Document | Problem:
    """An entry of a server as a document. Only what the protocol defines is indexed; the payload has everything."""
    name, uri = str(entry["name"]), entry.get("uri") or entry.get("uriTemplate")
    id = f"{server}/{ {'tool': name, 'prompt': f'prompt:{name}'}.get(kind, uri) }"
    shown = {key: entry[key] for key in SHOWN if key in entry}
    if arguments := {one["name"]: one for one in entry.get("arguments") or ()}:
        shown["inputSchema"] = {"properties": arguments}
    document = tool_of(shown, f"the {kind}s of {server}", to_json(entry))
    if isinstance(document, Problem):
        return Problem(id, document.reason, server)
    signed = json.dumps({key: entry.get(key) for key in SIGNED}, sort_keys=True)
    notes = {"uri": uri, "mime_type": entry.get("mimeType"), "annotations": entry.get("annotations")}
    metadata = {key: value for key, value in notes.items() if value} | {"server": server}
    metadata["fingerprint"] = blake2b(signed.encode(), digest_size=16).hexdigest()
    return replace(document, id=id, kind=kind, source=server, metadata=metadata)


def first_error(error: BaseException) -> BaseException:
    """The first error of a group, of any depth."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def needs_sign_in(error: BaseException) -> bool:
    """Whether only a sign-in by the user fixes this."""
    return getattr(first_error(error), "code", None) == NEEDS_SIGN_IN


def describe_failure(
    server: Server, complaints: Complaints, error: BaseException, timeout: float, advice: str = ""
) -> str:
    """Why a server could not be read, with advice after a timeout, and its last error message, without its secrets."""
    error = first_error(error)
    if needs_sign_in(error):
        return str(error)
    if isinstance(error, TimeoutError):
        reason = f"did not answer within {timeout:g} seconds{advice}"
    elif hasattr(error, "errors"):  # of a validation
        first = error.errors()[0]
        reason = f"broke the protocol at {'.'.join(map(str, first['loc']))}: {first['msg']}"
    else:
        reason = f"failed: {error}"
    shown = server.without_secrets(f"The server {server.name} {complaints.stop_reason or reason}.")
    words = server.without_secrets(complaints.last_line())[-LAST_WORDS:]
    return f"{shown}{WORDS}{words}" if words else shown
