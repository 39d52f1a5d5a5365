"""The gateway in an application of someone else: its lifespan, and who may use it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Mount, Route

import shortlist
from shortlist import InputError
from tests.mcp import conftest as gateway_tests
from tests.mcp.conftest import HEADERS, REQUEST, WAIT_SECONDS, WEATHER, Servers

own_home, servers = gateway_tests.own_home, gateway_tests.servers  # fixtures

TOKEN = "s3cret-token"
ALLOWED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def gateway(servers: Servers) -> Any:
    servers.add("weather", WEATHER)
    return shortlist.gateway_app([servers.config], token=TOKEN, allowed_hosts=["Tools.Example"], with_skills=False)


def post(client: TestClient, path: str = "/mcp/", **headers: str) -> Any:
    return client.post(path, json=REQUEST, headers=HEADERS | headers)


def test_it_answers_in_an_application_that_runs_its_lifespan(gateway: Any) -> None:
    app = FastAPI(lifespan=gateway.lifespan)
    app.mount("/agents/mcp", gateway)
    app.add_route("/direct", gateway)

    @app.get("/")
    def home() -> str:
        return "ours"

    with TestClient(app, base_url="http://localhost", headers=ALLOWED) as client:
        assert client.get("/", headers={"Authorization": ""}).json() == "ours"
        tools = post(client, "/agents/mcp/").json()["result"]["tools"]
        assert [tool["name"] for tool in tools][:2] == ["discover", "read"]
        assert post(client, "/direct").json()["result"]["tools"] == tools
        assert client.get("/direct").status_code == 405


def test_tools_are_found_and_called_through_it_with_the_official_client(gateway: Any, servers: Servers) -> None:
    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[dict[str, str]]:
        async with gateway.lifespan():
            yield {"of": "the application"}

    app = Starlette(routes=[Mount("/mcp", gateway)], lifespan=lifespan)

    async def main() -> None:
        async with asyncio.timeout(WAIT_SECONDS), app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app)
            http = httpx2.AsyncClient(transport=transport, headers=ALLOWED, timeout=WAIT_SECONDS)
            async with http, Client(streamable_http_client("http://localhost/mcp/", http_client=http)) as client:
                found = await client.call_tool("discover", {"query": "will it rain"})
                assert [item["id"] for item in found.structured_content["results"]] == ["weather/get_forecast"]
                called = await client.call_tool("call", {"tool": "get_forecast", "arguments": {"city": "Ghent"}})
                assert 'get_forecast {"city": "Ghent"}' in str(called.content)

    asyncio.run(main())
    assert not servers.add("weather", WEATHER).is_alive()


def test_it_can_be_served_alone_and_again(gateway: Any) -> None:
    for _ in range(2):
        with TestClient(gateway, base_url="http://localhost", headers=ALLOWED) as client:
            assert post(client, "/").status_code == 200


def test_without_its_lifespan_the_error_says_what_to_do(gateway: Any) -> None:
    client = TestClient(Starlette(routes=[Mount("/mcp", gateway)]), base_url="http://localhost", headers=ALLOWED)
    with pytest.raises(RuntimeError, match=r"lifespan=gateway\.lifespan"):
        post(client)


@pytest.mark.parametrize("path", ["/", "/docs", "/page", "/health", "/openapi.json"])
def test_every_path_that_it_is_mounted_at_needs_the_token(gateway: Any, path: str) -> None:
    """In our own service, these need none."""
    app = Starlette(routes=[Route(path, gateway), Mount(path, gateway)], lifespan=gateway.lifespan)
    with TestClient(app, base_url="http://localhost") as client:
        for address in (path, f"{path.rstrip('/')}/"):
            assert post(client, address).status_code == 401
            assert post(client, address, Authorization="Bearer wrong").status_code == 401
            assert post(client, address, **ALLOWED).status_code == 200


def test_hosts_and_origins_are_checked(gateway: Any) -> None:
    app = Starlette(routes=[Mount("/mcp", gateway)], lifespan=gateway.lifespan)
    with TestClient(app, base_url="http://localhost", headers=ALLOWED) as client:
        refused = post(client, Host="evil.example")
        assert (refused.status_code, "Add it to allowed_hosts." in refused.json()["detail"]) == (421, True)
        assert post(client, Host="tools.example").status_code == 200
        assert post(client, Origin="http://evil.example").status_code == 403
        assert post(client, Origin="http://localhost").status_code == 200
        large = client.post("/mcp/", content=iter([b" " * (1 << 20)] * 17), headers=HEADERS)
        assert large.status_code == 413


def test_without_a_token_or_with_unknown_servers_there_is_no_application(servers: Servers) -> None:
    servers.add("weather", WEATHER)
    with pytest.raises(InputError, match="allow_anonymous=True"):
        shortlist.gateway_app([servers.config])
    with pytest.raises(InputError, match="Did you mean 'weather'"):
        shortlist.gateway_app([servers.config], token=TOKEN, only=["wether"])
    with pytest.raises(InputError, match="'work' is not a profile"):
        shortlist.gateway_app([servers.config], token=TOKEN, profile="work")
    with pytest.raises(InputError, match="token must be one or more printable"):
        shortlist.gateway_app([servers.config], token="")
    open_to_all = shortlist.gateway_app([servers.config], allow_anonymous=True)
    with TestClient(open_to_all, base_url="http://localhost") as client:
        assert post(client, "/").status_code == 200
