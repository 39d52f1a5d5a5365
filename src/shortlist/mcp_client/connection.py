"""Connections to MCP servers over stdio or HTTP. Answers and lists of a server are limited in size."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import SourceError
from shortlist.mcp_client.config_files import user_files
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.stdio_transport import LONGEST_LINE_BYTES, StderrTail, run_server
from shortlist.mcp_client.token_store import NEEDS_SIGN_IN

if TYPE_CHECKING:
    from mcp import Client

MESSAGE_START = " It said: "
LONGEST_MESSAGE = 300  # characters of a failed server's own error message that are shown
MOST_ENTRIES = 10_000  # of a list

LOGGERS = ("client", "httpcore2", "httpx2", "mcp")  # they log URLs and the output of servers, secrets included

_is_reading = ContextVar("_is_reading", default=False)


def silence_logs() -> None:
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
        from shortlist.mcp_client.stored_sign_in import StoredSignIn  # noqa: PLC0415  # imports the SDK

        auth = StoredSignIn(server)
        silence_logs()  # those of the modules that were just loaded, too
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
    is_for_all_projects = server.cwd is None and server.file is not None and server.file.resolve() in user_files()
    return {"PYTHONSAFEPATH": "1"} if runs_module and is_for_all_projects else {}


async def _limit_size(response: Any) -> None:
    """Abort a response that is too large."""
    import httpx2  # noqa: PLC0415

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

    stream = response.stream
    response.stream = LimitedStream()


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


def first_error(error: BaseException) -> BaseException:
    """The first error of a group, of any depth."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def needs_sign_in(error: BaseException) -> bool:
    """Whether only a sign-in by the user fixes this."""
    return getattr(first_error(error), "code", None) == NEEDS_SIGN_IN


def describe_failure(
    server: ServerConfig, stderr_tail: StderrTail, error: BaseException, timeout: float, advice: str = ""
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
    shown = server.without_secrets(f"The server {server.name} {stderr_tail.stop_reason or reason}.")
    words = server.without_secrets(stderr_tail.last_line())[-LONGEST_MESSAGE:]
    return f"{shown}{MESSAGE_START}{words}" if words else shown
