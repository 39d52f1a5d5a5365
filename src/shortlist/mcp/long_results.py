"""Long results of tool calls: shortened for the agent, and stored for a while so that it can read on."""

from __future__ import annotations

import json
import secrets
from typing import Any

from shortlist.errors import InputError

LONGEST_RESULT = 100_000  # characters of text that a call may return
LONGEST_PART = 20_000  # characters that are read at a time
MOST_TEXTS = 20  # that are stored for one client
MOST_CHARACTERS = 64_000_000  # that are stored for all clients
PREFIX = "result:"

Result = dict[str, Any]


class LongResults:
    """Texts that were too long for one result, by the client that received it and an id that no one can guess."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}  # the oldest first

    def shorten(self, result: Result, client: str) -> Result:
        """A result as the server returned it or, if its text is too long, without the rest, which is stored."""
        left = LONGEST_RESULT
        content = []
        for block in result.get("content", ()):
            holder = block["resource"] if block.get("type") == "resource" else block
            text = holder.get("text")
            if isinstance(text, str) and len(text) > left:
                holder = holder | {"text": text[:left] + self._store(text, left, client)}
                left = 0
                block = block | {"resource": holder} if block.get("type") == "resource" else holder
            elif isinstance(text, str):
                left -= len(text)
            content.append(block)
        structured = json.dumps(result.get("structuredContent"), ensure_ascii=False)
        if len(structured) > LONGEST_RESULT:
            result = {key: value for key, value in result.items() if key != "structuredContent"}
            if left:  # else the text, which usually has the same content, was stored
                content.append({"type": "text", "text": self._store(structured, 0, client)})
        return result | {"content": content}

    def _store(self, text: str, offset: int, client: str) -> str:
        """Store a text; how to read the part that is not shown."""
        id = f"{PREFIX}{secrets.token_hex(8)}"
        self._texts[client, id] = text
        own = [key for key in self._texts if key[0] == client]
        for key in own[: max(0, len(own) - MOST_TEXTS)]:
            del self._texts[key]
        while sum(map(len, self._texts.values())) > MOST_CHARACTERS and len(self._texts) > 1:
            del self._texts[next(iter(self._texts))]
        return f"… ({len(text) - offset:,} more characters. Continue with read: id {id!r}, offset {offset})"

    def text(self, id: str, client: str) -> str:
        """The whole text of an id."""
        if (client, id) not in self._texts:
            raise InputError(f"The result {id[:80]!r} is not stored. Call the tool again.")
        return self._texts[client, id]

    def read(self, id: str, offset: Any, client: str) -> dict[str, Any]:
        """A part of the text of an id, and where the next part begins."""
        text = self.text(id, client)
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise InputError(f"offset must be an integer of 0 or more, not {offset!r}.")
        end = offset + LONGEST_PART
        more = {"next_offset": end} if end < len(text) else {}
        return {"id": id, "kind": "result", "text": text[offset:end]} | more
