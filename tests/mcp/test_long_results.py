"""Long results: shortened, stored and read on."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from mcp_types import TextResourceContents

from shortlist.errors import InputError
from shortlist.mcp.long_results import LONGEST_RESULT, MOST_TEXTS, LongResults
from tests.mcp.conftest import Agent, Servers, tool, with_agent


def test_a_long_result_is_shortened_and_can_be_read_on(servers: Servers) -> None:
    servers.add("one", tool("large"))
    whole = "".join(f"line {number}\n" for number in range(30_000))

    async def talk(agent: Agent) -> str:
        text = await agent.call("large")
        shown, _, rest = text.rpartition("…")
        assert (len(shown), shown) == (LONGEST_RESULT, whole[:LONGEST_RESULT])
        match = re.search(r"([\d,]+) more characters.* id '(result:\w+)', offset (\d+)", rest)
        assert match
        assert match[1] == f"{len(whole) - LONGEST_RESULT:,}"
        offset: int | None = int(match[3])
        while offset is not None:
            part = await agent("read", id=match[2], offset=offset)
            shown, offset = shown + part["text"], part.get("next_offset")
        assert shown == whole
        (contents,) = (await agent.client.read_resource(f"shortlist://results/{match[2]}")).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.text == whole
        assert "offset must be" in await agent.error("read", id=match[2], offset=-1)
        assert "The result 'result:0' is not stored" in await agent.error("read", id="result:0")
        return match[2]

    id = with_agent(servers.gateway(), talk)
    assert "Call the tool again" in with_agent(servers.gateway(), lambda agent: agent.error("read", id=id))


def test_long_results_are_stored_for_one_client_and_within_limits() -> None:
    results = LongResults()
    embedded = {"type": "resource", "resource": {"uri": "a:b", "text": "y" * LONGEST_RESULT}}
    given: dict[str, Any] = {
        "content": [{"type": "text", "text": "x" * 10}, embedded, {"type": "text", "text": "z"}],
        "_meta": {"a": 1},
    }
    shown = results.shorten(given, "ada")
    assert given["content"][1] is embedded
    first, second, third = shown["content"]
    assert (first, shown["_meta"]) == (given["content"][0], {"a": 1})
    assert second["resource"]["text"].startswith("y" * (LONGEST_RESULT - 10) + "… (10 more characters.")
    assert third["text"].startswith("… (1 more characters.")
    ids = [id for _, id in results._texts]
    assert results.read(ids[1], 0, "ada")["text"] == "z"
    with pytest.raises(InputError, match="Call the tool again"):
        results.read(ids[1], 0, "eve")
    wide = {"content": [], "structuredContent": {"rows": ["w" * LONGEST_RESULT]}}
    for _ in range(MOST_TEXTS):
        (note,) = results.shorten(wide, "ada")["content"]
        results.shorten(wide, "eve")
    with pytest.raises(InputError):
        results.text(ids[1], "ada")
    assert json.loads(results.text(note["text"].split("'")[1], "ada")) == wide["structuredContent"]
    assert len(results._texts) == 2 * MOST_TEXTS
