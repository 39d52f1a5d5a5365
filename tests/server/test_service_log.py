"""The log of the service: lines of JSON that wait until a warning, an error or `write_lines`."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from shortlist.server.service_log import log_to_stderr, write_lines

NAMES = ("shortlist", "uvicorn", "mcp")


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """The loggers as they were, after the test."""
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(logger, logger.handlers, logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers = handlers
        logger.propagate = propagate
        logger.setLevel(level)


def read(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_lines_wait_until_they_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info")
    log = logging.getLogger("shortlist.serve")
    log.info("one", extra={"fields": {"status": 200}})
    log.debug("hidden")
    assert read(capsys) == []
    write_lines()
    (line,) = read(capsys)
    assert (line["level"], line["message"], line["status"]) == ("info", "one", 200)


def test_a_warning_writes_all_lines_and_an_error_has_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info")
    log = logging.getLogger("shortlist.serve")
    log.info("before")
    try:
        raise ValueError("wrong")
    except ValueError:
        log.exception("after")
    before, after = read(capsys)
    assert (before["message"], after["message"]) == ("before", "after")
    assert "ValueError: wrong" in str(after["traceback"])


def test_the_level_of_libraries_is_limited(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("debug")
    assert [logging.getLogger(name).level for name in NAMES] == [logging.DEBUG, logging.DEBUG, logging.WARNING]
