"""Tool search for Claude: a tool whose results are references to deferred tools.

Requests and results are plain dicts of the Messages API, so no package is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shortlist.errors import ShortlistError
from shortlist.integrations import toolbox
from shortlist.integrations.toolbox import ToolMatches, field_of

Block = dict[str, Any]


class ToolSearch(toolbox.ToolSearch):
    """Client-side tool search: `tools()` for the request, `result()` for each tool_use in the response.

    `tools` and options are those of `Toolbox`. Calls that `result()` does not answer are not learned from; report them
    with `Corpus.learn`.
    """

    def tools(self, messages: Iterable[Mapping[str, Any]] | None = None) -> list[Block]:
        """The `tools` of a request: the search tool, and all others with defer_loading, which cost no context.

        With the messages of the request, only the tools that were found in them: the API needs no others. Put
        `cache_control` on the first one only; a deferred tool cannot have it.
        """
        names = dict.fromkeys(name for message in messages or () for name in _find_references(message))
        tools = self.toolbox if messages is None else [self.toolbox[name] for name in names if name in self.toolbox]
        deferred = [tool.to_anthropic() | {"defer_loading": True} for tool in tools]
        return [self.toolbox.search.to_anthropic(), *deferred]

    def result(self, tool_use: Any) -> Block:
        """The tool_result for a tool_use block (a dict or an SDK object): references to the tools that were found, or
        the reason for none; for a Python function, its return value."""
        name, arguments = field_of(tool_use, "name"), field_of(tool_use, "input")
        try:
            if name != self.toolbox.search.name:
                return _result(tool_use, self.toolbox.call(name, arguments))
            return _result(tool_use, _refer(self.toolbox.find(arguments)))
        except ShortlistError as error:
            return _result(tool_use, str(error)) | {"is_error": True}

    async def aresult(self, tool_use: Any) -> Block:
        """As `result`, without blocking the event loop; an asynchronous function is awaited."""
        name, arguments = field_of(tool_use, "name"), field_of(tool_use, "input")
        try:
            if name != self.toolbox.search.name:
                return _result(tool_use, await self.toolbox.acall(name, arguments))
            return _result(tool_use, _refer(await self.toolbox.afind(arguments)))
        except ShortlistError as error:
            return _result(tool_use, str(error)) | {"is_error": True}


def _result(tool_use: Any, content: str | list[Block]) -> Block:
    return {"type": "tool_result", "tool_use_id": field_of(tool_use, "id"), "content": content}


def _refer(found: ToolMatches) -> str | list[Block]:
    """References to the tools that were found, or the reason for none: the API rejects an empty list."""
    if not found.tools:
        return f"No tool fits. {found.reason}"
    return [{"type": "tool_reference", "tool_name": tool.name} for tool in found.tools]


def _find_references(message: Mapping[str, Any]) -> Iterator[str]:
    for block in _blocks(message):
        if block.get("type") == "tool_result":
            yield from (item["tool_name"] for item in _blocks(block) if item.get("type") == "tool_reference")


def _blocks(holder: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = holder.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list | tuple) else []
