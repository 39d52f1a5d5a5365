"""Documents out of PDF, DOCX and HTML, as real files have them: damaged, locked, scanned, badly made."""

from __future__ import annotations

import io
import logging
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from shortlist import Changes, CorpusSource, Document, Problem, build, search
from shortlist.errors import SourceError
from shortlist.sources import decoding
from shortlist.sources.formats import pdf as pdf_format
from tests.sources.samples import IMAGE, docx, encrypted_pdf, pdf, read, reason, write


def document(tmp_path: Path, name: str, data: str | bytes) -> Document:
    (found,) = read(tmp_path, name, data)
    assert isinstance(found, Document), found
    return found


# PDF


def test_each_page_of_a_pdf_is_a_document(tmp_path: Path) -> None:
    found = read(tmp_path, "long.pdf", pdf([f"This is page number {number}." for number in range(1, 201)]))
    assert len(found) == 200
    source = str(tmp_path / "long.pdf")
    for number in (1, 10, 200):
        assert found[number - 1] == Document(
            f"long.pdf#page={number}",
            "long.pdf",
            f"This is page number {number}.",
            metadata={"path": source, "page": number},
            kind="page",
            source=source,
            locator=f"page={number}",
        )


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Returns policy", "Returns policy"),
        ("", "a.pdf"),
        ("untitled", "a.pdf"),
        ("Microsoft Word - draft.doc", "a.pdf"),
        ("report_final.docx", "a.pdf"),
    ],
)
def test_a_pdf_is_titled_by_itself_if_it_says_anything(tmp_path: Path, title: str, shown: str) -> None:
    assert document(tmp_path, "a.pdf", pdf(["Text."], title)).title == shown


def test_a_scanned_pdf_is_a_problem_that_says_what_to_do(tmp_path: Path) -> None:
    said = reason(tmp_path, "scan.pdf", pdf([IMAGE, IMAGE]))
    assert said.startswith("None of its 2 pages has a text layer: it may be scanned. Read the file with ocr=True")
    assert reason(tmp_path, "one.pdf", pdf([IMAGE])).startswith("Its page has no text layer: it may be scanned.")


def test_scanned_pages_among_others_are_named_and_the_others_go_in(tmp_path: Path) -> None:
    found = read(tmp_path, "a.pdf", pdf([IMAGE, "Text.", "", IMAGE]))
    assert [item.id for item in found] == ["a.pdf#page=2", "a.pdf#page=1"]
    assert isinstance(found[1], Problem)
    assert "no text layer: 1, 4." in found[1].reason


def test_a_pdf_with_a_password_is_a_problem_and_one_with_an_empty_password_opens(tmp_path: Path) -> None:
    plain = pdf(["Text."])
    assert reason(tmp_path, "a.pdf", encrypted_pdf(plain, "secret")).startswith("It is encrypted")
    assert document(tmp_path, "a.pdf", encrypted_pdf(plain, "")).content == "Text."


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "It is empty."),
        (b"not a PDF", "It is damaged or not a PDF"),
        (pdf(["Text."] * 20)[:1000], "It is damaged: "),
        (b"%PDF-1.4\n" + bytes(range(256)) * 20, "It is damaged: "),
    ],
)
def test_a_damaged_pdf_is_a_problem(tmp_path: Path, data: bytes, said: str) -> None:
    assert reason(tmp_path, "a.pdf", data).startswith(said)


def test_a_pdf_whose_table_of_objects_is_wrong_is_read_all_the_same(tmp_path: Path) -> None:
    data = pdf(["Text."]).replace(b"startxref\n", b"startxref\n9")
    assert document(tmp_path, "a.pdf", data).content == "Text."


def test_a_page_that_is_missing_is_a_problem_and_the_others_go_in(tmp_path: Path) -> None:
    data = pdf(["One.", "Two.", "Three."]).replace(b"7 0 obj\n<</Type/Page", b"7 0 obj\n<</Type/Nope")
    found = read(tmp_path, "a.pdf", data.replace(b"7 0 obj\n<<", b"7 0 obj\n[["))
    assert [item.id for item in found] == ["a.pdf#page=1", "a.pdf#page=2", "a.pdf#page=3"]
    assert found[1] == Problem("a.pdf#page=2", "Page 2 cannot be read: Failed to load page.")


