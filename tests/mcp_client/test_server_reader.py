"""Live servers are read at once, and one that fails is named."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from shortlist import (
    Document,
    Problem,
)
from tests.mcp_client.small_servers import ONE_TOOL, by_hand, ids, problem, program, read

pytestmark = pytest.mark.process

FAILING = {
    "exits at once": (program("pass"), "failed: Connection closed."),
    "fails": (program("raise SystemExit('no licence')"), "failed: Connection closed. It said: no licence"),
    "prints rubbish and exits": (program("print('{rubbish')"), "failed: Connection closed."),
    "is not there": ({"command": "/no/such/server"}, "failed: No such file or directory: '/no/such/server'."),
    "has arguments in its command": (
        {"command": "no-such-server --x"},
        "failed: No such file or directory: 'no-such-server --x'. Its arguments belong in 'args'.",
    ),
    "is not listening": ({"url": "http://127.0.0.1:1/mcp"}, "failed: All connection attempts failed."),
    "is not listening to events": ({"url": "http://127.0.0.1:1/sse", "type": "sse"}, "failed: All connection att"),
    "repeats a page": (
        by_hand(listing='answer(message["id"], {"result": {"tools": [], "nextCursor": "again"}})'),
        "failed: its list of tools does not end: the cursor 'again' was repeated.",
    ),
    "refuses": (
        by_hand(listing='answer(message["id"], {"error": {"code": -32000, "message": "log in first"}})'),
        "failed: log in first.",
    ),
    "lists what is no tool": (
        by_hand(listing='answer(message["id"], {"result": {"tools": [{"name": "x"}]}})'),
        "broke the protocol at tools.0.inputSchema: Field required.",
    ),
}


def test_a_server_is_read_while_the_caller_runs_an_event_loop() -> None:
    async def main() -> list[str]:
        return ids({"hand": by_hand()})

    assert asyncio.run(main()) == ["hand/lone"]


def test_servers_are_asked_at_the_same_time(tmp_path: Path) -> None:
    """Each answers only when the other has been started."""
    wait = "open({own!r}, 'w').close()\nwhile not os.path.exists({other!r}): time.sleep(0.01)"
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    servers = {
        "one": by_hand(before=wait.format(own=one, other=two)),
        "two": by_hand(before=wait.format(own=two, other=one)),
    }
    assert ids(servers) == ["one/lone", "two/lone"]


@pytest.mark.parametrize(("entry", "reason"), FAILING.values(), ids=FAILING)
def test_a_server_that_fails_is_named_and_the_others_are_read(entry: dict[str, Any], reason: str) -> None:
    found = read({"bad": entry, "good": by_hand()})
    (bad,) = (item for item in found if isinstance(item, Problem))
    assert (bad.id, bad.source) == ("bad", "bad")
    assert bad.reason.startswith(f"The server bad {reason}")
    assert [item.id for item in found if isinstance(item, Document)] == ["good/lone"]


def test_rubbish_between_the_answers_is_passed_over() -> None:
    noise = "print('Listening...\\n{', flush=True)"
    assert ids({"noisy": by_hand(before=noise, listing=f"{noise}; {ONE_TOOL}")}) == ["noisy/lone"]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_server_that_hangs_is_given_up_and_ended_even_if_it_will_not(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"trap '' TERM; echo $$ > {shlex.quote(str(pid))}; while :; do sleep 60; done"
    assert problem({"deaf": {"command": "sh", "args": ["-c", script]}}, timeout=3) == Problem(
        "deaf", "The server deaf did not answer within 3 seconds.", "deaf"
    )
    assert not is_alive(int(pid.read_text()))


def test_a_server_that_has_answered_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    assert ids({"hand": by_hand(before=f"open({str(pid)!r}, 'w').write(str(os.getpid()))")}) == ["hand/lone"]
    assert not is_alive(int(pid.read_text()))
