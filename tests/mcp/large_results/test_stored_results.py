"""Large results: summarized, stored, searched and read on."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mcp_types import TextResourceContents

from shortlist.errors import InputError
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.large_results import stored_results
from shortlist.mcp.large_results.passages import split_text
from shortlist.mcp.large_results.stored_results import (
    LONGEST_HEAD,
    LONGEST_PART,
    LONGEST_RESULT,
    MOST_SUMMARIZED,
    MOST_TEXTS,
    StoredResults,
    StoredText,
)
from tests.mcp.conftest import Agent, Servers, tool, with_agent


def id_of(text: str) -> str:
    match = re.search(r"with id '(result:\w+)'", text)
    assert match, text
    return match[1]


def test_a_large_result_is_summarized_and_every_part_of_it_can_be_read(servers: Servers) -> None:
    servers.add("one", tool("large"))
    whole = "".join(f"line {number}\n" for number in range(30_000))

    async def talk(agent: Agent) -> str:
        text = await agent.call("large")
        assert text.startswith(whole[:LONGEST_HEAD] + "…")
        assert len(text) < 3_000
        assert f"All {len(whole):,} characters are stored. 30,000 lines." in text
        id = id_of(text)
        shown = ""
        offset: int | None = 0
        while offset is not None:
            part = await agent("read", id=id, offset=offset)
            shown, offset = shown + part["text"], part.get("next_offset")
        assert shown == whole
        found = (await agent("read", id=id, query="line 23456"))["text"]
        assert "line 23456\n" in found
        path = re.search(r"\[(lines [\d-]+)\]", found)
        assert path
        assert (await agent("read", id=id, path=path[1]))["text"] in whole
        assert (await agent("read", id=id, path="lines 3-4"))["text"] == "line 2\nline 3"
        (contents,) = (await agent.client.read_resource(f"shortlist://results/{id}")).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.text == whole
        assert "offset must be" in await agent.error("read", id=id, offset=-1)
        assert "the result has 30,000 lines" in await agent.error("read", id=id, path="lines 40000-50000")
        assert "is not JSON" in await agent.error("read", id=id, path="items[0]")
        assert "are for stored results" in await agent.error("read", id="one/large", query="x")
        assert "The result 'result:0' is not stored" in await agent.error("read", id="result:0")
        return id

    id = with_agent(servers.gateway(), talk)
    assert "Call the tool again" in with_agent(servers.gateway(), lambda agent: agent.error("read", id=id))


def test_the_budget_is_set_for_a_file_a_server_and_a_tool(servers: Servers) -> None:
    behavior: Any = {"tools": {"large": 500_000, "l*": 5_000}, "server": 400_000, "file": None}
    for name, budget in behavior.items():
        servers.add(name, tool("large"), **({"result_characters": budget} if budget else {}))
    data = json.loads(servers.config.read_text()) | {"result_characters": 8_000}
    servers.config.write_text(json.dumps(data))

    async def talk(agent: Agent) -> list[int]:
        return [len(await agent.call(f"{name}/large")) for name in behavior]

    whole, server, file = with_agent(servers.gateway(), talk)
    assert (whole, server) == (318_890, 318_890)
    assert 2_000 < file < 8_000
    servers.add("wrong", tool("large"), result_characters={"large": -1})
    (problem,) = GatewayConfig([servers.config]).read().problems
    assert "'result_characters' that is not a whole number above 0: -1" in problem.reason


def test_only_what_is_beyond_the_budget_changes() -> None:
    results = StoredResults()
    image = {"type": "image", "data": "x" * LONGEST_RESULT, "mimeType": "image/png"}
    embedded = {"type": "resource", "resource": {"uri": "a:b", "text": "y" * LONGEST_RESULT}}
    given: dict[str, Any] = {"content": [text_block("first"), image, embedded, text_block("last")], "_meta": {"a": 1}}
    shown = results.shorten(given, "ada")
    assert given["content"][2] is embedded
    assert shown["content"][:2] == given["content"][:2]
    assert (shown["content"][3], shown["_meta"]) == (given["content"][3], {"a": 1})
    resource = shown["content"][2]["resource"]
    assert resource["uri"] == "a:b"
    assert results.text(id_of(resource["text"]), "ada") == "y" * LONGEST_RESULT
    fitting = {"content": [text_block("z" * LONGEST_RESULT), image], "structuredContent": {"z": 1}}
    assert results.shorten(fitting, "ada") == fitting


def test_many_small_texts_are_stored_as_one() -> None:
    results = StoredResults()
    blocks = [text_block(f"{number:1000}") for number in range(50)]
    shown = results.shorten({"content": blocks}, "ada")["content"]
    assert shown[:20] == blocks[:20]
    assert len(shown) == 21
    assert results.text(id_of(shown[20]["text"]), "ada") == "\n\n".join(block["text"] for block in blocks[20:])


def test_keys_and_values_with_lone_surrogates_can_be_sent() -> None:
    results = StoredResults()
    block = text_block(json.dumps({"\ud800": ["\udfff" * LONGEST_RESULT]}))
    shown = results.shorten({"content": [block]}, "ada")["content"][0]["text"]
    part = results.read(id_of(shown), 0, "ada", path="*[0]")["text"]
    assert "{?: [1 × string]}" in shown
    assert set(part) == set('["?')


def test_structured_content_is_stored_once() -> None:
    results = StoredResults()
    rows = {"rows": [{"id": number, "city": f"City {number}"} for number in range(2_000)]}
    (block,) = results.shorten({"content": [text_block(json.dumps(rows))], "structuredContent": rows}, "ada")["content"]
    assert "JSON: {rows: [2,000 × {id: number, city: string}]}" in block["text"]
    assert results.read(id_of(block["text"]), 0, "ada", path="rows[1500].city")["text"] == "City 1500"
    assert len(results._texts) == 1
    shown = results.shorten({"content": [], "structuredContent": rows}, "ada")
    assert "structuredContent" not in shown
    assert json.loads(results.text(id_of(shown["content"][0]["text"]), "ada")) == rows


def test_the_description_and_the_passages_name_the_lines_that_are_read() -> None:
    text = "one\x0ctwo\u2028three\r\n# Start\r\n" + "four\x85\n" * 300 + "an error\n\n"
    stored = StoredText(text)
    assert "304 lines. Headings: Start (line 2). 1 lines with errors, the first is line 303" in stored.summarize("", 99)
    assert stored.take("lines 1-2") == "one\x0ctwo\u2028three\n# Start"
    assert stored.take("line 303") == "an error"
    for path, passage, _ in split_text(text):
        assert stored.take(path).rstrip("\n") == passage.replace("\r", "")
    assert StoredText("a,b\r\n1,2\r\n3,4\r\n").take("rows 2-2") == "a,b\n3,4"


def test_texts_are_stored_for_one_client_and_within_limits() -> None:
    results = StoredResults()
    ids = [id_of(results.shorten(large(), "ada")["content"][0]["text"])]
    with pytest.raises(InputError, match="Call the tool again"):
        results.read(ids[0], 0, "eve")
    assert len(results.read(ids[0], 0, "ada")["text"]) == LONGEST_PART
    for _ in range(MOST_TEXTS):
        results.shorten(large(), "ada")
        results.shorten(large(), "eve")
    with pytest.raises(InputError):
        results.text(ids[0], "ada")
    assert len(results._texts) == 2 * MOST_TEXTS


def test_a_text_that_cannot_be_described_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_results, "describe", lambda *_: 1 / 0)
    results = StoredResults()
    text = results.shorten(large(), "ada")["content"][0]["text"]
    assert "They cannot be described" in text
    assert len(results.text(id_of(text), "ada")) == LONGEST_RESULT + 1


def test_calls_store_results_at_the_same_time() -> None:
    results = StoredResults()

    def store(number: int) -> None:
        results.shorten(large(), f"client {number % 3}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(store, range(600)))
    assert len(results._texts) == 3 * MOST_TEXTS


def test_a_text_that_was_removed_while_a_call_looked_for_it_is_not_searched() -> None:
    stored = StoredText("one text")
    stored.close()
    with pytest.raises(InputError, match="Call the tool again"):
        stored.find("text")
    assert stored._search is None


def test_embedded_texts_are_stored_as_one_as_well() -> None:
    results = StoredResults()
    blocks = [{"type": "resource", "resource": {"uri": f"a:{number}", "text": "y" * 9_000}} for number in range(100)]
    shown = results.shorten({"content": blocks}, "ada")["content"]
    assert shown[:2] == blocks[:2]
    assert len(shown) == 3
    assert results.text(id_of(shown[2]["text"]), "ada").startswith("a:2\nyyy")


def test_every_text_of_a_result_is_stored_however_many_there_are() -> None:
    results = StoredResults()
    results.shorten(large(), "ada")
    blocks = [text_block(f"{number:15000}") for number in range(MOST_TEXTS + 5)]
    shown = results.shorten({"content": blocks}, "ada")["content"]
    shown += [text_block(results.text(id_of(shown[-1]["text"]), "ada"))]
    ids = {id for block in shown for id in re.findall(r"with id '(result:\w+)'", block["text"])}
    assert len(ids) == MOST_SUMMARIZED + 1
    assert ids <= {id for _, id in results._texts}


def test_the_client_that_stores_most_loses_its_oldest_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_results, "MOST_CHARACTERS", 5 * (LONGEST_RESULT + 1))

    def store(client: str) -> str:
        return id_of(results.shorten(large(), client)["content"][0]["text"])

    results = StoredResults()
    first = store("ada")
    ids = [store("eve") for _ in range(MOST_TEXTS + 5)]
    assert [id for _, id in results._texts] == [first, *ids[-4:]]
    monkeypatch.setattr(stored_results, "MOST_TEXTS", 3)  # which makes room
    last = store("eve")
    assert [id for _, id in results._texts] == [first, *ids[-2:], last]


def large() -> dict[str, Any]:
    return {"content": [text_block("w" * (LONGEST_RESULT + 1))]}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
