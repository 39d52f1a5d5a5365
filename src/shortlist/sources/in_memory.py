"""Documents from strings, mappings and other records of a program."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from shortlist.documents import Counted, Document, Problem
from shortlist.errors import SourceError


def documents_of(items: Mapping[str, Any] | Iterable[Any]) -> Iterable[Document | Problem]:
    """Documents from strings, Documents, their fields, or {"text", ...metadata}, by id or numbered from 0."""
    if isinstance(items, Mapping):
        return Counted((_document_of(str(id), str(id), item) for id, item in items.items()), len(items))
    documents = (_document_of(str(number), "", item) for number, item in enumerate(items))
    return Counted(documents, len(items)) if isinstance(items, Sized) else documents


def _document_of(id: str, title: str, item: Any) -> Document | Problem:
    if isinstance(item, Document | Problem):
        return item
    if isinstance(item, str):
        return Document(id, title, item)
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        given = {"id": id, "title": title, "keywords": []} | {key: item[key] for key in item if item[key] is not None}
        metadata = {key: value for key, value in item.items() if key not in ("text", "id", "title", "keywords")}
        keywords = given["keywords"]
        if isinstance(keywords, tuple | set | frozenset):
            keywords = list(keywords) if isinstance(keywords, tuple) else sorted(keywords, key=str)
        return Document(str(given["id"]), str(given["title"]), item["text"], keywords, metadata)
    if isinstance(item, Mapping) and isinstance(item.get("content"), str) and "text" not in item:
        # What `Document.to_dict` returns, or a part of it. Plain data may come from anywhere, so its `source` is never
        # read: the body of such a file is its content.
        is_file = item.get("kind") in ("file", "skill") and item.get("payload") is None
        try:
            return Document(**{"id": id, "title": title, **item, **({"payload": item["content"]} if is_file else {})})
        except TypeError:
            unknown = ", ".join(str(key) for key in item if key not in Document.__slots__)
            reason = f"A document has no field {unknown}. Put additional fields into its metadata."
            return Problem(str(item.get("id", id)), reason)
    if callable(item) or (isinstance(item, Mapping) and item.keys() & {"name", "function", "parameters"}):
        return Problem(
            id, "It is a tool, not a document. Use CorpusSource.from_tools(...) for functions and tool schemas."
        )
    return Problem(id, f"An entry is a string, a Document or a mapping with a 'text', not {type(item).__name__}.")


def read_records(address: str) -> Iterator[Document | Problem]:
    """The records at an address such as "folder/module:attribute"."""
    folder, name = os.path.split(address)
    place = folder or os.getcwd()
    before = list(sys.path)
    sys.path += [place] if place not in before and "" not in before else []
    try:
        records = pkgutil.resolve_name(name)
        if isinstance(records, Iterator):
            raise TypeError("it can be read only once; use the address of a function that returns it")
        records = records() if callable(records) else records
        if isinstance(records, str | bytes) or not isinstance(records, Iterable):
            raise TypeError(f"it is not a list of records but of type {type(records).__name__}")
        yield from documents_of(records)
    except Exception as error:  # the user's program may raise anything
        raise SourceError(f"The records in {address} cannot be read: {type(error).__name__}: {error}") from error
    finally:  # other modules are not imported from there
        sys.path[:] = before
