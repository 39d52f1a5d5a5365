"""Claude with ninety tools behind one search tool. Needs the package anthropic and a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shortlist.integrations.anthropic import ToolSearch

TOOLS = Path(__file__).parent / "data" / "tools.yaml"


def ask(client: Any, question: str, model: str = "claude-sonnet-5") -> str:
    search = ToolSearch(f"tools:{TOOLS}")
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        # only the tools that were found so far travel with the request
        reply = client.messages.create(model=model, max_tokens=1024, tools=search.tools(messages), messages=[*messages])
        uses = [block for block in reply.content if block.type == "tool_use"]
        if not uses:
            return "".join(block.text for block in reply.content if block.type == "text")
        results = [search.result(use) if use.name == "search_tools" else run(search, use) for use in uses]
        messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]


def run(search: ToolSearch, use: Any) -> dict[str, Any]:
    """Here your program calls the tool; its document tells which one it is, and whose."""
    document = search.toolbox.document(use.name)
    done = f"{document.id} on {document.metadata['server']}: done with {use.input}"
    return {"type": "tool_result", "tool_use_id": use.id, "content": done}


def main() -> None:
    import anthropic  # noqa: PLC0415  # needed only here

    print(ask(anthropic.Anthropic(), "Give the customer of payment P-17 the money back, all of the 40 pounds."))


if __name__ == "__main__":
    main()
