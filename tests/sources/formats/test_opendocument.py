"""Text of ODT files and slides of ODP files."""

from __future__ import annotations

from pathlib import Path

from shortlist import Document
from tests.sources.samples import opendocument, read, reason

TEXT = """<office:text><text:h text:outline-level="2">Staff<text:s text:c="2"/>list</text:h>
<text:section><text:p>One<text:tab/>two<text:line-break/>three<text:note><text:note-citation>1</text:note-citation>
<text:note-body><text:p>A note.</text:p></text:note-body></text:note>.</text:p></text:section>
<text:tracked-changes><text:p>deleted</text:p>
</text:tracked-changes><text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Region</text:p></table:table-cell>
<table:table-cell><text:p>Manager</text:p></table:table-cell></table:table-row></table:table-header-rows>
<table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>Bergen</text:p></table:table-cell>
<table:table-cell><text:p>Lars</text:p></table:table-cell></table:table-row>
<table:table-row><table:covered-table-cell/><table:table-cell><text:p>Astrid</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell table:number-columns-repeated="999999999"/></table:table-row>
</table:table></office:text>"""


def test_an_odt_is_one_document_with_headings_notes_and_tables(tmp_path: Path) -> None:
    (found,) = read(tmp_path, "a.odt", opendocument(TEXT))
    assert isinstance(found, Document)
    table = "| Region | Manager |\n|---|---|\n| Bergen | Lars |\n| Bergen | Astrid |"
    assert found.content == f"## Staff  list\n\nOne\ttwo\nthree (A note.).\n\nitem\n\n{table}"


def test_each_slide_of_an_odp_is_a_document_that_begins_with_its_title(tmp_path: Path) -> None:
    def frame(kind: str, text: str) -> str:
        box = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
        return f'<draw:frame presentation:class="{kind}">{box}</draw:frame>'

    notes = f"<presentation:notes>{frame('notes', 'Say hello.')}{frame('page-number', '1')}</presentation:notes>"
    pages = f"<draw:page>{frame('outline', 'Body')}{frame('title', 'Fire safety')}{notes}</draw:page><draw:page/>"
    (found,) = read(tmp_path, "a.odp", opendocument(f"<office:presentation>{pages}</office:presentation>"))
    assert isinstance(found, Document)
    assert (found.locator, found.title) == ("slide=1", "Fire safety")
    assert found.content == "# Fire safety\n\nBody\n\nNotes: Say hello."


def test_an_encrypted_file_is_a_problem(tmp_path: Path) -> None:
    manifest = {"META-INF/manifest.xml": "<manifest:manifest><manifest:encryption-data/></manifest:manifest>"}
    assert reason(tmp_path, "a.odt", opendocument(TEXT, manifest)).startswith("It is encrypted")
