"""The lists of one server behind the gateway: tools for the catalog, prompts and resources for the offers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from shortlist.mcp.gateway.client_link import ClientLink
from shortlist.mcp.gateway.server_offers import LISTS, ServerOffers
from shortlist.mcp.gateway.tool_catalog import ToolCatalog
from shortlist.mcp_client.server_config import ServerConfig

if TYPE_CHECKING:
    from shortlist.mcp.gateway.upstream_session import UpstreamSession

OFFERS_SECONDS = 30.0  # to list prompts and resources
RELIST_SECONDS = 60.0  # after which the tools are listed again before a call
LIST_INTERVAL_SECONDS = 1.0  # minimum between lists, however often the server reports changes


class UpstreamListing:
    """What a server offers, read over its session and stored for all clients."""

    def __init__(self, server: ServerConfig, catalog: ToolCatalog, offers: ServerOffers, link: ClientLink) -> None:
        self._server, self._catalog, self._offers, self._link = server, catalog, offers, link
        self._listed_at = 0.0
        self._lock = asyncio.Lock()

    @property
    def is_old(self) -> bool:
        """Whether the tools may have changed since they were listed."""
        return asyncio.get_running_loop().time() - self._listed_at > RELIST_SECONDS

    async def wait_for_turn(self) -> None:
        """Wait between lists, so that a server that reports many changes is not listed for each."""
        await asyncio.sleep(LIST_INTERVAL_SECONDS)

    async def list_tools(self, session: UpstreamSession) -> None:
        """Store the tools that the server offers now."""
        async with self._lock:
            entries = []
            if session.capabilities.tools is not None:
                entries = await session.list_entries("ListToolsRequest", "tools")
            self._listed_at = asyncio.get_running_loop().time()
            await asyncio.to_thread(self._catalog.update, self._server, entries, self._link.profile.variant)

    async def list_offers(self, session: UpstreamSession) -> None:
        """Store the prompts and resources that the server offers now; failures are ignored."""
        lists: dict[str, list[dict[str, Any]]] = {}
        try:
            async with asyncio.timeout(OFFERS_SECONDS):
                for capability, request, key in LISTS:
                    lists[key] = []
                    if getattr(session.capabilities, capability) is not None:
                        lists[key] = await session.list_entries(request, key)
        except Exception:
            return
        if await asyncio.to_thread(self._offers.update, self._server, lists):
            await self._link.notify(lambda client: client.send_prompt_list_changed())
            await self._link.notify(lambda client: client.send_resource_list_changed())
