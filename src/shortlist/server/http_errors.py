"""Failures as application/problem+json (RFC 9457): what is wrong, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from shortlist._text import closest
from shortlist.errors import CorpusNotFound, InputError, LLMError, ShortlistError, SourceError

Model = TypeVar("Model", bound=BaseModel)

MEDIA_TYPE = "application/problem+json"
REQUEST_ID = "shortlist.request_id"  # where a scope holds it

# The status of each kind of error; any other is 503.
STATUSES = {InputError: 422, CorpusNotFound: 404, SourceError: 409, LLMError: 502}


class Unfit(InputError):
    """A body that can be read and does not fit its purpose: the kind of problem, and what is wrong where."""

    def __init__(self, kind: str, detail: str, errors: Sequence[Mapping[str, str]]) -> None:
        super().__init__(detail)
        self.kind, self.errors = kind, errors


def problem(
    scope: Mapping[str, Any],
    status: int,
    detail: str,
    *,
    kind: str = "",
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] = (),
) -> Response:
    """The answer to a request that failed; its type is that of its status, unless it has a kind of its own."""
    title = _title(status)
    content: dict[str, Any] = {
        "type": f"urn:shortlist:{kind or title.lower().replace(' ', '-')}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": scope.get("path", ""),
        "request_id": scope.get(REQUEST_ID, ""),
    }
    if errors:
        content["errors"] = list(errors)
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, status, headers, MEDIA_TYPE)


def problem_of(scope: Mapping[str, Any], error: ShortlistError) -> Response:
    kind, errors = (error.kind, error.errors) if isinstance(error, Unfit) else ("", ())
    return problem(scope, status_of(error), str(error), kind=kind, errors=errors)


def status_of(error: ShortlistError) -> int:
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 503)


def _title(status: int) -> str:
    """The phrase of RFC 9110; older versions of Python have older ones."""
    return {413: "Content Too Large", 422: "Unprocessable Content"}.get(status) or HTTPStatus(status).phrase


def responses(*statuses: int, answer: str = "") -> dict[int | str, dict[str, Any]]:
    """The answer of an operation, by the name of its schema, and its failures, for the OpenAPI document."""
    named = {200: ("Successful Response", "application/json", answer)} if answer else {}
    named |= {status: (_title(status), MEDIA_TYPE, "Problem") for status in statuses}
    return {
        status: {"description": title, "content": {media: {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
        for status, (title, media, schema) in named.items()
    }


def parse_body(body: bytes, content_type: str, model: type[Model]) -> Model:
    """A body as its model, or the error that FastAPI would raise."""
    if "json" not in content_type:
        raise RequestValidationError([{"type": "dict_type", "loc": ("body",), "msg": "", "input": None}])
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in details]) from None


def handle_errors(app: FastAPI) -> None:
    """Answer every error of the application with a problem."""

    @app.exception_handler(ShortlistError)
    def answer_own(request: Request, error: ShortlistError) -> Response:
        return problem_of(request.scope, error)

    @app.exception_handler(RequestValidationError)
    def answer_invalid(request: Request, error: RequestValidationError) -> Response:
        errors = [
            {"where": ".".join(map(str, one["loc"])), "message": _message(one, request)} for one in error.errors()
        ]
        first = "; ".join(f"{item['where']}: {item['message']}" for item in errors[:5])
        return problem(request.scope, 422, f"The request does not fit. {first}.", errors=errors)

    @app.exception_handler(HTTPException)
    def answer_http(request: Request, error: HTTPException) -> Response:
        path, method, status = request.url.path, request.method, error.status_code
        sentences = {
            400: "The body could not be read: it must be JSON that is not nested too deep and has no endless numbers.",
            404: f"There is nothing at {method} {path}. GET /docs lists what there is.",
            405: f"{path} does not take {method}. GET /docs lists what it takes.",
        }
        headers = dict(error.headers or {})
        if status == 405:
            headers["Allow"] = ", ".join(_methods_at(request, headers.get("Allow", "")))
        return problem(request.scope, status, sentences.get(status, str(error.detail)), headers=headers)


def _methods_at(request: Request, of_route: str) -> list[str]:
    """The methods of all routes at this path; the router knows only those of the first one."""
    routes = [route for route in request.app.routes if isinstance(route, APIRoute)]
    others = (route.methods or () for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    methods = set(filter(None, of_route.split(", "))).union(*others)
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _message(item: Mapping[str, Any], request: Request) -> str:
    if item["type"] == "json_invalid":
        return f"this is not JSON ({item['ctx']['error']})"
    if item["type"] in ("model_attributes_type", "dict_type") and item["loc"] == ("body",):
        return "a JSON object is wanted, sent with Content-Type: application/json"
    if item["type"] == "extra_forbidden":
        *place, name = item["loc"][1:]
        known = sorted(_known_fields(request, place))
        near = closest(str(name), known, most=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(known)}"
        return f"unknown field ({hint})"
    return str(item["msg"])


def _known_fields(request: Request, place: Sequence[str | int]) -> set[str]:
    """The fields that an object at this place in the body may have, according to the OpenAPI document."""
    document = request.app.openapi()

    def resolve(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        yield schema
        for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield from resolve(choice)

    operation = document["paths"][request.scope["route"].path_format][request.method.lower()]
    schemas = list(resolve(operation["requestBody"]["content"]["application/json"]["schema"]))
    for step in place:
        inner = [one.get("items") if isinstance(step, int) else one.get("properties", {}).get(step) for one in schemas]
        schemas = [choice for schema in inner if schema for choice in resolve(schema)]
    return {name for schema in schemas for name in schema.get("properties", {})}
