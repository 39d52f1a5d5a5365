"""The settings in the guide to users and access."""

from __future__ import annotations

from pathlib import Path

from shortlist.compat.retriever_settings import load_compat_settings
from tests.pages import read_blocks, read_page


def test_the_settings_of_the_guide_are_valid(tmp_path: Path) -> None:
    blocks = [block.text for block in read_blocks(read_page("guides/access.md")) if block.language == "yaml"]
    for text in blocks:
        (tmp_path / "settings.yaml").write_text(text, "utf-8")
        settings = load_compat_settings(tmp_path / "settings.yaml", environment={})
        assert settings.access.has_rules or settings.audit.file or settings.limits.requests_per_minute
