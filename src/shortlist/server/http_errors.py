"""How is a failure told over HTTP? As application/problem+json (RFC 9457), with a sentence that helps."""

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
from shortlist.errors import CorpusBusy, CorpusError, CorpusNotFound, InputError, LLMError, ShortlistError, SourceError

Model = TypeVar("Model", bound=BaseModel)

MEDIA_TYPE = "application/problem+json"
REQUEST_ID = "shortlist.request_id"  # where a scope holds it

# The status of each kind of error; the first that fits.
STATUSES: tuple[tuple[type[ShortlistError], int], ...] = (
    (InputError, 422),
    (CorpusNotFound, 404),
    (SourceError, 409),
    (LLMError, 502),
    (CorpusBusy, 503),
    (CorpusError, 503),
    (ShortlistError, 503),
)


class Unfit(InputError):
    """A body that can be read and does not fit what it is meant for: of which kind, and what is wrong where."""

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
    """The answer to a request that failed; it is of the kind of its status, unless it has one of its own."""
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


def _title(status: int) -> str:
    """As RFC 9110 has it; older versions of Python have older words."""
    return {413: "Content Too Large", 422: "Unprocessable Content"}.get(status) or HTTPStatus(status).phrase


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What an operation may answer instead, for the OpenAPI document."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _title(status), "content": content} for status in statuses}


def checked(body: bytes, content_type: str, model: type[Model]) -> Model:
    """A body as its model, or the error that FastAPI would raise."""
    if "json" not in content_type:
        raise RequestValidationError([{"type": "dict_type", "loc": ("body",), "msg": "", "input": None}])
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in details]) from None


def tell_problems(app: FastAPI) -> None:
    """Have every error of the application told so."""
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(ShortlistError, _of_ours)


def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    place = f"{request.method} {request.url.path}"
    sentences = {
        400: "The body could not be read: it must be JSON that is not nested too deep and has no endless numbers.",
        404: f"There is nothing at {place}. GET /docs lists what there is.",
        405: f"{request.url.path} does not take {request.method}. GET /docs lists what it takes.",
    }
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods_at(request, headers.get("Allow", "")))
    return problem(
        request.scope, error.status_code, sentences.get(error.status_code, str(error.detail)), headers=headers
    )


def _methods_at(request: Request, of_route: str) -> list[str]:
    """The methods of all routes at this path; the router knows only those of the first one."""
    routes = [route for route in request.app.routes if isinstance(route, APIRoute)]
    others = (route.methods or () for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    methods = set(filter(None, of_route.split(", "))).union(*others)
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _of_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [{"where": ".".join(map(str, item["loc"])), "message": _message(item, request)} for item in error.errors()]
    told = "; ".join(f"{item['where']}: {item['message']}" for item in errors[:5])
    return problem(request.scope, 422, f"The request does not fit. {told}.", errors=errors)


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
    """The fields that an object at this place in the body may have, as the OpenAPI document has it."""
    document = request.app.openapi()

    def resolved(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        yield schema
        for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield from resolved(choice)

    operation = document["paths"][request.scope["route"].path_format][request.method.lower()]
    schemas = list(resolved(operation["requestBody"]["content"]["application/json"]["schema"]))
    for step in place:
        inner = (
            schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
            for schema in schemas
        )
        schemas = [choice for schema in inner if schema for choice in resolved(schema)]
    return {name for schema in schemas for name in schema.get("properties", {})}


def _of_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, ShortlistError)
    return problem_of(request.scope, error)


def problem_of(scope: Mapping[str, Any], error: ShortlistError) -> Response:
    if isinstance(error, Unfit):
        return problem(scope, status_of(error), str(error), kind=error.kind, errors=error.errors)
    return problem(scope, status_of(error), str(error))


def status_of(error: ShortlistError) -> int:
    return next(status for kind, status in STATUSES if isinstance(error, kind))
