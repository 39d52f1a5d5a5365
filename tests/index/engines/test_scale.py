"""The figures of docs/guides/scale.md are those that were measured and computed."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

from bench import distributed

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "guides" / "scale.md").read_text("utf-8")
MEASURED = json.loads((ROOT / "bench" / "results" / "engines.json").read_text("utf-8"))["figures"]["ottqa_wiki"]


def test_the_figures_are_those_that_were_measured() -> None:
    assert distributed.sizes(MEASURED) in DOCUMENT
    assert distributed.speeds(MEASURED) in DOCUMENT
    assert f"Measured with {MEASURED['opensearch']['passages']:,} Wikipedia passages" in DOCUMENT


def test_computed_output_is_that_of_the_code() -> None:
    ((block, shown),) = re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "docs/guides/scale.md", "exec"), {})
    assert printed.getvalue() == shown


def test_code_uses_the_measured_bytes() -> None:
    (table,) = re.findall(r"^\| \| OpenSearch .*?\n\n", DOCUMENT, re.MULTILINE | re.DOTALL)
    cells = [line.strip("|").split("|") for line in table.splitlines()[2:-1]]
    bytes_of = {name.strip(" *"): int(here.strip(" *").replace(",", "")) for name, here, _ in cells}
    hot = sum(bytes_of[name] for name in ("vectors", "graph of vectors", "words"))
    together, written = bytes_of["together"], bytes_of["together, just written"]
    assert f"disk, hot, written = {together}, {hot}, {written} " in DOCUMENT
