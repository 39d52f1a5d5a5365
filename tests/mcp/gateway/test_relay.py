"""The protocol from the client to the servers behind the gateway and back, in its old and its new version."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    EmptyResult,
    InputRequiredResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    RootsListChangedNotification,
    SetLevelRequest,
    SetLevelRequestParams,
    TextContent,
)

from tests.client.conftest import serve
from tests.mcp.conftest import (
    HEADERS,
    UPSTREAM,
    WAIT_SECONDS,
    WEATHER,
    Agent,
    Servers,
    text_of,
    tool,
    until,
    with_agent,
)
from tests.mcp.test_agent_server import over_stdio

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
PROMPTS = [{"name": "greet", "description": "Greets a person.", "arguments": [{"name": "who", "required": True}]}]
RESOURCES = [{"uri": "note://1", "name": "first"}]
TEMPLATES = [{"uriTemplate": "note://{n}/page", "name": "page"}]
OFFERS = {"prompts": PROMPTS, "resources": RESOURCES, "resourceTemplates": TEMPLATES}


def count_offers() -> int:
    """The number of servers whose prompts and resources are known."""
    return len(list(Path(os.environ["SHORTLIST_DATA_DIR"]).rglob("*.offers.json")))


class Person:
    """A client that answers what it is asked, and remembers that."""

    def __init__(self, shelf: str = "left") -> None:
        self._shelf = shelf
        self.heard: list[str] = []

    async def elicit(self, context: Any, params: Any) -> ElicitResult:
        self.heard.append(params.message)
        return ElicitResult(action="accept", content={"shelf": self._shelf} if params.mode == "form" else None)

    async def sample(self, context: Any, params: Any) -> CreateMessageResult:
        self.heard.append(params.messages[0].content.text)
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="red"), model="m")

    @property
    def options(self) -> dict[str, Any]:
        return {"elicitation_callback": self.elicit, "sampling_callback": self.sample}


@ERAS
def test_over_stdio_progress_is_passed_on_questions_are_answered_and_a_call_can_be_canceled(
    servers: Servers, tmp_path: Path, mode: str
) -> None:
    one = servers.add("one", *map(tool, ("steps", "ask", "ask_url", "sample", "client", "wait")), WEATHER)
    person = Person()
    seen: list[tuple[float, float | None, str | None]] = []
    started = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async def note_start(progress: float, total: float | None, message: str | None) -> None:
        started.set()

    async def talk(agent: Agent) -> None:
        result = await agent.client.call_tool("call", {"tool": "one/steps"}, progress_callback=note)
        assert text_of(result) == "steps were reported"
        await until(lambda: len(seen) == 3)
        assert await agent.call("one/steps") == "steps were not wanted"
        assert json.loads(await agent.call("one/ask")) == {"action": "accept", "content": {"shelf": "left"}}
        assert json.loads(await agent.call("one/ask_url")) == {"action": "accept"}
        assert json.loads(await agent.call("one/sample"))["content"] == {"type": "text", "text": "red"}
        can = json.loads(await agent.call("one/client"))["capabilities"]
        assert can == {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}
        call = asyncio.create_task(agent.client.call_tool("call", {"tool": "one/wait"}, progress_callback=note_start))
        await started.wait()
        call.cancel()
        await until((tmp_path / "one.canceled").exists)
        assert await agent.call("one/get_forecast", city="Ghent")

    async def main() -> None:
        options: dict[str, Any] = {"mode": mode, **person.options}
        async with asyncio.timeout(2 * WAIT_SECONDS), Client(over_stdio(servers.config), **options) as client:
            await talk(Agent(client))

    asyncio.run(main())
    assert sorted(seen) == [(step, 3, f"step {step}") for step in (1, 2, 3)]
    assert person.heard == ["one: Which shelf?", "one: Sign in.", "Name a color."]
    assert (tmp_path / "one.canceled").read_text() == "True\n"
    assert len(one.starts) == 1


@ERAS
def test_questions_of_a_server_of_the_new_protocol_reach_clients_of_both(servers: Servers, mode: str) -> None:
    script = UPSTREAM.with_name("modern_upstream.py")
    servers.entries["modern"] = {"command": sys.executable, "args": [str(script)]}
    servers.write()
    person = Person()

    async def talk(agent: Agent) -> None:
        await agent.wait_for("put a book on a shelf", "modern/put")
        assert await agent.call("modern/put") == "a book on {'shelf': 'left'}"

    with_agent(servers.gateway(), talk, mode=mode, **person.options)
    assert person.heard == ["modern: Which shelf?"]

    async def fail(agent: Agent) -> None:
        assert "Elicitation" in await agent.error("call", tool="modern/put")

    with_agent(servers.gateway(), fail, mode=mode)


def test_a_client_that_never_answers_loses_only_its_call(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.mcp.gateway.relay.ANSWER_SECONDS", 0.2)
    servers.add("one", tool("ask"), WEATHER)

    async def talk(agent: Agent) -> None:
        asked = await agent.client.session.call_tool("call", {"tool": "one/ask"}, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        await asyncio.sleep(0.3)
        state = asked.request_state
        late = await agent.client.session.call_tool(
            "call", {"tool": "one/ask"}, request_state=state, allow_input_required=True
        )
        assert isinstance(late, CallToolResult)
        assert "did not answer within 0.2 seconds" in text_of(late)
        again = await agent.client.session.call_tool("call", {"tool": "one/ask"}, request_state=state)
        assert "is over. Start again" in text_of(again)
        assert await agent.call("one/get_forecast", city="Ghent")

    with_agent(servers.gateway(), talk, **Person().options)


@ERAS
def test_log_messages_are_passed_on_with_the_name_of_the_server_and_without_secrets(
    servers: Servers, mode: str
) -> None:
    servers.add("one", tool("log"), behavior=OFFERS, env={"API_KEY": "s3cr3t-of-the-shop"})
    heard: list[LoggingMessageNotificationParams] = []

    async def note(params: LoggingMessageNotificationParams) -> None:
        heard.append(params)

    async def talk(agent: Agent) -> None:
        if mode == "legacy":
            request = SetLevelRequest(params=SetLevelRequestParams(level="warning"))
            await agent.client.session.send_request(request, EmptyResult)
        assert await agent.call("one/log") == "the level is warning"
        await until(lambda: heard)

    with_agent(servers.gateway(), talk, mode=mode, logging_callback=note, log_level="warning")
    assert [(one.logger, one.data) for one in heard] == [("one/shelf", {"message": "the key is ***"})]


# Over HTTP


@pytest.fixture
def url(servers: Servers, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Starts our service in this process, and returns its address."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(serve(tmp_path, mcp__config=(str(servers.config),))) + "/mcp"


@asynccontextmanager
async def connect(url: str, over: httpx2.AsyncHTTPTransport | None = None, **options: Any) -> AsyncIterator[Agent]:
    async with (
        httpx2.AsyncClient(timeout=WAIT_SECONDS, trust_env=False, transport=over) as http,
        Client(streamable_http_client(url, http_client=http), **options) as client,
    ):
        yield Agent(client)


@ERAS
def test_over_http_a_client_hears_and_is_asked_like_over_stdio(
    servers: Servers, url: Callable[[], str], tmp_path: Path, mode: str
) -> None:
    one = servers.add("one", *map(tool, ("steps", "ask", "sample", "wait", "client")), WEATHER)
    person = Person()
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def main(address: str) -> None:
        async with asyncio.timeout(2 * WAIT_SECONDS), connect(address, mode=mode, **person.options) as agent:
            result = await agent.client.call_tool("call", {"tool": "one/steps"}, progress_callback=note)
            assert text_of(result) == "steps were reported"
            await until(lambda: len(seen) == 3)
            assert json.loads(await agent.call("one/ask")) == {"action": "accept", "content": {"shelf": "left"}}
            assert json.loads(await agent.call("one/sample"))["model"] == "m"
            call = asyncio.create_task(agent.client.call_tool("call", {"tool": "one/wait"}, progress_callback=note))
            await until(lambda: len(seen) == 4)
            call.cancel()
            await until((tmp_path / "one.canceled").exists)
            assert await agent.call("one/get_forecast", city="Ghent")
            async with connect(address, mode=mode) as other:
                assert "Elicitation not supported" in await other.call("one/ask")
                can = json.loads(await other.call("one/client"))["capabilities"]
                assert can == {"roots": {"listChanged": True}}

    asyncio.run(main(url()))
    assert person.heard == ["one: Which shelf?", "Name a color."]
    assert len(one.starts) == 2  # one for each set of capabilities


def test_over_http_a_question_reaches_only_the_client_whose_call_it_is_about(
    servers: Servers, url: Callable[[], str]
) -> None:
    one = servers.add("one", tool("ask"))
    people = [Person("left"), Person("right")]

    async def main(address: str) -> list[str]:
        async with (
            asyncio.timeout(2 * WAIT_SECONDS),
            connect(address, mode="legacy", **people[0].options) as left,
            connect(address, mode="legacy", **people[1].options) as right,
        ):
            await asyncio.gather(left.find("ask"), right.find("ask"))
            answers = await asyncio.gather(left.call("one/ask"), right.call("one/ask"))
        await until(lambda: one.count_alive() == 1)  # the one that other clients share
        return list(answers)

    answers = [json.loads(answer)["content"]["shelf"] for answer in asyncio.run(main(url()))]
    assert answers == ["left", "right"]
    assert [person.heard for person in people] == [["one: Which shelf?"]] * 2


def test_over_http_every_client_is_asked_for_its_roots_in_the_stream_of_its_call(
    servers: Servers, url: Callable[[], str]
) -> None:
    """Clients may have no other stream yet, or none at all."""
    servers.add("one", tool("roots"))

    async def answer(address: str, root: str) -> list[str]:
        roots = [root]

        async def list_roots(_: Any) -> ListRootsResult:
            return ListRootsResult(roots=[Root.model_validate({"uri": uri}) for uri in roots])

        options: dict[str, Any] = {"mode": "legacy", "list_roots_callback": list_roots, **Person().options}
        async with connect(address, WithoutStream(), **options) as agent:
            await agent.wait_for("roots", "one/roots")
            first = json.loads(await agent.call("one/roots"))
            roots.append(f"{root}/more")
            await agent.client.session.send_notification(RootsListChangedNotification())
            async with asyncio.timeout(WAIT_SECONDS):
                while json.loads(await agent.call("one/roots")) != roots:
                    await asyncio.sleep(0.05)
            return list(first)

    async def main(address: str) -> list[list[str]]:
        return await asyncio.gather(*(answer(address, f"file:///{number}") for number in range(3)))

    assert asyncio.run(main(url())) == [[f"file:///{number}"] for number in range(3)]


class WithoutStream(httpx2.AsyncHTTPTransport):
    """Connections of a client that cannot open the stream of its session."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(405) if request.method == "GET" else await super().handle_async_request(request)


