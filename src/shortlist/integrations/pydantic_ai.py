"""PydanticAI: a strategy for its ToolSearch, over an agent's own tools or a corpus, and a toolset."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from shortlist.documents import Document
from shortlist.errors import InputError, MissingExtra
from shortlist.integrations.toolbox import Toolbox, Tools

try:
    from pydantic_ai import ModelRetry, RunContext, Tool
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai", "The hook for PydanticAI") from error

Strategy = Callable[[RunContext[Any], Sequence[str], Sequence[ToolDefinition]], list[str]]
Call = Callable[[Document, Mapping[str, Any]], Any]


def tool_search(tools: Tools | None = None, **options: Any) -> Strategy:
    """A strategy: `Agent(..., capabilities=[ToolSearch(strategy=tool_search())])`.

    It searches the agent's own deferred tools or, if `tools` are given, those: the corpus that `toolset` was made of.
    Options are those of `Toolbox`.
    """
    given = None if tools is None else Toolbox(tools, **options)
    own: tuple[list[ToolDefinition], Toolbox] | None = None

    def search(ctx: RunContext[Any], queries: Sequence[str], deferred: Sequence[ToolDefinition]) -> list[str]:
        nonlocal own
        if given is not None:
            return _found(given, queries)
        if own is None or own[0] != list(deferred):
            own = list(deferred), Toolbox([_schema(tool) for tool in deferred], **options)
        toolbox = own[1]
        return [toolbox.document(name).title for name in _found(toolbox, queries)]

    return search


def _found(toolbox: Toolbox, queries: Sequence[str]) -> list[str]:
    found = [toolbox.find({"query": query}).tools for query in queries if query.strip()]
    return list(dict.fromkeys(tool.name for tools in found for tool in tools))


def toolset(tools: Tools, call: Call) -> FunctionToolset[Any]:
    """The tools of a corpus as a toolset, each deferred until it is found.

    `call` runs a tool: it is given the tool's document, whose id and source tell what to reach, and the arguments. It
    may be asynchronous. An InputError from it goes back to the model, which may try again.
    """
    made: FunctionToolset[Any] = FunctionToolset()
    for found, document in Toolbox(tools).items():
        run = _runner(call, document)
        tool = Tool[Any].from_schema(run, found.name, found.description, found.parameters)
        tool.defer_loading = True
        made.add_tool(tool)
    return made


def _runner(call: Call, document: Document) -> Callable[..., Any]:
    """A function that PydanticAI awaits, or runs in a thread."""

    async def awaited(**arguments: Any) -> Any:
        with _errors_told():
            return await call(document, arguments)

    def run(**arguments: Any) -> Any:
        with _errors_told():
            return call(document, arguments)

    return awaited if inspect.iscoroutinefunction(call) else run


@contextmanager
def _errors_told() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise ModelRetry(str(error)) from error


def _schema(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
