"""The gateway as an ASGI application, to mount in an application of your own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist._settings import PROGRAM, Values
from shortlist.errors import InputError, needs_extra
from shortlist.mcp.collection import Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp.gateway.profiles import ServerChoice
from shortlist.protocols import LLM

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from shortlist.server.routes.mcp_routes import Agents


class MountedGateway:
    """The application, and the `lifespan` that must run while it answers requests."""

    def __init__(self, agents: Agents, guarded: ASGIApp) -> None:
        self._agents, self._guarded = agents, guarded
        self._state: dict[str, Any] | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """The lifespan of the surrounding application, or a part of it."""
        async with self._agents.live() as self._state:
            try:
                yield
            finally:
                self._state = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # it is not mounted, but served itself
            from starlette.routing import Router  # noqa: PLC0415

            await Router(lifespan=self.lifespan)(scope, receive, send)
        elif self._state is None:
            raise RuntimeError("The gateway is not running. Pass lifespan=gateway.lifespan to your application.")
        else:
            await self._guarded({**scope, "state": self._state}, receive, send)


def gateway_app(
    config: Sequence[str | Path] = (),
    *,
    only: Sequence[str] = (),
    profile: str = "",
    corpora: Sequence[str] = (),
    with_skills: bool = True,
    llm: LLM | None = None,
    token: str | None = None,
    allow_anonymous: bool = False,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
) -> MountedGateway:
    """The MCP gateway as an ASGI application: `FastAPI(lifespan=gateway.lifespan)`, `app.mount("/mcp", gateway)`.

    Without a `token`, `allow_anonymous` says that your application decides who may send requests. Requests must be sent
    to localhost, an IP address or one of `allowed_hosts`; web pages may send them only from the same origin or from
    `allowed_origins`. The other arguments are the options of `shortlist mcp`.
    """
    with needs_extra("server,mcp", "gateway_app"):
        from starlette.middleware.exceptions import ExceptionMiddleware  # noqa: PLC0415

        from shortlist.server.middleware import Guard  # noqa: PLC0415
        from shortlist.server.routes.mcp_routes import Agents, make_managers  # noqa: PLC0415
    if token is None and not allow_anonymous:
        raise InputError(
            "Without a token, everyone who reaches this address can call your MCP servers. Pass token=, or "
            "allow_anonymous=True if your application authenticates requests itself."
        )
    given = {"token": token, "allowed_hosts": tuple(allowed_hosts), "allowed_origins": tuple(allowed_origins)}
    values = {f"server.{key}": value for key, value in given.items()}
    settings = Values(values, dict.fromkeys(values, PROGRAM)).validate()
    configuration = GatewayConfig(config, choice=ServerChoice(tuple(only), profile))
    configuration.read()  # raises errors now, and not at the first request

    def make() -> Any:
        collection = Collection(Gateway(configuration), StoredCorpora(corpora), with_skills=with_skills)
        return make_managers(collection, llm, max_bytes=settings.limits.max_body_bytes)

    agents = Agents(make)
    return MountedGateway(agents, Guard(ExceptionMiddleware(agents), settings, is_mounted=True))
