"""Servers that a command runs, over their standard streams.

Unlike the SDK's own transport, this one limits the length and number of lines. A server that exceeds a limit, or writes
a message that cannot be read, is stopped at once: a caller would wait for the answer forever.
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
MOST_LINES, WINDOW = 2_000, 10.0  # lines, in seconds
MOST_STRAY = 200  # lines in a row that are not messages: some servers print a banner, or log to the wrong stream

END_SECONDS = 1.0  # for a server to exit once its input is closed
KILL_SECONDS = 0.5  # and once it is terminated

OnEnd = Callable[[str], None]


class Unheard(SourceError):
    """A server is stopped for what it writes: too much, or what cannot be read."""


@contextlib.asynccontextmanager
async def run_server(parameters: StdioServerParameters, errors: TextIO, on_end: OnEnd) -> AsyncIterator[Any]:
    """The streams of a server that runs as long as the context; `on_end` is called when its output ends, with the
    reason if it was stopped."""
    import anyio  # noqa: PLC0415  # slow to load, and only servers need it
    from mcp.client.stdio import get_default_environment, stdio_client  # noqa: PLC0415
    from mcp.shared.message import SessionMessage  # noqa: PLC0415

    if sys.platform == "win32":  # where only the SDK can stop what a server has started
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
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, sent_out = anyio.create_memory_object_stream[SessionMessage](0)
    unheard = ""
    is_over = False

    async def receive() -> None:
        nonlocal unheard
        try:
            async with received_in:
                async for line in _lines(process):
                    if message := _message(line):
                        await received_in.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the client is gone
        except Unheard as error:
            unheard = str(error)
        if not is_over:
            on_end(unheard)

    async def send() -> None:
        assert process.stdin
        try:
            async with sent_out:
                async for item in sent_out:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(f"{text}\n".encode())
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await received_in.aclose()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        try:
            yield received, sent
        finally:
            is_over = True
            with anyio.CancelScope(shield=True):
                await _end(process, 0.0 if unheard else END_SECONDS)
                for stream in (received, sent, received_in, sent_out):
                    await stream.aclose()
            tasks.cancel_scope.cancel()


async def _lines(process: Process) -> AsyncIterator[bytes]:
    """The lines of a process, within the limits."""
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
    """The message in a line, or None: servers also print to the wrong stream."""
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
    """Stop a process and all that it has started."""
    import anyio  # noqa: PLC0415
    from mcp.os.posix.utilities import terminate_posix_process_tree  # noqa: PLC0415

    async def close(stream: Any) -> None:
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stream.aclose()

    async def wait(seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while process.returncode is None:  # Process.wait would also wait for descendants that hold the pipe
                await anyio.sleep(0.01)

    await close(process.stdin)
    await wait(patience)
    await terminate_posix_process_tree(process, KILL_SECONDS)
    await wait(KILL_SECONDS)
    await close(process.stdout)
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:  # it would stay open as long as a descendant holds a pipe
        with contextlib.suppress(PermissionError):
            transport.close()
