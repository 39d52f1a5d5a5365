"""The processes of a soak run that use the HTTP service and the gateway: `python -m bench.soak.clients KIND ...`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from bench.soak.actors import MODES, OWNERS, Actor, Interrupted, draw_anchor
from bench.soak.ledger import GROUPS, Ledger, Violation, check_text, find_versions, make_group
from shortlist import ShortlistError

SECONDS = 150.0  # more than any operation may take
WORKER_ENDED = "The process that searched ended unexpectedly"

# A tool of each server that may be configured: its arguments, and a text that its result contains.
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "echo/echo": ({"message": "soak"}, "soak"),
    "everything/echo": ({"message": "soak"}, "soak"),
    "time/get_current_time": ({"timezone": "UTC"}, "UTC"),
}


class Service:
    """A client of a service that may be killed at any time, unless it is spared."""

    def __init__(self, port: str, spared: bool) -> None:
        self._spared = spared
        self.is_lost = True  # until it was ready
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False)

    def send(self, method: str, path: str, body: Any = None, gone: str = "") -> Any:
        """The parsed answer. Our own 503 is an error of ours, any other failure but `gone` a violation."""
        try:
            response = self.http.request(method, path, json=body)
        except httpx2.TimeoutException:
            raise Violation(f"{method} {path} was not answered in {SECONDS:g} seconds.") from None
        except httpx2.TransportError as error:
            self.is_lost = True
            if self._spared:
                raise Violation(f"{method} {path}: {type(error).__name__}: {error}") from None
            raise Interrupted from None
        if response.status_code == 200:
            return response.json() if "json" in response.headers["content-type"] else response.text
        detail = response.json().get("detail", "") if "json" in response.headers["content-type"] else response.text
        if response.status_code == 503 or "cannot be written" in detail:
            if WORKER_ENDED in detail and not self._spared:
                raise Interrupted
            raise ShortlistError(f"{response.status_code} for {method} {path}: {detail}")
        if str(response.status_code) == gone:
            return None
        raise Violation(f"{response.status_code} for {method} {path}: {detail}")

    def is_ready(self) -> bool:
        try:
            return bool(self.http.get("/ready").status_code == 200)
        except httpx2.TransportError:
            return False


def use_service(actor: Actor, port: str, spared: str) -> None:
    """Write and read the catalog and the shared corpus, and run jobs."""
    service, draw = Service(port, bool(int(spared))), actor.draw
    ledgers = {"catalog": actor.ledger("catalog", "s"), "shared": actor.ledger("shared", "c")}
    owners = {"catalog": "s", "shared": "c"}
    corpora = [*owners]

    def documents_of(corpus: str) -> list[tuple[str, str]]:
        path = "/documents?limit=100000" if corpus == "catalog" else f"/v1/corpora/{corpus}/documents?limit=1000"
        return [(one["id"], one["content"]) for one in service.send("GET", path)["documents"]]

    def compare() -> None:
        corpus = draw.choice(corpora)
        ledgers[corpus].settle(find_versions(documents_of(corpus), owners[corpus]))

    def write() -> None:
        corpus, group = draw.choice(corpora), draw.randrange(GROUPS)
        ledger, owner = ledgers[corpus], owners[corpus]
        if group % 5 == 0 and draw.random() < 0.5:  # a group of one document, which one request can delete
            _delete(service, ledger, corpus, owner, group)
            return
        versions = {group: ledger.next_version()}
        bodies = [
            {"id": one.id, "title": one.title, "content": one.content, "metadata": dict(one.metadata)}
            for one in make_group(owner, group, versions[group])
        ]
        ledger.begin(versions)
        if corpus == "catalog":
            service.send("POST", "/documents", bodies)
        else:
            service.send("POST", f"/v1/corpora/{corpus}/documents", {"documents": bodies})
        ledger.acknowledge(versions)

    def search() -> None:
        corpus = draw.choice(corpora)
        body = {"query": _anchor(corpus), "k": 20, "mode": draw.choice(MODES)}
        for hit in service.send("POST", f"/v1/corpora/{corpus}/search", body)["hits"]:
            check_text(hit["id"], hit["text"], hit["metadata"]["version"])

    def retrieve() -> None:
        for one in service.send("POST", "/retrieve", {"query": _anchor("catalog")})["documents"]:
            check_text(one["id"], one["content"], whole=True)

    def discover() -> None:
        corpus = draw.choice(corpora)
        service.send("POST", f"/v1/corpora/{corpus}/discover", {"query": _anchor(corpus), "level": "body"})

    def ask() -> None:
        corpus = draw.choice(corpora)
        question = f"What does the note about {_anchor(corpus)} say?"
        answer = _last_event(service.send("POST", f"/v1/corpora/{corpus}/ask", {"question": question, "stream": True}))
        for item in answer["evidence"]:
            check_text(item["id"], item["text"])

    def evaluate() -> None:
        body = {"cases": [{"query": _anchor("catalog"), "gold": ["s-1-0"]}], "unknown": "count", "stream": True}
        _last_event(service.send("POST", "/v1/corpora/catalog/eval", body))

    def change_settings() -> None:
        wanted = draw.choice((0.5, 1.0, 2.0))
        service.send("POST", "/settings", {"temperature": wanted})
        if (stored := service.send("GET", "/settings")["temperature"]) != wanted:
            raise Violation(f"The temperature was set to {wanted} and is {stored}.")

    def reload() -> None:
        service.send("POST", "/reload")

    def give_feedback() -> None:
        corpus = draw.choice(corpora)
        id, _ = (documents_of(corpus) or [("", "")])[0]
        if id:
            body = {"query": _anchor(corpus), "id": id}
            service.send("POST", f"/v1/corpora/{corpus}/feedback", body, gone="404")

    def look() -> None:
        service.send("GET", draw.choice(("/status", "/metrics", "/v1/corpora", "/ready", "/v1/mcp")))

    def _anchor(corpus: str) -> str:
        anchor = draw_anchor(draw)
        return anchor if corpus == "shared" else anchor[:-2] + "sx"

    operations = (
        [write] * 8 + [search] * 8 + [retrieve, retrieve, discover, discover, ask, ask, evaluate, look, compare]
    )
    operations += [change_settings, reload, give_feedback]
    while actor.is_running():
        while service.is_lost and actor.is_running():
            service.is_lost = not service.is_ready()
            actor.rest(0.5)
        operation = draw.choice(operations)
        actor.attempt(f"HTTP {operation.__name__}", operation)
        actor.rest(0.2)


def _delete(service: Service, ledger: Ledger, corpus: str, owner: str, group: int) -> None:
    ledger.begin({group: 0})
    path = "/documents" if corpus == "catalog" else f"/v1/corpora/{corpus}/documents"
    service.send("DELETE", f"{path}/{owner}-{group}-0", gone="404")
    ledger.acknowledge({group: 0})


def _last_event(stream: str) -> dict[str, Any]:
    """The data of the last of the server-sent events, which must be the answer."""
    event, data = stream.strip().rpartition("\n\n")[2].split("\n", 1)
    result: dict[str, Any] = json.loads(data.removeprefix("data: "))
    if event == "event: error" and result["status"] == 503:
        raise ShortlistError(f"503 in events: {result['detail']}")
    if event != "event: answer":
        raise Violation(f"The events ended with {event!r}: {result}")
    return result


def use_gateway(actor: Actor, config: str, spared: str) -> None:
    """Use the six tools of the gateway, which is started again when it was killed."""
    asyncio.run(_use_gateway(actor, Path(config), bool(int(spared))))


async def _use_gateway(actor: Actor, config: Path, spared: bool) -> None:
    from mcp import Client, StdioServerParameters, stdio_client

    environment = dict(os.environ) | {"SOAK_ROLE": "gateway"}
    command = ["-m", "shortlist", "mcp", "--config", str(config), "--corpus", "shared"]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=str(actor.folder))
    with (actor.folder / "logs" / f"{actor.name}-gateway.log").open("a") as log:
        while actor.is_running():
            before = actor.fault()
            try:
                async with Client(stdio_client(server, errlog=log), read_timeout_seconds=SECONDS) as client:
                    await _talk(actor, client, set(json.loads(config.read_text(encoding="utf-8"))["mcpServers"]))
            except Exception as error:
                found = _flatten(error)
                bad = [one for one in found if isinstance(one, Violation)]
                lost: Exception = Interrupted() if not spared else Violation(f"The gateway was lost: {found}")
                actor.record_error("gateway", bad[0] if bad else lost, before)
            await asyncio.sleep(0.5)


async def _talk(actor: Actor, client: Any, servers: set[str]) -> None:
    """Use the tools until the connection is lost."""
    draw = actor.draw
    calls = {tool: call for tool, call in CALLS.items() if tool.split("/")[0] in servers}

    async def use(act: str, **arguments: Any) -> Any:
        result = await client.call_tool(act, arguments)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        if result.is_error:
            raise Violation(text) if "Unexpected error" in text else ShortlistError(text)
        return result.structured_content or text

    async def discover() -> None:
        found = await use("discover", query=draw_anchor(draw), kind="document")
        for item in found["results"]:
            check_text(item["id"], item["text"])

    async def find_tool() -> None:
        await use("discover", query=draw.choice(("echo a message", "what time is it")), kind="tool")

    async def read() -> None:
        id = f"{draw.choice(OWNERS)}-{draw.randrange(GROUPS)}-0"
        try:
            check_text(id, (await use("read", id=id, corpus="shared"))["text"], whole=True)
        except ShortlistError as error:
            if "No item" not in str(error):
                raise

    async def ask() -> None:
        await use("ask", question=f"What does the note about {draw_anchor(draw)} say?", corpus="shared")

    async def call() -> None:
        tool = draw.choice([*calls])
        arguments, expected = calls[tool]
        result = await client.call_tool(draw.choice(("call", "call_read")), {"tool": tool, "arguments": arguments})
        text = "\n".join(block.text for block in result.content if block.type == "text")
        if result.is_error:  # its server may have been killed, or not be marked as read-only
            actor.count(f"refused: {tool}: {_shorten(text)}")
        elif expected not in text:
            raise Violation(f"{tool} returned {text[:300]!r}")

    async def status() -> None:
        await use("status")

    operations: list[Callable[[], Awaitable[None]]] = [
        discover,
        discover,
        find_tool,
        read,
        read,
        ask,
        call,
        call,
        status,
    ]
    while actor.is_running():
        operation, before = draw.choice(operations), actor.fault()
        try:
            await operation()
        except (Violation, ShortlistError) as error:
            actor.record_error(f"gateway {operation.__name__}", error, before)
        else:
            actor.count(f"gateway {operation.__name__}")
        await asyncio.sleep(draw.uniform(0, 0.4))


def _shorten(text: str) -> str:
    """The kind of an error, without paths and numbers."""
    return re.sub(r"/\S+|\d+", "_", text)[:160]


def _flatten(error: BaseException) -> list[BaseException]:
    inner = getattr(error, "exceptions", None)
    return [one for each in inner for one in _flatten(each)] if inner else [error]


KINDS: dict[str, Callable[..., None]] = {"client": use_service, "agent": use_gateway}


def main(kind: str, name: str, folder: str, home: str, seed: str, *options: str) -> None:
    actor = Actor(name, Path(folder), home, seed)
    KINDS[kind](actor, *options)
    actor.is_running()


if __name__ == "__main__":
    main(*sys.argv[1:])
