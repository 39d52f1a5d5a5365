"""The socket of a gateway: it answers its own user, and a hook that gets no answer goes on without."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shortlist.mcp import hook_socket
from shortlist.mcp.hook_socket import answer_hooks, ask_gateway, socket_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such sockets in Python.")


def ask_while_answering(find_hints: Callable[[str], str], query: str = "light") -> str | None:
    async def main() -> str | None:
        async with answer_hooks(find_hints):
            found = await asyncio.to_thread(ask_gateway, query)
            await asyncio.sleep(0.05)  # else the loop may end before it has closed the connection
            return found

    return asyncio.run(main())


@pytest.fixture(autouse=True)
def short_path(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The folders of tests may be too long for a socket."""
    monkeypatch.setattr(hook_socket, "LONGEST_PATH", 107)
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path_factory.mktemp("d")))


def test_a_gateway_answers_the_hooks_of_its_project_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask_gateway("light") is None
    assert ask_while_answering(lambda query: f"for {query}: lämp", "light é") == "for light é: lämp"
    assert ask_while_answering(lambda _: "") == ""
    assert not list(socket_folder().iterdir())
    (tmp_path / "other").mkdir()

    def leave(_: str) -> str:
        return "lamp"

    async def ask_from_elsewhere() -> str | None:
        async with answer_hooks(leave):
            monkeypatch.chdir(tmp_path / "other")
            return await asyncio.to_thread(ask_gateway, "light")

    assert asyncio.run(ask_from_elsewhere()) is None


def test_a_gateway_that_fails_or_is_slow_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(query: str) -> str:
        raise OSError(query)

    assert ask_while_answering(fail) is None
    monkeypatch.setattr(hook_socket, "ANSWER_SECONDS", 0.05)

    def wait(query: str) -> str:
        time.sleep(0.5)
        return query

    assert ask_while_answering(wait) is None


def test_only_the_user_is_answered_and_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(query: str) -> str:
        asked.append(query)
        return "lamp"

    monkeypatch.setattr(hook_socket, "_is_own", lambda connection: False)
    assert ask_while_answering(note) is None
    assert not asked


def test_a_folder_that_others_can_enter_is_not_used() -> None:
    socket_folder().mkdir(parents=True)
    socket_folder().chmod(0o755)
    assert ask_while_answering(lambda _: "lamp") is None
    assert not list(socket_folder().iterdir())


def test_the_socket_of_a_killed_gateway_is_passed_over_and_removed() -> None:
    async def main() -> str | None:
        async with answer_hooks(lambda _: "lamp"):
            (own,) = socket_folder().iterdir()
            dead = own.with_name(f"{own.name.partition('-')[0]}-0")
            with socket.socket(socket.AF_UNIX) as killed:
                killed.bind(str(dead))
            os.utime(dead, (time.time() + 10, time.time() + 10))
            found = await asyncio.to_thread(ask_gateway, "light")
            async with answer_hooks(lambda _: "lamp"):
                assert not dead.exists()
            return found

    assert asyncio.run(main()) == "lamp"


def test_a_gateway_starts_beside_one_that_is_stopped() -> None:
    async def main() -> None:
        async with answer_hooks(lambda _: "lamp"):
            (own,) = socket_folder().iterdir()
            stopped = own.with_name(f"{own.name.partition('-')[0]}-0")
            with contextlib.ExitStack() as stack:
                listening = stack.enter_context(socket.socket(socket.AF_UNIX))
                listening.bind(str(stopped))
                listening.listen(0)
                for _ in range(2):  # more than its queue can have
                    waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                    waiting.setblocking(False)
                    with contextlib.suppress(BlockingIOError):
                        waiting.connect(str(stopped))
                assert await asyncio.wait_for(asyncio.to_thread(hook_socket._make_path), 10)
                assert stopped.exists()

    asyncio.run(main())


def test_the_probe_of_another_gateway_is_no_search() -> None:
    searched: list[str] = []

    def note(query: str) -> str:
        searched.append(query)
        return "lamp"

    async def main() -> str | None:
        async with answer_hooks(note):
            (own,) = socket_folder().iterdir()
            own.rename(own.with_name(f"{own.name.partition('-')[0]}-0"))
            async with answer_hooks(lambda _: "another"):
                return await asyncio.to_thread(ask_gateway, "")

    assert asyncio.run(main()) == ""
    assert not searched


def test_a_process_is_recognized_as_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = socket.socketpair()
    with left, right:
        assert hook_socket._is_own(left)
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert not hook_socket._is_own(left)
