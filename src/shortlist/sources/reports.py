"""Reports: Markdown files with front matter, titled by their first heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from shortlist.documents import Document, Problem, Stamp, Stamps
from shortlist.sources.folder import read_folder
from shortlist.sources.front_matter import split_front_matter

REPORTS = r"(?i)\.(md|markdown)$"
_DATE = re.compile(r"(?<!\d)(\d{4})[-_]?(0[1-9]|1[0-2])[-_]?(0[1-9]|[12]\d|3[01])(?!\d)")


def read_reports(root: Path) -> Callable[[Stamps], Iterator[Document | Problem | Stamp]]:
    """A reader of the Markdown files under a folder, like `read_folder`, with front matter and date as metadata."""
    read = read_folder(root, REPORTS, reader="reports")
    return lambda known: (_add_header(item) if isinstance(item, Document) else item for item in read(known))


def _add_header(file: Document) -> Document:
    try:
        header = split_front_matter(file.content.replace("\r\n", "\n"))[0]
    except ValueError:  # the report is still worth reading
        header = {}
    name = PurePosixPath(file.id).name
    date = _DATE.search(name)
    dated = {"date": "-".join(date.groups())} if date else {}
    title = file.title if file.title != name else str(header.get("title") or name)
    return replace(file, title=title, metadata={**dated, **header, **file.metadata})
