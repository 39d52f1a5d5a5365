"""Tools from catalogs, schemas of any vendor, Python functions, and folders of such files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shortlist.documents import Counted, Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.folder import walk
from shortlist.sources.structured import SUFFIXES, load, split_entries, to_json
from shortlist.sources.tools.json_schema import describe_schema
from shortlist.sources.tools.openapi import arguments_of, is_openapi, read_operations

# The keys of the list of tools in a file: a bare list, our catalogs, requests to a model, answers of an MCP server.
LISTS: tuple[tuple[str, ...], ...] = ((), ("documents",), ("tools",), ("functions",), ("result", "tools"))
SCHEMAS = ("parameters", "input_schema", "inputSchema")
# The keys of a tool without a schema; an entry with a name, a description and other keys is data, such as package.json.
PLAIN_KEYS = {"id", "name", "description", "title", "type", "tags", "capabilities", "annotations", "metadata", "access"}
FIRST = 20  # entries of a file that show whether it contains tools
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")


def tools_in_catalog(path: Path, encoding: str = "utf-8") -> Iterable[Document | Problem]:
    """The entries of a YAML or JSON catalog, in its order; a bad entry is a Problem that names it."""
    data, _ = load(path, encoding)
    entries = data.get("documents") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise SourceError(f"{path} has no list 'documents' at the top level.")
    tools = (_read_catalog_entry(entry, f"entry {at} of {path.name}") for at, entry in enumerate(entries, 1))
    return Counted(tools, len(entries))


def read_tools(place: Path) -> Iterable[Document | Problem]:
    """The tools of a file, or of all JSON and YAML files in a folder; there, a file without tools is a Problem."""
    return _read_tool_folder(place) if place.is_dir() else _read_tool_file(place)


def _read_tool_folder(place: Path) -> Iterator[Document | Problem]:
    for path in walk(place):
        if isinstance(path, Problem):
            yield path
        elif path.suffix.lower() in SUFFIXES:
            try:
                yield from _read_tool_file(path)
            except SourceError as error:
                yield Problem(path.relative_to(place).as_posix(), str(error), str(path.resolve()))


def _read_tool_file(path: Path) -> Iterable[Document | Problem]:
    """The tools of a catalog, a list of schemas, an OpenAPI document or a single tool, detected by content.

    The payload of a tool in a JSON file is its text, exactly as written; YAML is converted to JSON.
    """
    data, text = load(path)
    source = str(path.resolve())
    if is_openapi(data):
        return list(read_operations(data, path))
    for keys in LISTS:
        entries = _find_list(data, keys)
        if isinstance(entries, list):
            texts = split_entries(text, keys) if text else [None] * len(entries)
            tools = (
                tool_of(entry, f"entry {number} of {path.name}", written, source, f"tool={number}")
                for number, (entry, written) in enumerate(zip(entries, texts, strict=True), 1)
            )
            return Counted(tools, len(entries))
    if not isinstance(data, Mapping) or not {"name", "tool_id", "function", "content"} & data.keys():
        formats = "a list, a mapping with a list 'documents', 'tools' or 'functions', OpenAPI, or a tool with a 'name'"
        raise SourceError(f"{path} contains no tools. It must be {formats}.")
    return [tool_of(data, path.name, text and text.strip(), source)]


def describes_tools(path: Path) -> bool:
    """Whether a JSON or YAML file contains tools, and not other data. Any other file does not."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    try:
        data, _ = load(path)
    except SourceError:
        return False
    lists = [_find_list(data, keys) for keys in LISTS]
    entries = next((entries for entries in lists if isinstance(entries, list)), [data])
    return is_openapi(data) or any(map(_is_tool, entries[:FIRST]))


def _is_tool(entry: Any) -> bool:
    if not isinstance(entry, Mapping):
        return False
    function = entry.get("function")
    inner = function if isinstance(function, Mapping) else entry
    if all(isinstance(entry.get(key), str) for key in ("id", "title", "content")) or "tool_id" in entry:
        return True
    is_named = isinstance(inner.get("name"), str) and isinstance(inner.get("description", ""), str)
    has_schema = any(isinstance(inner.get(key), Mapping) for key in SCHEMAS)
    return is_named and (has_schema or ("description" in inner and inner.keys() <= PLAIN_KEYS))


