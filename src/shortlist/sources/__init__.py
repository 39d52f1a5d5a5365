"""Where do documents come from? `CorpusSource` names a place; its documents are read anew whenever it is iterated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist.errors import InputError
from shortlist.sources.files import documents_in_folder, folder_name, without_stamps
from shortlist.sources.reports import reports_in_folder
from shortlist.sources.skills import skills_in
from shortlist.sources.texts import documents_of
from shortlist.sources.tools import tools_in_catalog
from shortlist.types import Document, Problem, Stamp, Stamps

__all__ = ["SOURCES", "CorpusSource", "documents_of"]


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A named, repeatable stream of documents."""

    name: str
    kind: str
    read: Callable[[], Iterable[Document | Problem]]
    read_since: Callable[[Stamps], Iterable[Document | Problem | Stamp]] | None = None

    def __iter__(self) -> Iterator[Document | Problem]:
        return iter(self.read())

    def since(self, known: Stamps) -> Iterable[Document | Problem | Stamp]:
        """As iterating, but what is unchanged since these stamps is left out where the source can tell."""
        return self.read_since(known) if self.read_since else self.read()

    @classmethod
    def from_mapping(cls, texts: Mapping[str, Any], name: str = "mapping") -> CorpusSource:
        """Texts, Documents or {"text", ...metadata} by id."""
        if not isinstance(texts, Mapping):
            raise InputError(f"from_mapping takes texts by id, not {texts!r}.")
        return cls(name, "mapping", lambda: documents_of(texts))

    @classmethod
    def from_list(cls, texts: Iterable[Any], name: str = "list") -> CorpusSource:
        """Texts, Documents or {"text", ...metadata}; what has no id is numbered."""
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise InputError(f"from_list takes a list of texts, not {texts!r}.")
        kept = texts if isinstance(texts, list | tuple) else list(texts)
        return cls(name, "list", lambda: documents_of(kept))

    @classmethod
    def from_files(
        cls, root: str | Path, pattern: str | None = None, exclude: str | None = None, name: str | None = None
    ) -> CorpusSource:
        """The files under a folder, or one file: text, Markdown and source code a document each, PDF a document a page,
        CSV, JSON and XLSX a document a row, DOCX, HTML. `pattern` and `exclude` are regular expressions on the path
        below the folder. What .gitignore files name is left out."""
        folder = Path(root).expanduser()
        read = documents_in_folder(folder, pattern, exclude)
        return cls(name or folder_name(folder), "files", lambda: without_stamps(read), read)

    @classmethod
    def from_md_reports(cls, root: str | Path = ".", name: str | None = None) -> CorpusSource:
        """The Markdown files under a folder, titled by their first heading, with front matter and date as metadata."""
        folder = Path(root).expanduser()
        read = reports_in_folder(folder)
        return cls(name or folder_name(folder), "md_reports", lambda: without_stamps(read), read)

    @classmethod
    def from_skills(cls, *roots: str | Path, name: str = "skills") -> CorpusSource:
        """SKILL.md folders under the given roots or, without any, in the usual places of project and user."""
        return cls(name, "skills", lambda: skills_in([Path(root).expanduser() for root in roots]))

    @classmethod
    def from_catalog(cls, path: str | Path, name: str | None = None) -> CorpusSource:
        """The tools of a YAML or JSON catalog: a list `documents` of {id, title, content, keywords, metadata}."""
        file = Path(path).expanduser()
        return cls(name or file.stem, "catalog", lambda: tools_in_catalog(file))

    @classmethod
    def of_kind(cls, kind: str, *arguments: Any, **options: Any) -> CorpusSource:
        if kind not in SOURCES:
            raise InputError(f"There is no kind of source {kind!r}; the known ones are {', '.join(SOURCES)}.")
        return SOURCES[kind](*arguments, **options)


SOURCES: dict[str, Callable[..., CorpusSource]] = {
    "mapping": CorpusSource.from_mapping,
    "list": CorpusSource.from_list,
    "files": CorpusSource.from_files,
    "md_reports": CorpusSource.from_md_reports,
    "skills": CorpusSource.from_skills,
    "catalog": CorpusSource.from_catalog,
}
