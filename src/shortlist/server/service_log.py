"""The log of the service: lines on stderr, JSON unless that is a terminal."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from functools import lru_cache
from logging.handlers import MemoryHandler
from typing import Any

from shortlist._telemetry import current_ids

MOST_LINES = 1_000  # that wait to be written


def log_to_stderr(level: str) -> None:
    """Log the service and its libraries as lines of JSON or, on a terminal, only warnings and errors as plain text."""
    handler = BatchedLines()
    handler.setFormatter(logging.Formatter("shortlist: %(message)s") if sys.stderr.isatty() else JsonLines())
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = (
        False  # not looked up, since no line has them
    )
    logging.logAsyncioTasks = False  # type: ignore[attr-defined]  # from Python 3.12
    quiet = level if level in ("error", "critical") else "warning"
    for name in ("shortlist", "uvicorn", "mcp"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel((quiet if name == "mcp" or sys.stderr.isatty() else level).upper())
        logger.propagate = False


class BatchedLines(MemoryHandler):
    """Lines on stderr. Requests are written together; a warning or an error writes all that waits.

    Every write lets other threads run Python in between, which takes longer than the write.
    """

    def __init__(self) -> None:
        super().__init__(capacity=MOST_LINES, flushLevel=logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        if not hasattr(record, "ids"):
            record.ids = current_ids()
        super().emit(record)

    def flush(self) -> None:
        self.acquire()
        try:
            if records := self.buffer:
                self.buffer = []
                try:
                    sys.stderr.write("".join(f"{self.format(record)}\n" for record in records))
                    sys.stderr.flush()
                except Exception:
                    self.handleError(records[-1])
        finally:
            self.release()


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": f"{_format_second(int(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "ids", {}),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _to_json(line)


_to_json = json.JSONEncoder(default=str).encode


@lru_cache(maxsize=2)
def _format_second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def write_lines() -> None:
    """Write the lines that wait; the server calls this ten times a second."""
    for handler in logging.getLogger("shortlist").handlers:
        handler.flush()
