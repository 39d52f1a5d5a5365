"""Documents out of Markdown reports: what their front matter and their names say of them becomes metadata."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from shortlist.documents import Document, Problem, Stamp, Stamps
from shortlist.sources.folder import documents_in_folder
from shortlist.sources.skills import split_front_matter

PATTERN = r"(?i)\.(md|markdown)$"

_DATE = re.compile(r"(?<!\d)(\d{4})[-_]?(0[1-9]|1[0-2])[-_]?(0[1-9]|[12]\d|3[01])(?!\d)")


def reports_in_folder(root: Path) -> Callable[[Stamps], Iterator[Document | Problem | Stamp]]:
    """A reader of the reports under a folder, as `documents_in_folder`."""
    read = documents_in_folder(root, PATTERN, reader="reports")

    def read_reports(known: Stamps) -> Iterator[Document | Problem | Stamp]:
        return (_report(item) if isinstance(item, Document) else item for item in read(known))

    return read_reports


def _report(file: Document) -> Document:
    header = _front_matter(file.content)
    date = _DATE.search(PurePosixPath(file.id).name)
    dated = {"date": "-".join(date.groups())} if date else {}
    has_heading = file.title != PurePosixPath(file.id).name
    return Document(
        file.id,
        file.title if has_heading else str(header.get("title") or file.title),
        file.content,
        metadata={**dated, **header, **file.metadata},
        kind=file.kind,
        source=file.source,
    )


def _front_matter(text: str) -> dict[str, Any]:
    """What stands between the first lines of dashes; nothing if that is no YAML, for the report is still worth it."""
    try:
        return split_front_matter(text.replace("\r\n", "\n"))[0]
    except ValueError:
        return {}
