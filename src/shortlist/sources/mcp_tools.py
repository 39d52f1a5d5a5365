"""The tools, prompts and resources of live MCP servers as documents.

What a server sends is untrusted text. The fingerprint in a document's metadata covers name, description and schema, so
that a changed tool can be distinguished from the approved one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import import_extra
from shortlist.mcp_client.connection import connect, describe_failure, list_entries, silence_logs
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.stdio_transport import StderrTail
from shortlist.sources.structured import to_json
from shortlist.sources.tools.tool_catalogs import tool_of

TIMEOUT_SECONDS = 30.0

# The kind of document, the capability of the server, the request, and the key of the answer.
LISTS = (
    ("tool", "tools", "ListToolsRequest", "tools"),
    ("prompt", "prompts", "ListPromptsRequest", "prompts"),
    ("resource", "resources", "ListResourcesRequest", "resources"),
    ("resource", "resources", "ListResourceTemplatesRequest", "resourceTemplates"),
)
SHOWN = ("name", "title", "description", "inputSchema", "annotations")
SIGNED = ("name", "description", "inputSchema", "arguments", "uri", "uriTemplate")


def read_servers(
    servers: Iterator[ServerConfig | Problem], timeout: float = TIMEOUT_SECONDS
) -> Iterator[Document | Problem]:
    """What the servers offer, all read at once. One that fails is a Problem whose source is its name, so that a corpus
    keeps the documents of it."""
    import asyncio  # noqa: PLC0415  # slow to load, and only servers need it
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    reachable = []
    for server in servers:
        if isinstance(server, Problem):
            yield server
        else:
            reachable.append(server)
    if not reachable:
        return
    import anyio  # noqa: PLC0415

    import_extra("mcp", "mcp", "Reading MCP servers")  # takes two seconds
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        yield from anyio.run(_read_all, reachable, timeout)
    else:  # the caller runs an event loop in this thread
        with ThreadPoolExecutor(1) as pool:
            yield from pool.submit(anyio.run, _read_all, reachable, timeout).result()


async def _read_all(servers: list[ServerConfig], timeout: float) -> list[Document | Problem]:
    import anyio  # noqa: PLC0415

    async def read(server: ServerConfig, items: list[Document | Problem]) -> None:
        stderr_tail, seconds = StderrTail(), server.start_seconds or timeout
        try:
            with closing(stderr_tail), anyio.fail_after(seconds):
                async with connect(server, stderr_tail) as client:
                    for kind, capability, request, key in LISTS:
                        if getattr(client.server_capabilities, capability) is not None:
                            async for entry in list_entries(client, request, key):
                                if kind != "tool" or server.offers(str(entry["name"])):
                                    items.append(document_of(server.name, kind, entry))
        except Exception as error:  # whatever a server does, the others are read
            items.append(Problem(server.name, describe_failure(server, stderr_tail, error, seconds), server.name))

    silence_logs()
    results: dict[str, list[Document | Problem]] = {server.name: [] for server in servers}
    async with anyio.create_task_group() as group:
        for server in servers:
            group.start_soon(read, server, results[server.name])
    return [item for items in results.values() for item in items]


def document_of(server: str, kind: str, entry: dict[str, Any]) -> Document | Problem:
    """An entry of a server as a document. Only what the protocol defines is indexed; the payload has everything."""
    name, uri = str(entry["name"]), entry.get("uri") or entry.get("uriTemplate")
    id = f"{server}/{ {'tool': name, 'prompt': f'prompt:{name}'}.get(kind, uri) }"
    shown = {key: entry[key] for key in SHOWN if key in entry}
    if arguments := {one["name"]: one for one in entry.get("arguments") or ()}:
        shown["inputSchema"] = {"properties": arguments}
    document = tool_of(shown, f"the {kind}s of {server}", to_json(entry))
    if isinstance(document, Problem):
        return Problem(id, document.reason, server)
    signed = json.dumps({key: entry.get(key) for key in SIGNED}, sort_keys=True)
    notes = {"uri": uri, "mime_type": entry.get("mimeType"), "annotations": entry.get("annotations")}
    metadata = {key: value for key, value in notes.items() if value} | {"server": server}
    metadata["fingerprint"] = blake2b(signed.encode(), digest_size=16).hexdigest()
    return replace(document, id=id, kind=kind, source=server, metadata=metadata)
