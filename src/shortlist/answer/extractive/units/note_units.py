"""Remarks: notes, warnings, and in which version something was added, changed or deprecated."""

from __future__ import annotations

import re

from shortlist.answer.extractive.units.unit_reader import UnitReader, show

_VERSION_DIRECTIVES = {
    "versionadded": ("added", "Added in version"),
    "versionchanged": ("changed", "Changed in version"),
    "deprecated": ("deprecated", "Deprecated since version"),
    "deprecated-removed": ("deprecated", "Deprecated since version"),
    "versionremoved": ("removed", "Removed in version"),
}
_NAMES = {
    **dict.fromkeys(("note", "tip", "hint", "important", "seealso", "see also", "info"), "note"),
    **dict.fromkeys(("warning", "caution", "danger", "attention"), "warning"),
}
_NAME = "|".join(sorted(_NAMES, key=len, reverse=True))
_SENTENCE = re.compile(
    r"[\[(*_]*(?:(?P<added>(?:new|added|introduced|available) (?:in|since)|since(?= v?\d| version))"
    r"|(?P<changed>changed in)|(?P<deprecated>deprecated (?:in|since)|deprecated:)|(?P<removed>removed (?:in|since)))"
    r"(?: release| version)?s?\b(?:(?<=:)|(?=\W+v?\d|\W+[\w.]+ v?\d))",
    re.IGNORECASE,
)
_LABEL = re.compile(rf"(?:>\s*)?[*_]*(?P<name>{_NAME})s?\b[*_]*\s?:", re.IGNORECASE)
_MARK = re.compile(
    rf"(?:>\s*\[!(?P<quote>{_NAME})\]|(?:!!!|\?\?\?\+?|:::+)\s*\{{?(?P<box>{_NAME})\b.*|\[(?P<block>{_NAME})\]"
    rf"|[*_]*(?P<alone>{_NAME})[*_]*:?)$",
    re.IGNORECASE,
)


def find_note(sentence: str) -> str:
    """The kind of remark that a sentence begins, if it does."""
    if label := _LABEL.match(sentence):
        return _NAMES[label["name"].lower()]
    version = _SENTENCE.match(sentence)
    return str(version.lastgroup) if version else ""


def read_note(reader: UnitReader, at: int) -> int:
    """Read the line that begins a box: "Note" alone, or as a format marks it."""
    line = reader.lines[at]
    mark = _MARK.match(line.text)
    if not mark or (mark["alone"] and not reader.is_block_start(at)):
        return 0
    begin_note(reader, at, str(mark[str(mark.lastgroup)]), is_indented=line.text.startswith(("!!!", "???")))
    end, below = at + 1, reader.line(at + 1)
    if mark["block"] and below and re.match(r"={4,}$|-{4,}$", below.text):
        end = at + 2
        closing = (number for number in range(end, len(reader.lines)) if reader.lines[number].text == below.text)
        reader.note_end = next(closing, len(reader.lines))
    reader.add("heading", line.start, reader.lines[end - 1].end)
    return end


def begin_note(reader: UnitReader, at: int, name: str, *, is_indented: bool = False) -> None:
    """Begin a remark: all that is indented below its first line, or else the next paragraph."""
    end = at + 1
    while (line := reader.line(end)) and not line.text:
        end += 1
    if is_indented:
        while (line := reader.line(end)) and (not line.text or line.indent > reader.lines[at].indent):
            end += 1
    elif line:
        end = reader.block_end(end)
    reader.note, reader.note_end = _NAMES.get(name.lower().rstrip("s:* "), "note"), end


def read_remark_directive(reader: UnitReader, at: int, name: str, argument: str) -> int:
    """Read a directive of reStructuredText that is a remark; return the line after it, or 0 if it is another."""
    line = reader.lines[at]
    if name in _VERSION_DIRECTIVES:
        kind, label = _VERSION_DIRECTIVES[name]
        end = last = at + 1
        while (more := reader.line(end)) and (not more.text or more.indent > line.indent):
            end += 1
            last = end if more.text else last
        version, _, rest = argument.partition(" ")
        description = show(f"{rest} {reader.text[line.end : reader.lines[last - 1].end]}")
        text = f"{label} {version}: {description}" if description else f"{label} {version}."
        reader.add("sentence", line.start, reader.lines[last - 1].end, text=text, note=kind)
        return last
    if name not in _NAMES:
        return 0
    begin_note(reader, at, name, is_indented=True)
    if not argument:
        reader.add("heading", line.start, line.end)
        return at + 1
    end = at + 1
    while (more := reader.line(end)) and more.text and more.indent > line.indent:
        end += 1
    for start, stop in reader.split_sentences(line.end - len(argument), reader.lines[end - 1].end):
        reader.add("sentence", start, stop)
    return end
