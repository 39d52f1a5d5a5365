"""PydanticAI: a strategy for its ToolSearch, over an agent's own tools or a corpus, and a toolset."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Unpack

from shortlist._limits import run_in_thread
from shortlist.documents import Document
from shortlist.errors import InputError, needs_extra
from shortlist.integrations.toolbox import Toolbox, ToolboxKeywords, Tools

with needs_extra("pydantic-ai", "The integration with PydanticAI"):
    from pydantic_ai import ModelRetry, RunContext, Tool
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import FunctionToolset

Strategy = Callable[[RunContext[Any], Sequence[str], Sequence[ToolDefinition]], Awaitable[list[str]]]
Call = Callable[[Document, Mapping[str, Any]], Any]


def tool_search(tools: Tools | None = None, **options: Unpack[ToolboxKeywords]) -> Strategy:
    """A strategy: `Agent(..., capabilities=[ToolSearch(strategy=tool_search())])`.

    It searches the agent's own deferred tools or, if given, `tools`: the corpus that `toolset` was made from. Options
    are those of `Toolbox`. Calls of the agent's own tools do not pass through here, so nothing is learned from them.
    """
    given = None if tools is None else Toolbox(tools, **options)
    own: tuple[list[ToolDefinition], Toolbox] | None = None

    def find_tools(queries: Sequence[str], deferred: Sequence[ToolDefinition]) -> list[str]:
        nonlocal own
        if given is not None:
            return _find_names(given, queries)
        if own is None or own[0] != list(deferred):
            own = list(deferred), Toolbox([_schema(tool) for tool in deferred], **options)
        toolbox = own[1]
        return [toolbox.document(name).title for name in _find_names(toolbox, queries)]

    async def search(ctx: RunContext[Any], queries: Sequence[str], deferred: Sequence[ToolDefinition]) -> list[str]:
        return await run_in_thread(lambda: find_tools(queries, deferred))

    return search


def _find_names(toolbox: Toolbox, queries: Sequence[str]) -> list[str]:
    results = [toolbox.find({"query": query}).tools for query in queries if query.strip()]
    return list(dict.fromkeys(tool.name for tools in results for tool in tools))


def toolset(tools: Tools, call: Call) -> FunctionToolset[Any]:
    """The tools of a corpus as a toolset, each deferred until it is found.

    `call` runs a tool. It takes the tool's document, whose id and source identify what to call, and the arguments. It
    may be asynchronous. Its InputErrors go back to the model, which may try again. Tools that are called after
    `tool_search` of the same corpus found them are ranked higher for similar queries.
    """
    result: FunctionToolset[Any] = FunctionToolset()
    toolbox = Toolbox(tools)
    toolbox.expect_calls()
    for agent_tool, document in toolbox.items():
        run = _runner(call, document, partial(toolbox.follow, agent_tool.name))
        tool = Tool[Any].from_schema(run, agent_tool.name, agent_tool.description, agent_tool.parameters)
        tool.defer_loading = True
        result.add_tool(tool)
    return result


def _runner(call: Call, document: Document, follow: Callable[[], AbstractContextManager[None]]) -> Callable[..., Any]:
    async def run(**arguments: Any) -> Any:
        try:
            with follow():
                if inspect.iscoroutinefunction(call):
                    return await call(document, arguments)
                return await asyncio.to_thread(call, document, arguments)
        except InputError as error:
            raise ModelRetry(str(error)) from error

    return run


def _schema(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
