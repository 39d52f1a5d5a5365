"""The passages of a large result with the paths at which they are read, and the search over them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import shortlist
from shortlist.documents import Document
from shortlist.mcp.large_results.json_paths import join_key, split_lines

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus

LONGEST_PASSAGE = 800  # characters
MOST_FOUND = 8
LONGEST_CONTEXT = 200  # characters of what the records are called that a passage is in
LONGEST_NAME = 60
MOST_NAMES = 3  # of each record
MOST_EMBEDDED = 1_000  # passages, which takes about 1.5 seconds; more are searched by keywords alone


class FoundPassage(NamedTuple):
    """A part of a result, where it is read, and for data what the record is that it is a part of."""

    path: str
    text: str
    context: str = ""


def split_text(text: str) -> Iterator[FoundPassage]:
    """Lines together, up to the length of a passage; a longer line in parts, whose paths are offsets."""
    lines: list[str] = []
    size = at = 0
    number = 1  # of the first of these lines
    for here, line in enumerate(split_lines(text, keepends=True), 1):
        if lines and size + len(line) > LONGEST_PASSAGE:
            yield FoundPassage(f"lines {number}-{here - 1}", "".join(lines).rstrip("\n"))
            lines, size = [], 0
        if len(line) > LONGEST_PASSAGE:
            for start in range(0, len(line), LONGEST_PASSAGE):
                yield FoundPassage(f"offset {at + start}", line[start : start + LONGEST_PASSAGE])
        else:
            number = number if lines else here
            lines.append(line)
            size += len(line)
        at += len(line)
    if lines:
        yield FoundPassage(f"lines {number}-{number + len(lines) - 1}", "".join(lines).rstrip("\n"))


def split_data(value: Any, path: str = "", context: str = "") -> Iterator[FoundPassage]:
    """JSON values up to the length of a passage, small ones together."""
    text = _to_json(value)
    if len(text) <= LONGEST_PASSAGE or not isinstance(value, Mapping | list):
        for start in range(0, len(text), LONGEST_PASSAGE):  # of a long string, all parts have its path
            yield FoundPassage(path, text[start : start + LONGEST_PASSAGE], context)
        return
    if isinstance(value, Mapping):
        context = f"{context} {_describe_record(value)}".strip()[-LONGEST_CONTEXT:]
        entries = [(join_key(path, key), f"{_to_json(key)}:", inner) for key, inner in value.items()]
    else:
        entries = [(f"{path}[{number}]", "", inner) for number, inner in enumerate(value)]
    texts: list[str] = []
    first = 0

    def join(end: int) -> Iterator[FoundPassage]:
        if texts and isinstance(value, Mapping):
            yield FoundPassage(path, f"{{{','.join(texts)}}}", context)
        elif texts:
            place = f"{path}[{first}]" if end - first == 1 else f"{path}[{first}:{end}]"
            yield FoundPassage(place, ",".join(texts), context)
        texts.clear()

    for number, (place, key, inner) in enumerate(entries):
        text = key + _to_json(inner)
        if sum(map(len, texts)) + len(texts) + len(text) + 2 > LONGEST_PASSAGE:
            yield from join(number)
        if len(text) + 2 > LONGEST_PASSAGE:
            yield from split_data(inner, place, context)
        else:
            first = first if texts else number
            texts.append(text)
    yield from join(len(entries))


def _describe_record(value: Mapping[str, Any]) -> str:
    """The first short texts of a record, such as its name."""
    texts = [inner for inner in value.values() if isinstance(inner, str) and 0 < len(inner) <= LONGEST_NAME]
    return " ".join(texts[:MOST_NAMES])


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class PassageSearch:
    """The passages of one result, in memory."""

    def __init__(self, text: str, data: Any) -> None:
        self._passages = list(split_text(text) if data is None else split_data(data))
        embedder = "default" if len(self._passages) <= MOST_EMBEDDED else "none"
        self._corpus: Corpus = shortlist.create_corpus(in_memory=True, embedder=embedder)
        self._corpus.add(
            Document(str(number), f"{one.context} {one.path}", one.text) for number, one in enumerate(self._passages)
        )

    def find(self, query: str) -> list[FoundPassage]:
        """The passages that match best, the best first."""
        return [self._passages[int(hit.id)] for hit in shortlist.search(self._corpus, query, k=MOST_FOUND)]

    def close(self) -> None:
        self._corpus.close()
