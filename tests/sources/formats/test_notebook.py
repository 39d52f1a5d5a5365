"""Cells of Jupyter notebooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shortlist import Document
from tests.sources.samples import read, reason


def notebook(*cells: dict[str, Any]) -> str:
    return json.dumps({"nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}, "cells": list(cells)})


def test_each_cell_is_a_document_titled_by_the_headings_above_it(tmp_path: Path) -> None:
    table = "<table><tr><th>a<th>b<tr><td>1<td>2</table>"
    outputs = [
        {"output_type": "stream", "text": ["\x1b[31mloaded\x1b[0m\n"]},
        {"output_type": "execute_result", "data": {"text/html": [table], "text/plain": ["a b"]}},
        {"output_type": "display_data", "data": {"image/png": "iVBO"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["..."]},
    ]
    data = notebook(
        {"cell_type": "markdown", "source": ["# Report\n", "\n", "## Revenue"]},
        {"cell_type": "code", "source": "load()", "outputs": outputs},
        {"cell_type": "markdown", "source": "## Costs"},
    )
    found = read(tmp_path, "a.ipynb", data)
    assert [(item.id, item.title) for item in found if isinstance(item, Document)] == [
        ("a.ipynb#cell=1", "Report > Revenue"),
        ("a.ipynb#cell=2", "Report > Revenue"),
        ("a.ipynb#cell=3", "Report > Costs"),
    ]
    assert isinstance(found[1], Document)
    shown = "```python\nload()\n```\n\nloaded\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nValueError: no"
    assert found[1].content == shown


def test_json_that_is_no_notebook_is_a_problem(tmp_path: Path) -> None:
    for data in ("[]", "{}", "{", '{"cells": [1]}', '{"cells": 3}'):
        assert reason(tmp_path, "a.ipynb", data).startswith("It is damaged or not a notebook")
