"""The tools, prompts and resources of live MCP servers as documents.

What a server sends is untrusted text. The fingerprint in a document's metadata covers name, description and schema, so
that a changed tool can be distinguished from the approved one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import import_extra
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.sources.structured import to_json
from shortlist.sources.tools.tool_catalogs import tool_of

TIMEOUT_SECONDS = 30.0

SHOWN = ("name", "title", "description", "inputSchema", "annotations")
SIGNED = ("name", "description", "inputSchema", "arguments", "uri", "uriTemplate")


def read_servers(
    servers: Iterator[ServerConfig | Problem], timeout: float = TIMEOUT_SECONDS
) -> Iterator[Document | Problem]:
    """What the servers offer, all read at once. One that fails is a Problem whose source is its name, so that a corpus
    keeps the documents of it."""
    reachable = []
    for server in servers:
        if isinstance(server, Problem):
            yield server
        else:
            reachable.append(server)
    if reachable:
        import_extra("mcp", "mcp", "Reading MCP servers")  # takes two seconds
        from shortlist.mcp_client.server_reader import read_all  # noqa: PLC0415  # imports the SDK

        yield from read_all(reachable, document_of, timeout)


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
