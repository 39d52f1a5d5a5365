"""A model on 127.0.0.1 that says one word to Claude Code, Codex and Qwen Code, and keeps what they send."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
ITEM = {"type": "message", "role": "assistant", "id": "i", "content": [{"type": "output_text", "text": "Done."}]}
RESPONSES = [  # the API that Codex uses
    {"type": "response.created", "response": {"id": "r"}},
    {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
    {"type": "response.completed", "response": {"id": "r", "output": [ITEM], "usage": USAGE}},
]
MESSAGE = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": USAGE}
MESSAGES = [  # that of Claude Code
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE},
    {"type": "message_stop"},
]
COMPLETION = {  # that of Qwen Code
    "id": "c",
    "object": "chat.completion.chunk",
    "model": "m",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}],
}


@contextmanager
def run_model() -> Iterator[tuple[str, list[str]]]:
    """The address of a model, and the bodies of the requests that it has answered."""
    received: list[str] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["content-length"])).decode())
            if "completions" in self.path:
                self._send(f"data: {json.dumps(COMPLETION)}\n\ndata: [DONE]\n\n")
                return
            events: list[Any] = MESSAGES if "messages" in self.path else RESPONSES
            self._send("".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events))

        def do_GET(self) -> None:
            self._send('{"data": [], "models": []}', "application/json")

        def _send(self, text: str, kind: str = "text/event-stream") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *values: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()
