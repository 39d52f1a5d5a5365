"""Documents out of tools that are described somewhere: catalogs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shortlist.errors import SourceError
from shortlist.types import Document, Problem


def tools_in_catalog(path: Path) -> Iterator[Document | Problem]:
    """The entries of a YAML or JSON catalog, in its order; a bad entry is a Problem that names it."""
    data = _load(path)
    entries = data.get("documents") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise SourceError(f"{path} has no list named 'documents' at its top.")
    for number, entry in enumerate(entries, 1):
        yield _tool(entry, f"entry {number} of {path.name}")


def _load(path: Path) -> Any:
    import yaml  # noqa: PLC0415  # only where a catalog is read

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"The catalog {path} cannot be read: {error}.") from None
    try:
        return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SourceError(f"The catalog {path} is not valid: {error}.") from None


def _tool(entry: Any, where: str) -> Document | Problem:
    if not isinstance(entry, dict):
        return Problem(where, f"An entry is a mapping, not {type(entry).__name__}.")
    missing = [key for key in ("id", "title", "content") if not isinstance(entry.get(key), str)]
    if missing:
        return Problem(str(entry.get("id") or where), f"In {where}, {', '.join(missing)} must be a string.")
    return Document(
        entry["id"], entry["title"], entry["content"], entry.get("keywords"), entry.get("metadata"), kind="tool"
    )
