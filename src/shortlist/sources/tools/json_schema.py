"""JSON Schemas as text that people read and search, and their references."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

# The payload of a tool has the rest.
MAX_LINES = 64
MAX_DEPTH = 4
MAX_CHOICES = 12
MAX_CHOICE_LENGTH = 40
MAX_REFERENCES = 200  # resolved in one schema; references that point at many others would grow without end


def describe_schema(description: str, *schemas: Any) -> str:
    """The description, then a line for each parameter: its name, its description, and its possible values."""
    lines = itertools.chain.from_iterable(_describe(schema, schema, "", set(), MAX_DEPTH) for schema in schemas)
    parameters = "\n".join(dict.fromkeys(itertools.islice(lines, MAX_LINES)))
    return "\n\n".join(filter(None, (description.strip(), parameters)))


def find_reference(root: Any, reference: Any) -> Any:
    """What a reference such as "#/$defs/Address" points to in a document, or None."""
    if not isinstance(reference, str) or not f"{reference}/".startswith("#/"):
        return None
    target = root
    for key in reference.split("/")[1:]:
        key = unquote(key).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            target = target.get(key) if isinstance(target, Mapping) else None
    return target


def make_resolver(root: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A function that replaces local references by their targets, except recursive ones and those beyond the limit."""
    left = MAX_REFERENCES

    def resolve(value: Any, inside: tuple[str, ...] = ()) -> Any:
        nonlocal left
        if isinstance(value, list):
            return [resolve(item, inside) for item in value]
        if not isinstance(value, Mapping):
            return value
        reference = value.get("$ref")
        target = find_reference(root, reference)
        if not isinstance(target, Mapping) or reference in inside or not left:
            return {key: resolve(item, inside) for key, item in value.items()}
        left -= 1
        beside = {key: item for key, item in value.items() if key != "$ref"}
        return resolve({**target, **beside}, (*inside, str(reference)))

    return resolve


def _describe(schema: Any, root: Any, prefix: str, seen: set[int], depth: int) -> Iterator[str]:
    """A line for each property, those of inner objects with a dotted name; each part of the schema only once."""
    for part in _list_parts(schema, root):
        if id(part) in seen or not depth:
            continue
        seen.add(id(part))
        properties = part.get("properties")
        for name, value in properties.items() if isinstance(properties, Mapping) else ():
            yield _describe_property(f"{prefix}{name}", _list_parts(value, root))
            yield from _describe(value, root, f"{prefix}{name}.", seen, depth - 1)


def _list_parts(schema: Any, root: Any) -> list[Mapping[str, Any]]:
    """A schema, its alternatives and its items, with references followed."""
    parts: dict[int, Mapping[str, Any]] = {}
    waiting = [schema]
    for part in waiting:
        if isinstance(part, Mapping) and id(part) not in parts:
            parts[id(part)] = part
            inner = [part.get(word) for word in ("allOf", "anyOf", "oneOf")]
            waiting += [find_reference(root, part.get("$ref")), part.get("items")]
            waiting += itertools.chain.from_iterable(one for one in inner if isinstance(one, list))
    return list(parts.values())


def _describe_property(name: str, parts: list[Mapping[str, Any]]) -> str:
    descriptions = (part["description"] for part in parts if isinstance(part.get("description"), str))
    description = " ".join(next(descriptions, "").split())
    enums = (part["enum"] if isinstance(part.get("enum"), list) else [] for part in parts)
    choices = [choice for part, enum in zip(parts, enums, strict=True) for choice in (*enum, part.get("const"))]
    texts = [str(choice) for choice in choices if isinstance(choice, str | int | float)][:MAX_CHOICES]
    shown = ", ".join(text for text in dict.fromkeys(texts) if len(text) <= MAX_CHOICE_LENGTH)
    return name + (f": {description}" if description else "") + (f" ({shown})" if shown else "")
