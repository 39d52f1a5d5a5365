"""A live MCP server for the tests: `mcp_server.py OFFER.json [stdio|http]`.

It offers what the file says now, five entries a page. Over HTTP it takes a free port of 127.0.0.1, says which on its
first line, and ends when its standard input does, so that it cannot outlive the tests.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

PAGE = 5
OFFER = Path(sys.argv[1])


def page(key: str, params: types.PaginatedRequestParams | None) -> dict[str, Any]:
    start = int((params and params.cursor) or 0)
    entries = json.loads(OFFER.read_text("utf-8")).get(key, [])
    following = str(start + PAGE) if start + PAGE < len(entries) else None
    return {key: entries[start : start + PAGE], "nextCursor": following}


async def list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult.model_validate(page("tools", params))


async def list_prompts(_: Any, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult.model_validate(page("prompts", params))


async def list_resources(_: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult.model_validate(page("resources", params))


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    text = f"{params.name} {json.dumps(params.arguments)}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


server = Server(
    "shop",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_prompts=list_prompts,
    on_list_resources=list_resources,
)  # no templates: a client must take "method not found" for none


async def over_stdio() -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def over_http() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    config = uvicorn.Config(server.streamable_http_app(), log_level="critical")
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    anyio.run(over_http if sys.argv[2:] == ["http"] else over_stdio)
