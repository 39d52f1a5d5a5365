"""Small files of every format, made where they are needed."""

from __future__ import annotations

import contextlib
import io
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shortlist import CorpusSource, Document, Problem
from shortlist.sources import parser_process

IMAGE = "(image)"


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def read(root: Path, name: str, data: str | bytes) -> list[Document | Problem]:
    """What comes of one file."""
    return list(CorpusSource.from_files(write(root, {name: data}) / name))


def reason(root: Path, name: str, data: str | bytes) -> str:
    """Why nothing comes of one file."""
    (found,) = read(root, name, data)
    assert isinstance(found, Problem)
    assert (found.id, found.source) == (name, str(root / name))
    return found.reason


@contextlib.contextmanager
def parsers_at(folder: Path) -> Iterator[None]:
    """Let the process that reads files find its parsers in a folder."""
    parser_process.close_idle()
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        parser_process.close_idle()


def pdf(pages: Sequence[str], title: str = "") -> bytes:
    """A PDF with a line of text on each page, an image where the text is IMAGE, nothing where it is empty."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>"]
    kids = " ".join(f"{5 + 2 * at} 0 R" for at in range(len(pages)))
    objects.append(f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode())
    objects.append(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    pixel = b"<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>"
    objects.append(pixel + b"stream\n\x00\nendstream")
    for at, text in enumerate(pages):
        resources = "/Resources<</Font<</F1 3 0 R>>/XObject<</Im 4 0 R>>>>"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]{resources}/Contents {6 + 2 * at} 0 R>>".encode()
        )
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        shown = "q 300 0 0 300 50 50 cm /Im Do Q" if text == IMAGE else f"BT /F1 12 Tf 20 300 Td ({escaped}) Tj ET"
        stream = shown.encode("latin-1") if text else b""
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    objects.append(f"<</Title({title})>>".encode())
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, size - 1, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer


def encrypted_pdf(data: bytes, user: str, owner: str = "owner") -> bytes:
    from pypdf import PdfWriter

    writer = PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(user, owner, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx(blocks: Sequence[str | list[list[str]]], title: str = "") -> bytes:
    """Paragraphs, headings written as in Markdown, and tables as lists of rows."""
    import docx

    document = docx.Document()
    document.core_properties.title = title
    for block in blocks:
        if isinstance(block, list):
            table = document.add_table(rows=0, cols=len(block[0]))
            for row in block:
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
        elif block.startswith("#"):
            marks, _, text = block.partition(" ")
            document.add_heading(text, level=len(marks))
        else:
            document.add_paragraph(block)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def xlsx(sheets: Mapping[str, Sequence[Sequence[Any]]], cells: Mapping[str, Any] | None = None) -> bytes:
    """Sheets as lists of rows, and single cells of the last one by their names."""
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.remove(workbook.worksheets[0])
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    for name, value in (cells or {}).items():
        sheet[name] = value
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def relations(**targets: str) -> str:
    """A file of relations of Office Open XML: the targets by kind, whose id is the kind."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    lines = (
        f'<Relationship Id="{id}" Type="{kind}/{id.rstrip("0123456789")}" Target="{to}"/>' for id, to in targets.items()
    )
    return f"<Relationships>{''.join(lines)}</Relationships>"


def pptx(slides: Sequence[str], more: Mapping[str, str | bytes] | None = None) -> bytes:
    """A presentation whose slides have these shapes in XML."""
    a, p, r = (
        f"http://schemas.openxmlformats.org/{name}/2006" for name in ("drawingml", "presentationml", "officeDocument")
    )
    names = f'xmlns:a="{a}/main" xmlns:p="{p}/main" xmlns:r="{r}/relationships"'
    ids = "".join(f'<p:sldId r:id="slide{at}"/>' for at in range(1, len(slides) + 1))
    files: dict[str, str | bytes] = {
        "_rels/.rels": relations(officeDocument="ppt/presentation.xml"),
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            **{f"slide{at}": f"slides/slide{at}.xml" for at in range(1, len(slides) + 1)}
        ),
    }
    for at, shapes in enumerate(slides, 1):
        files[f"ppt/slides/slide{at}.xml"] = f"<p:sld {names}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
    notes = {name: str(text).replace("<p:notes>", f"<p:notes {names}>") for name, text in (more or {}).items()}
    return zipped(files | notes)


def opendocument(body: str, more: Mapping[str, str | bytes] | None = None) -> bytes:
    names = ["draw:drawing", "office:office", "presentation:presentation", "table:table", "text:text"]
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in (one.split(":") for one in names)
    )
    content = f"<office:document-content {spaces}><office:body>{body}</office:body></office:document-content>"
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content} | dict(more or {}))
