"""Text of RTF files."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import Document
from tests.sources.samples import read, reason

STYLES = r"{\stylesheet{\s0 Normal;}{\s1\sbasedon15 heading 2;}}"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"\pard\plain \s1\b Staff\par\pard\plain Caf\'e9 \u8364?.\par", "## Staff\n\nCafé €."),
        (r"\pard\outlinelevel0 Top\par", "# Top"),
        (
            r"\trowd\pard\intbl Region\cell Manager\cell\row\trowd\pard\intbl Bergen\cell Lars\cell\row\pard After\par",
            "| Region | Manager |\n|---|---|\n| Bergen | Lars |\n\nAfter",
        ),
    ],
)
def test_headings_characters_and_tables_are_read(tmp_path: Path, body: str, text: str) -> None:
    (found,) = read(tmp_path, "a.rtf", rf"{{\rtf1\ansi\ansicpg1252{STYLES}{body}}}")
    assert isinstance(found, Document)
    assert found.content == text


def test_a_file_without_the_header_is_a_problem(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.rtf", "plain").startswith("It is damaged or not RTF")
