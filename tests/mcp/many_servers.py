"""A configuration of many servers, none of which is started, and the tokens of what an agent reads of their tools."""

from __future__ import annotations

import functools
import json
import random
import sys
from pathlib import Path
from typing import Any

from shortlist.index.embedders import named
from shortlist.index.embedders.tokenization import BytePairTokenizer
from shortlist.mcp.catalog_index import CatalogIndex
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.tool_definitions import DEFINITIONS

SERVERS, TOOLS = 50, 2_000
VERBS = ("get", "list", "create", "update", "delete", "search", "send", "export", "import", "archive", "share")
NOUNS = ("order", "invoice", "customer", "ticket", "page", "file", "branch", "message", "event", "report", "budget")


@functools.cache
def _tokenizer() -> BytePairTokenizer:
    return BytePairTokenizer(named.STATIC / "tokens.json")


def count_tokens(text: str) -> int:
    """Tokens by the tokenizer that comes with the default embedder: the 32,000 pieces of LLaMA 2, without a network.

    Newer models have larger vocabularies, and count fewer on both sides.
    """
    return len(_tokenizer().encode(text, sys.maxsize))


def make_servers(
    folder: Path, servers: int = SERVERS, each: int = TOOLS // SERVERS
) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    """A configuration of servers, and what each offers; none of them can be started, nor needs to be."""
    rng = random.Random(1)
    offers = {f"server{number:02}": [_tool(rng, number * each + at) for at in range(each)] for number in range(servers)}
    config = folder / "servers.json"
    entries = {name: {"command": "/nonexistent/server", "args": [name]} for name in offers}
    config.write_text(json.dumps({"mcpServers": entries}))
    return config, offers


def _tool(rng: random.Random, number: int) -> dict[str, Any]:
    """About as long as the tools of well-known servers: a sentence or two and a few described parameters."""
    verb, noun, other = rng.choice(VERBS), rng.choice(NOUNS), rng.choice(NOUNS)
    properties: dict[str, Any] = {
        f"{noun}_id": {"type": "string", "description": f"The unique identifier of the {noun}"},
        "limit": {"type": "integer", "description": "How many entries to return at most", "minimum": 1, "maximum": 100},
        "format": {"type": "string", "enum": ["summary", "full", "csv"], "description": "How the answer is written"},
        f"{other}_filter": {"type": "string", "description": f"Only entries whose {other} matches this expression"},
    }
    return {
        "name": f"{verb}_{noun}_{number}",
        "description": f"{verb.capitalize()} a {noun} by its {other}. Use this when the user wants to {verb} the "
        f"{noun} of a {other} in workspace {number}, and the {noun} is known.",
        "inputSchema": {"type": "object", "properties": properties, "required": [f"{noun}_id"]},
    }


def fill_catalog(config: Path, offers: dict[str, list[dict[str, Any]]]) -> None:
    """Let the catalog and its index be those of a day on which all servers could be asked."""
    gateway = Gateway(GatewayConfig([config]))
    for name, tools in offers.items():
        gateway.catalog.update(gateway.catalog.servers[name], tools)
    index = CatalogIndex(gateway.home / "tools", gateway.catalog)
    index.corpus()
    index.close()


def compare_tokens(offers: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The tokens of our definitions and of those of all servers."""
    ours = count_tokens(json.dumps(list(DEFINITIONS)))
    theirs = sum(count_tokens(json.dumps(tools)) for tools in offers.values())
    return {
        "servers": SERVERS,
        "tools": TOOLS,
        "tokens of our tool definitions": ours,
        "tokens of all schemas upstream": theirs,
        "ratio": round(theirs / ours),
    }
