"""The right that each route needs. A route that is not listed needs `admin` for every corpus."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from shortlist._settings import AccessSettings
from shortlist.errors import AccessDenied
from shortlist.safety.principals import ANY, PRINCIPAL, Principal, Right, current_principal, describe_corpus
from shortlist.server.catalog_store import NAME
from shortlist.server.http_errors import make_error_problem
from shortlist.server.jobs import JSON, to_json
from shortlist.server.middleware import METADATA, OPEN_PATHS, address_of

CORPUS = "/v1/corpora/{name:path}"
# Of the corpus that the path names, which `ServedCorpora` checks where it opens it.
RIGHTS: dict[str, Right] = {
    "GET /v1/corpora": "read",  # lists those that the caller may read
    f"GET {CORPUS}": "read",
    f"GET {CORPUS}/documents": "read",
    f"GET {CORPUS}/documents/{{id:path}}": "read",
    f"GET {CORPUS}/usage": "read",
    f"POST {CORPUS}/search": "read",
    f"POST {CORPUS}/search-many": "read",
    f"POST {CORPUS}/discover": "read",
    f"POST {CORPUS}/explain": "read",
    f"POST {CORPUS}/disclose": "read",
    f"POST {CORPUS}/feedback": "read",
    f"POST {CORPUS}/ask": "read",
    f"POST {CORPUS}/eval": "read",
    f"POST {CORPUS}/lint": "read",
    f"POST {CORPUS}/documents": "write",
    f"POST {CORPUS}/documents/delete": "write",
    f"POST {CORPUS}/files": "write",
    f"POST {CORPUS}/files/compare": "write",
    f"POST {CORPUS}/files/delete": "write",
    f"POST {CORPUS}/build": "write",
    f"DELETE {CORPUS}/documents/{{id:path}}": "write",
    f"DELETE {CORPUS}/usage": "admin",
}
Handle = Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]]
AGENTS = "/mcp"  # whose corpora and servers are checked where they are opened


def authorize_routes(app: FastAPI, more: Mapping[str, Right]) -> None:
    """Check the right of the caller before any route runs; `more` are the rights of other routes, for the catalog."""
    for route in app.router.routes:
        if isinstance(route, Mount):  # of the files of the pages
            continue
        assert isinstance(route, Route)
        if route.path not in OPEN_PATHS and not route.path.startswith(METADATA):
            route.handle = _check_first(route, route.handle, more)  # type: ignore[assignment, method-assign]


def _check_first(route: Route, handle: Handle, more: Mapping[str, Right]) -> Handle:
    async def check_and_handle(scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method in (route.methods or (method,)):  # else the route answers that it does not accept it
            caller: Principal = scope[PRINCIPAL]
            try:
                _check(caller, f"{method} {route.path}", more)
            except AccessDenied as error:
                await make_error_problem(scope, error)(scope, receive, send)
                return
        await handle(scope, receive, send)

    return check_and_handle


def _check(caller: Principal, operation: str, more: Mapping[str, Right]) -> None:
    """Raise AccessDenied, or note the right that the route needs for the corpora that it opens."""
    if not caller.has_any and not caller.is_operator:
        raise AccessDenied(f"No group of {caller.user} may use {describe_corpus(ANY)}.")
    is_of_corpora = operation in RIGHTS or operation.endswith(f" {AGENTS}")
    usual: Right = "read" if is_of_corpora else "admin"
    asking = replace(caller, right=RIGHTS.get(operation) or more.get(operation) or usual)
    if not is_of_corpora:
        asking.require(NAME if operation in more else ANY)
    current_principal.set(asking)


def add_metadata(app: FastAPI, access: AccessSettings) -> None:
    """Add the route that names the issuer of tokens for a resource (RFC 9728)."""

    @app.get(METADATA, include_in_schema=False)
    @app.get(f"{METADATA}/{{path:path}}", include_in_schema=False)
    async def describe_resource(request: Request, path: str = "") -> Response:
        resource = address_of(request.scope, access.url.rstrip("/")) + (f"/{path}" if path else "")
        data = {
            "resource": resource,
            "authorization_servers": [access.issuer],
            "bearer_methods_supported": ["header"],
        }
        return Response(to_json(data), media_type=JSON)
