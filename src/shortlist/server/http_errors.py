"""Failures as application/problem+json (RFC 9457): what is wrong, and how to fix it."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NoReturn

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from shortlist._paths import describe_os_error
from shortlist._text import closest
from shortlist.errors import AccessDenied, CorpusNotFound, InputError, LLMError, ShortlistError, SourceError

log = logging.getLogger("shortlist.serve")

LARGE = 1 << 18  # bytes of JSON from which it is parsed in a thread, so that other requests are answered meanwhile

Headers = Mapping[str, str]
Errors = Sequence[Mapping[str, str]]

MEDIA_TYPE = "application/problem+json"
REQUEST_ID = "shortlist.request_id"  # its key in a scope

# The status of each kind of error; any other is 503.
STATUSES = {AccessDenied: 403, InputError: 422, CorpusNotFound: 404, SourceError: 409, LLMError: 502}


class NotFinite(ValueError):
    """JSON with NaN, Infinity or a number that is as large."""


def parse_json(text: bytes) -> Any:
    """The value of a JSON text; unlike Python's parser, it accepts finite numbers only, as JSON has no others."""

    def refuse(constant: str) -> NoReturn:
        raise NotFinite(f"{constant} is not JSON")

    def parse_finite(number: str) -> float:
        value = float(number)
        return value if math.isfinite(value) else refuse(number)

    return json.loads(text, parse_constant=refuse, parse_float=parse_finite)


