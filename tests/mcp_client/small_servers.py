"""Servers without the SDK, which write only what a test needs, and what is read of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from shortlist import CorpusSource, Document, Problem

WAIT_SECONDS = 120.0  # seconds for a server that will answer, on a machine that is busy with other things
# A server without the SDK, which writes only what the test needs.
BY_HAND = """
import json, os, sys, time
{before}
def answer(id, result):
    print(json.dumps({{"jsonrpc": "2.0", "id": id, **result}}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        answer(message["id"], {{"result": {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}},
                                          "serverInfo": {{"name": "by hand", "version": "1"}}}}}})
    elif message["method"] == "tools/list":
        cursor = (message.get("params") or {{}}).get("cursor")
        {listing}
    elif "id" in message:
        answer(message["id"], {{"error": {{"code": -32601, "message": "no such method"}}}})
"""
ONE_TOOL = 'answer(message["id"], {"result": {"tools": [{"name": "lone", "inputSchema": {"type": "object"}}]}})'


def by_hand(before: str = "", listing: str = ONE_TOOL, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", BY_HAND.format(before=before, listing=listing)], **more}


def program(code: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", code], **more}


def read(servers: dict[str, Any], timeout: float = WAIT_SECONDS) -> list[Document | Problem]:
    return list(CorpusSource.from_mcp({"mcpServers": servers}, timeout=timeout))


def ids(servers: dict[str, Any]) -> list[str]:
    return [item.id for item in read(servers)]


def problem(servers: dict[str, Any], timeout: float = WAIT_SECONDS) -> Problem:
    (found,) = read(servers, timeout)
    assert isinstance(found, Problem)
    return found


SECRET = "sk-very-secret-4711"


def show(variable: str) -> str:
    """A tool named by what the server finds in its environment."""
    tool = f'{{"name": os.environ.get({variable!r}, "nothing"), "inputSchema": {{"type": "object"}}}}'
    return f'answer(message["id"], {{"result": {{"tools": [{tool}]}}}})'


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path
