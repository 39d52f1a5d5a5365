"""The documentation site: its code blocks run, its links lead somewhere, and it covers every public name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import shortlist
from tests.pages import DOCS, ROOT, read_page, run_blocks

# Pages that need a service, a cluster or several steps are run by the tests of their package.
PAGES = (
    "quickstart",
    "concepts",
    *(f"guides/{name}" for name in ("tools", "skills", "documents", "thresholds", "embedders", "migrate")),
)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_is_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv("COLUMNS", "100")
    assert run_blocks(read_page(f"{page}.md"))


def test_every_public_name_is_in_the_reference_once() -> None:
    written = re.findall(
        r"^::: shortlist\.(?:search\.retrieve\.)?(\w+)$", read_page("reference/python.md"), re.MULTILINE
    )
    assert sorted(written) == sorted({*shortlist.__all__} - {"eval_gen", "REFUSAL"})


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "website" / "mkdocs.yml").read_text("utf-8")
    assert [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).as_posix() not in navigation] == []
