"""The protocol beyond tools: prompts, resources, completions and log levels of the servers behind the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

from shortlist.errors import ShortlistError
from shortlist.mcp.gateway.dispatch import Gateway, current_client
from shortlist.mcp.gateway.relay import Exchanges
from shortlist.mcp.skill_resources import PAGE, parse_cursor
from shortlist.mcp_client.server_failures import ServerError

SERVERS = "servers:"  # at the start of a cursor of a list that began with other entries

Entry = dict[str, Any]
Result = TypeVar("Result")


def add_handlers(server: Server[Any], gateway: Gateway, exchanges: Exchanges) -> None:
    """Handle the requests that are passed on to servers."""

    async def list_prompts(_: Any, params: types.PaginatedRequestParams) -> Any:
        page, following = cut_page(gateway.offers.list_prompts(), params.cursor)
        return complete({"prompts": page} | following)

    async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> Any:
        async def get() -> Entry:
            name, prompt = gateway.offers.find_prompt(params.name)
            given = types.GetPromptRequestParams(name=prompt["name"], arguments=params.arguments)
            return await gateway.send(name, types.GetPromptRequest(params=given))

        return complete(await as_error(exchanges.run(context, params, get)))

    async def complete_argument(_: Any, params: types.CompleteRequestParams) -> Any:
        async def send() -> Entry:
            if isinstance(params.ref, types.PromptReference):
                name, prompt = gateway.offers.find_prompt(params.ref.name)
                ref: Any = params.ref.model_copy(update={"name": prompt["name"]})
            else:
                name, ref = gateway.offers.find_template(params.ref.uri), params.ref
            request = types.CompleteRequest(params=params.model_copy(update={"ref": ref, "meta": None}))
            return await gateway.send(name, request)

        return complete(await as_error(send()))

    async def subscribe(_: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await as_error(change_subscription(gateway, types.SubscribeRequest, params.uri))
        return types.EmptyResult()

    async def unsubscribe(_: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        await as_error(change_subscription(gateway, types.UnsubscribeRequest, params.uri))
        return types.EmptyResult()

    async def set_level(_: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
        if link := gateway.find_link():
            link.level = params.level
            for upstream in gateway.list_running():
                await upstream.set_level()
        return types.EmptyResult()

    handlers: tuple[tuple[str, Any, Callable[[Any, Any], Awaitable[Any]]], ...] = (
        ("prompts/list", types.PaginatedRequestParams, list_prompts),
        ("prompts/get", types.GetPromptRequestParams, get_prompt),
        ("completion/complete", types.CompleteRequestParams, complete_argument),
        ("resources/subscribe", types.SubscribeRequestParams, subscribe),
        ("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe),
        ("logging/setLevel", types.SetLevelRequestParams, set_level),
    )
    for method, kind, handler in handlers:
        server.add_request_handler(method, kind, handler)


async def read_resource(gateway: Gateway, uri: str) -> Entry:
    """A resource of a server, as it returned it."""
    name, own = gateway.offers.find_resource(current_client.get(), uri)
    gateway.check_server(name)
    request = types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=own))
    return await gateway.send(name, request)


async def change_subscription(gateway: Gateway, kind: Any, uri: str) -> None:
    link = gateway.find_link()
    if link is None:
        raise MCPError(code=types.INVALID_REQUEST, message="Only clients with a session can subscribe to resources.")
    name, own = gateway.offers.find_resource(current_client.get(), uri)
    gateway.check_server(name)
    is_on = kind is types.SubscribeRequest
    params = types.SubscribeRequestParams(uri=own) if is_on else types.UnsubscribeRequestParams(uri=own)
    await gateway.send(name, kind(params=params))
    if is_on:
        link.subscribed[name, own] = uri
    else:
        link.subscribed.pop((name, own), None)


async def as_error(work: Awaitable[Result]) -> Result:
    """The result of some work, whose errors become those of the protocol."""
    try:
        return await work
    except ServerError as error:
        raise MCPError(code=error.code, message=str(error)) from None
    except ShortlistError as error:
        raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from None


def complete(result: Any) -> Any:
    """A result in the form that new versions of the protocol require."""
    return (
        {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} | result if isinstance(result, dict) else result
    )


def cut_page(entries: Sequence[Entry], cursor: str | None) -> tuple[list[Entry], dict[str, str]]:
    """A page of a list, and the cursor of the next one, if any."""
    start = parse_cursor((cursor or "0").removeprefix(SERVERS))
    end = start + PAGE
    return list(entries[start:end]), {"nextCursor": f"{SERVERS}{end}"} if end < len(entries) else {}
