"""The code blocks of docs/guides/engines.md, run on a real server, and the numbers in its text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from shortlist.index.engines import address as addresses
from shortlist.index.engines.cluster_rows import LONGEST_NAME
from shortlist.index.engines.cluster_schema import DIALECTS, FORMULAS, WINDOW
from tests.index.engines.conftest import on_servers
from tests.pages import ROOT, read_page, run_blocks

DOCUMENT = read_page("guides/engines.md")
PROSE = " ".join(DOCUMENT.split())
SHOWN = "opensearch+http://localhost:9200/team"


@on_servers
def test_every_block_runs_and_prints_the_output_below_it(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "data")
    names: dict[str, Any] = {}
    assert run_blocks(DOCUMENT, names, prepare=lambda code: code.replace(SHOWN, address)) == 4
    names["corpus"].close()


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_the_versions_in_the_text_are_those_of_the_code(dialect: Any) -> None:
    oldest = ".".join(map(str, dialect.oldest))
    assert re.search(rf"{dialect.name} \({oldest} or newer", PROSE, re.IGNORECASE)


def test_the_numbers_in_the_text_are_those_of_the_code() -> None:
    assert f"{WINDOW:,} passages" in PROSE
    assert f"{WINDOW:,} hits" in PROSE
    assert f"{LONGEST_NAME:,} characters" in PROSE
    assert re.search(rf"`timeout` \|.*\b{addresses.TIMEOUT:g}\b", DOCUMENT)
    assert f"`{addresses.PREFIX}`" in DOCUMENT
    assert all(f"`{name}`" in DOCUMENT for name in FORMULAS)