def _find_list(data: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def tools_of(items: Iterable[Any]) -> Iterator[Document | Problem]:
    """Tools from Python functions, schemas and Documents, in any mixture."""
    names: set[str] = set()
    for number, item in enumerate(items, 1):
        where = f"entry {number} of the list"
        if isinstance(item, Document | Problem):
            yield item
        elif callable(item):
            tool = _read_function(item, where, names)
            names.add(tool.id)
            yield tool
        else:
            yield tool_of(item, where)


def tool_of(
    entry: Any, where: str, written: str | None = None, source: str = "", locator: str = "whole"
) -> Document | Problem:
    """The tool that an entry of a catalog, or a schema for OpenAI, Anthropic, MCP or a registry, describes."""
    if not isinstance(entry, Mapping) or "content" in entry:
        return _read_catalog_entry(entry, where, source, locator)
    function = entry.get("function")
    inner = function if isinstance(function, Mapping) else entry
    name = inner.get("name") or ""
    is_named = isinstance(name, str) and bool(name.strip())
    id = str(entry.get("tool_id") or entry.get("id") or (name if is_named else where))
    try:
        if not is_named:
            raise ValueError("the tool has neither a 'name' nor, as in a catalog, 'id', 'title' and 'content'")
        tags, capabilities, annotations = (inner.get(key) or [] for key in ("tags", "capabilities", "annotations"))
        for key, words in (("tags", tags), ("capabilities", capabilities)):
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise TypeError(f"{key} must be a list of strings")
        description: Any = inner.get("description") or ""
        if not isinstance(description, str):
            raise TypeError("description must be a string")
        schema: Any = next((inner[key] for key in SCHEMAS if inner.get(key) is not None), {})
        if not isinstance(schema, Mapping):
            raise TypeError(f"the schema of its parameters must be a mapping, not {type(schema).__name__}")
        given = (inner.get("title"), annotations.get("title") if isinstance(annotations, Mapping) else None)
        titles = [title for title in dict.fromkeys(given) if isinstance(title, str) and title != name]
        notes = {"tags": tags, "capabilities": capabilities, "annotations": annotations}
        metadata = {**{key: value for key, value in notes.items() if value}, **(inner.get("metadata") or {})}
        metadata |= _read_access(inner) | _read_access(entry)
        content, keywords = describe_schema(description, schema), [*tags, *capabilities, *titles]
        payload = written if written is not None else to_json(entry)
        origin = {"kind": "tool", "source": source, "locator": locator, "payload": payload}
        return Document(id, name, content, keywords, metadata, **origin)
    except (TypeError, ValueError, RecursionError) as error:
        return Problem(id, f"In {where}, {str(error) or type(error).__name__}.", source)


def _read_catalog_entry(entry: Any, where: str, source: str = "", locator: str = "whole") -> Document | Problem:
    if not isinstance(entry, Mapping):
        return Problem(where, f"In {where}, a mapping is expected, not {type(entry).__name__}.", source)
    wrong = [key for key in ("id", "title", "content") if not isinstance(entry.get(key), str)]
    if wrong:
        id, reason = entry.get("id"), "is missing" if entry.get(wrong[0]) is None else "must be a string"
        place = f"{where} ({id})" if isinstance(id, str) else where
        return Problem(str(id or where), f"In {place}, {wrong[0]} {reason}.", source)
    metadata: Any = entry.get("metadata") or {}
    if isinstance(metadata, Mapping):  # else the corpus reports it
        metadata = {**metadata, **_read_access(entry)}
    fields: list[Any] = [*(entry.get(key) for key in ("id", "title", "content", "keywords")), metadata]
    return Document(*fields, kind="tool", source=source, locator=locator)


def _read_access(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Who may see an entry, for its metadata, if the entry has the field."""
    return {"access": entry["access"]} if "access" in entry else {}


def _read_function(function: Callable[..., Any], where: str, names: set[str]) -> Document | Problem:
    """A function as a tool. Functions with the same name get distinct ids."""
    from shortlist.sources.tools.functions import describe_function  # noqa: PLC0415  # imports pydantic

    try:
        schema, address = describe_function(function)
        name, content = schema["name"], describe_schema(schema["description"], schema["parameters"])
        id = address if name in names else name
        return Document(id, name, content, kind="tool", source=address, payload=to_json(schema))
    except Exception as error:  # a callable may raise anything when it is inspected
        return Problem(where, f"In {where}, {type(function).__name__} cannot be described: {error}.")


def describe_tool(document: Document) -> tuple[str, dict[str, Any]]:
    """The description and parameters of a tool: from its vendor's schema, or from the metadata of a catalog entry."""
    try:
        entry = document.metadata if document.payload is None else json.loads(document.payload)
    except ValueError:
        entry = None
    entry = entry if isinstance(entry, Mapping) else {}
    function = entry.get("function")
    inner = function if isinstance(function, Mapping) else entry
    if isinstance(entry.get("method"), str) and isinstance(entry.get("path"), str):
        try:
            schema: Any = arguments_of(entry)
        except (AttributeError, TypeError):  # metadata may have any shape
            schema = {}
    else:
        schema = next((inner[key] for key in SCHEMAS if isinstance(inner.get(key), Mapping)), {})
    description = inner.get("description") or inner.get("summary") or document.content
    # Vendors accept only an object, so alternatives at the top level are merged.
    alternatives = [some for word in _ALTERNATIVES if isinstance(some := schema.get(word), list)]
    parts = [part for some in alternatives for part in some if isinstance(part, Mapping)]
    properties: dict[str, Any] = {}
    for part in [*parts, schema]:
        properties |= own if isinstance(own := part.get("properties"), Mapping) else {}
    rest = {key: value for key, value in schema.items() if key not in _ALTERNATIVES}
    return str(description).strip(), {**rest, "type": "object", "properties": properties}
