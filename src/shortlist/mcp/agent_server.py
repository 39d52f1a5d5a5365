"""The MCP server for agents: answers its protocol, over stdio or any other transport. Imports the SDK."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Any, NoReturn

import mcp_types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server

import shortlist
from shortlist._paths import describe_os_error
from shortlist._telemetry import CONTEXT, resume
from shortlist.errors import InputError, ShortlistError
from shortlist.mcp import protocol_handlers
from shortlist.mcp.agent_tools import AgentActions, Data
from shortlist.mcp.client_sessions import client_address
from shortlist.mcp.gateway.client_link import SESSION_HEADER
from shortlist.mcp.gateway.pinned_tools import define
from shortlist.mcp.gateway.relay import Exchanges, is_modern, request_roots
from shortlist.mcp.hook_socket import answer_hooks
from shortlist.mcp.protocol_handlers import complete
from shortlist.mcp.resource_handlers import ResourceHandlers
from shortlist.mcp.tool_definitions import DEFINITIONS, SCHEMAS
from shortlist.safety.principals import NOTES, PRINCIPAL, current_principal, show_sources

__all__ = ["AgentActions", "make_server", "serve_stdio"]

log = logging.getLogger("shortlist.mcp")

CALLS = ("call", "call_read")  # whose results are those of servers
MOST_LISTENERS = 1_000  # clients that hear when the tools change

ROOTS_REQUESTS = ("tools/call", "prompts/get", "resources/read", "completion/complete")  # that may start a server

Context = ServerRequestContext[Any, Any]


def make_server(agent: AgentActions) -> Server[Any]:
    """The server that the official SDK runs, over any transport."""
    handlers = _AgentHandlers(agent)
    resources = ResourceHandlers(agent, handlers.exchanges)
    server: Server[Any] = Server(
        "shortlist",
        version=shortlist.__version__,
        instructions=agent.instructions(),
        lifespan=handlers.lifespan,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
    )
    # The SDK makes these options itself for sessions over HTTP.
    changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    server.create_initialization_options = functools.partial(  # type: ignore[method-assign]
        server.create_initialization_options, changes
    )
    handlers.server = server
    server.middleware.append(handlers.identify_client)
    protocol_handlers.add_handlers(server, agent.gateway, handlers.exchanges)
    for method in ("notifications/initialized", "notifications/roots/list_changed"):
        server.add_notification_handler(method, types.NotificationParams, handlers.update_roots)
    agent.skills.add_to(server)
    return server


class _AgentHandlers:
    """Answers requests for our tools, and learns who sends them."""

    def __init__(self, agent: AgentActions) -> None:
        self._agent = agent
        self._tools = [types.Tool.model_validate(definition) for definition in DEFINITIONS]
        self._runs = 0  # of the server: over HTTP, there are two
        self._listeners: dict[str, ServerSession] = {}  # by address, the clients that hear when the tools change
        agent.gateway.on_pins_changed = self.send_tools_changed
        self.exchanges = Exchanges()
        self.server: Server[Any]

    @asynccontextmanager
    async def lifespan(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        self._runs += 1
        try:
            yield {}
        finally:
            self._runs -= 1
            if not self._runs:
                self.exchanges.close()
                await self._agent.close()

    async def identify_client(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Learn who the client is, before its request is handled."""
        if ctx.request is not None and ctx.request.client:  # over HTTP
            session = ctx.request.headers.get(SESSION_HEADER, "")
            principal = ctx.request.scope.get(PRINCIPAL)
            current_principal.set(principal)
            if headers := ctx.request.scope.get(CONTEXT):  # in a session, this is not the task of the request
                resume(headers)
            user = f"{principal.user} " if principal else ""
            client_address.set(f"{user}{ctx.request.client.host} {session[:200]}")
        if ctx.method != "initialize":
            self._agent.gateway.identify_client(ctx, has_back_channel=not is_modern(ctx))
        link = self._agent.gateway.find_link() if ctx.method in ROOTS_REQUESTS else None
        if link and link.roots.is_outdated:
            request_roots(link.roots, ctx.session, ctx.request_id)
        with self._agent.gateway.keep_servers():
            return await call_next(ctx)

    async def update_roots(self, context: Context, _: types.NotificationParams) -> None:
        """Request the roots: over HTTP with the next request, in whose open stream the client reads."""
        if link := self._agent.gateway.find_link():
            if context.request is None:
                request_roots(link.roots, context.session)
            else:
                link.roots.is_outdated = True

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        self._agent.warm_up()
        self.server.instructions = await asyncio.to_thread(self._agent.instructions)  # for the next client
        if not is_modern(context) and (context.request is None or SESSION_HEADER in context.request.headers):
            self._listeners.pop(client_address.get(), None)
            self._listeners[client_address.get()] = context.session
            while len(self._listeners) > MOST_LISTENERS:
                del self._listeners[next(iter(self._listeners))]
        pinned = await asyncio.to_thread(self._agent.gateway.list_pinned)
        added = [types.Tool.model_validate(define(name, tool)) for name, tool in pinned.items()]
        return types.ListToolsResult(tools=[*self._tools, *added])

    async def send_tools_changed(self) -> None:
        """Report to clients that other tools are pinned, or that those have changed."""
        for address, session in list(self._listeners.items()):
            try:
                await session.send_tool_list_changed()
            except Exception:  # the client is gone
                self._listeners.pop(address, None)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        name, arguments = params.name, params.arguments or {}
        shown: Data | None = None
        try:
            if pinned := self._agent.gateway.pins.get(name):
                act = functools.partial(self._agent.call, pinned, arguments, is_pinned=True)
            else:
                _check_arguments(name, arguments, self._agent.gateway.pins)
                act = functools.partial(getattr(self._agent, name), **arguments)
            if pinned or name in CALLS:
                return complete(await self.exchanges.run(context, params, act))
            shown = show_sources(await act())
            text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        except MCPError:  # which the client can handle
            raise
        except Exception as error:
            _note_error(context, error)
            text = _describe_error(name, error)
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structured_content=shown, is_error=shown is None)


