"""Reads what live MCP servers offer, all of them at once. Imports the SDK: import it on first use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import anyio

from shortlist.documents import Document, Problem
from shortlist.mcp_client.connection import connect, list_entries
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.server_failures import StderrTail, describe_failure

# The kind of document, the capability of the server, the request, and the key of the answer.
LISTS = (
    ("tool", "tools", "ListToolsRequest", "tools"),
    ("prompt", "prompts", "ListPromptsRequest", "prompts"),
    ("resource", "resources", "ListResourcesRequest", "resources"),
    ("resource", "resources", "ListResourceTemplatesRequest", "resourceTemplates"),
)

MakeDocument = Callable[[str, str, dict[str, Any]], Document | Problem]


def read_all(servers: list[ServerConfig], make: MakeDocument, timeout: float) -> list[Document | Problem]:
    """What `make` makes of the name of a server, a kind and an entry; for a server that fails, a Problem."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(_read_all, servers, make, timeout)
    with ThreadPoolExecutor(1) as pool:  # the caller runs an event loop in this thread
        return pool.submit(anyio.run, _read_all, servers, make, timeout).result()


async def _read_all(servers: list[ServerConfig], make: MakeDocument, timeout: float) -> list[Document | Problem]:
    async def read(server: ServerConfig, items: list[Document | Problem]) -> None:
        stderr_tail = StderrTail()
        seconds = server.start_seconds or timeout
        try:
            with closing(stderr_tail), anyio.fail_after(seconds):
                async with connect(server, stderr_tail) as client:
                    for kind, capability, request, key in LISTS:
                        if getattr(client.server_capabilities, capability) is not None:
                            async for entry in list_entries(client, request, key):
                                if kind != "tool" or server.offers(str(entry["name"])):
                                    items.append(make(server.name, kind, entry))
        except Exception as error:  # whatever a server does, the others are read
            items.append(Problem(server.name, describe_failure(server, stderr_tail, error, seconds), server.name))

    results: dict[str, list[Document | Problem]] = {server.name: [] for server in servers}
    async with anyio.create_task_group() as group:
        for server in servers:
            group.start_soon(read, server, results[server.name])
    return [item for items in results.values() for item in items]
