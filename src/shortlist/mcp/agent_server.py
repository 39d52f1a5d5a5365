"""The MCP server for agents: six tools and the resources, each a thin layer over one function; errors are sentences."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

import shortlist
from shortlist._text import printable
from shortlist.errors import CorpusNotFound, InputError, ShortlistError, SourceError
from shortlist.mcp.collection import SKILLS, Collection
from shortlist.mcp.gateway.tool_search import NAME as TOOLS
from shortlist.mcp.tool_definitions import DEFINITIONS, INSTRUCTIONS, MOST_RESULTS, NAME, RESULTS

if TYPE_CHECKING:
    from mcp.server.session import ServerSession

    from shortlist.protocols import LLM

log = logging.getLogger("shortlist.mcp")

LONGEST_QUERY = 2_000  # characters
LONGEST_SCHEMA = 4_000  # characters that are shown with a found tool; read shows any
LONGEST_RESULT = 100_000  # characters of text that a call may give
ASK_SECONDS = 300.0
FIND_SECONDS = 60.0
LEAVE_SECONDS = 5.0
PAGE = 50  # skills in a list of resources

SCHEME = "shortlist://"
TEMPLATE = f"{SCHEME}{{corpus}}/{{+id}}"
KINDS: dict[str, Mapping[str, Any]] = {
    "tool": {"kind": "tool"},
    "skill": {"kind": "skill"},
    "document": {"kind": {"$nin": ["tool", "skill"]}},
}

Shown = dict[str, Any]
Result = TypeVar("Result")
Connect = Callable[[], "LLM | None"]


class Door:
    """The acts of an agent over what is collected, as coroutines that return plain data."""

    def __init__(self, collection: Collection, connect: Connect, *, k: int = 4, threshold: float | None = None) -> None:
        self._collection = collection
        self._gateway = collection.gateway
        self._asking: dict[str, Any] = {"k": k, "threshold": threshold}
        self._connect = connect
        self._warming: asyncio.Task[None] | None = None

    def instructions(self) -> str:
        return INSTRUCTIONS.format(summary=self._collection.summary())

    def ask_roots(self, session: ServerSession) -> None:
        self._gateway.roots.ask(session)

    def warm(self) -> None:
        """Load ahead what the first question needs."""
        if self._warming is None:
            self._warming = asyncio.create_task(self._warm())

    async def close(self) -> None:
        if self._warming:
            await asyncio.wait([self._warming], timeout=LEAVE_SECONDS)
        await self._gateway.close()
        await asyncio.to_thread(self._collection.close)

    async def discover(self, query: str | None, kind: Any = None, limit: Any = None) -> Shown:
        if not query or not query.strip():
            raise InputError("'query' says in words what is needed.")
        if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
            raise InputError(f"'kind' is one of {', '.join(KINDS)}, or left out, not {kind!r}.")
        notes = _unknown(await self._gateway.settle()) if kind in (None, "tool") else []

        def find() -> Shown:
            from shortlist.search import agent_actions  # noqa: PLC0415  # brings numpy
            from shortlist.search.corpus_tool import parse_count  # noqa: PLC0415

            most = RESULTS if limit is None else parse_count(limit, "limit", most=MOST_RESULTS)
            self._gateway.catalog.look()
            filter = None if kind is None else KINDS[kind]
            found = agent_actions.find(self._collection.corpora(), query[:LONGEST_QUERY], most, filter)
            found["results"] = [self._with_schema(item) for item in found["results"]]
            return found

        found = await _within(FIND_SECONDS, find)
        if kind in (None, "tool"):
            notes += self._gateway.pending_notes()
        return found | ({"note": " ".join(notes)} if notes else {})

    async def read(
        self, id: str | None, corpus: str | None = None, locator: str | None = None, offset: Any = 0
    ) -> Shown:
        if not id or not id.strip():
            raise InputError("'id' is that of a found item.")

        def shown() -> Shown:
            from shortlist.search import agent_actions  # noqa: PLC0415

            wanted, within = id, corpus
            if corpus in (None, TOOLS):
                try:
                    wanted, within = self._gateway.find(id).id, TOOLS
                except InputError:
                    if corpus == TOOLS:
                        raise
            try:
                return agent_actions.read(self._collection.corpora(within), wanted, locator, offset)
            except CorpusNotFound:
                if within is None:
                    self._gateway.find(id)  # which says what is meant, or why it is not offered
                raise

        return await _within(FIND_SECONDS, shown)

    async def call_read(self, tool: str | None, arguments: Any = None) -> types.CallToolResult:
        return await self.call(tool, arguments, only_reads=True)

    async def call(self, tool: str | None, arguments: Any = None, *, only_reads: bool = False) -> types.CallToolResult:
        found, raw = await self._gateway.call(tool or "", arguments, only_reads=only_reads)
        try:
            answered = types.CallToolResult.model_validate(raw)
        except ValueError:
            wanted = "asks for something that only a person could answer" if "inputRequests" in raw else "is no result"
            raise SourceError(f"The answer of {found.id} {wanted}.") from None
        texts = [block.text for block in answered.content if isinstance(block, types.TextContent)]
        text = "\n".join(texts)
        shown: Shown = {"tool": found.id, "text": _cut(text)}
        if answered.structured_content is not None and len(json.dumps(answered.structured_content)) <= LONGEST_RESULT:
            shown["result"] = answered.structured_content
        others = [block for block in answered.content if not isinstance(block, types.TextContent)]
        content: list[Any] = [types.TextContent(type="text", text=_cut(text)), *others] if texts else others
        return types.CallToolResult(
            content=content or [types.TextContent(type="text", text="Done; nothing was returned.")],
            structured_content=shown,
            is_error=answered.is_error,
        )

    async def ask(self, question: str | None, corpus: str | None = None) -> Shown:
        if not question or not question.strip():
            raise InputError("'question' is what is asked, in words.")

        def answer() -> Shown:
            corpora = [one for one in self._collection.documents(corpus) if not one.is_empty]
            if not corpora:
                raise CorpusNotFound("No documents are indexed. The user can do that: shortlist ingest PATH.")
            given = shortlist.ask(corpora, question, self._connect(), filter={"kind": {"$ne": "tool"}}, **self._asking)
            sources = {(item.source, item.locator): item.marker for item in given.evidence}
            return {
                "answer": given.text,
                "refused": given.refused,
                "reason": given.reason,
                "sources": [{"source": at, "locator": place, "marker": mark} for (at, place), mark in sources.items()],
            }

        return await _within(ASK_SECONDS, answer)

    async def status(self) -> Shown:
        def look() -> Shown:
            self._collection.corpora()
            counts = dict(self._collection.counts())
            corpora = [
                {"name": name, "documents": sum(kinds.values()), "kinds": kinds}
                | ({"problem": problem} if (problem := self._collection.problems.get(name)) else {})
                for name, kinds in counts.items()
            ]
            tools = self._gateway.catalog.pending()
            pending = [{"tool": printable(tool.id), "reason": tool.pending} for tool in tools]
            return {"servers": self._gateway.status(), "pending": pending, "corpora": corpora}

        await self._gateway.follow()
        self._gateway.wake()
        shown = await _within(FIND_SECONDS, look)
        notes = self._gateway.pending_notes()
        return shown | ({"note": " ".join(notes)} if notes else {})

    async def skills(self, start: int) -> tuple[list[types.Resource], int | None]:
        """Some of the skills as resources, and where to go on."""

        def some() -> tuple[list[types.Resource], int | None]:
            documents, count = self._collection.skills().browse("", start, PAGE)
            listed = [
                types.Resource(
                    uri=uri_of(SKILLS, one.id),
                    name=one.name,
                    description=str(one.metadata.get("description") or "") or None,
                    mime_type="text/markdown",
                )
                for one in documents
            ]
            return listed, start + PAGE if start + PAGE < count else None

        return await _within(FIND_SECONDS, some) if SKILLS in self._collection.names() else ([], None)

    def _with_schema(self, item: Shown) -> Shown:
        """What was found; a tool that can be called is described by what its server says."""
        tool = self._gateway.catalog.tools().get(item["id"]) if item["corpus"] == TOOLS else None
        if tool is None:
            return item
        shown = {key: value for key, value in item.items() if key != "locator"}
        shown |= {"text": _cut(tool.description, 1000), "access": tool.access}
        is_short = len(json.dumps(tool.schema, ensure_ascii=False)) <= LONGEST_SCHEMA
        return shown | ({"input_schema": tool.schema} if is_short else {"note": "Its schema is long: read it."})

    async def _warm(self) -> None:
        self._gateway.wake()
        try:
            await _within(FIND_SECONDS, lambda: shortlist.search(self._collection.corpora(), "one text", k=1))
        except Exception:  # whoever asks is told
            log.debug("warming failed", exc_info=True)


def _unknown(states: Mapping[str, str]) -> list[str]:
    """What to say of servers of which nothing is known."""
    late = [name for name, state in states.items() if state in ("idle", "starting")]
    lost = [name for name, state in states.items() if name not in late]
    notes = [f"Not ready yet: {', '.join(late[:5])}. Ask again in a moment."] if late else []
    return notes + ([f"Not reached: {', '.join(lost[:5])}. See status."] if lost else [])


async def _within(seconds: float, work: Callable[[], Result]) -> Result:
    """What work in a thread comes to, if that does not take too long."""
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.to_thread(work)
    except TimeoutError:
        raise SourceError(f"This took longer than {seconds:g} seconds.") from None


def _cut(text: str, most: int = LONGEST_RESULT) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters were cut off)"


def uri_of(corpus: str, id: str) -> str:
    return f"{SCHEME}{quote(corpus, safe='')}/{quote(id, safe='/')}"


def make_server(door: Door) -> Server[Any]:
    """The server that the official SDK runs, over whichever transport."""
    actions: dict[str, Callable[..., Awaitable[Any]]] = {
        definition["name"]: getattr(door, definition["name"]) for definition in DEFINITIONS
    }
    schemas = {definition["name"]: definition["inputSchema"] for definition in DEFINITIONS}
    tools = [types.Tool.model_validate(definition) for definition in DEFINITIONS]

    async def list_tools(_: Any, params: Any) -> types.ListToolsResult:
        door.warm()
        server.instructions = await asyncio.to_thread(door.instructions)  # for whoever comes next
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        name, arguments = params.name, params.arguments or {}
        try:
            if name not in actions:
                raise InputError(f"There is no {name[:80]!r} here, only {', '.join(actions)}. call runs found tools.")
            _check(name, schemas[name], arguments)
            shown = await actions[name](**arguments)
        except Exception as error:
            sentence = str(error)
            if not isinstance(error, ShortlistError):
                log.exception("%s failed.", name)
                sentence = f"Something unexpected went wrong in {name} ({type(error).__name__})."
            return types.CallToolResult(content=[types.TextContent(type="text", text=sentence)], is_error=True)
        if isinstance(shown, types.CallToolResult):
            return shown
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=shown)

    async def list_resources(_: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        cursor = (params and params.cursor) or "0"
        if not cursor.isdecimal():
            raise MCPError(code=types.INVALID_PARAMS, message=f"There is no cursor {cursor[:80]!r}.")
        listed, following = await door.skills(int(cursor))
        return types.ListResourcesResult(resources=listed, next_cursor=None if following is None else str(following))

    async def list_templates(_: Any, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=TEMPLATE, name="item", description="Anything that discover finds, by its corpus and id."
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        corpus, slash, id = params.uri.removeprefix(SCHEME).partition("/")
        try:
            if not params.uri.startswith(SCHEME) or not slash:
                raise InputError(f"The resources here are {TEMPLATE}, not {params.uri[:200]!r}.")
            shown = await door.read(unquote(id), unquote(corpus))
        except ShortlistError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from None
        kind = "application/json" if shown["kind"] == "tool" else "text/markdown"
        contents = types.TextResourceContents(uri=params.uri, mime_type=kind, text=shown["text"])
        return types.ReadResourceResult(contents=[contents])

    server: Server[Any] = Server(
        NAME,
        version=shortlist.__version__,
        instructions=door.instructions(),
        lifespan=_life(door),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )

    async def ask_roots(ctx: Any, _: Any) -> None:
        door.ask_roots(ctx.session)

    for method in ("notifications/initialized", "notifications/roots/list_changed"):
        server.add_notification_handler(method, types.NotificationParams, ask_roots)
    return server


def _check(act: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise for what is missing, unknown or no text; the acts look at the rest."""
    known = schema["properties"]
    if missing := [name for name in schema.get("required", ()) if name not in arguments]:
        raise InputError(f"{act} needs {missing[0]!r}.")
    if strange := [name for name in arguments if name not in known]:
        raise InputError(f"{act} takes {', '.join(known) or 'nothing'}, not {strange[0][:80]!r}.")
    for name, value in arguments.items():
        if known[name].get("type") == "string" and not isinstance(value, str | None):
            raise InputError(f"{name!r} is a text, not {json.dumps(value)[:80]}.")


def _life(door: Door) -> Any:
    @asynccontextmanager
    async def life(_: Any) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            await door.close()

    return life


async def over_stdio(door: Door) -> None:
    """Serve whoever started this process, until they close its input or end it."""
    from mcp.server.stdio import stdio_server  # noqa: PLC0415

    async def leave(code: int) -> None:
        # The thread that reads the input cannot be interrupted, so nothing can be waited for but the servers.
        with suppress(TimeoutError):
            await asyncio.wait_for(door.close(), LEAVE_SECONDS)
        os._exit(code)

    leaving: set[asyncio.Task[None]] = set()
    loop = asyncio.get_running_loop()
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        with suppress(NotImplementedError):  # on Windows
            loop.add_signal_handler(number, lambda code: leaving.add(loop.create_task(leave(code))), code)
    server = make_server(door)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
    os._exit(0)  # a thread that still waits for a language model would keep the process
