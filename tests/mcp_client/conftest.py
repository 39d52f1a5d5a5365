"""The servers and the home folder of the tests of the gateway, and a server that needs a sign-in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shortlist.mcp.gateway import upstream
from shortlist.mcp_client import stdio_transport
from tests.mcp.conftest import Servers, own_home, servers, start
from tests.mcp_client.authorization import Protected, configure, open_with, protected_server, visit

__all__ = ["own_home", "servers", "start"]


@pytest.fixture
def notes(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Protected]:
    """A server that needs a sign-in, configured, and a browser in which the user is known to its authority."""
    with protected_server() as protected:
        configure(servers, url=protected.url)
        open_with(monkeypatch, visit)
        yield protected


@pytest.fixture
def quick_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "MOST_FAILURES", 1)
    monkeypatch.setattr(stdio_transport, "LONGEST_LINE_BYTES", 1 << 20)
