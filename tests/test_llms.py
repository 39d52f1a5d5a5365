"""Files for programs: llms.txt, llms-full.txt and openapi.json of the site, AGENTS.md, context7.json, CITATION.cff."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from mkdocs.config import load_config

import shortlist
from tests.pages import DOCS, ROOT
from website import llms
from website.reference_pages import ROOT_PAGES


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    llms.on_post_build(load_config(str(ROOT / "website" / "mkdocs.yml"), site_dir=str(folder)))
    return folder


def test_the_index_lists_every_page_once_with_its_first_sentence(site: Path) -> None:
    text = (site / "llms.txt").read_text("utf-8")
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    assert head.startswith("# shortlist\n\n> Find the right few tools")
    lines = [line for section in sections for line in section.splitlines()[1:] if line]
    links = [re.fullmatch(r"- \[[^]]+\]\(([\w./-]+)\): \S.*\.", line) for line in lines]
    assert all(links), lines
    paths = [link[1] for link in links if link]
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"index.md"}
    assert sorted(paths) == sorted({*pages, *ROOT_PAGES, "openapi.json"})
    assert all((site / path).is_file() for path in paths)
    assert sections[-1].startswith("Optional\n")
    assert sections[-1].count("\n- ") == len(llms.OPTIONAL)


def test_the_index_has_full_addresses_once_the_site_has_one() -> None:
    entries = [llms.Entry("Reference", "Quickstart", "quickstart.md", "# Quickstart\n\n`a` is [b](c.md). More.\n")]
    written = llms.write_index(entries, "About.", "https://example.org/docs/")
    assert "- [Quickstart](https://example.org/docs/quickstart.md): `a` is b.\n" in written
    assert "(https://example.org/docs/llms-full.txt)" in written


def test_the_pages_are_complete_and_their_links_lead_to_pages(site: Path) -> None:
    pages = list(site.rglob("*.md"))
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([\w./-]+\.md)[#)]", page.read_text("utf-8"))]
    assert len(links) > 100
    assert [(page.name, link) for page, link in links if not (page.parent / link).is_file()] == []
    reference = (site / "reference" / "python.md").read_text("utf-8")
    assert ":::" not in reference
    assert "### shortlist.discover\n\n```python\ndiscover(" in reference
    assert "#### Corpus.ids" in reference
    full = (site / "llms-full.txt").read_text("utf-8")
    parts = {page.relative_to(site).as_posix(): page.read_text("utf-8").strip() in full for page in pages}
    assert {path for path, is_part in parts.items() if not is_part} == llms.OPTIONAL


def test_the_site_has_the_openapi_document(site: Path) -> None:
    document = json.loads((site / "openapi.json").read_text("utf-8"))
    assert document["info"]["version"] == shortlist.__version__
    assert "/v1/corpora/{name}/search" in document["paths"]


def test_agents_are_told_commands_and_files_that_exist() -> None:
    text = (ROOT / "AGENTS.md").read_text("utf-8")
    targets = re.findall(r"^make ([\w.-]+)(?= )", text, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert len(targets) == 3
    assert [name for name in targets if f"\n{name}:" not in makefile] == []
    files = re.findall(r"\b(?:src|tests)/[\w/]+\.\w+", text)
    assert len(files) > 4
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_context7_and_the_citation_describe_this_package() -> None:
    described = json.loads((ROOT / "context7.json").read_text("utf-8"))
    about = yaml.safe_load((ROOT / "website" / "mkdocs.yml").read_text("utf-8").replace("!ENV", ""))["site_description"]
    assert described["description"] == about
    assert all((ROOT / folder).is_dir() for folder in described["folders"])
    names = {path.name for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"))}
    assert set(described["excludeFiles"]) <= names
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["abstract"] == about
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
