"""Documents out of OpenAPI documents: an operation is a tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from shortlist import Changes, CorpusSource, Document, Problem, SourceError, build, disclose, search

PET = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "What it is called"},
        "status": {"type": "string", "enum": ["available", "sold"]},
        "parent": {"$ref": "#/components/schemas/Pet"},
    },
}
SHOP: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://{host}/v1", "variables": {"host": {"default": "shop.example"}}}],
    "paths": {
        "/pets/{petId}": {
            "parameters": [{"$ref": "#/components/parameters/PetId"}],
            "get": {"operationId": "getPet", "summary": "Show a pet", "tags": ["pets"], "responses": {"200": {}}},
            "put": {
                "summary": "Replace a pet",
                "description": "Overwrites all fields.",
                "deprecated": True,
                "parameters": [{"name": "petId", "in": "path", "description": "Only an old number"}],
                "requestBody": {"$ref": "#/components/requestBodies/Pet"},
                "servers": [{"url": "https://other.example"}],
            },
        },
    },
    "components": {
        "parameters": {
            "PetId": {"name": "petId", "in": "path", "required": True, "description": "Number of the pet",
                      "schema": {"type": "integer"}},
        },
        "requestBodies": {"Pet": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}},
        "schemas": {"Pet": PET},
    },
}  # fmt: skip


def write(tmp_path: Path, data: Any, name: str = "shop.json") -> Path:
    path = tmp_path / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def read(path: Path) -> list[Document]:
    found = list(CorpusSource.from_openapi(path))
    assert all(isinstance(item, Document) for item in found), found
    return [item for item in found if isinstance(item, Document)]


def with_paths(paths: Any, **more: Any) -> dict[str, Any]:
    return {"openapi": "3.0.3", "paths": paths, **more}


def test_an_operation_becomes_a_tool(tmp_path: Path) -> None:
    path = write(tmp_path, SHOP)
    first, second = read(path)
    source = str(path.resolve())
    operation = {
        "method": "GET",
        "path": "/pets/{petId}",
        "server": "https://shop.example/v1",
        **SHOP["paths"]["/pets/{petId}"]["get"],
        "parameters": [SHOP["components"]["parameters"]["PetId"]],
    }
    assert first == Document(
        "getPet",
        "getPet",
        "Show a pet\n\npetId: Number of the pet",
        ["pets", "/pets/{petId}"],
        {"method": "GET", "path": "/pets/{petId}", "server": "https://shop.example/v1", "tags": ["pets"]},
        kind="tool",
        source=source,
        locator="GET /pets/{petId}",
        payload=json.dumps(operation),
    )
    assert (second.id, second.title) == ("PUT /pets/{petId}", "Replace a pet")
    assert second.content == (
        "Replace a pet\n\nOverwrites all fields.\n\npetId: Only an old number\nname: What it is called\n"
        "status (available, sold)\nparent"
    )
    assert second.metadata == {
        "method": "PUT",
        "path": "/pets/{petId}",
        "server": "https://other.example",
        "deprecated": True,
    }


def test_yaml_says_the_same_as_json_and_from_tools_finds_out_what_it_is(tmp_path: Path) -> None:
    written = write(tmp_path, yaml.safe_dump(SHOP, sort_keys=False), "shop.yaml")
    source = str(written.resolve())
    expected = [(tool.id, tool.content, tool.payload, source) for tool in read(write(tmp_path, SHOP))]
    assert [(tool.id, tool.content, tool.payload, tool.source) for tool in read(written)] == expected
    assert list(CorpusSource.from_tools(written)) == list(CorpusSource.from_openapi(written))


def test_what_is_disclosed_has_its_references_in_place_and_one_inside_itself_stays(tmp_path: Path) -> None:
    corpus = build(CorpusSource.from_openapi(write(tmp_path, SHOP)), in_memory=True, embedder="none")
    (shown,) = disclose(search(corpus, "replace a pet", k=1), level="body")
    body = json.loads(shown.body or "")["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"]["name"] == PET["properties"]["name"]  # type: ignore[index]
    assert body["properties"]["parent"] == {"$ref": "#/components/schemas/Pet"}


def test_references_that_lead_nowhere_or_elsewhere_stay(tmp_path: Path) -> None:
    parameters = [{"$ref": "#/nowhere"}, {"$ref": "other.yaml#/a"}, {"name": "x", "in": "query"}]
    (tool,) = read(write(tmp_path, with_paths({"/a": {"get": {"parameters": parameters}}})))
    assert tool.content == "x"
    assert json.loads(tool.payload or "")["parameters"] == parameters


def test_schemas_that_multiply_are_put_in_place_only_so_often(tmp_path: Path) -> None:
    def twice(number: int) -> dict[str, Any]:
        reference = {"$ref": f"#/components/schemas/s{number + 1}"}
        return {"properties": {"left": reference, "right": reference}}

    schemas = {f"s{number}": twice(number) for number in range(40)}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/s0"}}}}
    data = with_paths({"/a": {"post": {"requestBody": body}}}, components={"schemas": schemas})
    (tool,) = read(write(tmp_path, data))
    assert len(tool.payload or "") < 60_000


def test_operation_ids_that_come_twice_are_kept_apart(tmp_path: Path) -> None:
    operation = {"operationId": "same"}
    tools = read(write(tmp_path, with_paths({"/a": {"get": operation}, "/b": {"get": operation}})))
    assert [(tool.id, tool.title) for tool in tools] == [("same", "same"), ("GET /b", "same")]


def test_a_path_may_be_a_reference_and_may_hold_other_things(tmp_path: Path) -> None:
    item = {"summary": "x", "x-note": 1, "get": {}, "trace": {}}
    data = with_paths({"/a": {"$ref": "#/components/pathItems/a"}}, components={"pathItems": {"a": item}})
    assert [tool.id for tool in read(write(tmp_path, data))] == ["GET /a", "TRACE /a"]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("text", "The operation GET /bad cannot be read: it is not a mapping."),
        ({"parameters": ["x"]}, "The operation GET /bad cannot be read: a parameter is not a mapping."),
        ({"parameters": 5}, "The operation GET /bad cannot be read: "),
        ({"requestBody": "x"}, "The operation GET /bad cannot be read: "),
        ({"servers": 5}, "The operation GET /bad cannot be read: "),
    ],
    ids=str,
)
def test_a_bad_operation_is_named_and_the_others_are_kept(tmp_path: Path, operation: Any, reason: str) -> None:
    path = write(
        tmp_path, with_paths({"/good": {"get": {}}, "/bad": {"get": operation}, "/odd": 5, "/last": {"get": {}}})
    )
    first, bad, odd, last = CorpusSource.from_openapi(path)
    assert (first.id, last.id) == ("GET /good", "GET /last")
    assert isinstance(bad, Problem)
    assert (bad.id, bad.source) == ("GET /bad", str(path.resolve()))
    assert bad.reason.startswith(reason)
    assert odd == Problem("/odd", "In shop.json, the path /odd is not a mapping.", str(path.resolve()))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"swagger": "2.0", "paths": {}}, r"shop\.json is Swagger 2\.0, .* Convert it to OpenAPI 3"),
        ({"openapi": "4.0.0"}, r"is OpenAPI 4\.0\.0, .* 3\.0 or 3\.1"),
        ({"openapi": None}, "is OpenAPI without a version"),
        ({"openapi": "3.0.0", "paths": []}, None),
        ({"openapi": "3.0.0", "paths": [1]}, "'paths' in .* is not a mapping"),
        ({"info": {}}, "is not an OpenAPI document"),
        ([], "is not an OpenAPI document"),
        ("{", "is not valid JSON"),
    ],
    ids=str,
)
def test_a_document_that_is_not_openapi_3_is_a_source_error(tmp_path: Path, data: Any, reason: str | None) -> None:
    source = CorpusSource.from_openapi(write(tmp_path, data))
    if reason is None:
        assert list(source) == []
        return
    with pytest.raises(SourceError, match=reason):
        list(source)


def test_a_larger_document_is_as_it_was(tmp_path: Path) -> None:
    things = ("orders", "invoices", "customers", "parcels")
    paths = {
        f"/{thing}": {
            "get": {"operationId": f"list_{thing}", "summary": f"List {thing}"},
            "post": {"operationId": f"create_{thing}", "summary": f"Create {thing}"},
            "delete": {"summary": f"Delete all {thing}"},
        }
        for thing in things
    }
    source = CorpusSource.from_openapi(write(tmp_path, with_paths(paths)))
    tools = list(source)
    assert len(tools) == 12
    assert [tools[number].id for number in (0, 9, -1)] == ["list_orders", "list_parcels", "DELETE /parcels"]
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.changes == Changes(added=12)
    assert [hit.id for hit in search(corpus, "create an invoice", k=1)] == ["create_invoices"]
