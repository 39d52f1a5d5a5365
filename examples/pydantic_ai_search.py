"""A PydanticAI agent that finds its ninety tools by search. Needs a model and its key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import ToolSearch

from shortlist import Document
from shortlist.integrations.pydantic_ai import tool_search, toolset

TOOLS = f"tools:{Path(__file__).parent / 'data' / 'tools.yaml'}"


def call(document: Document, arguments: Mapping[str, Any]) -> str:
    """Here your program calls the tool; its document tells which one it is, and whose."""
    return f"{document.id} on {document.metadata['server']}: done with {dict(arguments)}"


def agent() -> Agent[None, str]:
    return Agent(toolsets=[toolset(TOOLS, call)], capabilities=[ToolSearch(strategy=tool_search(TOOLS))])


def main() -> None:
    question = "Give the customer of payment P-17 the money back, all of the 40 pounds."
    print(agent().run_sync(question, model="anthropic:claude-sonnet-5").output)


if __name__ == "__main__":
    main()
