"""Resources of the MCP server for agents: skills, items of corpora, long results, and those of other servers."""

from __future__ import annotations

import functools
import json
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.context import ServerRequestContext

from shortlist.errors import InputError
from shortlist.mcp import protocol_handlers
from shortlist.mcp.agent_tools import AgentActions, run_in_thread
from shortlist.mcp.client_sessions import client_address
from shortlist.mcp.collection import SKILLS
from shortlist.mcp.gateway.relay import Exchanges
from shortlist.mcp.large_results.stored_results import PREFIX
from shortlist.mcp.protocol_handlers import SERVERS, as_error, complete, cut_page
from shortlist.mcp.skill_resources import PAGE, parse_cursor
from shortlist.mcp.skill_resources import SCHEME as SKILL_SCHEME

SCHEME = "shortlist://"
TEMPLATE = f"{SCHEME}{{corpus}}/{{+id}}"
RESULTS = "results"  # in place of a corpus

Context = ServerRequestContext[Any, Any]


class ResourceHandlers:
    """Answers requests for resources; a question of a server behind the gateway becomes an exchange."""

    def __init__(self, agent: AgentActions, exchanges: Exchanges) -> None:
        self._agent, self._exchanges = agent, exchanges

    async def list_resources(self, _: Context, params: types.PaginatedRequestParams | None) -> Any:
        cursor = (params.cursor if params else None) or "0"
        listed: list[dict[str, Any]] = []
        if not cursor.startswith(SERVERS):
            skills, following = await self._list_skills(parse_cursor(cursor))
            listed = [skill.model_dump(by_alias=True, mode="json", exclude_none=True) for skill in skills]
            if following is not None:
                return complete({"resources": listed, "nextCursor": str(following)})
            cursor = "0"
        page, after = cut_page(self._agent.gateway.offers.list_resources(), cursor)
        return complete({"resources": [*listed, *page]} | after)

    async def _list_skills(self, start: int) -> tuple[list[types.Resource], int | None]:
        """A page of the skills as resources, and where the next page starts."""
        skills = self._agent.skills
        if not skills.are_served:
            return [], None
        documents, count = await run_in_thread(lambda: skills.browse(start))
        uris = await run_in_thread(skills.uris)
        page = [
            types.Resource(
                uri=uris.get(document.id) or f"{SCHEME}{SKILLS}/{quote(document.id, safe='/')}",
                name=document.name,
                description=str(document.metadata.get("description") or "") or None,
                mime_type="text/markdown",
            )
            for document in documents
        ]
        return page, start + PAGE if start + PAGE < count else None

    async def list_templates(self, _: Context, params: types.PaginatedRequestParams | None) -> Any:
        description = "Any item that discover finds, by its corpus and id."
        own = {"uriTemplate": TEMPLATE, "name": "item", "description": description}
        templates = [own, *self._agent.gateway.offers.list_templates()]
        page, after = cut_page(templates, params.cursor if params else None)
        return complete({"resourceTemplates": page} | after)

    async def read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Any:
        if params.uri.startswith((SCHEME, SKILL_SCHEME)):
            return await as_error(self._read_own(params.uri))
        read = functools.partial(protocol_handlers.read_resource, self._agent.gateway, params.uri)
        return complete(await as_error(self._exchanges.run(context, params, read)))

    async def _read_own(self, uri: str) -> types.ReadResourceResult:
        """A file of a skill, an item of a corpus, or a long result."""
        agent = self._agent
        if uri.startswith(SKILL_SCHEME):
            usage = agent.clients.usage()
            return types.ReadResourceResult(contents=[await run_in_thread(lambda: agent.skills.read(uri, usage))])
        corpus, slash, id = uri.removeprefix(SCHEME).partition("/")
        if not slash:
            raise InputError(f"{uri[:200]!r} is not a resource of this server. Use {TEMPLATE}.")
        if corpus == RESULTS and id.startswith(PREFIX):
            shown = {"kind": "result", "text": agent.results.text(id, client_address.get())}
        else:
            shown = await agent.read(unquote(id), unquote(corpus))
        kind = {"tool": "application/json", "result": "text/plain"}.get(shown["kind"], "text/markdown")
        is_data = shown.keys() & {"access", "definition"}
        text = json.dumps(shown, ensure_ascii=False) if is_data else shown["text"]
        contents = types.TextResourceContents(uri=uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[contents])
