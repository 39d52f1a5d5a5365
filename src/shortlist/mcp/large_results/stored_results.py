"""Large results of tool calls: shown to the agent by their beginning and shape, and stored so that it can read on."""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections import Counter
from functools import cached_property
from typing import Any

from shortlist._text import clean
from shortlist.errors import InputError
from shortlist.mcp.large_results.json_paths import parse_range, split_lines, take
from shortlist.mcp.large_results.passages import PassageSearch
from shortlist.mcp.large_results.shapes import Shape, describe, find_rows, parse_data, parse_table

LONGEST_RESULT = 20_000  # characters of text that a call may return, unless the configuration of its server says more
LONGEST_HEAD, LONGEST_TAIL = 2_000, 400  # characters that are shown of a longer text; of JSON, only the head
LONGEST_PART = 20_000  # characters that are read at a time
MOST_TEXTS = 20  # that are stored for one client
MOST_SUMMARIZED = MOST_TEXTS - 2  # of one result; the other texts are stored as one, and structured content is another
MOST_CHARACTERS = 64_000_000  # that are stored for all clients
PREFIX = "result:"

log = logging.getLogger("shortlist.mcp")

Result = dict[str, Any]


class StoredText:
    """A text that was too long, and what is known of it once it was needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lock = threading.Lock()
        self._search: PassageSearch | None = None
        self._is_closed = False

    @cached_property
    def data(self) -> Any:
        return parse_data(self.text)

    def summarize(self, id: str, budget: int) -> str:
        """The beginning, the shape, and how to go on."""
        try:
            shape = describe(self.text, self.data, None if self.data is not None else parse_table(self.text))
        except Exception:  # the result must reach the agent all the same
            log.exception("The result %s cannot be described.", id)
            shape = Shape("They cannot be described", "lines 1-100")
        head = min(LONGEST_HEAD, budget // 4)
        tail = 0 if self.data is not None else min(LONGEST_TAIL, budget // 20)
        ending = f"…{self.text[-tail:]}\n" if tail else ""
        return (
            f"{self.text[:head]}…\n({len(self.text) - head - tail:,} characters are left out here.)\n{ending}"
            f"[All {len(self.text):,} characters are stored. {shape.text}. To go on, use read with id {id!r} and "
            f'query "what you look for", or path "{shape.example}".]'
        )

    def take(self, path: str) -> str:
        """The part at a path."""
        if not (wanted := parse_range(path)):
            if self.data is None:
                raise InputError("This result is not JSON. Use a path such as 'lines 1-100' or 'rows 1-20', or query.")
            value = take(self.data, path)
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        unit, first, last = wanted
        header, rows = "", split_lines(self.text)
        if unit == "row" and self.data is not None:
            rows = [json.dumps(row, ensure_ascii=False) for row in find_rows(self.data)[1]]
        elif unit == "row" and (table := parse_table(self.text)):
            header, rows = self.text.lstrip("\n").partition("\n")[0].removesuffix("\r") + "\n", table.rows
        if first > len(rows):
            raise InputError(f"There is no {unit} {first:,}: the result has {len(rows):,} {unit}s.")
        return header + "\n".join(rows[first - 1 : last])

    def find(self, query: str) -> str:
        """The passages that match a query, each after the path with which more is read."""
        with self._lock:
            if self._is_closed:
                raise InputError("The result is not stored any more. Call the tool again.")
            self._search = self._search or PassageSearch(self.text, self.data)
            found = self._search.find(query)
        headers = (f"[{one.path or 'top level'}]" + (f" {one.context}" if one.context else "") for one in found)
        return "\n\n".join(f"{header}\n{one.text}" for header, one in zip(headers, found, strict=True))

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._search:
                self._search.close()


class StoredResults:
    """Texts that were too long for one result, by the client that received it and an id that no one can guess.

    Threads share them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of the dictionary, which is never searched or summarized under it
        self._texts: dict[tuple[str, str], StoredText] = {}  # the oldest first

    def shorten(self, result: Result, client: str, budget: int = LONGEST_RESULT) -> Result:
        """A result as the server returned it or, if its texts are too long together, without those that are.

        The longest ones are summarized first. All blocks that are not text stay as they are.
        """
        content = list(result.get("content", ()))
        sizes = {number: len(text) for number, block in enumerate(content) if isinstance(text := _text_of(block), str)}
        stored: list[StoredText] = []
        for number in sorted(sizes, key=lambda number: -sizes[number]):
            is_small = sizes[number] <= budget // 2
            if is_small or sum(sizes.values()) <= budget or len(stored) == MOST_SUMMARIZED:
                break
            summary = self._store(_text_of(content[number]), client, budget, stored)
            content[number], sizes[number] = _with_text(content[number], summary), len(summary)
        if sum(sizes.values()) > budget:
            content = self._fold(content, client, budget, stored)
        structured = result.get("structuredContent")
        if structured is not None and len(text := json.dumps(structured, ensure_ascii=False)) > budget:
            result = {key: value for key, value in result.items() if key != "structuredContent"}
            if not any(_repeats(structured, one) for one in stored):
                content.append({"type": "text", "text": self._store(text, client, budget, stored)})
        return result | {"content": content}

    def _fold(self, content: list[Any], client: str, budget: int, stored: list[StoredText]) -> list[Any]:
        """The blocks without the texts from the first one on that is beyond the budget, which are stored as one."""
        kept: list[Any] = []
        folded: list[str] = []
        left, place = budget, 0
        for block in content:
            text = _text_of(block)
            if not isinstance(text, str):
                kept.append(block)
            elif not folded and len(text) <= left:
                left -= len(text)
                kept.append(block)
            else:
                place = place if folded else len(kept)
                folded.append(
                    f"{block['resource'].get('uri', '')}\n{text}" if block.get("type") == "resource" else text
                )
        if folded:
            text = self._store("\n\n".join(folded), client, budget, stored)
            kept.insert(place, {"type": "text", "text": text})
        return kept

    def _store(self, text: str, client: str, budget: int, stored: list[StoredText]) -> str:
        """Store a text; its summary."""
        id = f"{PREFIX}{secrets.token_hex(8)}"
        one = StoredText(text)
        stored.append(one)
        with self._lock:
            self._texts[client, id] = one
            gone = self._evict(client, stored)
        for each in gone:
            each.close()
        return clean(one.summarize(id, budget))  # keys of JSON may have lone surrogates

    def _evict(self, client: str, new: list[StoredText]) -> list[StoredText]:
        """Remove what is beyond the limits: of the client, then of those that store most, but nothing that is new."""
        own = [key for key in self._texts if key[0] == client]
        gone = [self._texts.pop(key) for key in own[: max(0, len(own) - MOST_TEXTS)]]
        sizes: Counter[str] = Counter()
        for (owner, _), each in self._texts.items():
            sizes[owner] += len(each.text)
        old = [key for key, each in self._texts.items() if each not in new]
        while sizes.total() > MOST_CHARACTERS and old:
            key = max(old, key=lambda key: sizes[key[0]])  # the oldest text of its client
            old.remove(key)
            gone.append(self._texts.pop(key))
            sizes[key[0]] -= len(gone[-1].text)
        return gone

    def _find(self, id: str, client: str) -> StoredText:
        with self._lock:
            stored = self._texts.get((client, id))
        if stored is None:
            raise InputError(f"The result {id[:80]!r} is not stored. Call the tool again.")
        return stored

    def text(self, id: str, client: str) -> str:
        """The whole text of an id."""
        return self._find(id, client).text

    def read(self, id: str, offset: Any, client: str, *, query: str = "", path: str = "") -> dict[str, Any]:
        """The passages of a stored text that match a query, or a part of it or of what is at a path, with the offset
        of the next part."""
        stored = self._find(id, client)
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise InputError(f"offset must be an integer of 0 or more, not {offset!r}.")
        if query:
            found = clean(stored.find(query))
            return {"id": id, "kind": "result", "text": found or f"No passage matches {query[:80]!r}."}
        text = clean(stored.take(path)) if path else stored.text
        end = offset + LONGEST_PART
        more = {"next_offset": end} if end < len(text) else {}
        return {"id": id, "kind": "result", "text": text[offset:end]} | more


def _repeats(structured: Any, stored: StoredText) -> bool:
    """Whether structured content has only what a stored text has, as servers usually return it."""
    values = list(structured.values()) if isinstance(structured, dict) else []
    return stored.data == structured or values == [stored.text]


def _text_of(block: Any) -> Any:
    return (block["resource"] if block.get("type") == "resource" else block).get("text")


def _with_text(block: Any, text: str) -> Any:
    if block.get("type") == "resource":
        return block | {"resource": block["resource"] | {"text": text}}
    return block | {"text": text}
