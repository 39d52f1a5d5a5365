"""Tool search for OpenAI models: `tool_search` that the client executes.

Requests and results are plain dicts of the Responses API, so no package is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shortlist._limits import run_in_thread
from shortlist.errors import InputError, ShortlistError
from shortlist.integrations import toolbox
from shortlist.integrations.toolbox import field_of
from shortlist.protocols import AgentTool

Item = dict[str, Any]


class ToolSearch(toolbox.ToolSearch):
    """Client-side tool search: `tools()` for the request, `outputs()` for the response.

    `tools` and options are those of `Toolbox`. Calls that `outputs()` does not answer are not learned from; report them
    with `Corpus.learn`.
    """

    def tools(self) -> list[Item]:
        """The `tools` of a request: only the search. The tools that it finds are in its output, and stay in context."""
        function = self.toolbox.search.to_openai()["function"]
        del function["name"]
        return [{"type": "tool_search", "execution": "client", **function}]

    def outputs(self, output: Iterable[Any]) -> list[Item]:
        """The answers to the items of a response, to append to the input: the tools that each search found, and the
        return values of Python functions. The caller answers calls of other tools."""
        return [self.output(item) for item in output if self._is_ours(item)]

    def output(self, call: Any) -> Item:
        """The answer to one tool_search_call or function_call (a dict or an SDK object). Without a match it has no
        tools, and no reason, for which the format has no field."""
        arguments, call_id = field_of(call, "arguments"), field_of(call, "call_id")
        if field_of(call, "type") == "tool_search_call":
            try:
                tools = [_function(tool) for tool in self.toolbox.find(arguments).tools]
            except InputError:
                tools = []
            answer = {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": tools}
            return answer | {"call_id": call_id}
        try:
            output = self.toolbox.call(field_of(call, "name"), arguments)
        except ShortlistError as error:
            output = f"Error: {error}"
        return {"type": "function_call_output", "output": output, "call_id": call_id}

    async def aoutputs(self, output: Iterable[Any]) -> list[Item]:
        """As `outputs`, without blocking the event loop; asynchronous functions are awaited."""
        return [await self.aoutput(item) for item in output if self._is_ours(item)]

    async def aoutput(self, call: Any) -> Item:
        """As `output`, without blocking the event loop; an asynchronous function is awaited."""
        arguments, call_id = field_of(call, "arguments"), field_of(call, "call_id")
        if field_of(call, "type") == "tool_search_call":
            return await run_in_thread(lambda: self.output(call))
        try:
            output = await self.toolbox.acall(field_of(call, "name"), arguments)
        except ShortlistError as error:
            output = f"Error: {error}"
        return {"type": "function_call_output", "output": output, "call_id": call_id}

    def _is_ours(self, item: Any) -> bool:
        if field_of(item, "type") == "tool_search_call":
            return bool(field_of(item, "execution") != "server")
        return field_of(item, "type") == "function_call" and field_of(item, "name") in self.toolbox


def _function(tool: AgentTool) -> Item:
    """A tool as a loaded function. It is not strict, as few schemas are."""
    return {"type": "function", **tool.to_openai()["function"], "strict": False, "defer_loading": True}
