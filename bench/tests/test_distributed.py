"""The figures of docs/guides/scale.md are those that were measured and computed."""

from __future__ import annotations

import json
import re

from bench import distributed
from tests.pages import ROOT, read_page, run_blocks

DOCUMENT = read_page("guides/scale.md")
MEASURED = json.loads((ROOT / "bench" / "results" / "engines.json").read_text("utf-8"))["figures"]["ottqa_wiki"]


def test_the_figures_are_those_that_were_measured() -> None:
    assert distributed.sizes(MEASURED) in DOCUMENT
    assert distributed.speeds(MEASURED) in DOCUMENT
    assert f"Measured with {MEASURED['opensearch']['passages']:,} Wikipedia passages" in DOCUMENT


def test_computed_output_is_that_of_the_code() -> None:
    assert run_blocks(DOCUMENT) == 1


def test_code_uses_the_measured_bytes() -> None:
    (table,) = re.findall(r"^\| \| OpenSearch .*?\n\n", DOCUMENT, re.MULTILINE | re.DOTALL)
    cells = [line.strip("|").split("|") for line in table.splitlines()[2:-1]]
    bytes_of = {name.strip(" *"): int(here.strip(" *").replace(",", "")) for name, here, _ in cells}
    hot = sum(bytes_of[name] for name in ("vectors", "vector graph", "inverted index"))
    total, unmerged = bytes_of["total"], bytes_of["total before merging"]
    assert f"disk, hot, unmerged = {total}, {hot}, {unmerged} " in DOCUMENT
