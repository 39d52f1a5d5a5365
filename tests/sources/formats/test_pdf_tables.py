"""Tables with ruling lines in PDF files."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import Document
from tests.sources import samples


def page(monkeypatch: pytest.MonkeyPatch, drawing: str, texts: dict[tuple[int, int], str]) -> bytes:
    """A PDF with lines and texts at their places."""
    shown = "".join(f"BT /F1 12 Tf {x} {y} Td ({text}) Tj ET " for (x, y), text in texts.items())
    plain = samples.pdf(["@"])
    stream = f"{drawing} {shown}".encode()
    old = b"BT /F1 12 Tf 20 300 Td (@) Tj ET"
    head = b"<</Length %d>>stream\n" % len(old)
    return plain.replace(head + old, b"<</Length %d>>stream\n" % len(stream) + stream)


TEXTS = {
    (20, 350): "Before",
    (55, 285): "Region",
    (155, 285): "Manager",
    (55, 255): "Bergen",
    (155, 255): "Lars",
    (155, 225): "Astrid",
    (20, 150): "After",
}
LINES = (
    "50 300 m 250 300 l S 50 270 m 250 270 l S 150 240 m 250 240 l S 50 210 m 250 210 l S "
    "50 210 m 50 300 l S 150 210 m 150 300 l S 250 210 m 250 300 l S"
)


def test_a_table_between_lines_is_a_markdown_table_among_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = samples.read(tmp_path, "a.pdf", page(monkeypatch, LINES, TEXTS))
    assert isinstance(found, Document)
    table = "| Region | Manager |\n|---|---|\n| Bergen | Lars |\n| Bergen | Astrid |"
    assert found.content == f"Before\n\n{table}\n\nAfter"


@pytest.mark.parametrize("drawing", ["", "50 210 200 90 re S", "10 10 380 380 re S 50 270 m 250 270 l S"])
def test_frames_and_rules_are_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawing: str) -> None:
    (found,) = samples.read(tmp_path, "a.pdf", page(monkeypatch, drawing, TEXTS))
    assert isinstance(found, Document)
    assert "|" not in found.content
