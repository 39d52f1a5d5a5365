"""However `shortlist mcp` ends, it ends soon and leaves no server behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

import shortlist
from shortlist.mcp_client.server_watcher import SHELL, WATCH, ServerWatcher, can_wait
from tests.mcp.conftest import WAIT_SECONDS, _is_alive

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform == "win32", reason="signals")]

# A server that never answers, ignores the end of its input and SIGTERM, and has started another process.
DEAF = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()} {child.pid}\\n")
time.sleep(600)
"""
END_SECONDS = 3.0
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def wait_for(is_so: Callable[[], Any], seconds: float = WAIT_SECONDS) -> bool:
    ends = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


class RunningGateway:
    """`shortlist mcp` as a process, which was asked to act."""

    def __init__(self, folder: Path, servers: dict[str, Any], *options: str, **environment: str) -> None:
        config = folder / "servers.json"
        config.write_text(json.dumps({"mcpServers": servers}))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shortlist", "mcp", "--config", str(config), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=os.environ | environment,
            start_new_session=True,
        )

    @property
    def input(self) -> IO[str]:
        assert self.process.stdin
        return self.process.stdin

    def ask(self, tool: str, **arguments: str) -> None:
        call = {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        first = {"id": 1, "method": "initialize", "params": INITIALIZE}
        for message in (first, {"method": "notifications/initialized"}, call):
            self.input.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.input.flush()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout
        while (message := json.loads(self.process.stdout.readline())).get("id") != 2:
            pass
        return dict(message["result"])

    def close(self) -> None:
        self.process.kill()
        self.process.wait(WAIT_SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            if stream and not stream.closed:
                stream.close()


Start = Callable[..., RunningGateway]


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Start]:
    started: list[RunningGateway] = []

    def start(servers: dict[str, Any], *options: str, **environment: str) -> RunningGateway:
        started.append(RunningGateway(tmp_path, servers, *options, **environment))
        return started[-1]

    yield start
    for one in started:
        one.close()


class DeafServers:
    """Servers that only SIGKILL ends."""

    def __init__(self, folder: Path, count: int = 3) -> None:
        program, self._starts = folder / "deaf.py", folder / "starts"
        program.write_text(DEAF)
        entry = {"command": sys.executable, "args": [str(program), str(self._starts)]}
        self.entries = {f"deaf{number}": entry for number in range(count)}

    def pids(self) -> list[int]:
        return [int(word) for word in self._starts.read_text().split()] if self._starts.exists() else []

    def alive(self) -> list[int]:
        return [pid for pid in self.pids() if _is_alive(pid)]


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[DeafServers]:
    servers = DeafServers(tmp_path)
    yield servers
    for pid in servers.alive():
        os.kill(pid, signal.SIGKILL)


def end(running: RunningGateway, how: str) -> None:
    if how.startswith("end of input"):
        running.input.close()
    if how == "end of input, then SIGKILL":
        time.sleep(0.2)  # as clients do
    if how.endswith("SIGKILL"):
        running.process.kill()
    if how == "SIGTERM":
        running.process.terminate()
    if how == "SIGKILL of the group":
        os.killpg(running.process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "how", ["SIGKILL", "end of input, then SIGKILL", "SIGKILL of the group", "SIGTERM", "end of input"]
)
def test_no_server_is_left_if_the_gateway_ends_while_they_start(gateway: Start, deaf: DeafServers, how: str) -> None:
    running = gateway(deaf.entries)
    running.ask("discover", query="rain")
    assert wait_for(deaf.pids)  # the others are about to be started
    end(running, how)
    assert wait_for(lambda: running.process.poll() is not None, 10 * END_SECONDS)
    assert wait_for(lambda: not deaf.alive(), END_SECONDS), deaf.alive()


@pytest.mark.skipif(not shutil.which("npx"), reason="needs an npm server")
def test_no_npm_server_is_left(gateway: Start) -> None:
    command = shutil.which("mcp-server-everything")
    if not command:
        pytest.skip("mcp-server-everything is not installed")
    running = gateway({"everything": {"command": command}})
    running.ask("discover", query="rain")
    children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
    assert wait_for(lambda: children.read_text("utf-8").strip())
    pids = [int(pid) for pid in children.read_text("utf-8").split()]
    running.process.kill()
    assert wait_for(lambda: not any(map(_is_alive, pids)), END_SECONDS)


@pytest.mark.parametrize("how", ["SIGTERM", "end of input"])
def test_it_ends_while_a_language_model_does_not_answer(gateway: Start, how: str) -> None:
    shortlist.build({"tea": "Green tea is brewed at 80 degrees."}, "notes").close()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        running = gateway({}, SHORTLIST_LLM_URL=url, SHORTLIST_LLM_MODEL="m")
        running.ask("ask", question="How hot is green tea brewed?")
        silent.settimeout(WAIT_SECONDS)
        with silent.accept()[0]:
            end(running, how)
            assert running.process.wait(10 * END_SECONDS) == 0


def test_discover_reports_a_corpus_that_was_never_built_and_does_not_build_it(gateway: Start, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tea.json").write_text(json.dumps([{"tea": "green"}] * 100))
    shortlist.register("notes", "files", root=notes, embedder="none")
    shortlist.register("empty", "files", root=notes, embedder="none")
    shortlist.create_corpus("empty", embedder="none").close()
    running = gateway({}, "--corpus", "notes,empty")
    running.ask("discover", query="green tea")
    found = running.answer()["structuredContent"]
    assert found["results"] == []
    assert "Not searched: notes, empty." in found["note"]
    assert "shortlist build notes" in found["note"]
    with shortlist.open_corpus("empty") as corpus:
        assert len(corpus) == 0
    with pytest.raises(shortlist.CorpusNotFound):
        shortlist.open_corpus("notes")


# The shell that watches


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


def test_the_watcher_kills_what_was_not_removed(sleeper: subprocess.Popen[bytes]) -> None:
    watcher = ServerWatcher()
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as other:
        for pid in (1 << 29, sleeper.pid, other.pid, 1 << 28):
            watcher.add(pid)
        watcher.remove(sleeper.pid)
        watcher.close()
        assert other.wait(WAIT_SECONDS) == -signal.SIGKILL
    assert sleeper.poll() is None


def test_a_watcher_that_was_killed_is_replaced(sleeper: subprocess.Popen[bytes]) -> None:
    watcher = ServerWatcher()
    watcher.add(sleeper.pid)
    assert watcher._shell
    watcher._shell.kill()
    watcher._shell.wait(WAIT_SECONDS)
    watcher.add(1 << 29)
    watcher.close()
    assert sleeper.wait(WAIT_SECONDS) == -signal.SIGKILL


@pytest.mark.parametrize("shell", [SHELL, "bash", "dash", "busybox sh", "zsh"])
def test_every_shell_understands_the_watcher(sleeper: subprocess.Popen[bytes], shell: str) -> None:
    command = shell.split()
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    lines = f"+ 536870912\n+ {sleeper.pid}\n+ 536870913\n- 536870912\n"
    subprocess.run([*command, "-c", WATCH], input=lines, text=True, check=False, timeout=WAIT_SECONDS)
    assert sleeper.wait(WAIT_SECONDS) == -signal.SIGKILL


def test_a_server_with_variables_that_a_shell_would_drop_is_started_without_one() -> None:
    assert can_wait({"PATH": "/bin", "_A1": "x"})
    assert not can_wait({"npm_config_//host/:_authToken": "x"})
    assert not can_wait({"a.b": "x"})