class StrictRequest(Request):
    """A request whose JSON has finite numbers only."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            is_large = len(body) > LARGE
            self._json = await asyncio.to_thread(parse_json, body) if is_large else parse_json(body)
        return self._json


class InvalidBody(InputError):
    """A well-formed body with invalid content: the kind of problem, and each error with its place."""

    def __init__(self, kind: str, detail: str, errors: Errors) -> None:
        super().__init__(detail)
        self.kind, self.errors = kind, errors


def make_problem(
    scope: Scope,
    status: int,
    detail: str,
    *,
    kind: str = "",
    title: str = "",
    headers: Headers | None = None,
    errors: Errors = (),
    alternative: Mapping[str, Any] | None = None,
) -> Response:
    """The answer to a request that failed. Its type and title follow from the status unless it has its own.

    `alternative` are fields with which the request can be answered.
    """
    phrase = _title(status)
    content: dict[str, Any] = {
        "type": f"urn:shortlist:{kind or phrase.lower().replace(' ', '-')}",
        "title": title or phrase,
        "status": status,
        "detail": detail,
        "instance": scope.get("path", ""),
        "request_id": scope.get(REQUEST_ID, ""),
    } | ({"errors": list(errors)} if errors else {})
    content |= {"alternative": dict(alternative)} if alternative else {}
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, headers, MEDIA_TYPE)


def make_error_problem(scope: Scope, error: ShortlistError) -> Response:
    status = get_status(error)
    # its own type where the status says less than the error
    kind = _kebab(type(error).__name__) if status in (409, 503) else ""
    details: Any = {"kind": error.kind, "errors": error.errors} if isinstance(error, InvalidBody) else {"kind": kind}
    if isinstance(error, LLMError):
        details = {"kind": "llm-error", "title": "The language model failed", "alternative": {"extractive": True}}
    return make_problem(scope, status, str(error), **details)


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def get_status(error: ShortlistError) -> int:
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 503)


def _title(status: int) -> str:
    """The phrase of RFC 9110; older versions of Python have older ones."""
    return {413: "Content Too Large", 422: "Unprocessable Content"}.get(status) or HTTPStatus(status).phrase


def describe_responses(*statuses: int, answer: str = "") -> dict[int | str, dict[str, Any]]:
    """The answer of an operation, by the name of its schema, and its failures, for the OpenAPI document."""
    described = {200: ("Successful Response", "application/json", answer)} if answer else {}
    described |= {status: (_title(status), MEDIA_TYPE, "Problem") for status in statuses}
    return {
        status: {"description": title, "content": {media: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
        for status, (title, media, schema) in described.items()
    }


def handle_errors(app: FastAPI) -> None:
    """Answer every error of the application with a problem."""

    @app.exception_handler(ShortlistError)
    def answer_own(request: Request, error: ShortlistError) -> Response:
        return make_error_problem(request.scope, error)

    @app.exception_handler(OSError)
    def answer_system(request: Request, error: OSError) -> Response:
        log.error("%s", error)
        return make_problem(request.scope, 503, describe_os_error(error))

    @app.exception_handler(RequestValidationError)
    def answer_invalid(request: Request, error: RequestValidationError) -> Response:
        errors = [
            {"where": ".".join(map(str, _place_of(one, error.body))), "message": _message(one, request)}
            for one in error.errors()
        ]
        first = "; ".join(f"{item['where']}: {item['message']}" for item in errors[:5])
        return make_problem(request.scope, 422, f"The request is not valid. {first}.", errors=errors)

    @app.exception_handler(HTTPException)
    def answer_http(request: Request, error: HTTPException) -> Response:
        path, method, status = request.scope["path"], request.method, error.status_code
        details = {
            400: "The body cannot be parsed. It must be JSON that is not nested too deeply with finite numbers only.",
            404: f"{method} {path} does not exist. GET /docs lists all routes.",
            405: f"{path} does not accept {method}. GET /docs lists the methods of each route.",
        }
        headers = dict(error.headers or {})
        if status == 405:
            headers["Allow"] = ", ".join(_methods_at(request, headers.get("Allow", "")))
        return make_problem(request.scope, status, details.get(status, str(error.detail)), headers=headers)


def _methods_at(request: Request, of_route: str) -> list[str]:
    """The methods of all routes at this path; the router knows only those of the first one."""
    routes = [route for route in request.app.routes if isinstance(route, APIRoute)]
    others = (route.methods or () for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    methods = set(filter(None, of_route.split(", "))).union(*others)
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _place_of(item: Mapping[str, Any], body: Any) -> tuple[str | int, ...]:
    """Where an error is; in a single document that stands for a list of one, without its number."""
    place: tuple[str | int, ...] = item["loc"]
    return (place[0], *place[2:]) if place[:2] == ("body", 0) and isinstance(body, Mapping) else place


def _message(item: Mapping[str, Any], request: Request) -> str:
    if item["type"] == "json_invalid":
        return f"not valid JSON ({item['ctx']['error']})"
    if item["type"] in ("model_attributes_type", "dict_type") and item["loc"] == ("body",):
        return "must be a JSON object, sent with Content-Type: application/json"
    if item["type"] == "extra_forbidden":
        *place, name = item["loc"][1:]
        known = sorted(_known_fields(request, place))
        close = closest(str(name), known, most=1)
        return f"unknown field ({f'did you mean {close[0]!r}?' if close else 'the fields are ' + ', '.join(known)})"
    if item["type"] == "value_error":
        return str(item["ctx"]["error"]).removesuffix(".")
    return str(item["msg"])


def _known_fields(request: Request, place: Sequence[str | int]) -> set[str]:
    """The fields that an object at this place in the body may have, according to the OpenAPI document."""
    document = request.app.openapi()

    def resolve(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        yield schema
        for choice in schema.get("anyOf", ()):
            yield from resolve(choice)

    operation = document["paths"][request.scope["route"].path_format][request.method.lower()]
    schemas = list(resolve(operation["requestBody"]["content"]["application/json"]["schema"]))
    for step in place:
        inner = [one.get("items") if isinstance(step, int) else one.get("properties", {}).get(step) for one in schemas]
        schemas = [choice for schema in inner if schema for choice in resolve(schema)]
    return {name for schema in schemas for name in schema.get("properties", {})}
