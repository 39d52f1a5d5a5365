"""The log: an id, one line and a number for each request, and every failure."""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shortlist.server.http_errors import REQUEST_ID, problem
from shortlist.server.service_metrics import Metrics

log = logging.getLogger("shortlist.serve")

_USABLE = re.compile(r"[A-Za-z0-9._:/+=-]{1,100}")


class Watch:
    """ASGI middleware around everything else."""

    def __init__(self, app: ASGIApp, metrics: Metrics, timed: Collection[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._timed = timed  # routes whose latencies are shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        given = Headers(scope=scope).get("x-request-id", "")
        id = scope[REQUEST_ID] = given if _USABLE.fullmatch(given) else secrets.token_hex(8)
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", id.encode())]
            await send(message)

        self._metrics.in_progress += 1
        try:
            await self._app(scope, receive, send_with_id)
        except Exception:
            log.exception("A request failed.", extra={"fields": {"request_id": id}})
            if not status:
                detail = f"Something unexpected went wrong. The log of the service has the details of the request {id}."
                await problem(scope, 500, detail)(scope, receive, send_with_id)
        finally:
            self._metrics.in_progress -= 1
            self._note(scope, id, status or 499, time.perf_counter() - began)  # 499: the caller went away

    def _note(self, scope: Scope, id: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.count(route, scope["method"], status, seconds)
        if route in self._timed:
            self._metrics.latencies.add(seconds)
        if log.isEnabledFor(logging.INFO):
            fields = {
                "request_id": id, "method": scope["method"], "path": scope["path"], "status": status,
                "ms": round(1e3 * seconds, 3), "client": (scope.get("client") or ("",))[0],
            }  # fmt: skip
            log.handle(logging.makeLogRecord({**_REQUEST, "fields": fields}))


# Made directly: the logger would look for the line of code that it comes from, which takes longer than all of the rest.
_REQUEST = {"name": log.name, "levelno": logging.INFO, "levelname": "INFO", "msg": "request"}


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


@lru_cache(1)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def log_to_stderr(level: str) -> None:
    """Log the service and its server to stderr, from a level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("shortlist", "uvicorn", "mcp"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper() if name != "mcp" or level in ("error", "critical") else "WARNING")
        logger.propagate = False
