"""The data of JSON and YAML files, and the text of each entry of a JSON list."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shortlist._text import describe_yaml_error
from shortlist.errors import SourceError

SUFFIXES = (".json", ".yaml", ".yml")
DEEPEST = 100  # levels of YAML; very deep nesting would end the process in the compiled loader

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def load(path: Path, encoding: str = "utf-8") -> tuple[Any, str | None]:
    """The data of a file and, if it is JSON, its text, so that entries can be shown as they stand in it."""
    import yaml  # noqa: PLC0415  # only where such a file is read

    try:
        text = path.read_bytes().decode(encoding).removeprefix("\ufeff")
    except (OSError, UnicodeError, LookupError) as error:
        raise SourceError(f"{path} cannot be read: {error}.") from None
    must_be_json = path.suffix.lower() == ".json"
    if must_be_json or text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text), text
        except (ValueError, RecursionError) as error:
            if must_be_json:
                raise SourceError(f"{path} is not valid JSON: {error}.") from None
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one is seven times as fast
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} deep")
        return yaml.load(text, loader), None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SourceError(f"{path} is not valid YAML: {describe_yaml_error(error)}.") from None


def split_entries(text: str, keys: Sequence[str]) -> list[str]:
    """The entries of the list that lies under these keys of a valid JSON text, each to the letter."""
    at = _skip_space(text, 0)
    for key in keys:
        at = {name: start for name, start, _ in _members(text, at)}[key]
    return [text[start:end] for _, start, end in _members(text, at)]


def to_json(data: Any) -> str:
    """Data as JSON text, in its own order and on one line: it is read by agents, who pay for each space."""
    return json.dumps(data, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    if isinstance(value, datetime.date | datetime.time):  # YAML has them
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Name (in an object), start and end of each value in the object or list that begins at this place."""
    is_object = text[at] == "{"
    at = _skip_space(text, at + 1)
    while text[at] not in "]}":
        name = ""
        if is_object:
            name, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)  # past the colon
        _, end = _DECODER.raw_decode(text, at)
        yield name, at, end
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)


def _skip_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]
