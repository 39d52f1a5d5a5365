"""Why an MCP server failed: its last error output, and a sentence about it without secrets."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from shortlist.errors import SourceError
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.token_store import NEEDS_SIGN_IN

if TYPE_CHECKING:
    from httpx2 import Response

MESSAGE_START = " It said: "
LONGEST_MESSAGE = 300  # characters of a failed server's own error message that are shown
TAIL_BYTES = 4096  # of a server's error output: more than are shown, so that no secret is cut and not recognized


class ServerError(SourceError):
    """The error that a server returned, with its code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class StderrTail:
    """The end of a server's standard error, or its last HTTP error, and the reason if it was stopped for its output."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.stream = os.fdopen(writing, "w", encoding="utf-8")
        self.stop_reason = ""
        self._end = b""
        self._listener = threading.Thread(target=self._listen, args=(reading,), daemon=True)
        self._listener.start()

    def close(self) -> None:
        self.stream.close()
        self._listener.join(timeout=1)  # longer only if a child of the server keeps running

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as stream:
            while data := stream.read(1 << 16):
                self._end = (self._end + data)[-TAIL_BYTES:]
                if len(data) == 1 << 16:
                    time.sleep(0.01)  # slow down a server that floods

    async def note_http_error(self, response: Response) -> None:
        if response.is_error:
            self._end = f"HTTP {response.status_code} {response.reason_phrase}".encode()

    def last_line(self) -> str:
        lines = self._end.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""


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
    elif isinstance(error, FileNotFoundError) and error.filename:
        hint = ". Its arguments belong in 'args'" if " " in server.command else ""
        reason = f"failed: {error.strerror}: {error.filename!r}{hint}"
    elif hasattr(error, "errors"):  # of a validation
        first = error.errors()[0]
        reason = f"broke the protocol at {'.'.join(map(str, first['loc']))}: {first['msg']}"
    else:
        reason = f"failed: {error}"
    shown = server.without_secrets(f"The server {server.name} {stderr_tail.stop_reason or reason}.")
    words = server.without_secrets(stderr_tail.last_line())[-LONGEST_MESSAGE:]
    return f"{shown}{MESSAGE_START}{words}" if words else shown
