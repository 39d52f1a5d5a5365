"""The programs of docs/guides/client.md, run against a service."""

from __future__ import annotations

import pytest

from tests.pages import read_blocks, read_page


def test_every_program_of_the_guide_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    programs = [block.text for block in read_blocks(read_page("guides/client.md")) if block.language == "python"]
    assert len(programs) == 4
    for text in programs:
        exec(compile(text.replace("http://localhost:9200", url), "docs/guides/client.md", "exec"), names)
    out = capsys.readouterr().out
    assert out.startswith("refunds ")
    assert "['laptops', 'track_parcel']" in out
    assert "30 days" in out
    assert out.endswith("4 Laptops\n")
