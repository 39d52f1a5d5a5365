"""What docs/scale.md reckons is what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

DOCUMENT = (Path(__file__).parents[3] / "docs" / "scale.md").read_text("utf-8")


def test_the_billion_on_paper_is_what_the_bytes_give() -> None:
    ((block, shown),) = re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "docs/scale.md", "exec"), {})
    assert printed.getvalue() == shown


def test_the_bytes_add_up_and_are_those_that_are_reckoned_with() -> None:
    rows = {
        name.strip(" *"): cells for name, *cells in map(cells_of, re.findall(r"^\|.*\d.*\|$", DOCUMENT, re.MULTILINE))
    }
    *parts, together, written = rows.values()
    assert [sum(column) for column in zip(*parts, strict=True)] == together
    hot = sum(rows[name][0] for name in ("vectors", "graph of vectors", "words"))
    assert f"disk, hot, written = {together[0]}, {hot}, {written[0]} " in DOCUMENT


def cells_of(line: str) -> tuple[str, int, int]:
    name, *numbers = line.strip("|").split("|")
    here, there = (int(number.strip(" *").replace(",", "")) for number in numbers)
    return name, here, there
