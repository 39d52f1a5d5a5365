"""The gateway: the tools of all configured servers, found and called by name, whether or not a server is running."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from shortlist._text import count_of
from shortlist.errors import InputError, SourceError
from shortlist.mcp.gateway.arguments import explain_problems, parse_arguments
from shortlist.mcp.gateway.client_link import SESSION_HEADER, ClientLink, ClientProfile
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.gateway.pinned_tools import define
from shortlist.mcp.gateway.server_offers import ServerOffers
from shortlist.mcp.gateway.tool_approvals import hash_of
from shortlist.mcp.gateway.tool_catalog import SEPARATORS, Tool, ToolCatalog, UnknownTool, find_tool
from shortlist.mcp.gateway.upstream import Upstream
from shortlist.mcp_client.config_files import project_of
from shortlist.mcp_client.server_config import ServerConfig
from shortlist.mcp_client.server_failures import ServerError
from shortlist.safety.principals import current_principal

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

log = logging.getLogger("shortlist.mcp")

MOST_STARTS = 4  # in the background; a server that is called starts immediately
LIST_MAX_AGE_SECONDS = 24 * 3600.0  # after which a list is read again although the server is not called
OUTDATED_CHECK_SECONDS = 3600.0  # between searches for such lists
CONFIG_POLL_SECONDS = 2.0  # between checks for changes of the configuration
FIRST_LIST_SECONDS = 3.0  # that searches wait for a server without a list, once
START_SLOT_SECONDS = 5.0  # after which a server that does not start keeps no other from starting
UNUSED_CLIENT_SECONDS = 1800.0  # after which the servers of a client over HTTP are closed
MOST_PRIVATE_CLIENTS = 100  # clients over HTTP with servers of their own that are kept while no request is open

# The client of this request among those that have servers of their own; empty for all others.
current_client: ContextVar[str] = ContextVar("current_client", default="")


class CallOutcome(NamedTuple):
    """The tool that was called, the result as its server returned it and, if that is an error, what is wrong with the
    arguments."""

    tool: Tool
    result: dict[str, Any]
    explanation: str = ""


class CallFailed(SourceError):
    """The server of a tool did not answer a call."""

    def __init__(self, message: str, tool: Tool) -> None:
        super().__init__(message)
        self.tool = tool


class Gateway:
    """The servers of a configuration. No server is started before it is needed.

    Changes of the configuration are applied while it runs: a server that was added or approved becomes available, one
    that was removed, changed or is no longer trusted is stopped.
    """

    def __init__(self, config: GatewayConfig) -> None:
        self._config, self._stamp = config, config.stamp()
        found = config.read()
        self.home, self.tools_folder, self.shared_folder = config.home, config.tools, config.shared
        self.record_place = config.record_place
        self.pending_files, self.problems, self._permissions = found.pending, found.problems, found.permissions
        self.pins = found.pins
        self._active, self._left_out = found.active, found.left_out
        self.catalog = ToolCatalog(found.servers, found.permissions)
        self.offers = ServerOffers(found.servers, found.permissions)
        self.link = ClientLink(lambda: asyncio.gather(*(one.send_roots_changed() for one in self._upstreams.values())))
        self._upstreams = {server.name: self._make_upstream(server) for server in found.servers}
        self._private: dict[str, PrivateServers] = {}  # by client, the latest last
        self._starting: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._reloading = asyncio.Lock()
        self._woken = 0.0
        self.on_pins_changed: Callable[[], Awaitable[None]] | None = None
        self._pins_digest = self._digest_pins() if self.pins else ""

    def _make_upstream(self, server: ServerConfig) -> Upstream:
        return Upstream(server, self.catalog, self.offers, self.link)

    def identify_client(self, context: ServerRequestContext[Any, Any], *, has_back_channel: bool) -> None:
        """Learn from a request who the client is, and whether it can be reached between its requests.

        Over stdio, all servers are started for the one client.

        Over HTTP, clients share servers. A client that servers may ask has servers of its own: a question does not say
        which request it is about, and must not reach another client.
        """
        link, key = self.link, ""
        if context.request is None:
            if link.profile == ClientProfile():
                link.profile = ClientProfile.of(context.session)
                self.catalog.use_variant(link.profile.variant)
        elif (profile := ClientProfile.of(context.session)).variant:
            session = context.request.headers.get(SESSION_HEADER)
            # Requests without a session may be of any client, so no name is right for all of them.
            profile = profile if session else ClientProfile(capabilities=profile.capabilities)
            key = session or profile.variant
            private = self._private.pop(key, None) or PrivateServers(self.catalog, self.offers, profile)
            self._private[key] = private
            private.used_at, principal = time.monotonic(), current_principal.get()
            private.user = principal.user if principal else ""
            link = private.link
        current_client.set(key)
        if has_back_channel and (key or context.request is None):
            link.session = context.session

    @contextlib.contextmanager
    def keep_servers(self) -> Iterator[None]:
        """Keep the servers of the client of this request from being closed while it is answered."""
        private = self._private.get(current_client.get())
        if private is None:
            yield
            return
        private.open_requests += 1
        try:
            yield
        finally:
            private.open_requests -= 1
            private.used_at = time.monotonic()

    def find_link(self) -> ClientLink | None:
        """How the client of this request is reached between its requests; None if it shares servers with others."""
        if private := self._private.get(current_client.get()):
            return private.link
        return self.link if self.link.session else None

    def find_upstream(self, name: str) -> Upstream:
        """The server of a name for the client of this request."""
        shared = self._upstreams.get(name)
        if shared is None:
            raise SourceError(f"The server {name} is no longer configured.")
        private = self._private.get(current_client.get())
        return private.find(shared.server) if private else shared

    def check_server(self, name: str) -> None:
        """Raise an error if the user has denied all of a server."""
        if self._permissions.access(name, "", None) == "never":
            raise InputError(f"{name} is denied by the user. Only the user can permit it: shortlist mcp allow {name}")

    def list_running(self) -> list[Upstream]:
        """The servers that were started for the client of this request."""
        private = self._private.get(current_client.get())
        return list((private.upstreams if private else self._upstreams).values())

    async def forget(self, client: str) -> None:
        """Close the servers of a client that has ended its session."""
        if private := self._private.pop(client, None):
            await private.close()

    async def _close_unused(self) -> None:
        """Close the servers of clients that are gone, and of those beyond the limit: of the user who has most, the
        clients that were not used for longest. Those with open requests are kept."""
        oldest = time.monotonic() - UNUSED_CLIENT_SECONDS
        free = {key: one for key, one in self._private.items() if not one.is_busy}
        gone = [key for key, one in free.items() if one.used_at < oldest]
        counts = Counter(one.user for one in self._private.values())
        counts.subtract(free[key].user for key in gone)
        left = [key for key in free if key not in gone]
        while counts.total() > MOST_PRIVATE_CLIENTS and left:
            key = max(left, key=lambda key: counts[free[key].user])  # the first of those
            left.remove(key)
            gone.append(key)
            counts[free[key].user] -= 1
        await asyncio.gather(*(self._private.pop(key).close() for key in gone))

    async def reload(self) -> None:
        """Apply changes of the configuration and of the approvals."""
        async with self._reloading:
            stamp = self._config.stamp()
            if stamp == self._stamp:
                return
            self._stamp = stamp
            found = await asyncio.to_thread(self._config.read, strict=False)
            unreadable = {problem.source or problem.id for problem in found.problems}
            before = self._upstreams
            # A file of the user may be half written: its servers stay until it can be read again.
            servers = {
                name: one.server
                for name, one in before.items()
                if (file := one.server.file)
                and str(file) in unreadable
                and not project_of(file)
                and not self._config.needs_trust
            } | {server.name: server for server in found.servers}
            self.pending_files, self.problems = found.pending, found.problems
            self._active, self._left_out = found.active, found.left_out
            self._permissions = self._permissions if "permissions" in unreadable else found.permissions
            self.pins = self.pins if "pinned" in unreadable else found.pins
            same = {name: one for name, one in before.items() if servers.get(name) == one.server}
            self._upstreams = {name: same.get(name) or self._make_upstream(server) for name, server in servers.items()}
            await asyncio.to_thread(self.catalog.configure, list(servers.values()), self._permissions)
            await asyncio.to_thread(self.offers.configure, list(servers.values()), self._permissions)
            if self._starting:  # else all are started when they are first needed
                for name in self._find_outdated(servers.keys() - same.keys()):
                    self._upstreams[name].start()
            gone = [one for name, one in before.items() if name not in same]
            gone += [one for private in self._private.values() for one in private.remove_others(servers)]
            await asyncio.gather(*(one.close() for one in gone))

    def _begin_watching(self) -> None:
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CONFIG_POLL_SECONDS)
            try:
                await self.reload()
                await self._follow_pins()
                await self._close_unused()
                for servers in (self._upstreams, *(private.upstreams for private in self._private.values())):
                    for one in servers.values():
                        one.stop_if_idle()
            except Exception:  # the next change is applied all the same
                log.exception("The configuration of MCP servers could not be applied.")

    def list_pinned(self) -> dict[str, Tool]:
        """The pinned tools that are offered, by the names under which clients see them."""
        self.catalog.reload()
        tools = self.catalog.tools
        return {name: tools[id] for name, id in self.pins.items() if id in tools and tools[id].is_offered}

    def _digest_pins(self) -> str:
        return hash_of([define(name, tool) for name, tool in self.list_pinned().items()])

    async def _follow_pins(self) -> None:
        """Report it if other tools are pinned, or if those have changed."""
        digest = await asyncio.to_thread(self._digest_pins) if self.pins else ""
        if digest != self._pins_digest:
            self._pins_digest = digest
            if self.on_pins_changed:
                await self.on_pins_changed()

    def wake(self) -> None:
        """Begin to read the lists that are missing or old, a few servers at a time, and to watch the configuration."""
        now = time.time()
        self._begin_watching()
        if self._starting is None or (self._starting.done() and now - self._woken > OUTDATED_CHECK_SECONDS):
            self._woken = now
            self._starting = asyncio.create_task(self.refresh(self._find_outdated(self._upstreams)))

    def _find_outdated(self, names: Iterable[str]) -> list[str]:
        """The servers whose list is missing or old."""
        oldest, listings = time.time() - LIST_MAX_AGE_SECONDS, self.catalog.listings
        return [name for name in names if name not in listings or listings[name].at < oldest]

    def _find_unlisted(self) -> list[Upstream]:
        return [one for name, one in self._upstreams.items() if name not in self.catalog.listings]

    async def wait_for_lists(self) -> dict[str, str]:
        """Wait a moment for servers without a list, once for each; the states of those that still have none."""
        await self.reload()
        self.wake()
        unlisted = self._find_unlisted()
        if private := self._private.get(current_client.get()):
            unlisted += private.start_unlisted(self._upstreams.values())
        now = asyncio.get_running_loop().time()
        for one in unlisted:
            one.awaited_until = one.awaited_until or now + FIRST_LIST_SECONDS
            if one.state in ("idle", "starting") and one.awaited_until > now:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(one.awaited_until):
                        await one.wait_for_start()
        return {one.server.name: one.state for one in self._find_unlisted()}

    async def refresh(self, names: Iterable[str] | None = None) -> None:
        """Ask these servers, by default all, for their tools now."""
        gate = asyncio.Semaphore(MOST_STARTS)

        async def refresh(one: Upstream) -> None:
            with contextlib.suppress(SourceError):  # its status has the reason
                await one.refresh()

        async def refresh_in_turn(one: Upstream) -> None:
            async with gate:
                refreshing = asyncio.create_task(refresh(one))
                await asyncio.wait([refreshing], timeout=START_SLOT_SECONDS)
            await refreshing

        wanted = self._upstreams if names is None else names
        await asyncio.gather(*(refresh_in_turn(self._upstreams[name]) for name in wanted))

    def find(self, name: str) -> Tool:
        """The offered tool of this name. If there is none, the error names the servers that are not ready."""
        self.catalog.reload()
        try:
            return find_tool(name, self.catalog.tools)
        except UnknownTool as error:
            one = self._find_named(name)
            if one and one.state != "ready" and (one.problem or one in self._find_unlisted()):
                raise SourceError(f"{name[:80]!r} is not available. {one.describe()}") from None
            reasons = [problem.reason for problem in self.problems if _is_of(problem.id, name)]
            reasons += [file.reason for file in self.pending_files if any(_is_of(one, name) for one in file.names)]
            if reasons:
                raise SourceError(f"{name[:80]!r} is not available. {reasons[0]}") from None
            if unlisted := [one.server.name for one in self._find_unlisted()]:
                servers = f"the tools of {', '.join(unlisted[:5])} are not known yet"
                raise UnknownTool(f"{error} It may exist: {servers}. See status.") from None
            raise

    def _find_named(self, tool: str) -> Upstream | None:
        """The server that the name of a tool begins with."""
        return next((one for name, one in self._upstreams.items() if _is_of(name, tool)), None)

    async def send(self, server: str, request: Any) -> dict[str, Any]:
        """The result of a request to a server, as it returned it."""
        self._begin_watching()
        session = await self.find_upstream(server).connect()
        return await session.send(request)

    async def call(
        self, name: str, arguments: Any, *, only_reads: bool = False, is_pinned: bool = False
    ) -> CallOutcome:
        """Call an approved tool. If its server does not answer, the error is a CallFailed.

        Whether to accept arguments is for the server to decide; if it does not, and they do not match its schema, the
        error is an InputError or the outcome has an explanation.

        With `only_reads`, the tool must be marked read-only by its server or permitted as such by the user. The name of
        a pinned tool is its id: a client was allowed that tool, not one with a similar name.
        """
        self._begin_watching()
        await self.reload()
        known = self.catalog.tools.get(name) if self.catalog.is_fresh else None
        can_call = known and known.is_offered and (known.access == "read" or not only_reads)
        tool = known if known and can_call else await self._find_or_wait(name)
        if is_pinned and tool.id != name:
            raise InputError(f"The pinned tool {name!r} is not offered any more. See: shortlist mcp pin")
        _check_access(tool, only_reads)
        parsed = parse_arguments(tool.id, arguments)
        try:
            session = await self.find_upstream(tool.server).refresh()
        except SourceError as error:
            raise CallFailed(f"{tool.id} is not available. {error}", tool) from None
        if self.catalog.tools.get(tool.id) is not tool:  # a list was read since then, so it may have changed
            tool = self.find(tool.id)
            _check_access(tool, only_reads)
        try:
            result = await session.call(tool.name, parsed)
        except SourceError as error:
            if isinstance(error, ServerError) and (reason := await _explain(tool, parsed)):
                raise InputError(f"{error} {reason}") from None
            raise CallFailed(str(error), tool) from None
        self.offers.remember_links(current_client.get(), tool.server, result)
        return CallOutcome(tool, result, await _explain(tool, parsed) if result.get("isError") else "")

    async def _find_or_wait(self, name: str) -> Tool:
        """The offered tool of this name, after a wait for servers without a list if no other has it."""
        try:
            return await asyncio.to_thread(self.find, name)
        except (UnknownTool, SourceError):
            if not self._find_unlisted():
                raise
        if named := self._find_named(name):
            named.start()  # again, if it failed too often
        await self.wait_for_lists()
        return await asyncio.to_thread(self.find, name)

    def status(self) -> list[dict[str, Any]]:
        """Each server: its state, the number of its tools, and its problem, if any."""
        self.catalog.reload()
        rows: list[dict[str, Any]] = []
        failures = self.catalog.read_failures()
        for name, one in self._upstreams.items():
            tools = [tool for tool in self.catalog.tools.values() if tool.server == name]
            listing = self.catalog.listings.get(name)
            row: dict[str, Any] = {
                "name": name,
                "state": one.state,
                "tools": None if listing is None else sum(tool.is_offered for tool in tools),
                "read_only": sum(tool.is_offered and tool.access == "read" for tool in tools),
                "pending": sum(bool(tool.pending) for tool in tools),
                "denied": sum(tool.access == "never" for tool in tools),
            }
            if listing and listing.refused:
                row["refused"] = dict(list(listing.refused.items())[:10])
            if hidden := self.offers.hidden[name]:
                row["hidden"] = hidden  # prompts and resources
            problem = failures.get(name, "") if one.state == "idle" else one.problem
            if problem and one.state != "ready":
                row["problem"] = problem
            rows.append(row)
        rows += [{"name": each.id, "state": "broken", "tools": None, "problem": each.reason} for each in self.problems]
        return rows

    @property
    def profile(self) -> dict[str, Any]:
        """The active profile and the servers that are left out; empty if no server is."""
        active = {"name": self._active.profile, "narrowed_to": self._active.narrowed_to}
        shown = {key: value for key, value in active.items() if value}
        return {"profile": shown | {"left_out": list(self._left_out)}} if shown or self._left_out else {}

    def empty_notes(self) -> list[str]:
        """Setup hint for a gateway without servers."""
        if self._left_out and not self._upstreams:
            return [
                f"The profile leaves out {count_of(len(self._left_out), 'server')}: {', '.join(self._left_out[:5])}."
            ]
        return [] if self._upstreams or self.problems or self.pending_files else [self._config.advice]

    def pending_notes(self) -> list[str]:
        """What waits for an approval or a sign-in, in sentences that an agent can pass on to the user."""
        notes = [pending.reason for pending in self.pending_files]
        notes += [one.problem for one in self._upstreams.values() if one.state == "needs sign-in"]
        if count := len(self.catalog.list_pending()):
            pending = count_of(count, "tool", "is pending approval")
            notes.append(f"{pending}. The user can review them: shortlist mcp approve")
        return notes

    def new_notes(self, announced: set[str] | None = None) -> list[str]:
        """What to report about new tools. With `announced`, only those that are not in it, which are added to it."""
        new = [tool for tool in self.catalog.list_new() if announced is None or tool.id not in announced]
        if announced is not None:
            announced.update(tool.id for tool in new)
        return [self.catalog.announce(new)] if new else []

    async def close(self) -> None:
        for task in filter(None, (self._watching, self._starting)):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        closing = [one.close() for one in self._upstreams.values()]
        await asyncio.gather(*closing, *(one.close() for one in self._private.values()))


class PrivateServers:
    """The servers of one client, which are started when they are first needed."""

    def __init__(self, catalog: ToolCatalog, offers: ServerOffers, profile: ClientProfile) -> None:
        self._catalog, self._offers = catalog, offers
        self.link = ClientLink(self._send_roots_changed, profile)
        self.link.roots.is_outdated = True  # they were never requested, or are those before the servers were closed
        self.upstreams: dict[str, Upstream] = {}
        self.used_at = time.monotonic()
        self.user = ""
        self.open_requests = 0

    @property
    def is_busy(self) -> bool:
        """Whether a request of the client is being answered. Since 2026, that may take several requests."""
        return self.open_requests > 0 or any(one.is_busy for one in self.upstreams.values())

    async def _send_roots_changed(self) -> None:
        await asyncio.gather(*(one.send_roots_changed() for one in self.upstreams.values()))

    def find(self, server: ServerConfig) -> Upstream:
        if server.name not in self.upstreams:
            self.upstreams[server.name] = Upstream(server, self._catalog, self._offers, self.link)
        return self.upstreams[server.name]

    def start_unlisted(self, shared: Iterable[Upstream]) -> list[Upstream]:
        """Start the servers that have not listed their tools for such a client yet."""
        variant = self.link.profile.variant
        found = [self.find(one.server) for one in shared if not self._catalog.has_list(one.server.name, variant)]
        for one in found:
            one.start()
        return found

    def remove_others(self, servers: Mapping[str, ServerConfig]) -> list[Upstream]:
        """Remove the servers that are no longer configured like this, to be closed."""
        names = [name for name, one in self.upstreams.items() if servers.get(name) != one.server]
        return [self.upstreams.pop(name) for name in names]

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self.upstreams.values()))


def _is_of(server: str, tool: str) -> bool:
    """Whether the name of a tool begins with this server."""
    return tool.removeprefix("mcp__").startswith(tuple(server + end for end in SEPARATORS))


async def _explain(tool: Tool, arguments: dict[str, Any]) -> str:
    """What is wrong with the arguments of a call, by the schema of the tool; empty if nothing is."""
    return await asyncio.to_thread(explain_problems, tool.id, tool.schema, arguments)


def _check_access(tool: Tool, only_reads: bool) -> None:
    if only_reads and tool.access != "read":
        is_claimed = any(change.part == "annotations.readOnlyHint" and change.after for change in tool.changes)
        claim = " Its server marks it read-only now, which is pending the user's approval." if is_claimed else ""
        raise InputError(f"{tool.id} is not approved as read-only, so call_read does not run it.{claim} Use call.")
