"""JSON Schemas in words, as people read and search them, and their references."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

# What is beyond these is in the payload all the same.
MOST_LINES = 64
DEEPEST = 4
MOST_CHOICES = 12
LONGEST_CHOICE = 40
MOST_REFERENCES = 200  # of one schema; those that point at many others would grow without end


def describe_schema(description: str, *schemas: Any) -> str:
    """The description, then a line for each parameter: its name, what is said of it, and what it may be."""
    lines = itertools.chain.from_iterable(_describe(schema, schema, "", set(), DEEPEST) for schema in schemas)
    parameters = "\n".join(dict.fromkeys(itertools.islice(lines, MOST_LINES)))
    return "\n\n".join(part for part in (description.strip(), parameters) if part)


def find_reference(root: Any, reference: Any) -> Any:
    """What a reference such as "#/$defs/Address" points to in a document; None if nothing there."""
    if not isinstance(reference, str) or not f"{reference}/".startswith("#/"):
        return None
    found = root
    for key in reference.split("/")[1:]:
        key = unquote(key).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


class Resolver:
    """Puts what local references point to in their place. One inside itself, or one too many, stays as it is."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = MOST_REFERENCES

    def __call__(self, value: Any, inside: tuple[str, ...] = ()) -> Any:
        if isinstance(value, list):
            return [self(item, inside) for item in value]
        if not isinstance(value, Mapping):
            return value
        reference = value.get("$ref")
        target = find_reference(self._root, reference)
        if not isinstance(target, Mapping) or reference in inside or not self._left:
            return {key: self(item, inside) for key, item in value.items()}
        self._left -= 1
        beside = {key: item for key, item in value.items() if key != "$ref"}
        return self({**target, **beside}, (*inside, str(reference)))


def _describe(schema: Any, root: Any, prefix: str, seen: set[int], depth: int) -> Iterator[str]:
    """A line for each property, those of inner objects with a dotted name; each part of the schema only once."""
    for part in _parts(schema, root):
        if id(part) in seen or not depth:
            continue
        seen.add(id(part))
        properties = part.get("properties")
        for name, value in properties.items() if isinstance(properties, Mapping) else ():
            yield _line(f"{prefix}{name}", value, root)
            yield from _describe(value, root, f"{prefix}{name}.", seen, depth - 1)


def _parts(schema: Any, root: Any) -> list[Mapping[str, Any]]:
    """A schema, its alternatives and what its lists hold, with references followed."""
    parts: list[Mapping[str, Any]] = []
    known: set[int] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop(0)
        if not isinstance(part, Mapping) or id(part) in known:
            continue
        known.add(id(part))
        parts.append(part)
        waiting.append(find_reference(root, part.get("$ref")))
        waiting.append(part.get("items"))
        for word in ("allOf", "anyOf", "oneOf"):
            inner = part.get(word)
            waiting.extend(inner if isinstance(inner, list) else ())
    return parts


def _line(name: str, schema: Any, root: Any) -> str:
    parts = _parts(schema, root)
    descriptions = (part["description"] for part in parts if isinstance(part.get("description"), str))
    description = " ".join(next(descriptions, "").split())
    listed = (part["enum"] if isinstance(part.get("enum"), list) else [] for part in parts)
    choices = [choice for part, enum in zip(parts, listed, strict=True) for choice in (*enum, part.get("const"))]
    texts = [str(choice) for choice in choices if isinstance(choice, str | int | float)][:MOST_CHOICES]
    shown = ", ".join(text for text in dict.fromkeys(texts) if len(text) <= LONGEST_CHOICE)
    return name + (f": {description}" if description else "") + (f" ({shown})" if shown else "")
