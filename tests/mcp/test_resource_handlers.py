"""Skills and documents as resources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp import MCPError

from tests.mcp.conftest import WEATHER, Agent, Servers, with_agent


def test_skills_are_listed_as_resources_and_documents_are_read_by_template(
    servers: Servers, handbook: str, tmp_path: Path
) -> None:
    for number in range(60):
        folder = tmp_path / ".claude" / "skills" / f"skill-{number:02}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: s {number:02}\ndescription: Does {number}.\n---\n\nStep {number}.\n"
        )
    servers.add("weather", WEATHER)

    async def talk(agent: Agent) -> None:
        first = await agent.client.list_resources()
        second = await agent.client.list_resources(cursor=first.next_cursor)
        assert (len(first.resources), len(second.resources), second.next_cursor) == (50, 10, None)
        one = first.resources[0]
        assert (one.uri, one.name, one.description) == ("shortlist://skills/s%2000", "s 00", "Does 0.")
        (body,) = (await agent.client.read_resource(one.uri)).contents
        assert "Step 0." in getattr(body, "text", "")
        (template,) = (await agent.client.list_resource_templates()).resource_templates
        assert template.uri_template == "shortlist://{corpus}/{+id}"
        (page,) = (await agent.client.read_resource("shortlist://handbook/leave.md")).contents
        assert "28 days" in getattr(page, "text", "")
        await agent.wait_for("rain in a city", "weather/get_forecast")
        (schema,) = (await agent.client.read_resource("shortlist://mcp/weather/get_forecast")).contents
        assert json.loads(getattr(schema, "text", ""))["input_schema"] == WEATHER["inputSchema"]
        for wrong in ("shortlist://handbook/none.md", "file:///etc/passwd", "shortlist://handbook"):
            with pytest.raises(MCPError):
                await agent.client.read_resource(wrong)
        with pytest.raises(MCPError, match="no cursor"):
            await agent.client.list_resources(cursor="x")

    with_agent(servers.gateway(), talk)
