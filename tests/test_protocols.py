"""The tool for agents, and the progress of long work."""

from __future__ import annotations

from typing import Any

import pytest

from shortlist.errors import InputError
from shortlist.protocols import AgentTool, Embedder, StreamingLLM, report_phase, track

SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "top_k": {"type": "integer"}},
    "required": ["query"],
}


@pytest.fixture
def tool() -> AgentTool:
    return AgentTool("find", "Finds.", SCHEMA, lambda query, top_k=3: (query, top_k))


def test_a_tool_is_called_by_position_by_name_or_with_what_a_model_wrote(tool: AgentTool) -> None:
    assert tool("red", 2) == tool(query="red", top_k=2) == tool.invoke('{"query": "red", "top_k": 2}') == ("red", 2)
    assert tool.invoke({"query": "red"}) == ("red", 3)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"query": "red", "limit": 2}, "find takes query, top_k, not 'limit'"),
        ({"top_k": 2}, "find needs the argument 'query'"),
        ({"query": None}, "find needs the argument 'query'"),
        ("{", "arguments for find are not valid JSON"),
        ("[1]", r"arguments for find must be an object, not \[1\]"),
    ],
)
def test_wrong_arguments_are_errors_that_a_model_can_act_on(tool: AgentTool, arguments: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        tool.invoke(arguments)


def test_too_many_values_are_an_error(tool: AgentTool) -> None:
    with pytest.raises(InputError, match="not 'more'"):
        tool("red", 2, "more")


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "find!", None])
def test_a_name_that_a_vendor_refuses_is_an_error(name: Any) -> None:
    with pytest.raises(InputError, match="1 to 64 letters"):
        AgentTool(name, "", SCHEMA, print)


def test_the_formats_of_the_vendors_share_nothing_with_the_tool(tool: AgentTool) -> None:
    schemas = [
        tool.to_openai()["function"]["parameters"],
        tool.to_anthropic()["input_schema"],
        tool.to_mcp()["inputSchema"],
    ]
    for schema in schemas:
        assert schema == SCHEMA
        schema["properties"].clear()
    assert list(tool.parameters_schema["properties"]) == ["query", "top_k"]


def test_progress_is_reported_after_every_nth_and_the_last_item() -> None:
    seen: list[tuple[int, int | None]] = []
    assert list(track("abcde", lambda *done: seen.append(done), every=2)) == list("abcde")
    assert seen == [(2, 5), (4, 5), (5, 5)]
    seen.clear()
    assert list(track(iter("abc"), lambda *done: seen.append(done))) == list("abc")
    assert seen == [(1, None), (2, None), (3, None)]


def test_a_phase_is_reported_only_to_those_who_want_it() -> None:
    class Bar:
        def __init__(self) -> None:
            self.seen: list[tuple[str, int, int | None]] = []

        def __call__(self, done: int, total: int | None) -> None: ...

        def phase(self, name: str, done: int, total: int | None) -> None:
            self.seen.append((name, done, total))

    bar = Bar()
    report_phase(bar, "embedding", 1, 2)
    report_phase(lambda done, total: None, "embedding", 1, 2)
    report_phase(None, "embedding", 1, 2)
    assert bar.seen == [("embedding", 1, 2)]


def test_a_protocol_is_kept_by_whoever_has_its_methods() -> None:
    class Model:
        name, dim = "m", 2

        def encode_query(self, text: str) -> None: ...

        def encode_documents(self, texts: list[str]) -> None: ...

    assert isinstance(Model(), Embedder)
    assert not isinstance(Model(), StreamingLLM)
