"""Documents from HTML files: one for each file."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError, import_extra
from shortlist.sources.decoding import File, decode, is_binary
from shortlist.sources.formats.markup import render_table

_TAGS = json.loads(Path(__file__).with_name("html_tags.json").read_bytes())
_HIDDEN, _UNCLOSED = frozenset(_TAGS["hidden"]), frozenset(_TAGS["unclosed"])
_JOINTS = ("", " ", " | ", "\n", "\n\n")  # where several meet, the last of them is used
_JOINT_OF = {tag: joint for joint, key in enumerate(("cells", "lines", "blocks"), 2) for tag in _TAGS[key]}
_BLOCK = len(_JOINTS) - 1
_NOT_IN_VALUES = "table table, pre, h1, h2, h3, h4, h5, h6"  # a cell with one of these is more than a value
MAX_SPAN = 1000
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
_LATIN = {"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"}  # browsers read these as cp1252
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_MAX_DEPTH = 2000  # the parser's time is quadratic in the depth, and in the number of options of a select
_OPTION = re.compile(r"</?opt(?:ion|group)\b[^<>]{0,1000}>", re.IGNORECASE)


def read_html(file: File) -> Iterator[Document | Problem]:
    title, text = render_html(file.read())
    yield file.make_document("page", title or file.path.name, text)


def render_html(data: bytes | str) -> tuple[str, str]:
    """The title of a page, and what a reader sees as Markdown: headings, list items and tables are marked."""
    lexbor = import_extra("selectolax.lexbor", "documents", "Reading HTML")
    if isinstance(data, bytes):
        if is_binary(data):
            raise SourceError("It is binary, not HTML.")
        declared = _CHARSET.search(data[:4096])
        encoding = declared.group(1).decode().lower() if declared else ""
        data = decode(data, "cp1252" if encoding in _LATIN else encoding)
    text = _OPTION.sub(" ", data)
    steps = (-1 if closing else 1 for closing, name in _TAG.findall(text) if name.lower() not in _UNCLOSED)
    if max(itertools.accumulate(steps, lambda depth, step: max(0, depth + step), initial=0)) > _MAX_DEPTH:
        raise SourceError(f"Its elements are nested more than {_MAX_DEPTH} deep.")
    tree = lexbor.LexborHTMLParser(text)
    title = tree.css_first("head > title") or tree.css_first("h1")
    return " ".join(title.text().split()) if title is not None else "", _render_text(tree.root)


def _render_text(root: Any) -> str:
    """The visible text: blocks, lines and cells separated, headings and list items marked, tables as in Markdown."""
    parts: list[str] = []
    joint, mark = 0, ""
    is_preformatted = False
    for node, is_entering, table in _walk(root):
        tag = node.tag
        if table:
            text, joint = table, _BLOCK
        elif tag != "-text":
            joint = max(joint, _JOINT_OF.get(tag, 0))
            if tag in _TAGS["marks"]:
                mark = _TAGS["marks"][tag] if is_entering else ""
            if tag == "pre":
                is_preformatted = is_entering
            continue
        else:
            text = node.text_content or ""
            if not is_preformatted:
                text = re.sub(r"\s+", " ", text)
                text = text.lstrip() if joint or (parts and parts[-1].endswith(" ")) else text
        if text.strip() and joint:
            text = (_JOINTS[joint] if parts else "") + mark + text
            joint, mark = 0, ""
        if text and not joint:
            parts.append(text)
        joint = _BLOCK if table else joint
    return "\n".join(line.rstrip() for line in "".join(parts).split("\n")).strip()


def _walk(root: Any) -> Iterator[tuple[Any, bool, str]]:
    """Every node, and whether it is entered (True) or left or hidden (False). Not recursive, as pages may be deep.

    A table of values is one node, with its text; tables that only lay out a page are walked.
    """
    stack = [(root, True)]
    while stack:
        node, is_entering = stack.pop()
        table = ""
        if is_entering and node.tag != "-text":
            is_entering = _is_shown(node)
            table = _render_values(node) if is_entering and node.tag == "table" else ""
            if is_entering and not table:
                stack += [(node, False), *((child, True) for child in reversed([*node.iter(include_text=True)]))]
        yield node, is_entering, table


def _is_shown(node: Any) -> bool:
    is_visible = node.is_element_node and node.tag not in _HIDDEN and "hidden" not in node.attributes
    return is_visible and node.attributes.get("role") != "navigation"


def _render_values(table: Any) -> str:
    """A table with at least two rows and columns as Markdown after its caption; "" if it only lays out a page."""
    if table.css_first(_NOT_IN_VALUES) is not None:
        return ""
    rows = [
        [cell for cell in row.iter() if cell.tag in _TAGS["cells"] and _is_shown(cell)]
        for row in table.css("tr")
        if _is_shown(row)
    ]
    if sum(len(row) > 1 for row in rows) < 2:
        return ""
    captions = [_render_text(caption) for caption in table.css("caption")]
    return "\n\n".join(filter(None, [*captions, render_table(_spread(rows))]))


def _spread(rows: list[list[Any]]) -> Iterator[list[str]]:
    """The texts of the rows; a cell that spans rows has its text in each, one that spans columns only in the first."""
    spanning: dict[int, tuple[int, str]] = {}  # rows left and text, by column
    for row in rows:
        texts: list[str] = []
        for cell in [*row, None]:
            while len(texts) in spanning:
                left, text = spanning.pop(at := len(texts))
                texts.append(text)
                if left > 1:
                    spanning[at] = left - 1, text
            if cell is not None:
                text = _render_text(cell)
                if (left := _count(cell, "rowspan")) > 1:
                    spanning[len(texts)] = left - 1, text
                texts += [text] + [""] * (_count(cell, "colspan") - 1)
        yield texts


def _count(cell: Any, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return min(int(value), MAX_SPAN) if value.isascii() and value.isdecimal() else 1
