"""The servers and the home folder of the tests of the gateway, for the tests of connections."""

from __future__ import annotations

from tests.mcp.conftest import own_home, servers, start

__all__ = ["own_home", "servers", "start"]
