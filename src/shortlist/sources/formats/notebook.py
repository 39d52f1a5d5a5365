"""Documents from Jupyter notebooks: one for each cell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from shortlist.documents import Document, Problem
from shortlist.errors import MissingExtra, SourceError
from shortlist.sources.decoding import File, decode
from shortlist.sources.formats.html import render_html

MAX_BYTES = 100 << 20  # pictures are stored as text

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)
_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def read_notebook(file: File) -> Iterator[Document | Problem]:
    try:
        notebook = json.loads(decode(file.read(MAX_BYTES)))
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        metadata = notebook.get("metadata", {})
        language = metadata.get("kernelspec", {}).get("language") or metadata.get("language_info", {}).get("name", "")
        texts = [_render_cell(cell, language) for cell in cells]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise SourceError(f"It is damaged or not a notebook: {type(error).__name__}: {error}.") from None
    path: list[tuple[int, str]] = []  # of the headings above a cell
    for number, (cell, text) in enumerate(zip(cells, texts, strict=True), 1):
        if cell.get("cell_type") == "markdown":
            for marks, heading in _HEADING.findall(text):
                path = [*(above for above in path if above[0] < len(marks)), (len(marks), heading)]
        title = " > ".join(heading for _, heading in path) or file.path.name
        yield file.make_document("page", title, text, f"cell={number}", cell=number)


def _render_cell(cell: dict[str, Any], language: str) -> str:
    """The source of a cell, and the text of what it printed and showed."""
    source = _join(cell.get("source", cell.get("input", ""))).strip()
    if cell["cell_type"] != "code":
        return source
    blocks = [f"```{language}\n{source}\n```"] if source else []
    blocks += [_TERMINAL_CODE.sub("", _render_output(output)).strip() for output in cell.get("outputs", ())]
    return "\n\n".join(filter(None, blocks))


def _render_output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _join(output.get("text", ""))
    if output["output_type"] == "error" or "evalue" in output:
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    data = output.get("data", output)
    page = _join(data.get("text/html", ""))
    if "<table" in page:  # of a data frame, whose plain text has no rows
        try:
            return render_html(page)[1]
        except MissingExtra:
            pass
    plain = data.get("text/markdown") or data.get("text/plain") or data.get("text", "")
    return _join(plain) if plain else render_html(page)[1] if page else ""


def _join(text: Any) -> str:
    """A text, or the lines of one."""
    return "".join(text) if isinstance(text, list) else str(text)
