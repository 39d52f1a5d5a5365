"""Tool search for OpenAI models: `tool_search` that the client executes.

The shapes are those of the Responses API; they are plain dicts, so no package is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from shortlist.errors import InputError, ShortlistError
from shortlist.integrations import toolbox
from shortlist.integrations.toolbox import field_of
from shortlist.protocols import AgentTool

Item = dict[str, Any]


class ToolSearch(toolbox.ToolSearch):
    """Tool search on our side: `tools()` for the request, `outputs()` for what comes back.

    `tools` and options are those of `Toolbox`.
    """

    def tools(self) -> list[Item]:
        """The `tools` of a request: the search alone. What it finds comes with its output, and stays in the context."""
        search = self.toolbox.search
        described = {"description": search.description, "parameters": deepcopy(search.parameters)}
        return [{"type": "tool_search", "execution": "client", **described}]

    def outputs(self, output: Iterable[Any]) -> list[Item]:
        """What answers the items of a response, to be appended to the input: the tools that were found for each search,
        and what the functions of this program returned. Calls of other tools are left to the caller."""
        return [self.output(item) for item in output if self._is_ours(item)]

    def output(self, call: Any) -> Item:
        """The answer to one tool_search_call or function_call, a dict or the SDK's. Where nothing fits there are no
        tools in it: the format has no place for a reason."""
        arguments = field_of(call, "arguments")
        answer: Item
        if field_of(call, "type") == "tool_search_call":
            try:
                tools = [_function(tool) for tool in self.toolbox.find(arguments).tools]
            except InputError:
                tools = []
            answer = {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": tools}
        else:
            try:
                output = self.toolbox.call(field_of(call, "name"), arguments)
            except ShortlistError as error:
                output = f"Error: {error}"
            answer = {"type": "function_call_output", "output": output}
        return answer | {"call_id": field_of(call, "call_id")}

    def _is_ours(self, item: Any) -> bool:
        if field_of(item, "type") == "tool_search_call":
            return bool(field_of(item, "execution") != "server")
        return field_of(item, "type") == "function_call" and field_of(item, "name") in self.toolbox


def _function(tool: AgentTool) -> Item:
    """As a function that was loaded. Schemas of strangers are seldom strict."""
    return {"type": "function", **tool.to_openai()["function"], "strict": False, "defer_loading": True}
