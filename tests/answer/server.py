"""A small scripted server that speaks chat completions over a socket."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Scripted:
    """One answer of the server: a status with headers and a body, in pieces with a flush after each."""

    status: int = 200
    body: Sequence[bytes] = ()
    headers: dict[str, str] = field(default_factory=dict)
    waits: float = 0.0
    hangs_up: bool = False


def completion(text: str | None = None, calls: Sequence[dict[str, Any]] = (), **more: Any) -> Scripted:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls)
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return Scripted(body=[json.dumps({"choices": [{"message": message}], "usage": usage, **more}).encode()])


def failure(status: int, message: str = "wait a little", **headers: str) -> Scripted:
    return Scripted(status, [json.dumps({"error": {"message": message}}).encode()], headers)


def event(data: Any) -> bytes:
    return f"data: {data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)}\n\n".encode()


def streamed(*texts: str, cut: int = 0, done: bool = True) -> Scripted:
    """Texts as events; cut into pieces of `cut` bytes, wherever these end."""
    whole = b": a comment\n\n" + b"".join(event({"choices": [{"delta": {"content": text}}]}) for text in texts)
    if done:
        whole += event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        whole += event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}})
        whole += event("[DONE]")
    pieces = [whole[at : at + cut] for at in range(0, len(whole), cut)] if cut else [whole]
    return Scripted(body=pieces, headers={"Content-Type": "text/event-stream"})


class ScriptedServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Sequence[Scripted]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedServer

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.asked.append(json.loads(self.rfile.read(length)))
        self.server.keys.append(self.headers["Authorization"])
        self.server.paths.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        now = self.server.script.pop(0)
        time.sleep(now.waits)
        if now.hangs_up:
            self.close_connection = True
            return
        self.send_response(now.status)
        for name, value in now.headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with suppress(OSError):  # the other side has had enough
            for piece in now.body:
                self.wfile.write(piece)
                self.wfile.flush()

    def log_message(self, format: str, *arguments: Any) -> None: ...


@contextmanager
def serving(*script: Scripted) -> Iterator[ScriptedServer]:
    server = ScriptedServer(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
