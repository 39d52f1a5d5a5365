"""Limits and sizes that settings and the library share, and an end of work as soon as its caller no longer waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import NamedTuple, TypeVar

from shortlist._environment import MAX_QUERY_CHARACTERS as VARIABLE
from shortlist._environment import read_variable
from shortlist.errors import InputError, QueryTooLong

Result = TypeVar("Result")

MAX_QUERY_CHARACTERS = 8_000  # the default of limits.max_query_characters
LARGEST = 1 << 20  # limit that can be set

# Characters of a chunk of a file, and those that it shares with the next one.
CHUNK_SIZE = 800
CHUNK_OVERLAP = 120


class ReadLimits(NamedTuple):
    """Limits of reading one file that needs a parser: seconds, and megabytes of memory."""

    seconds: float = 60.0
    memory_mb: int = 2048


# Of the service that a request was sent to; else the environment, settings.yaml or the default says it.
file_limits: ContextVar[ReadLimits | None] = ContextVar("file_limits", default=None)

# What the settings of a service say; else the environment variable or the default applies.
max_query_characters: ContextVar[int | None] = ContextVar("max_query_characters", default=None)


def check_length(text: str, what: str = "query") -> str:
    """Raise an error if a query is too long; what is done with one takes time for each of its words."""
    most = max_query_characters.get() or _parse_limit(read_variable(VARIABLE))
    if len(text) > most:
        raise QueryTooLong(
            f"The {what} has {len(text):,} characters, and the limit is {most:,}. Shorten it, or raise the limit "
            f"(limits.max_query_characters, {VARIABLE})."
        )
    return text


@lru_cache(maxsize=8)
def _parse_limit(text: str) -> int:
    if not text:
        return MAX_QUERY_CHARACTERS
    if not text.isdecimal() or not 1 <= int(text) <= LARGEST:
        rule = f"limits.max_query_characters must be a whole number from 1 to {LARGEST}"
        raise InputError(f"{VARIABLE}: {rule}, not {text!r}.")
    return int(text)


class Canceled(BaseException):
    """The caller no longer waits. Like KeyboardInterrupt, no `except Exception` on the way continues the work."""


_canceled: ContextVar[tuple[threading.Event, ...]] = ContextVar("_canceled", default=())


@contextmanager
def cancelable(event: threading.Event) -> Iterator[None]:
    """Work that ends at its next check once the event, or one of a surrounding call, is set."""
    token = _canceled.set((*_canceled.get(), event))
    try:
        yield
    finally:
        _canceled.reset(token)


def check_canceled() -> None:
    """Raise Canceled if the caller no longer waits; called between the stages of a query and in long loops."""
    events = _canceled.get()
    if events and any(event.is_set() for event in events):
        raise Canceled


async def run_in_thread(work: Callable[[], Result]) -> Result:
    """Run work in a thread, in the context of the caller. It ends at its next check if the caller is canceled."""
    import asyncio  # noqa: PLC0415  # slow to import, and only needed by asynchronous programs

    is_canceled = threading.Event()

    def run() -> Result:
        with cancelable(is_canceled):
            return work()

    try:
        return await asyncio.to_thread(run)
    finally:
        is_canceled.set()
