"""Slides of PPTX files: titles, tables, notes, and slides that are damaged."""

from __future__ import annotations

from pathlib import Path

from shortlist import Document, Problem
from tests.sources.samples import pptx, read, relations


def shape(text: str, kind: str = "") -> str:
    placeholder = f'<p:ph type="{kind}"/>' if kind else ""
    paragraph = f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
    return f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:txBody>{paragraph}</p:txBody></p:sp>"


def cell(text: str, span: str = "") -> str:
    return f"<a:tc {span}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"


ROW_SPAN, MERGED = "rowSpan='2'", "vMerge='1'"
TABLE = (
    "<p:graphicFrame><a:graphic><a:graphicData><a:tbl>"
    f"<a:tr>{cell('Region')}{cell('Manager')}</a:tr>"
    f"<a:tr>{cell('Bergen', ROW_SPAN)}{cell('Lars')}</a:tr>"
    f"<a:tr>{cell('', MERGED)}{cell('A|B')}</a:tr>"
    "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
)


def test_each_slide_is_a_document_with_its_title_table_and_notes(tmp_path: Path) -> None:
    notes = {
        "ppt/slides/_rels/slide2.xml.rels": relations(notesSlide="../notesSlides/notes.xml"),
        "ppt/notesSlides/notes.xml": f"<p:notes>{shape('2', 'sldNum')}{shape('Say hello.', 'body')}</p:notes>",
    }
    group = f"<p:grpSp>{shape('Inside a group.')}</p:grpSp>"
    data = pptx([shape("Welcome"), TABLE + shape("Staff", "title") + shape("7", "sldNum") + group], notes)
    first, second = read(tmp_path, "a.pptx", data)
    assert isinstance(first, Document)
    assert (first.id, first.title, first.content) == ("a.pptx#slide=1", "a.pptx", "Welcome")
    assert isinstance(second, Document)
    assert (second.locator, second.title, second.metadata["slide"]) == ("slide=2", "Staff", 2)
    table = "| Region | Manager |\n|---|---|\n| Bergen | Lars |\n| Bergen | A\\|B |"
    assert second.content == f"# Staff\n\n{table}\n\nInside a group.\n\nNotes: Say hello."


def test_a_damaged_slide_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    bad, good = read(tmp_path, "a.pptx", pptx(["<broken>", shape("Fine")]))
    assert isinstance(bad, Problem)
    assert (bad.id, "mismatched tag" in bad.reason) == ("a.pptx#slide=1", True)
    assert good.id == "a.pptx#slide=2"


def test_xml_with_entities_is_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><p:notes>&a;</p:notes>'
    data = pptx([shape("x")], {"ppt/slides/slide1.xml": bomb})
    (found,) = read(tmp_path, "a.pptx", data)
    assert isinstance(found, Problem)
    assert "DOCTYPE" in found.reason
