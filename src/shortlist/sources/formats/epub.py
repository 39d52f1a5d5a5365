"""Documents from EPUB books: one for each chapter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shortlist.documents import Document, Problem
from shortlist.errors import SourceError
from shortlist.sources.decoding import File, open_zip
from shortlist.sources.formats.html import render_html
from shortlist.sources.formats.markup import parse_xml, read_title, resolve_link

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OPF = "{http://www.idpf.org/2007/opf}"
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_NOT_A_TITLE = re.compile(r"unknown title$|untitled$", re.IGNORECASE)  # as writers of books without a title state
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")


def read_epub(file: File) -> Iterator[Document | Problem]:
    with open_zip(file) as archive:
        root = parse_xml(archive, _CONTAINER).find(".//{*}rootfile")
        if root is None:
            raise SourceError("It is damaged: its container names no book.")
        place = root.get("full-path", "")
        book = parse_xml(archive, place)
        title = read_title(archive, place)
        title = title if title and not _NOT_A_TITLE.match(title) else file.path.name
        encrypted = set()
        if _ENCRYPTION in archive.namelist():
            encrypted = {node.get("URI") for node in parse_xml(archive, _ENCRYPTION).iter("{*}CipherReference")}
        items = {item.get("id"): item for item in book.iter(f"{_OPF}item") if item.get("media-type") in _PAGES}
        chapters = [items[ref.get("idref")] for ref in book.iter(f"{_OPF}itemref") if ref.get("idref") in items]
        for number, chapter in enumerate(chapters, 1):
            name = resolve_link(place, chapter.get("href", ""))
            try:
                if name in encrypted:
                    raise SourceError("It is protected against copying.")
                _, text = render_html(archive.read(name))
            except KeyError:
                yield file.make_problem(f"chapter={number}", f"Chapter {number} is missing: {name}.")
                continue
            except SourceError as error:
                yield file.make_problem(f"chapter={number}", f"Chapter {number} cannot be read: {error}")
                continue
            heading = _HEADING.search(text)
            shown = f"{title}: {heading[1]}" if heading and heading[1] != title else title
            yield file.make_document("page", shown, text, f"chapter={number}", chapter=number)
