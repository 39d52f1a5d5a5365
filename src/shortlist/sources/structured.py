"""The data of JSON and YAML files, and the text of each entry of a JSON list."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shortlist._plain import load_yaml
from shortlist.errors import SourceError
from shortlist.safety.untrusted_files import LARGEST_DATA, read_regular_file

SUFFIXES = (".json", ".yaml", ".yml")

_DECODER = json.JSONDecoder()
_BETWEEN_VALUES = re.compile(r"[\s,:]*")


def load(path: Path, encoding: str = "utf-8") -> tuple[Any, str | None]:
    """The data of a file and, if it is JSON, its text, so that entries can be shown as they were written."""
    try:
        text = read_regular_file(path, limit=LARGEST_DATA).decode(encoding).removeprefix("\ufeff")
    except (OSError, UnicodeError, LookupError) as error:
        raise SourceError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    must_be_json = path.suffix.lower() == ".json"
    if must_be_json or text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text), text
        except (ValueError, RecursionError) as error:
            if must_be_json:
                raise SourceError(f"{path} is not valid JSON: {error}.") from None
    try:
        return load_yaml(text), None
    except ValueError as error:
        raise SourceError(f"{path} is not valid YAML: {error}.") from None


def split_entries(text: str, keys: Sequence[str]) -> list[str]:
    """The entries of the list under these keys of a valid JSON text, each exactly as written."""
    at = _skip(text, 0)
    for key in keys:
        spans = list(_find_values(text, at))  # names and values in turn
        at = {json.loads(text[slice(*name)]): start for name, (start, _) in zip(spans[::2], spans[1::2], strict=True)}[
            key
        ]
    return [text[start:end] for start, end in _find_values(text, at)]


def _find_values(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Start and end of each value, names included, in the object or list that starts at this position."""
    at = _skip(text, at + 1)
    while text[at] not in "]}":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)


def _skip(text: str, at: int) -> int:
    return _BETWEEN_VALUES.match(text, at).end()  # type: ignore[union-attr]


def to_json(data: Any) -> str:
    """Data as JSON text on one line, in its own order: agents read it, and pay for each space."""

    def convert(value: Any) -> str:
        if isinstance(value, datetime.date | datetime.time):  # YAML has them
            return str(value)
        raise TypeError(f"a value of type {type(value).__name__} cannot be stored as JSON")

    return json.dumps(data, ensure_ascii=False, default=convert)
