"""MCP servers that a command runs, over their standard streams.

Unlike the transport of the SDK, this one limits the length and number of lines. A server that exceeds a limit, or
writes an unreadable message, is stopped at once: otherwise a caller would wait for the answer forever.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, TextIO, cast

import anyio
from anyio.abc import Process
from mcp import StdioServerParameters
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32 import utilities as windows
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from shortlist.errors import SourceError
from shortlist.mcp_client.server_failures import StderrTail
from shortlist.mcp_client.server_watcher import GO, SHELL, WAIT, can_wait, watcher
from shortlist.safety.processes import find_on_path

LONGEST_LINE_BYTES = 32 << 20
MOST_LINES, WINDOW_SECONDS = 2_000, 10.0
MOST_STRAY = 1_000  # lines in a row that are not messages: some servers print a banner, or log to the wrong stream

END_SECONDS = 1.0  # for a server to exit after its input is closed
KILL_SECONDS = 0.5  # for a server to exit after it is terminated
REAP_SECONDS = 5.0  # for the end of a killed process to be noticed, which takes long only on a busy machine


class _Misbehavior(SourceError):
    """A server writes too much, or an unreadable message."""


@contextlib.asynccontextmanager
async def run_server(
    parameters: StdioServerParameters, stderr_tail: StderrTail, on_end: Callable[[], None] | None
) -> AsyncIterator[Any]:
    """The streams of a server that runs as long as the context; `on_end` is called if its output ends before that."""

    process = await _start(parameters, stderr_tail.stream)
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, sent_out = anyio.create_memory_object_stream[SessionMessage](0)
    is_over = False

    async def receive() -> None:
        try:
            async with received_in:
                try:
                    async for message in _read_messages(process):
                        await received_in.send(message)
                except _Misbehavior as error:
                    stderr_tail.stop_reason = str(error)  # before the end of the stream, when it is reported
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the client is gone
        if on_end and not is_over:
            on_end()

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
                await _stop(process, 0.0 if stderr_tail.stop_reason else END_SECONDS)
                for stream in (received, sent, received_in, sent_out):
                    await stream.aclose()
            tasks.cancel_scope.cancel()


async def _start(parameters: StdioServerParameters, errors: TextIO) -> Process:
    """Start a process whose child processes can be stopped with it: in a session or, on Windows, a job of its own."""

    environment = get_default_environment() | (parameters.env or {})
    if sys.platform == "win32":
        command = windows.get_windows_executable_command(find_on_path(parameters.command))  # such as npx.cmd
        started = await windows.create_windows_process(command, parameters.args, environment, errors, parameters.cwd)
        return cast("Process", started)  # or the SDK's own, with the same methods
    command = [parameters.command, *parameters.args]
    is_waiting = can_wait(environment)
    if is_waiting:
        _check_command(parameters.command, environment, parameters.cwd)
        command = [SHELL, "-c", WAIT, "sh", *command]
    process = await anyio.open_process(
        command, env=environment, stderr=errors, cwd=parameters.cwd, start_new_session=True
    )
    watcher.add(process.pid)
    try:
        if is_waiting:
            assert process.stdin
            await process.stdin.send(GO)
    except BaseException:
        process.kill()
        watcher.remove(process.pid)
        raise
    return process


def _check_command(command: str, environment: Mapping[str, str], cwd: str | Path | None) -> None:
    """Raise the error of a command that cannot be started, which a shell would only print."""
    if cwd is not None and not os.path.isdir(cwd):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(cwd))
    path: str | None = os.path.join(cwd or "", command)
    if not os.path.dirname(command):
        path = shutil.which(command, path=environment.get("PATH"))
    if path is None or not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command)
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), command)


async def _read_messages(process: Process) -> AsyncIterator[Any]:
    """The messages of a process, within the limits. Other lines are skipped, as servers print to the wrong stream."""

    assert process.stdout
    line = bytearray()
    started, count, stray = time.monotonic(), 0, 0
    while True:
        try:
            *ends, rest = (await process.stdout.receive(1 << 16)).split(b"\n")
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            return
        for end in ends:
            text = bytes(line + end).lstrip()
            line.clear()
            count += 1
            stray = 0 if text.startswith(b"{") else stray + 1
            if count > MOST_LINES:
                raise _Misbehavior(
                    f"floods its standard output: {MOST_LINES} lines in less than {WINDOW_SECONDS:g} seconds"
                )
            if stray > MOST_STRAY:
                raise _Misbehavior(f"floods its standard output: {MOST_STRAY} lines in a row that are not messages")
            try:
                yield SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
            except ValidationError as error:
                if text.startswith(b'{"jsonrpc"'):
                    raise _Misbehavior(f"wrote an unreadable message: {error.errors()[0]['msg']}") from None
        if time.monotonic() - started >= WINDOW_SECONDS:
            started, count = time.monotonic(), 0
        line += rest
        if len(line) > LONGEST_LINE_BYTES:
            raise _Misbehavior(f"floods its standard output: a line of more than {LONGEST_LINE_BYTES >> 20} MiB")


async def _stop(process: Process, seconds: float) -> None:
    """Stop a process and all that it has started; it has some seconds to end by itself."""

    async def close(stream: Any) -> None:
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stream.aclose()

    async def wait(limit: float) -> None:
        with anyio.move_on_after(limit):
            while process.returncode is None:  # Process.wait would also wait for descendants that hold the pipe
                await anyio.sleep(0.01)

    await close(process.stdin)
    await wait(seconds)
    if sys.platform == "win32":
        await windows.terminate_windows_process_tree(process)
    else:
        await terminate_posix_process_tree(process, KILL_SECONDS)
        watcher.remove(process.pid)
    await wait(REAP_SECONDS)
    await close(process.stdout)
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:  # it would stay open as long as a descendant holds a pipe
        with contextlib.suppress(PermissionError):
            transport.close()
