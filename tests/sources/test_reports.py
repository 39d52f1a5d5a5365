"""Documents out of Markdown reports."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shortlist import Changes, CorpusSource, Document, build, disclose, search
from tests.sources.samples import write


def report(tmp_path: Path, text: str, name: str = "a.md") -> Document:
    (found,) = CorpusSource.from_md_reports(write(tmp_path, {name: text}))
    assert isinstance(found, Document)
    return found


def test_a_report_has_its_heading_as_title_and_its_front_matter_as_metadata(tmp_path: Path) -> None:
    text = "---\ntitle: In short\ndate: 2025-03-14\ntags: [outage, checkout]\n---\n\n# What happened\n\nText.\n"
    source = str(tmp_path / "sub/a.md")
    corpus = build(CorpusSource.from_md_reports(write(tmp_path, {"sub/a.md": text})), in_memory=True, embedder="none")
    assert corpus.get("sub/a.md") == Document(
        "sub/a.md",
        "What happened",
        text,
        metadata={"title": "In short", "date": "2025-03-14", "tags": ["outage", "checkout"], "path": source},
        kind="file",
        source=source,
    )
    assert [hit.id for hit in search(corpus, "happened", filter={"date": {"$gte": "2025-01-01"}})] == ["sub/a.md"]
    assert not search(corpus, "happened", filter={"date": {"$lt": "2025-01-01"}})
    (shown,) = disclose(search(corpus, "happened"), level="body")
    assert (shown.body, shown.stale) == (text, False)


@pytest.mark.parametrize(
    ("name", "text", "title", "date"),
    [
        ("2025-03-14-outage.md", "# Outage", "Outage", "2025-03-14"),
        ("outage_20250314.md", "Text.", "outage_20250314.md", "2025-03-14"),
        ("2025-03-14.md", "---\ndate: 2024-01-01\ntitle: Mine\n---\nText.", "Mine", "2024-01-01"),
        ("12345678.md", "Text.", "12345678.md", None),
        ("a.md", "---\r\ndate: 2024-01-01\r\n---\r\n# Windows\r\n", "Windows", "2024-01-01"),
        ("a.md", "---\nA rule, then text.\n---\n", "a.md", None),
        ("a.md", "---\ntitle: broken: yaml\n---\n# Still a report\n", "Still a report", None),
    ],
)
def test_a_report_says_when_it_is_from(tmp_path: Path, name: str, text: str, title: str, date: str | None) -> None:
    found = report(tmp_path, text, name)
    assert (found.title, found.metadata.get("date")) == (title, date) or str(found.metadata["date"]) == date


def test_only_markdown_is_a_report(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "x", "b.MARKDOWN": "x", "c.txt": "x", "d.mdx": "x"})
    assert [item.id for item in CorpusSource.from_md_reports(tmp_path)] == ["a.md", "b.MARKDOWN"]
    assert [item.id for item in CorpusSource.of_kind("md_reports", tmp_path)] == ["a.md", "b.MARKDOWN"]


def test_a_folder_can_be_read_as_files_and_then_as_reports(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "---\nauthor: me\n---\nText."})
    os.utime(tmp_path / "a.md", (1e9, 1e9))
    corpus = build(CorpusSource.from_files(tmp_path), in_memory=True, embedder="none")
    assert corpus.sync(CorpusSource.from_md_reports(tmp_path)) == Changes(changed=1)
    assert corpus.sync(CorpusSource.from_md_reports(tmp_path)) == Changes(unchanged=1)
