"""Documents out of what a program already has in its hands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shortlist.documents import Document, Problem


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
    wanted = "a string, a Document or a mapping with a 'text'"
    return Problem(id, f"An entry is {wanted}, not {type(item).__name__}.")


def _from_fields(id: str, title: str, fields: Mapping[str, Any]) -> Document | Problem:
    """A document out of what its `to_dict` gives, or a part of it.

    Plain data may come from anywhere, so its `source` is not read later: the body of such a file is its content.
    """
    of_a_file = fields.get("kind") in ("file", "skill") and fields.get("payload") is None
    try:
        return Document(**{"id": id, "title": title, **fields, **({"payload": fields["content"]} if of_a_file else {})})
    except TypeError:
        unknown = ", ".join(str(key) for key in fields if key not in Document.__slots__)
        return Problem(
            str(fields.get("id", id)), f"A document has no field {unknown}; metadata are a mapping of its own."
        )
