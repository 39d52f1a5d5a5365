"""How does an agent reach us, and what of its servers' tools does it get? The commands of the MCP server."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from shortlist.errors import InputError, MissingExtra
from shortlist.serve.cli.declare import Argument, option
from shortlist.serve.cli.names import names_in
from shortlist.serve.cli.output import OK, Output

if TYPE_CHECKING:
    from shortlist.serve.gateway.catalog import Tool
    from shortlist.serve.gateway.gateway import Gateway

Config = Annotated[
    list[str] | None,
    option("--config", help="A file that names the servers, in place of the usual ones; repeat it.", metavar="FILE"),
]
SHOWN = 300  # characters of a description


def run(
    out: Output,
    config: Config = None,
    corpus: Annotated[
        list[str] | None,
        option("--corpus", "-c", help="Serve only these corpora beside tools and skills; repeat it.", metavar="NAME"),
    ] = None,
) -> int:
    """Serve an agent over stdio: one search over all its tools, skills and documents, and a gateway to its servers."""
    import asyncio

    try:
        from shortlist.serve.mcp import Door, over_stdio
    except ImportError as error:
        raise MissingExtra("mcp", "mcp", "The MCP server") from error
    from shortlist.serve.collection import Collection, Stored
    from shortlist.serve.gateway.gateway import Gateway

    collection = Collection(Gateway.of(config or ()), Stored(names_in(corpus or ())))
    asyncio.run(over_stdio(Door(collection, _model)))
    return OK


@functools.cache
def _model() -> Any:
    """The language model, connected once."""
    from shortlist.serve.llm_settings import connect, llm_settings

    return connect(llm_settings())


def status(
    out: Output,
    config: Config = None,
    refresh: Annotated[bool, option("--refresh", help="Ask every server now what it offers.")] = False,
) -> int:
    """Tell which servers are configured, what they offer, and which tools are held back."""
    gateway = _gateway(config, refresh)
    held = [_row(tool) for tool in gateway.catalog.held()]
    data = {"servers": gateway.status(), "held": held}
    out.show(data, lambda screen: screen.servers(data), [row["tool"] for row in held])
    return OK


def approve(
    out: Output,
    names: Annotated[list[str] | None, Argument(metavar="[SERVER/TOOL|SERVER]...")] = None,
    everything: Annotated[bool, option("--all", help="All that are held back.")] = False,
    config: Config = None,
) -> int:
    """Let tools be used that are held back, as they are now; without a name, show them."""
    gateway = _gateway(config, refresh=False)
    held = gateway.catalog.held()
    wanted = held if everything else _meant(names or (), held, gateway)
    gateway.catalog.approve(wanted)
    left = [_row(tool) for tool in gateway.catalog.held()]
    data: dict[str, Any] = {"approved": [tool.id for tool in wanted], "held": left}
    out.show(data, lambda screen: screen.approved(data), data["approved"])
    return OK


def _gateway(config: Sequence[str] | None, refresh: bool) -> Gateway:
    from shortlist.serve.gateway.gateway import Gateway

    gateway = Gateway.of(config or ())
    if refresh:
        import asyncio
        from importlib.util import find_spec

        if find_spec("mcp") is None:
            raise MissingExtra("mcp", "mcp", "Asking MCP servers")

        async def ask() -> None:
            try:
                await gateway.refresh()
            finally:
                await gateway.close()

        asyncio.run(ask())
    return gateway


def _meant(names: Sequence[str], held: Sequence[Tool], gateway: Gateway) -> list[Tool]:
    found: dict[str, Tool] = {}
    for name in names:
        meant = [tool for tool in held if name in (tool.id, tool.server)]
        if not meant and name not in gateway.catalog.tools() and name not in gateway.catalog.servers:
            from shortlist._text import did_you_mean

            near = did_you_mean(name, [*(tool.id for tool in held), *gateway.catalog.servers])
            raise InputError(f"No tool and no server is called {name!r}.{near} shortlist mcp status lists them.")
        found |= {tool.id: tool for tool in meant}
    return list(found.values())


def _row(tool: Tool) -> dict[str, Any]:
    return {"tool": tool.id, "reason": tool.held, "description": tool.description[:SHOWN]}
