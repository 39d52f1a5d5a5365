"""Documents that a program has in memory, or that lie at "module:attribute"."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import InputError, SourceError


def documents_of(items: Mapping[str, Any] | Iterable[Any]) -> Iterator[Document | Problem]:
    """Documents from strings, Documents, their fields, or {"text", ...metadata}, by id or numbered from 0."""
    if isinstance(items, Mapping):
        for id, item in items.items():
            yield _document(str(id), str(id), item)
    else:
        for number, item in enumerate(items):
            yield _document(str(number), "", item)


def _document(id: str, title: str, item: Any) -> Document | Problem:
    if isinstance(item, Document | Problem):
        return item
    if isinstance(item, str):
        return Document(id, title, item)
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        given = {key: value for key, value in item.items() if value is not None}
        rest = {key: value for key, value in item.items() if key not in ("text", "id", "title", "keywords")}
        keywords = given.get("keywords", [])
        if isinstance(keywords, tuple | set | frozenset):
            keywords = list(keywords) if isinstance(keywords, tuple) else sorted(keywords, key=str)
        return Document(str(given.get("id", id)), str(given.get("title", title)), item["text"], keywords, rest)
    if isinstance(item, Mapping) and isinstance(item.get("content"), str) and "text" not in item:
        return _from_fields(id, title, item)
    return Problem(id, f"An entry is a string, a Document or a mapping with a 'text', not {type(item).__name__}.")


def _from_fields(id: str, title: str, fields: Mapping[str, Any]) -> Document | Problem:
    """A document from what its `to_dict` gives, or a part of it.

    Plain data may come from anywhere, so its `source` is not read later: the body of such a file is its content.
    """
    of_a_file = fields.get("kind") in ("file", "skill") and fields.get("payload") is None
    payload = {"payload": fields["content"]} if of_a_file else {}
    try:
        return Document(**{"id": id, "title": title, **fields, **payload})
    except TypeError:
        unknown = ", ".join(str(key) for key in fields if key not in Document.__slots__)
        reason = f"A document has no field {unknown}; metadata are a mapping of its own."
        return Problem(str(fields.get("id", id)), reason)


def read_records(address: str) -> Callable[[], Iterator[Document | Problem]]:
    """A reader of the texts, Documents or mappings at "module:attribute", or that a function there returns."""
    module, colon, attribute = str(address).partition(":")
    if not (module and colon and attribute):
        raise InputError(f"{address!r} is no place of records; write it as 'module:attribute'.")

    def read() -> Iterator[Document | Problem]:
        found = _import(module, address)
        for name in attribute.split("."):
            if not hasattr(found, name):
                owner = getattr(found, "__name__", found)
                raise SourceError(f"{address} names {name!r}, which {owner!r} does not have.")
            found = getattr(found, name)
        if callable(found):
            try:
                found = found()
            except Exception as error:
                raise SourceError(f"{address} was called and failed: {type(error).__name__}: {error}") from error
        elif isinstance(found, Iterator):
            raise SourceError(f"{address} can be read only once; name a function that returns it.")
        if isinstance(found, str | bytes) or not isinstance(found, Iterable):
            raise SourceError(f"{address} holds no list of records but a {type(found).__name__}.")
        try:
            yield from documents_of(found)
        except Exception as error:
            raise SourceError(f"{address} failed while it was read: {type(error).__name__}: {error}") from error

    return read


def _import(name: str, address: str) -> Any:
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise SourceError(f"There is no module {error.name!r}, which {address} names.") from None
        raise SourceError(f"The module {name} needs {error.name!r}, which is not installed.") from error
    except Exception as error:  # whatever that program does when it is imported
        raise SourceError(f"The module {name} cannot be imported: {type(error).__name__}: {error}") from error
