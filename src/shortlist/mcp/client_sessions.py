"""What the server for agents remembers of each client: its searches and uses, and the new tools it has seen."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TypeVar

from shortlist.retrieval.learning.usage_session import UsageSession

MOST_SESSIONS = 100

# The user and the address of the client that sent a request, and its MCP session if it has one; empty over stdio.
client_address = ContextVar("client_address", default="")

Value = TypeVar("Value")


class ClientSessions:
    """The latest clients, by their addresses."""

    def __init__(self) -> None:
        self._usage: dict[str, UsageSession] = {}
        self._announced: dict[str, set[str]] = {}

    def usage(self) -> UsageSession:
        """The session of the client that sent this request."""
        return _latest(self._usage, UsageSession())

    def announced(self) -> set[str]:
        """The ids of the new tools that the client that sent this request has seen."""
        return _latest(self._announced, set())


def _latest(values: dict[str, Value], new: Value) -> Value:
    """The value of the current client, which becomes the latest; the oldest ones are dropped."""
    address = client_address.get()
    value = values[address] = values.pop(address, new)
    while len(values) > MOST_SESSIONS:
        del values[next(iter(values))]
    return value
