"""docs/guides/engines.md is run on real servers, and prints what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from shortlist.index.engines import address as addresses
from shortlist.index.engines.cluster_rows import LONGEST_NAME
from shortlist.index.engines.cluster_schema import DIALECTS, FORMULAS, WINDOW
from tests.index.engines.conftest import on_servers

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "guides" / "engines.md").read_text("utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@on_servers
def test_every_block_runs_and_prints_the_output_below_it(address: str) -> None:
    names: dict[str, Any] = {"engine": address, "data": ROOT / "examples" / "data"}
    blocks = BLOCK.findall(DOCUMENT)
    assert len(blocks) == DOCUMENT.count("```python") == 4
    for block, shown in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "docs/guides/engines.md", "exec"), names)
        assert output.getvalue() == shown
    names["corpus"].close()


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_the_versions_in_the_text_are_those_of_the_code(dialect: Any) -> None:
    oldest = ".".join(map(str, dialect.oldest))
    assert re.search(rf"{dialect.name} \({oldest} or newer", DOCUMENT, re.IGNORECASE)


def test_the_numbers_in_the_text_are_those_of_the_code() -> None:
    assert f"{WINDOW:,} passages" in DOCUMENT
    assert f"{WINDOW:,} hits" in DOCUMENT
    assert f"{LONGEST_NAME:,} characters" in DOCUMENT
    assert re.search(rf"`timeout` \|.*\b{addresses.TIMEOUT:g}\b", DOCUMENT)
    assert f"`{addresses.PREFIX}`" in DOCUMENT
    assert all(f"`{name}`" in DOCUMENT for name in FORMULAS)