@pytest.mark.parametrize("version", ["", "2025-06-18", "2026-07-28"])
def test_a_closed_connection_cancels_the_call(
    servers: Servers, url: Callable[[], str], tmp_path: Path, version: str
) -> None:
    """With a session, without one, and in the version of the protocol that has none."""
    servers.add("one", tool("wait"))
    params: dict[str, Any] = {"name": "call", "arguments": {"tool": "one/wait"}}
    headers = HEADERS | {"MCP-Protocol-Version": version or "2025-06-18"}

    async def main(address: str) -> None:
        async with httpx2.AsyncClient(timeout=WAIT_SECONDS, trust_env=False) as http:
            if not version:
                about = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                }
                begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
                answer = await http.post(address, json=begin, headers={"Accept": HEADERS["Accept"]})
                headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
            elif version == "2026-07-28":
                key = "io.modelcontextprotocol"
                params["_meta"] = {f"{key}/protocolVersion": version, f"{key}/clientCapabilities": {}}
                headers.update({"Mcp-Method": "tools/call", "Mcp-Name": "call"})
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            call = asyncio.create_task(http.post(address, json=body, headers=headers))
            await until((tmp_path / "one.waiting").exists)
            call.cancel()
            await until((tmp_path / "one.canceled").exists)

    asyncio.run(main(url()))
    assert (tmp_path / "one.canceled").read_text() == "True\n"
