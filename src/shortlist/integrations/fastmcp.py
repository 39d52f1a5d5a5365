"""FastMCP: a search transform, with which a server shows a search and a call instead of all its tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from hashlib import sha256
from threading import Lock
from typing import Annotated, Any, Unpack

from shortlist.errors import InputError, needs_extra
from shortlist.integrations.toolbox import Toolbox
from shortlist.protocols import ToolKeywords

with needs_extra("fastmcp", "The integration with FastMCP"):
    from fastmcp.exceptions import ToolError
    from fastmcp.server.context import Context
    from fastmcp.server.transforms.search import SearchResultSerializer
    from fastmcp.server.transforms.search.base import BaseSearchTransform
    from fastmcp.tools import Tool

MOST_CATALOGS = 8  # clients with different permissions see different tools; the latest are kept


class ShortlistSearchTransform(BaseSearchTransform):
    """`mcp.add_transform(ShortlistSearchTransform())`: the tools that fit a query, or the reason why none does.

    By default these are 1 to 5, as many as are nearly as relevant as the best; `max_results` lowers that limit. The
    first arguments are those of FastMCP's own search transforms; `k` and the other options are those of `Toolbox`.
    """

    def __init__(
        self,
        *,
        max_results: int = 5,
        always_visible: list[str] | None = None,
        search_tool_name: str = "search_tools",
        call_tool_name: str = "call_tool",
        search_result_serializer: SearchResultSerializer | None = None,
        k: int | None = None,
        **options: Unpack[ToolKeywords],
    ) -> None:
        super().__init__(
            max_results=max_results,
            always_visible=always_visible,
            search_tool_name=search_tool_name,
            call_tool_name=call_tool_name,
            search_result_serializer=search_result_serializer,
        )
        self._k = k
        self._options = options
        self._lock = Lock()
        self._toolboxes: dict[str, Toolbox] = {}  # by a hash of their tools, the latest last

    def _make_search_tool(self) -> Tool:
        async def search_tools(
            query: Annotated[str, "What you need, in words"],
            ctx: Context = None,  # FastMCP passes it
        ) -> str | list[dict[str, Any]]:
            """Find the tools for a task, with their schemas, or learn that none fits. Run them with call_tool."""
            tools = await self._get_visible_tools(ctx)
            found, reason = await asyncio.to_thread(self._find, tools, query)
            return await self._render_results(found) if found else f"No tool fits. {reason}"

        search_tools.__doc__ = str(search_tools.__doc__).replace("call_tool", self._call_tool_name)
        return Tool.from_function(fn=search_tools, name=self._search_tool_name)

    async def _search(self, tools: Sequence[Tool], query: str) -> Sequence[Tool]:
        return (await asyncio.to_thread(self._find, tools, query))[0]

    def _find(self, tools: Sequence[Tool], query: str) -> tuple[list[Tool], str]:
        """The tools that fit, at most `max_results`, and the reason."""
        if not tools:
            return [], "This server has no other tools."
        try:
            toolbox = self._index(tools)
            found = toolbox.find({"query": query})
        except InputError as error:
            raise ToolError(str(error)) from error
        by_name = {tool.name: tool for tool in tools}
        return [by_name[toolbox.document(one.name).id] for one in found.tools][: self._max_results], found.reason

    def _index(self, tools: Sequence[Tool]) -> Toolbox:
        """The search over these tools, which is made again only if they have changed."""
        schemas = [
            {"name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": tool.parameters}
            for tool in tools
        ]
        key = sha256(json.dumps(schemas, sort_keys=True, default=str).encode()).hexdigest()
        with self._lock:
            toolbox = self._toolboxes.pop(key, None) or Toolbox(schemas, k=self._k, **self._options)
            self._toolboxes[key] = toolbox
            while len(self._toolboxes) > MOST_CATALOGS:
                del self._toolboxes[next(iter(self._toolboxes))]
        return toolbox
