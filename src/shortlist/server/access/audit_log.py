"""The audit log: who did what, in lines of JSON. A line that cannot be written waits until it can."""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import Message, Receive, Scope

from shortlist._redact import redact_data
from shortlist._settings import AuditSettings
from shortlist._telemetry import current_ids
from shortlist.errors import InputError
from shortlist.mcp.collection import TOOLS
from shortlist.safety.principals import NOTES, PRINCIPAL, Principal

log = logging.getLogger("shortlist.serve")

DENIED = (401, 403, 421, 429)
MOST_CONTENT = 16 << 10  # bytes of a body; a larger one, such as of documents, is left out
MOST_WAITING = 16 << 20  # bytes that wait while the file cannot be written
MOST_CHARACTERS = 500  # of a name that a caller chooses
NAMES = {"name": "corpus", "id": "document"}  # of parameters of a path


class AuditLog:
    """Appends lines to a file, which it rotates. Every write opens the file, so that other programs may move it."""

    def __init__(self, settings: AuditSettings) -> None:
        self._path = Path(settings.file).expanduser()
        self._most_bytes, self._files = settings.max_megabytes << 20, settings.files
        self.is_required, self.has_content = settings.required, settings.content
        self._waiting = b""
        self._problem = ""
        self._write({"action": "start"})
        if self.is_required and self._problem:
            raise InputError(f"The audit log cannot be written, and audit.required is set: {self._problem}.")

    def find_problem(self) -> str:
        """Why no request may be answered, after another try to write what waits."""
        if not self.is_required or not self._waiting:
            return ""
        self._flush()
        return f"The audit log of the service cannot be written: {self._problem}." if self._problem else ""

    def record(self, scope: Scope, status: int, seconds: float, size: int, body: bytes | None) -> None:
        """Write the line of a request that was answered; `body` is None if it is too large or not logged."""
        caller: Principal | None = scope.get(PRINCIPAL)
        route = getattr(scope.get("route"), "path", scope["path"])
        parameters = {NAMES.get(key, key): value for key, value in scope.get("path_params", {}).items()}
        notes = {"action": f"{scope['method']} {route}"} | parameters | scope[NOTES]
        corpus = notes.get("corpus", TOOLS)  # the tools of MCP servers, which profiles permit
        may_read = caller is None or corpus == TOOLS or caller.may("read", str(corpus))
        was_found = status != 404 and "error" not in notes
        entry: dict[str, Any] = {
            "user": caller.user if caller else "",
            "client": (scope.get("client") or ("",))[0],
            **{key: str(value)[:MOST_CHARACTERS] for key, value in notes.items()},
            "decision": "denied" if status in DENIED or not (may_read or was_found) else "allowed",
            "status": status,
            "ms": round(1e3 * seconds, 3),
            "bytes": size,
        }
        if self.has_content:
            entry["content"] = _read_content(scope, body)
        self._write(entry)

    def close(self) -> None:
        self._write({"action": "stop"})

    def _write(self, entry: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, **current_ids(), **entry}, separators=(",", ":"))
        if len(self._waiting) < MOST_WAITING:
            self._waiting += f"{line}\n".encode()
        self._flush()

    def _flush(self) -> None:
        try:
            if self._path.exists() and self._path.stat().st_size >= self._most_bytes:
                self._rotate()
            with open(self._path, "ab", buffering=0, opener=partial(os.open, mode=0o600)) as file:
                while self._waiting:
                    self._waiting = self._waiting[file.write(self._waiting) :]
            self._problem = ""
        except OSError as error:
            if not self._problem:
                log.error("The audit log %s cannot be written: %s.", self._path, error.strerror or error)
            self._problem = error.strerror or str(error)

    def _rotate(self) -> None:
        """Rename the file to FILE.1, FILE.1 to FILE.2 and so on; the oldest one is replaced."""
        files = [self._path, *(Path(f"{self._path}.{number}") for number in range(1, self._files))]
        for older, newer in zip(files[:0:-1], files[-2::-1], strict=True):
            if newer.exists():
                os.replace(newer, older)


class CopiedBody:
    """Keeps what an application receives, unless that is too large to be logged."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.content: bytes | None = b""

    async def __call__(self) -> Message:
        message = await self._receive()
        if self.content is not None and message["type"] == "http.request":
            self.content += message.get("body", b"")
            if len(self.content) > MOST_CONTENT:
                self.content = None
        return message


def _read_content(scope: Scope, body: bytes | None) -> Any:
    """The parameters and the JSON of a request, without secrets."""
    content = redact_data(dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"))))
    if body is None:
        return content | {"body": f"more than {MOST_CONTENT} bytes"}
    try:
        return content | ({"body": redact_data(json.loads(body))} if body else {})
    except (ValueError, RecursionError):  # a file, or an error
        return content | {"body": f"{len(body)} bytes"}
