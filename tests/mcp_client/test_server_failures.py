"""Why a server failed, without what addresses the model."""

from __future__ import annotations

import logging
import sys

import pytest

from shortlist import (
    Problem,
)
from tests.mcp.conftest import Servers
from tests.mcp.gateway.test_tool_checks import INJECTED, discover_and_status
from tests.mcp_client.small_servers import SECRET, program, read

pytestmark = pytest.mark.process


@pytest.mark.usefixtures("quick_to_give_up")
def test_an_error_message_that_addresses_the_model_is_hidden(servers: Servers) -> None:
    servers.add("bad", behavior={"complain": f"{INJECTED}\n", "tools": "none"})
    (row,) = discover_and_status(servers)[1]["servers"]
    assert row["problem"].endswith("it addresses the model.")
    assert "gnore all" not in row["problem"]


def test_secrets_are_in_no_problem_log_or_output(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SHORTLIST_TEST_SECRET", SECRET)
    tell = "import os, sys; key = os.environ.get('KEY') or sys.argv[1]; print(key, flush=True); raise SystemExit(key)"
    found = read(
        {
            "env": program(tell, env={"KEY": SECRET}),
            "variable": {"command": sys.executable, "args": ["-c", tell, "--key=${SHORTLIST_TEST_SECRET}"]},
            "address": {"url": f"http://user:{SECRET}@127.0.0.1:1/mcp?key={SECRET}"},
            "bad address": {"url": f"http://[{SECRET}?key={SECRET}"},
            "header": {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
        }
    )
    assert [type(item) for item in found] == [Problem] * 5
    assert "It said: ***" in getattr(found[0], "reason", "")
    out, err = capfd.readouterr()
    for text in (str(found), caplog.text, out, err):
        assert SECRET not in text
