"""Chapters of EPUB books."""

from __future__ import annotations

from pathlib import Path

from shortlist import Document, Problem
from tests.sources.samples import read, reason, zipped

CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
BOOK = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>Policy</dc:title></metadata><manifest>
<item id="a" href="text/one%20a.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>
<item id="c" href="gone.xhtml" media-type="application/xhtml+xml"/>
<item id="d" href="cover.png" media-type="image/png"/></manifest>
<spine><itemref idref="d"/><itemref idref="b"/><itemref idref="a"/><itemref idref="c"/></spine></package>"""


def test_each_chapter_is_a_document_in_the_order_of_the_book(tmp_path: Path) -> None:
    files = {
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": BOOK,
        "OPS/text/one a.xhtml": "<h1>Scope</h1><p>All packages.",
        "OPS/two.xhtml": "<p>Preface.",
    }
    first, second, third = read(tmp_path, "a.epub", zipped(files))
    assert isinstance(first, Document)
    assert (first.id, first.title, first.content) == ("a.epub#chapter=1", "Policy", "Preface.")
    assert isinstance(second, Document)
    assert (second.title, second.content) == ("Policy: Scope", "# Scope\n\nAll packages.")
    assert isinstance(third, Problem)
    assert (third.id, "OPS/gone.xhtml" in third.reason) == ("a.epub#chapter=3", True)


def test_a_book_that_states_no_title_is_named_by_its_file(tmp_path: Path) -> None:
    files = {
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": BOOK.replace("Policy", "Unknown Title"),
        "OPS/two.xhtml": "<p>Preface.",
    }
    assert [found.title for found in read(tmp_path, "a.epub", zipped(files)) if isinstance(found, Document)] == [
        "a.epub"
    ]


def test_a_zip_that_is_no_book_is_a_problem(tmp_path: Path) -> None:
    assert "container.xml is missing" in reason(tmp_path, "a.epub", zipped({"x": "y"}))