def test_what_pdfium_cannot_open_is_read_by_pypdf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import pypdfium2

    def refuse(*_: object) -> None:
        raise pypdfium2.PdfiumError("no")

    def read_here(data: bytes) -> list[Document | Problem]:
        path = write(tmp_path, {"a.pdf": data}) / "a.pdf"
        return list(pdf_format.read_pdf(decoding.File(path, "a.pdf", str(path))))

    monkeypatch.setattr(pypdfium2, "PdfDocument", refuse)
    found = read_here(pdf(["One.", IMAGE, "Three."]))
    assert [item.id for item in found] == ["a.pdf#page=1", "a.pdf#page=3", "a.pdf#page=2"]
    with pytest.raises(SourceError, match="It is encrypted"):
        read_here(encrypted_pdf(pdf(["Text."]), "secret"))
    (item,) = read_here(encrypted_pdf(pdf(["Text."]), ""))
    assert isinstance(item, Document)
    assert item.content == "Text."


def test_broken_files_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("pypdf").handlers.clear()
    whole = pdf(["Text."] * 5)
    files = {f"{cut}.pdf": whole[:cut] for cut in range(0, len(whole), 100)}
    for data in (docx(["Text."]), b"PK\3\4"):
        files |= {f"{len(data)}.{suffix}": data[: len(data) // 2] for suffix in ("docx", "xlsx", "html")}
    list(CorpusSource.from_files(write(tmp_path, files)))
    assert capfd.readouterr() == ("", "")


def test_words_that_are_cut_at_the_end_of_a_line_are_joined() -> None:
    assert pdf_format._tidy("A hy\ufffe\r\nphen and an\x02other.\r\nNew line.\0") == "A hyphen and another.\nNew line."


def test_pdfs_can_be_read_by_many_threads(tmp_path: Path) -> None:
    path = write(tmp_path, {"a.pdf": pdf([f"Page {number}." for number in range(50)])}) / "a.pdf"
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(len(list(CorpusSource.from_files(path))))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [50] * 8


def test_a_pdf_that_is_left_half_read_is_closed(tmp_path: Path) -> None:
    path = write(tmp_path, {"a.pdf": pdf(["One.", "Two."])}) / "a.pdf"
    stream = iter(CorpusSource.from_files(path))
    assert next(stream).id == "a.pdf#page=1"
    del stream
    assert len(list(CorpusSource.from_files(path))) == 2


def test_a_page_is_found_and_cited_by_its_number(tmp_path: Path) -> None:
    write(tmp_path, {"a.pdf": pdf(["Apples are red.", "Pears are green."])})
    corpus = build(CorpusSource.from_files(tmp_path), in_memory=True, embedder="none")
    (hit,) = search(corpus, "pear")
    assert (hit.source, hit.locator, hit.text) == (str(tmp_path / "a.pdf"), "page=2", "Pears are green.")


def test_a_pdf_that_lost_pages_loses_their_documents(tmp_path: Path) -> None:
    source = CorpusSource.from_files(write(tmp_path, {"a.pdf": pdf([IMAGE, "Two.", "Three."])}))
    corpus = build(source, in_memory=True, embedder="none")
    write(tmp_path, {"a.pdf": pdf([IMAGE, "Two."])})
    assert (corpus.sync(source).removed, corpus.ids()) == (1, ["a.pdf#page=2"])


def test_a_pdf_that_became_unreadable_keeps_its_documents(tmp_path: Path) -> None:
    source = CorpusSource.from_files(write(tmp_path, {"a.pdf": pdf(["One.", "Two."])}))
    corpus = build(source, in_memory=True, embedder="none")
    write(tmp_path, {"a.pdf": b"garbage"})
    assert (corpus.sync(source).removed, len(corpus)) == (0, 2)


# DOCX


def test_a_docx_is_one_document_with_headings_and_tables_in_their_order(tmp_path: Path) -> None:
    data = docx(["# Guide", "Welcome.", "## Prices", [["fruit", "price"], ["apple", "2"]], "After the table."])
    assert document(tmp_path, "a.docx", data) == Document(
        "a.docx",
        "Guide",
        "# Guide\n\nWelcome.\n\n## Prices\n\n| fruit | price |\n|---|---|\n| apple | 2 |\n\nAfter the table.",
        metadata={"path": str(tmp_path / "a.docx")},
        kind="page",
        source=str(tmp_path / "a.docx"),
    )


def test_a_docx_is_titled_by_its_properties_its_first_heading_or_its_name(tmp_path: Path) -> None:
    assert document(tmp_path, "a.docx", docx(["# Heading"], title="Property")).title == "Property"
    assert document(tmp_path, "a.docx", docx(["## Section", "# Heading"])).title == "Heading"
    assert document(tmp_path, "a.docx", docx(["Text."])).title == "a.docx"
    assert read(tmp_path, "a.docx", docx([])) == []


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'


def with_body(body: str) -> bytes:
    """A DOCX whose body is this XML."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx(["x"]))) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            written = f"<w:document {W} {MC}><w:body>{body}</w:body></w:document>".encode()
            new.writestr(name, written if name == "word/document.xml" else old.read(name))
    return out.getvalue()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>", "a\tb\nc"),
        ("<w:p><w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink></w:p>", "link"),
        ("<w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>", "control"),
        ("<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:delText>old</w:delText></w:del></w:p>", "new"),
        (
            "<w:p><mc:AlternateContent><mc:Choice><w:r><w:t>once</w:t></w:r></mc:Choice>"
            "<mc:Fallback><w:r><w:t>once</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>",
            "once",
        ),
        (
            "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>outer</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>inner</w:t>"
            "</w:r></w:p></w:tc></w:tr></w:tbl></w:tc><w:tc/></w:tr></w:tbl>",
            "outer inner",
        ),
    ],
)
def test_all_text_of_a_docx_is_there_once(tmp_path: Path, body: str, text: str) -> None:
    assert document(tmp_path, "a.docx", with_body(body)).content == text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "It is empty."),
        (b"text", "It is damaged, protected by a password"),
        (docx(["x"])[:5000], "It is damaged, protected by a password"),
        (with_body("<w:p>"), "It is damaged: word/document.xml: mismatched tag"),
    ],
)
def test_a_damaged_docx_is_a_problem(tmp_path: Path, data: bytes, said: str) -> None:
    assert reason(tmp_path, "a.docx", data).startswith(said)


def test_an_archive_that_unpacks_into_more_than_memory_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "MAX_UNPACKED", 1 << 10)
    path = write(tmp_path, {"a.docx": docx(["x"])}) / "a.docx"
    with pytest.raises(SourceError, match="It unpacks to more than 0 MB"):
        decoding.open_zip(decoding.File(path, "a.docx", str(path)))


# HTML


def test_html_is_its_title_and_what_a_reader_sees(tmp_path: Path) -> None:
    page = """<html><head><title> The  page </title><style>p { color: red }</style></head><body>
        <nav><a href="/">Home</a></nav><h1>Top <b>thing</b></h1>
        <p>One &amp; two&nbsp;three <i>em</i>phasis.<script>var x = "<p>no";</script>
        <h2>Part</h2><ul><li>first<li><p>second</p></ul>
        <table><tr><th>a</th> <th>b</th></tr><tr><td>1<td>2</table>
        <pre>def f():
    return 1</pre><div hidden>secret</div>end<br>line<!-- comment --></body></html>"""
    found = document(tmp_path, "a.html", page)
    assert (found.title, found.kind, found.locator) == ("The page", "page", "whole")
    assert found.content == (
        "# Top thing\n\nOne & two three emphasis.\n\n## Part\n\n- first\n\n- second\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "def f():\n    return 1\n\nend\nline"
    )


def test_a_row_of_a_table_is_one_line_with_all_of_its_cells(tmp_path: Path) -> None:
    page = """<p>Codes:</p><table><thead><tr><th><p>Directive</p></th><th><p>Meaning</p></th><th>Notes</th></tr></thead>
        <tr><td><p><code>%a</code></p></td><td><div>Weekday,<br>short.</div>
          <p>As in the locale.</p></td><td></td></tr>
        <tr><td></td><td><p>Nothing.</p></td><td>(1)</td></tr></table>
        <table><tr><td><ul><li>one<li>two</ul></td><td>layout</td></tr></table>"""
    assert document(tmp_path, "a.html", page).content == (
        "Codes:\n\n| Directive | Meaning | Notes |\n|---|---|---|\n| %a | Weekday, short. As in the locale. |  |\n"
        "|  | Nothing. | (1) |\n\n"
        "- one\n- two\n\nlayout"
    )


@pytest.mark.parametrize(
    ("page", "title", "text"),
    [
        ("<h1>Heading</h1>", "Heading", "# Heading"),
        ("<p>Just <b>text</p>", "a.html", "Just text"),
        ("<p>a</div></p></b><td>b", "a.html", "a\n\nb"),
        ("<div><p>unclosed <div attr='x", "a.html", "unclosed"),
        ("&lt;p&gt; &#8364; &eacute; &nosuch;", "a.html", "<p> € é &nosuch;"),
        ("no markup at all", "a.html", "no markup at all"),
        ("<svg><title>icon</title></svg><p>x", "a.html", "x"),
        ("<p>a</p>" + "<!--" * 5, "a.html", "a"),
    ],
)
def test_broken_html_is_read_as_a_browser_would(tmp_path: Path, page: str, title: str, text: str) -> None:
    found = document(tmp_path, "a.html", page)
    assert (found.title, found.content) == (title, text)


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ('<meta charset="windows-1251">', "cp1251"),
        ("<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=koi8-r'>", "koi8-r"),
        ("<meta charset=utf-8>", "utf-8"),
        ("", "utf-16"),
    ],
)
def test_the_declared_encoding_is_used(tmp_path: Path, declaration: str, encoding: str) -> None:
    page = f"<head>{declaration}</head><p>Да".encode(encoding)
    assert document(tmp_path, "a.html", page).content == "Да"


def test_latin_1_means_what_browsers_take_it_for(tmp_path: Path) -> None:
    page = b"<meta charset=iso-8859-1><p>\x93quoted\x94 caf\xe9"
    assert document(tmp_path, "a.html", page).content == "“quoted” café"


def test_html_that_is_nested_too_deep_is_a_problem_at_once(tmp_path: Path) -> None:
    assert document(tmp_path, "a.html", "<div>" * 1000 + "deep").content == "deep"
    assert reason(tmp_path, "a.html", "<div>" * 200_000 + "deep") == "Its elements are nested more than 2000 deep."
    many = "<p>short<li>item<br>" * 5000
    assert document(tmp_path, "a.html", many).content.count("short") == 5000


def test_html_with_very_many_options_is_read_at_once(tmp_path: Path) -> None:
    options = "<option value='1'>x</option>" * 100_000
    assert document(tmp_path, "a.html", f"<p>Choose <select>{options}</select> one.").content == "Choose one."


def test_binary_html_is_a_problem(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.html", b"\x89PNG\0\0") == "It is binary, not HTML."


def test_pages_of_every_kind_are_kept_up_to_date(tmp_path: Path) -> None:
    source = CorpusSource.from_files(
        write(tmp_path, {"a.pdf": pdf(["One.", "Two."]), "b.docx": docx(["Text."]), "c.html": "<p>Text"})
    )
    corpus = build(source, in_memory=True, embedder="none")
    assert corpus.changes == Changes(added=4)
    assert corpus.sync(source) == Changes(unchanged=4)


@pytest.mark.parametrize(
    ("text", "access"),
    [
        ("---\naccess: [hr]\n---\n# Pay\n", ["hr"]),
        ("---\r\naccess: hr\r\n---\r\nPay", "hr"),
        ("---\naccess: hr\na: [\n---\nPay", []),
        ("---\ntitle: access\n---\nPay", "everyone"),
        ("Pay\n---\naccess: hr\n---\n", "everyone"),
        ("---\naccess: hr\n", "everyone"),
    ],
)
def test_the_front_matter_of_markdown_names_who_may_see_it(tmp_path: Path, text: str, access: Any) -> None:
    (found,) = read(tmp_path, "a.md", text)
    assert isinstance(found, Document)
    assert found.metadata.get("access", "everyone") == access
