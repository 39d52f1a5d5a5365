"""Documents from OpenAPI: each operation is a tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.structured import load, to_json
from shortlist.sources.tools.json_schema import Resolver, describe_schema, find_reference

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def is_openapi(data: Any) -> bool:
    return isinstance(data, Mapping) and bool({"openapi", "swagger"} & data.keys())


def read_openapi(path: Path) -> Iterator[Document | Problem]:
    """The operations of an OpenAPI 3 document in JSON or YAML."""
    data, _ = load(path)
    if not is_openapi(data):
        raise SourceError(f"{path} is no OpenAPI document: it has no 'openapi' at its top.")
    yield from read_operations(data, path)


def read_operations(data: Mapping[str, Any], path: Path) -> Iterator[Document | Problem]:
    """Each operation, in the order of the document; one that is broken is a Problem that names it."""
    if "swagger" in data:
        advice = "convert it to OpenAPI 3 first, for example with swagger2openapi"
        raise SourceError(f"{path} is Swagger {data['swagger']}, which is not read; {advice}.")
    version = str(data.get("openapi") or "")
    if not version.startswith("3."):
        versions = "the versions that are read are 3.0 and 3.1"
        raise SourceError(f"{path} is OpenAPI {version or 'of no version'}; {versions}.")
    paths = data.get("paths") or {}
    if not isinstance(paths, Mapping):
        raise SourceError(f"{path} has 'paths' that are no mapping.")
    source = str(path.resolve())
    taken: set[str] = set()
    for route, item in paths.items():
        item = find_reference(data, item["$ref"]) if isinstance(item, Mapping) and "$ref" in item else item
        if not isinstance(item, Mapping):
            yield Problem(str(route), f"In {path.name}, the path {route} is no mapping.", source)
            continue
        for method in (method for method in METHODS if method in item):
            call = f"{method.upper()} {route}"
            try:
                found: Document | Problem = _operation(data, item, method, str(route), source, taken)
            except (TypeError, ValueError, AttributeError, RecursionError) as error:
                reason = f"The operation {call} cannot be read: {str(error) or type(error).__name__}."
                found = Problem(call, reason, source)
            taken.add(found.id)
            yield found


def _operation(
    data: Mapping[str, Any], item: Mapping[str, Any], method: str, route: str, source: str, taken: set[str]
) -> Document:
    operation = item[method]
    if not isinstance(operation, Mapping):
        raise TypeError("it is no mapping")
    resolve = Resolver(data)
    parameters = _parameters(resolve, item, operation)
    body = resolve(operation.get("requestBody") or {})
    place = {"method": method.upper(), "path": route, "server": _server(operation, item, data)}
    needed = {"parameters": parameters, "requestBody": body}
    call = f"{method.upper()} {route}"
    name, summary = str(operation.get("operationId") or ""), str(operation.get("summary") or "").strip()
    tags = [str(tag) for tag in operation.get("tags") or ()]
    texts = (summary, str(operation.get("description") or "").strip())
    metadata = {**place, "tags": tags, "deprecated": operation.get("deprecated") is True}
    return Document(
        name if name and name not in taken else call,
        name or summary or call,
        describe_schema("\n\n".join(dict.fromkeys(filter(None, texts))), _as_schema(parameters), _body_schema(body)),
        [*tags, route],
        {key: value for key, value in metadata.items() if value},
        kind="tool",
        source=source,
        locator=call,
        payload=to_json({**place, **operation, **{key: value for key, value in needed.items() if value}}),
    )


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


def _parameters(resolve: Resolver, item: Mapping[str, Any], operation: Mapping[str, Any]) -> list[Any]:
    """Those of the path and those of the operation, which come later and count."""
    given = [*resolve(item.get("parameters") or []), *resolve(operation.get("parameters") or [])]
    if not all(isinstance(parameter, Mapping) for parameter in given):
        raise TypeError("a parameter is no mapping")
    return list({(one.get("name"), one.get("in"), one.get("$ref")): one for one in given}.values())


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


def _server(*levels: Mapping[str, Any]) -> str:
    """The address of the first server that the nearest level names, with the defaults of its variables."""
    for level in levels:
        for server in level.get("servers") or ():
            address = str(server.get("url") or "")
            for name, variable in (server.get("variables") or {}).items():
                address = address.replace(f"{{{name}}}", str(variable.get("default", "")))
            return address
    return ""
