"""The documentation site: its code blocks run, its links lead somewhere, and it covers every public name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import shortlist
from tests.pages import DOCS, ROOT, read_page, run_blocks
from website import reference_pages

# Pages that need a service, a cluster or several steps are run by the tests of their package.
PAGES = (
    "quickstart",
    "concepts",
    *(
        f"guides/{name}"
        for name in ("tools", "skills", "documents", "thresholds", "learning", "embedders", "migrate", "notebooks")
    ),
)


@pytest.mark.extras
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_and_prints_what_is_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv("COLUMNS", "100")
    assert run_blocks(read_page(f"{page}.md"))


def test_every_public_name_is_in_the_reference_once() -> None:
    written = re.findall(r"^::: shortlist\.([\w.]+)$", read_page("reference/python.md"), re.MULTILINE)
    compat = {f"compat.{name}" for name in shortlist.compat.__all__}
    found = [value for value in vars(shortlist.errors).values() if isinstance(value, type)]
    errors = {error.__name__ for error in found if issubclass(error, shortlist.ShortlistError)}
    own = {f"errors.{name}" for name in errors - {*shortlist.__all__}}
    assert {*shortlist.__all__} - {"REFUSAL"} | compat | own <= set(written)
    assert len(written) == len(set(written))
    assert re.findall(r"^ +- (\w+)$", read_page("reference/python.md"), re.MULTILINE) == shortlist.eval.__all__


@pytest.mark.parametrize("name", reference_pages.PAGES)
def test_generated_pages_are_up_to_date(name: str) -> None:
    page, write = reference_pages.REFERENCE / f"{name}.md", reference_pages.PAGES[name]
    assert write() == page.read_text("utf-8"), "run: python -m website.reference_pages"


def test_every_link_between_files_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))]
    assert [(page, link) for page, link in links if ":" not in link and not (page.parent / link).exists()] == []


def test_no_code_in_a_table_escapes_a_bar() -> None:
    """MkDocs would show the backslash: write <code>a&#124;b</code>."""
    assert [page for page in DOCS.rglob("*.md") if re.search(r"^\|.*\\\|", page.read_text("utf-8"), re.MULTILINE)] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "website" / "mkdocs.yml").read_text("utf-8")
    assert [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).as_posix() not in navigation] == []


ARCHAIC = re.compile(
    "mend|dear|anew|heed|so many|told|tells of|be it|but for|whoever|somebody|nobody|for good|further ado|"
    "is no (name|path|result|corpus|file)|nearness|likeness|stands in|lies in"
)
DATA = (
    "bert-vocab.txt",
    "english.toml",
    "injection_rules.toml",
    "order_concepts.toml",
    "tool_changes.json",
    "claim_words.toml",
    "tokens.json",
    "pieces.json",
    "LICENSE",
)  # words of users and attackers


def test_texts_are_free_of_archaic_phrases() -> None:
    files = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "src").rglob("*")]
    binary = (".onnx", ".npy", ".pyc", ".png", ".so", ".dll")
    texts = [path for path in files if path.is_file() and path.suffix not in binary]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts
        if path.name not in DATA
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if ARCHAIC.search(line)
    ]
    assert found == []