def _describe_error(tool: str, error: Exception) -> str:
    if isinstance(error, ShortlistError):
        return str(error)
    if isinstance(error, OSError):
        log.error("%s failed: %s", tool, error)
        return describe_os_error(error)
    log.exception("%s failed.", tool)
    return f"Unexpected error in {tool} ({type(error).__name__})."


def _note_error(context: Context, error: Exception) -> None:
    """Note for the audit log, over HTTP, that an action failed: the answer has the status 200 all the same."""
    if context.request is not None and (notes := context.request.scope.get(NOTES)) is not None:
        notes["error"] = type(error).__name__


def _check_arguments(tool: str, arguments: Mapping[str, Any], pinned: Iterable[str] = ()) -> None:
    """Reject an unknown tool and missing, empty, unknown or non-text arguments; the actions check the rest."""
    if tool not in SCHEMAS:
        known_tools = ", ".join([*SCHEMAS, *pinned])
        raise InputError(f"There is no tool {tool[:80]!r}, only {known_tools}. Run a found tool with call.")
    known = SCHEMAS[tool]["properties"]
    for name, value in arguments.items():
        if name not in known:
            raise InputError(f"{tool} has no argument {name[:80]!r}. Its arguments: {', '.join(known) or 'none'}.")
        if known[name].get("type") == "string" and not isinstance(value, str | None):
            raise InputError(f"{name!r} must be a string, not {json.dumps(value)[:80]}.")
    if missing := [name for name in SCHEMAS[tool].get("required", ()) if not (arguments.get(name) or "").strip()]:
        raise InputError(f"{tool} needs a non-empty {missing[0]!r}.")


async def serve_stdio(
    agent: AgentActions, at_exit: Callable[[], None] | None = None, find_hints: Callable[[str], str] | None = None
) -> None:
    """Serve the client that started this process, until it closes our input or sends a signal.

    With `find_hints`, the hooks of this project are answered meanwhile.
    """

    def exit(code: int) -> NoReturn:
        if at_exit:
            at_exit()
        os._exit(code)

    async def leave(code: int) -> None:
        # The thread that reads the input cannot be interrupted, so only the servers are waited for.
        await agent.close()
        exit(code)

    leaving: set[asyncio.Task[None]] = set()
    loop = asyncio.get_running_loop()
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        with suppress(NotImplementedError):  # on Windows
            loop.add_signal_handler(number, lambda code: leaving.add(loop.create_task(leave(code))), code)
    server = make_server(agent)
    async with answer_hooks(find_hints) if find_hints else nullcontext(), stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
    exit(0)  # a thread that still waits for a language model would keep the process alive
