"""Documents from OpenAPI: each operation is a tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.structured import load, to_json
from shortlist.sources.tools.json_schema import describe_schema, find_reference, make_resolver

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def is_openapi(data: Any) -> bool:
    return isinstance(data, Mapping) and bool({"openapi", "swagger"} & data.keys())


def read_openapi(path: Path) -> list[Document | Problem]:
    """The operations of an OpenAPI 3 document in JSON or YAML."""
    data, _ = load(path)
    if not is_openapi(data):
        raise SourceError(f"{path} is not an OpenAPI document: it has no 'openapi' at the top level.")
    return list(read_operations(data, path))


def read_operations(data: Mapping[str, Any], path: Path) -> Iterator[Document | Problem]:
    """Each operation, in the order of the document; a broken one is a Problem that names it."""
    version = str(data.get("openapi") or "without a version")
    if "swagger" in data or not version.startswith("3."):
        shown = f"Swagger {data['swagger']}" if "swagger" in data else f"OpenAPI {version}"
        advice = "Convert it to OpenAPI 3.0 or 3.1, for example with swagger2openapi"
        raise SourceError(f"{path} is {shown}, which is not supported. {advice}.")
    paths = data.get("paths") or {}
    if not isinstance(paths, Mapping):
        raise SourceError(f"'paths' in {path} is not a mapping.")
    source = str(path.resolve())
    ids: set[str] = set()
    for route, item in paths.items():
        item = find_reference(data, item["$ref"]) if isinstance(item, Mapping) and "$ref" in item else item
        if not isinstance(item, Mapping):
            yield Problem(str(route), f"In {path.name}, the path {route} is not a mapping.", source)
            continue
        for method in (method for method in METHODS if method in item):
            call = f"{method.upper()} {route}"
            try:
                tool: Document | Problem = _read_operation(data, item, method, str(route), source, ids)
            except (TypeError, ValueError, AttributeError, RecursionError) as error:
                reason = f"The operation {call} cannot be read: {str(error) or type(error).__name__}."
                tool = Problem(call, reason, source)
            ids.add(tool.id)
            yield tool


def _read_operation(
    data: Mapping[str, Any], item: Mapping[str, Any], method: str, route: str, source: str, ids: set[str]
) -> Document:
    operation, resolve = item[method], make_resolver(data)
    if not isinstance(operation, Mapping):
        raise TypeError("it is not a mapping")
    given = [*resolve(item.get("parameters") or []), *resolve(operation.get("parameters") or [])]
    if not all(isinstance(parameter, Mapping) for parameter in given):
        raise TypeError("a parameter is not a mapping")
    # Those of the operation come later, and override those of the path.
    parameters = list({(one.get("name"), one.get("in"), one.get("$ref")): one for one in given}.values())
    body = resolve(operation.get("requestBody") or {})
    place = {"method": method.upper(), "path": route, "server": _server_url(operation, item, data)}
    resolved = {"parameters": parameters, "requestBody": body}
    call = f"{method.upper()} {route}"
    name, summary = str(operation.get("operationId") or ""), str(operation.get("summary") or "").strip()
    tags = [str(tag) for tag in operation.get("tags") or ()]
    texts = (summary, str(operation.get("description") or "").strip())
    description = "\n\n".join(dict.fromkeys(filter(None, texts)))
    content = describe_schema(description, _as_schema(parameters), _body_schema(body))
    notes = {**place, "tags": tags, "deprecated": operation.get("deprecated") is True}
    metadata = {key: value for key, value in notes.items() if value}
    payload = to_json({**place, **operation, **{key: value for key, value in resolved.items() if value}})
    origin = {"kind": "tool", "source": source, "locator": call, "payload": payload}
    id = name if name and name not in ids else call
    return Document(id, name or summary or call, content, [*tags, route], metadata, **origin)


def arguments_of(operation: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an operation's arguments: parameters by name, the body as `body`."""
    parameters = [one for one in operation.get("parameters") or () if isinstance(one, Mapping) and one.get("name")]
    properties = {
        name: {key: value for key, value in schema.items() if value is not None}
        for name, schema in _as_schema(parameters)["properties"].items()
    }
    required = [one["name"] for one in parameters if one.get("required") is True]
    body = operation.get("requestBody")
    if isinstance(body, Mapping) and body:
        properties["body"] = _body_schema(body) or {}
        required += ["body"] if body.get("required") is True else []
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _as_schema(parameters: list[Any]) -> dict[str, Any]:
    """Parameters as the properties of an object."""
    properties = {}
    for parameter in parameters:
        schema = parameter.get("schema") or {}
        description = parameter.get("description") or schema.get("description")
        properties[parameter.get("name")] = {**schema, "description": description}
    properties.pop(None, None)
    return {"properties": properties}


def _body_schema(body: Mapping[str, Any]) -> Any:
    content = body.get("content") or {}
    media = content.get("application/json") or next(iter(content.values()), None) or {}
    return media.get("schema")


def _server_url(*levels: Mapping[str, Any]) -> str:
    """The URL of the first server on the nearest level that has one, with the defaults of its variables."""
    server: Mapping[str, Any] = next((server for level in levels for server in level.get("servers") or ()), {})
    url = str(server.get("url") or "")
    for name, variable in (server.get("variables") or {}).items():
        url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
    return url
