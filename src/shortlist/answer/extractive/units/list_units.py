"""Lists and their items, with the sentence that introduces them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shortlist.answer.extractive.units.code_units import is_indented_code
from shortlist.answer.extractive.units.note_units import find_note
from shortlist.answer.extractive.units.unit import LONGEST_LABEL
from shortlist.answer.extractive.units.unit_reader import (
    END,
    FENCE,
    FULL_STOP,
    HEADING,
    KEY,
    QUESTION_MARKS,
    VERB,
    UnitReader,
    show,
)
from shortlist.index.text.languages import ENGLISH

ITEM = re.compile(r"(?:[-*+•‣◦]|(\d{1,3}[.)]|[a-z]\)|\(\w{1,2}\)))\s+(?=\S)")
_TERM = re.compile(r"\S.{0,80}?\s::(?=\s)")  # Org


def without_bullet(text: str) -> str:
    """The text of an item without its mark, unless that is a number."""
    mark = ITEM.match(text)
    return text[mark.end() :] if mark and not mark.group(1) else text


def read_list(reader: UnitReader, at: int) -> int:
    """Read a list: the whole, then its items."""
    return _add_items(reader, at) if begins_item(reader, at) else 0


def begins_item(reader: UnitReader, at: int) -> bool:
    """Whether an item of a list begins at a line."""
    line = reader.lines[at]
    item = ITEM.match(line.text)
    if not item or (item.group(1) and line.text.startswith("(") and not reader.is_block_start(at)):
        return False
    before = reader.line(at - 1)
    return not item.group(1) or reader.is_block_start(at) or bool(before and END.search(before.text))


def _add_items(reader: UnitReader, at: int) -> int:
    items: list[tuple[int, int]] = []
    indent = reader.lines[at].indent
    end = at
    while (line := reader.line(end)) and ITEM.match(line.text) and line.indent >= indent:
        begin, end = end, end + 1
        while (more := reader.line(end)) and _continues_item(reader, end, indent):
            end += 1
        last = end
        while not reader.lines[last - 1].text:
            last -= 1
        items.append((reader.lines[begin].start, reader.lines[last - 1].end))
        end = last
        while (more := reader.line(end)) and not more.text:
            end += 1
    intro = reader.take_introduction()
    texts = ["\n".join(show(part) for part in _split_item(reader, *item)) for item in items]
    group = items[0][0]
    if len(items) > 1:
        start = intro.start if intro else items[0][0]
        text = "\n".join([*([intro.text] if intro else ()), *texts])
        reader.add("list", start, items[-1][1], text=text, group=group)
    contexts = reader.contexts
    reader.contexts = [*contexts, (indent, intro.text)] if intro else contexts
    for (start, stop), text in zip(items, texts, strict=True):
        bare = text[_item_length(text) :]
        term = _TERM.match(bare)
        key = found.group().strip() if (found := term or KEY.match(bare.strip("*`"))) else ""
        key, note = key.removesuffix("::").rstrip(), find_note(bare)
        kind = (
            "question"
            if text.endswith(QUESTION_MARKS)
            else "item"
            if term or _is_statement(bare, reader.language)
            else "label"
        )
        reader.add(kind, start, stop, text=text, key=key, group=group, note=note)
    reader.contexts = contexts
    return end


def _continues_item(reader: UnitReader, at: int, indent: int) -> bool:
    line, before = reader.lines[at], reader.lines[at - 1]
    if not line.text:
        following = reader.line(at + 1)
        if not following or not following.text or following.indent <= indent + 1:
            return False
        return not is_indented_code(reader, at + 1, [following]) and not FENCE.match(following.text)
    if ITEM.match(line.text):
        return line.indent > indent
    starts_other = HEADING.match(line.text) or FENCE.match(line.text) or line.text.startswith("|")
    return not starts_other and (line.indent > indent or (bool(before.text) and line.indent == indent))


def _split_item(reader: UnitReader, start: int, end: int) -> Iterator[str]:
    """The lines of an item, with the wrapped ones joined: its own, and those of nested items."""
    part: list[str] = []
    for line in reader.text[start:end].split("\n"):
        if part and ITEM.match(line.strip()):
            yield " ".join(part)
            part = []
        part.append(line)
    yield " ".join(part)


def _is_statement(text: str, language: str) -> bool:
    says_something = VERB.search(text) if language == ENGLISH else len(text) > LONGEST_LABEL // 4
    return bool(FULL_STOP.search(text) or KEY.match(text.strip("*`")) or says_something or re.search(r"\d", text))


def _item_length(text: str) -> int:
    marker = ITEM.match(text)
    return marker.end() if marker else 0
