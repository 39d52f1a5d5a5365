"""How does an OpenAI model search among many tools? By `tool_search` that the client executes.

The shapes are those of the Responses API; they are plain dicts, so no package is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from shortlist.errors import InputError, ShortlistError
from shortlist.integrations.toolbox import Toolbox, Tools
from shortlist.protocols import AgentTool

Item = dict[str, Any]


class ToolSearch:
    """Tool search on our side: `tools()` for the request, `outputs()` for what comes back.

    `tools` and options are those of `Toolbox`.
    """

    def __init__(self, tools: Tools, **options: Any) -> None:
        self.toolbox = Toolbox(tools, **options)

    def tools(self) -> list[Item]:
        """The `tools` of a request: the search alone. What it finds comes with its output, and stays in the context."""
        search = self.toolbox.search
        told = {"description": search.description, "parameters": deepcopy(search.parameters)}
        return [{"type": "tool_search", "execution": "client", **told}]

    def outputs(self, output: Iterable[Any]) -> list[Item]:
        """What answers the items of a response, to be appended to the input: the tools that were found for each search,
        and what the functions of this program returned. Calls of other tools are left to the caller."""
        return [self.output(item) for item in output if self._is_ours(item)]

    def output(self, call: Any) -> Item:
        """The answer to one tool_search_call or function_call, a dict or the SDK's. Where nothing fits there are no
        tools in it: the format has no place for a reason."""
        if _of(call, "type") == "tool_search_call":
            tools = [_function(tool) for tool in self._find(_of(call, "arguments"))]
            answer = {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": tools}
        else:
            answer = {"type": "function_call_output", "output": self._call(_of(call, "name"), _of(call, "arguments"))}
        return answer | {"call_id": _of(call, "call_id")}

    def _is_ours(self, item: Any) -> bool:
        if _of(item, "type") == "tool_search_call":
            return bool(_of(item, "execution") != "server")
        return _of(item, "type") == "function_call" and _of(item, "name") in self.toolbox

    def _find(self, arguments: Any) -> list[AgentTool]:
        try:
            return self.toolbox.find(arguments).tools
        except InputError:
            return []

    def _call(self, name: str, arguments: str) -> str:
        try:
            return self.toolbox.call(name, arguments)
        except ShortlistError as error:
            return f"Error: {error}"


def _function(tool: AgentTool) -> Item:
    """As a function that was loaded. Schemas of strangers are seldom strict."""
    return {"type": "function", **tool.to_openai()["function"], "strict": False, "defer_loading": True}


def _of(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)
