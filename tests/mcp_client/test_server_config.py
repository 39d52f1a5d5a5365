"""Configurations of servers: variables, limits, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shortlist import (
    Problem,
)
from shortlist.mcp_client.server_config import ServerConfig, servers_of
from tests.mcp_client.small_servers import by_hand, ids, problem, read, show

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("${SHORTLIST_TEST}", "given"),
        ("a-${SHORTLIST_TEST}-${SHORTLIST_TEST}", "a-given-given"),
        ("${env:SHORTLIST_TEST}", "given"),
        ("${SHORTLIST_TEST:-other}", "given"),
        ("${SHORTLIST_NOT_SET:-other}", "other"),
        ("${SHORTLIST_EMPTY:-other}", "other"),
        ("$SHORTLIST_TEST", "$SHORTLIST_TEST"),
        (5, "5"),
    ],
)
def test_variables_are_replaced(monkeypatch: pytest.MonkeyPatch, value: Any, expected: str) -> None:
    monkeypatch.setenv("SHORTLIST_TEST", "given")
    monkeypatch.setenv("SHORTLIST_EMPTY", "")
    assert ids({"hand": by_hand(listing=show("SHOWN"), env={"SHOWN": value})}) == [f"hand/{expected}"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"command": "${SHORTLIST_NOT_SET}"}, "needs the environment variable SHORTLIST_NOT_SET, which is not set"),
        ({"command": "x", "env": {"A": "${input:key}"}}, "asks for 'input:key' when it starts"),
        ("text", "is not a mapping"),
        ({}, "has neither a 'command' nor a 'url'"),
        ({"command": 5}, "has a 'command' that is not a string"),
        ({"command": "x", "args": "y"}, "has a 'args' that is not a list"),
        ({"command": "x", "env": ["y"]}, "has a 'env' that is not a mapping"),
    ],
    ids=str,
)
def test_a_server_that_is_configured_wrongly_is_a_problem_under_its_name(entry: Any, reason: str) -> None:
    bad, good = read({"bad": entry, "good": by_hand()})
    assert isinstance(bad, Problem)
    assert (bad.id, bad.source, good.id) == ("bad", "bad", "good/lone")
    assert bad.reason.startswith(f"The server bad in The configuration {reason}")


def test_a_server_that_is_switched_off_is_left_out() -> None:
    servers = {"off": by_hand(disabled=True), "also off": by_hand(enabled=False), "on": by_hand(disabled=False)}
    assert ids(servers) == ["on/lone"]


@pytest.mark.parametrize(
    "wrong", [{"allow": "find"}, {"deny": [5]}, {"timeout_seconds": "long"}, {"startup_timeout_sec": True}]
)
def test_lists_and_limits_that_mean_nothing_are_a_problem(wrong: dict[str, Any]) -> None:
    assert next(iter(wrong)) in problem({"shop": {"command": "shop"} | wrong}).reason


@pytest.mark.parametrize("key", ["startup_timeout_sec", "startup_timeout_seconds"])
def test_a_server_has_a_start_limit_of_its_own(key: str) -> None:
    (server,) = servers_of({"mcpServers": {"shop": {"command": "shop", key: 2.5}}}, Path.cwd(), "a mapping")
    assert isinstance(server, ServerConfig)
    assert (server.start_seconds, server.seconds) == (2.5, None)
