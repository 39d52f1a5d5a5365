"""How is a server run and heard over its standard streams, whatever it may write there?

The SDK's own transport keeps a line until it ends, however long, and takes as many as come. Here both have limits: a
server that goes beyond is no longer listened to, and ended at once; and so is one whose message cannot be read, since
whoever waits for it would wait for ever.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TextIO

from shortlist.errors import SourceError

if TYPE_CHECKING:
    from anyio.abc import Process
    from mcp import StdioServerParameters

LONGEST_LINE = 32 << 20  # bytes
MOST_LINES, WINDOW = 2_000, 10.0  # so many lines in so many seconds
MOST_STRAY = 200  # lines in a row that are no messages: some servers print a banner, or log to the wrong stream

END_SECONDS = 1.0  # for a server to end by itself once nothing more is said to it
KILL_SECONDS = 0.5  # and once it was told to

OnEnd = Callable[[str], None]


class Unheard(SourceError):
    """A server is no longer listened to: it writes more than anybody could want, or what nobody can read."""


@contextlib.asynccontextmanager
async def run_server(parameters: StdioServerParameters, errors: TextIO, on_end: OnEnd) -> AsyncIterator[Any]:
    """The streams of a server that runs as long as the context; `on_end` is told when it says no more, and why if
    it was not listened to any longer."""
    import anyio  # noqa: PLC0415  # like all that is asynchronous, only where servers are read
    from mcp.client.stdio import get_default_environment, stdio_client  # noqa: PLC0415
    from mcp.shared.message import SessionMessage  # noqa: PLC0415

    if sys.platform == "win32":  # where only the SDK knows how to end what a server has started
        async with stdio_client(parameters, errlog=errors) as streams:
            yield streams
        return
    process = await anyio.open_process(
        [parameters.command, *parameters.args],
        env=get_default_environment() | (parameters.env or {}),
        stderr=errors,
        cwd=parameters.cwd,
        start_new_session=True,
    )
    heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, said_out = anyio.create_memory_object_stream[SessionMessage](0)
    unheard = ""
    is_over = False

    async def hear() -> None:
        nonlocal unheard
        try:
            async with heard_in:
                async for line in _lines(process):
                    message = _message(line)
                    if message is not None:
                        await heard_in.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # nobody listens any more
        except Unheard as error:
            unheard = str(error)
        if not is_over:
            on_end(unheard)

    async def say() -> None:
        assert process.stdin
        try:
            async with said_out:
                async for item in said_out:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(f"{text}\n".encode())
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await heard_in.aclose()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hear)
        tasks.start_soon(say)
        try:
            yield heard, said
        finally:
            is_over = True
            with anyio.CancelScope(shield=True):
                await _end(process, 0.0 if unheard else END_SECONDS)
                for stream in (heard, said, heard_in, said_out):
                    await stream.aclose()
            tasks.cancel_scope.cancel()


async def _lines(process: Process) -> AsyncIterator[bytes]:
    """The lines of a process, as long as they and their number are bearable."""
    import anyio  # noqa: PLC0415

    assert process.stdout
    begun = bytearray()
    began, count, stray = time.monotonic(), 0, 0
    while True:
        try:
            data = await process.stdout.receive(1 << 16)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = bytes(begun) + line
            begun.clear()
            count += 1
            stray = 0 if whole.lstrip().startswith(b"{") else stray + 1
            if count > MOST_LINES:
                raise Unheard(f"floods its standard output: {MOST_LINES} lines in less than {WINDOW:g} seconds")
            if stray > MOST_STRAY:
                raise Unheard(f"floods its standard output with what is no message: {MOST_STRAY} lines in a row")
            yield whole
        if time.monotonic() - began >= WINDOW:
            began, count = time.monotonic(), 0
        begun += rest
        if len(begun) > LONGEST_LINE:
            raise Unheard(f"floods its standard output: a line of more than {LONGEST_LINE >> 20} MiB")


def _message(line: bytes) -> Any:
    """The message that a line holds; nothing where it holds none, as when somebody prints to the wrong stream.

    One that should be a message and cannot be read is an error: somebody may wait for it.
    """
    from mcp.shared.message import SessionMessage  # noqa: PLC0415
    from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415
    from pydantic import ValidationError  # noqa: PLC0415

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        if not line.lstrip().startswith(b'{"jsonrpc"'):
            return None
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise Unheard(f"wrote a message that cannot be read: {reason}") from None


async def _end(process: Process, patience: float) -> None:
    """Let a process end, and all that it has started."""
    import anyio  # noqa: PLC0415
    from mcp.os.posix.utilities import terminate_posix_process_tree  # noqa: PLC0415

    assert process.stdin
    assert process.stdout
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(patience):
        while process.returncode is None:  # not wait(): it would also wait for whoever holds the pipe
            await anyio.sleep(0.01)
    await terminate_posix_process_tree(process, KILL_SECONDS)
    with anyio.move_on_after(KILL_SECONDS):
        while process.returncode is None:
            await anyio.sleep(0.01)
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdout.aclose()
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:  # which would stay open as long as a descendant holds a pipe
        with contextlib.suppress(PermissionError):
            transport.close()
