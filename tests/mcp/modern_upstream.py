"""An upstream server of the official SDK, which speaks the version of the protocol that has no requests to clients.

Its tool returns what it needs to know, and is called again with the answers.
"""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

FORM = {"type": "object", "properties": {"shelf": {"type": "string"}}}


async def list_tools(_: Any, params: Any) -> types.ListToolsResult:
    tool = types.Tool(name="put", description="Puts a book on a shelf.", input_schema={"type": "object"})
    return types.ListToolsResult(tools=[tool])


async def call_tool(
    context: Any, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    await context.session.report_progress(1, 2, context.protocol_version)
    answers = params.input_responses or {}
    if "shelf" not in answers:
        question = types.ElicitRequestFormParams(message="Which shelf?", requested_schema=FORM)
        questions: dict[str, Any] = {"shelf": types.ElicitRequest(params=question)}
        return types.InputRequiredResult(input_requests=questions, request_state="a book")
    text = f"{params.request_state} on {answers['shelf'].model_dump()['content']}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def main() -> None:
    server: Server[Any] = Server("modern", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
