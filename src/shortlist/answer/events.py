"""How do server-sent events come out of bytes? As the standard says, wherever the bytes were cut."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

_LINE_END = re.compile(r"\r\n|\n|\r")


def events(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of each event; comments and other fields are left out, an event that is not ended does not count."""
    data: list[str] = []
    for line in _lines(chunks):
        if not line:
            if data:
                yield "\n".join(data)
            data = []
            continue
        field, colon, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" ") if colon else "")


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest, is_first = "", True
    for chunk in chunks:
        rest += decoder.decode(chunk)
        if is_first and rest:
            rest, is_first = rest.removeprefix("\ufeff"), False
        start = 0
        for end in _LINE_END.finditer(rest):
            if end.group() == "\r" and end.end() == len(rest):
                break  # its \n may be still to come
            yield rest[start : end.start()]
            start = end.end()
        rest = rest[start:]
    if rest.endswith("\r"):
        yield rest[:-1]
