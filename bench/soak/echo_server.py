"""A small MCP server with one tool, for runs without servers of npm and PyPI."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(message: str) -> str:
    """Repeat a message."""
    return message


if __name__ == "__main__":
    server.run()
