"""Connections to MCP servers over stdio or HTTP, with limits for answers and lists. Imports the SDK."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter

from shortlist.errors import SourceError
from shortlist.mcp_client.config_files import user_files
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.server_failures import StderrTail
from shortlist.mcp_client.stdio_transport import LONGEST_LINE_BYTES, run_server

MOST_ENTRIES = 10_000  # of a list

LOGGERS = ("client", "httpcore2", "httpx2", "mcp")  # they log URLs and the output of servers, secrets included

AS_WRITTEN: Any = TypeAdapter(dict[str, Any])  # the type of a result that the SDK does not validate

_is_reading = ContextVar("_is_reading", default=False)


def _silence_logs() -> None:
    """Drop what the SDK logs in this context."""
    _is_reading.set(True)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in LOGGERS:
            logging.getLogger(name).addFilter(_is_public)


def _is_public(record: logging.LogRecord) -> bool:
    return not _is_reading.get()


@asynccontextmanager
async def connect(
    server: ServerConfig,
    stderr_tail: StderrTail,
    on_end: Callable[[], None] | None = None,
    auth: httpx2.Auth | None = None,
    *,
    make: Callable[..., Client] | None = None,
    **options: Any,
) -> AsyncIterator[Client]:
    """A client of a server: `make` or the SDK's client, with options. `on_end` is called if a command's output ends.

    Requests to a URL are authorized by `auth`, by default with the stored sign-in unless a header is configured.
    What the SDK logs in this context is dropped.
    """
    headers = dict(server.headers)
    if server.url and auth is None and not any(name.lower() == "authorization" for name in headers):
        from shortlist.mcp_client.stored_sign_in import StoredSignIn  # noqa: PLC0415  # most servers need none

        auth = StoredSignIn(server)
    _silence_logs()
    async with AsyncExitStack() as stack:
        if server.is_sse:
            transport: Any = sse_client(server.url, headers=headers, auth=auth)
        elif server.url:
            hooks = {"response": [stderr_tail.note_http_error, _limit_size]}
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
            transport = run_server(parameters, stderr_tail, on_end)
        yield await stack.enter_async_context((make or Client)(transport, cache=None, **options))


def _protect_imports(server: ServerConfig) -> dict[str, str]:
    """A variable that keeps `python -m` in a configuration for all projects from running modules of this one."""
    runs_module = "-m" in server.args and Path(server.command).name.startswith("python")
    is_for_all_projects = server.cwd is None and server.project is None
    is_of_user = server.file is not None and server.file.resolve() in user_files()
    return {"PYTHONSAFEPATH": "1"} if runs_module and is_for_all_projects and is_of_user else {}


async def _limit_size(response: httpx2.Response) -> None:
    """Abort a response that is too large."""

    class LimitedStream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in stream:
                size += len(piece)
                if size > LONGEST_LINE_BYTES:
                    raise httpx2.ReadError(f"an answer of more than {LONGEST_LINE_BYTES >> 20} MiB")
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    stream: Any = response.stream
    response.stream = LimitedStream()


async def list_entries(client: Client, request: str, key: str) -> AsyncIterator[dict[str, Any]]:
    """The entries of a list, page by page, as the server wrote them."""
    cursor: str | None = None
    cursors: set[str | None] = set()
    count = 0
    while cursor not in cursors:
        cursors.add(cursor)
        message = getattr(mcp_types, request)(params=mcp_types.PaginatedRequestParams(cursor=cursor))
        try:
            page = await client.session.send_request(message, AS_WRITTEN)
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
