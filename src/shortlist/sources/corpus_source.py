"""A `CorpusSource` names a place with documents, which is read again each time it is iterated."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shortlist._projects import folder_name
from shortlist._text import did_you_mean
from shortlist.documents import Counted, Document, Problem, Stamp, Stamps
from shortlist.errors import InputError
from shortlist.mcp_client.config_files import servers_at
from shortlist.sources.folder import measure_folder, read_folder
from shortlist.sources.in_memory import documents_of, read_records
from shortlist.sources.mcp_tools import TIMEOUT_SECONDS, read_servers
from shortlist.sources.packages import read_packages
from shortlist.sources.reports import REPORTS, read_reports
from shortlist.sources.skills import read_skills
from shortlist.sources.tools.openapi import read_openapi
from shortlist.sources.tools.tool_catalogs import read_tools, tools_in_catalog, tools_of

OF_TOOLS = frozenset({"catalog", "tools", "functions", "openapi", "mcp"})
"""The kinds of source that contain tools."""


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A named, repeatable stream of documents."""

    name: str
    kind: str
    read: Callable[[], Iterable[Document | Problem | Stamp]]
    read_since: Callable[[Stamps], Iterable[Document | Problem | Stamp]] | None = None
    size: Callable[[], tuple[int, str]] | None = None
    """Counts what the source has, without reading it: a number, and of what (files or rows)."""

    def __iter__(self) -> Iterator[Document | Problem]:
        return (item for item in self.read() if not isinstance(item, Stamp))

    @property
    def scope(self) -> dict[str, Document]:
        """The documents of the source by id, without what cannot be read."""
        return {item.id: item for item in self if isinstance(item, Document)}

    def since(self, known: Stamps) -> Iterable[Document | Problem | Stamp]:
        """Like iterating, but without the files that are unchanged since these stamps, where the source supports it."""
        return self.read_since(known) if self.read_since else self.read()

    @classmethod
    def from_mapping(cls, texts: Mapping[str, Any], name: str = "mapping") -> CorpusSource:
        """Texts, Documents or {"text", ...metadata} by id."""
        if not isinstance(texts, Mapping):
            raise InputError(f"from_mapping takes a mapping of ids to texts, not {texts!r}.")
        return cls(name, "mapping", lambda: documents_of(texts))

    @classmethod
    def from_list(cls, texts: Iterable[Any], name: str = "list") -> CorpusSource:
        """Texts, Documents or {"text", ...metadata}. Entries without an id are numbered."""
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise InputError(f"from_list takes a list of texts, not {texts!r}.")
        items = texts if isinstance(texts, list | tuple) else list(texts)
        return cls(name, "list", lambda: documents_of(items))

    @classmethod
    def from_files(
        cls,
        root: str | Path,
        pattern: str | None = None,
        exclude: str | None = None,
        name: str | None = None,
        ocr: bool = False,
    ) -> CorpusSource:
        """The files under a folder, or one file: a document for each file of text, Markdown, code, DOCX, ODT, RTF or
        HTML, each manual page, page of a PDF, slide, chapter of an EPUB, cell of a notebook and message, and each row
        of CSV, JSON or a spreadsheet. `pattern` and `exclude` are regular expressions on the path below the folder.
        Files that .gitignore excludes are skipped. `ocr` reads pictures and scanned pages with Tesseract, if it is
        installed."""
        folder = Path(root).expanduser()
        read = read_folder(folder, pattern, exclude, ocr=ocr)
        size = partial(measure_folder, folder, pattern, exclude)
        return cls(name or folder_name(folder), "files", lambda: read({}), read, size)

    @classmethod
    def from_md_reports(cls, root: str | Path = ".", name: str | None = None) -> CorpusSource:
        """The Markdown files under a folder, titled by their first heading, with front matter and date as metadata."""
        folder = Path(root).expanduser()
        read = read_reports(folder)
        return cls(
            name or folder_name(folder), "md_reports", lambda: read({}), read, partial(measure_folder, folder, REPORTS)
        )

    @classmethod
    def from_skills(cls, *roots: str | Path, name: str = "skills") -> CorpusSource:
        """SKILL.md folders under the given roots or, without any, in the usual places of project and user."""
        return cls(name, "skills", lambda: read_skills([Path(root).expanduser() for root in roots]))

    @classmethod
    def from_catalog(cls, path: str | Path, name: str | None = None) -> CorpusSource:
        """The tools of a YAML or JSON catalog: a list `documents` of {id, title, content, keywords, metadata}."""
        file = Path(path).expanduser()
        return cls(name or file.stem, "catalog", lambda: tools_in_catalog(file))

    @classmethod
    def from_tools(cls, tools: str | Path | Iterable[Any], name: str | None = None) -> CorpusSource:
        """The tools of a file (a catalog, schemas for OpenAI, Anthropic or MCP, an OpenAPI document), of a folder of
        such files, or of a list of Python functions and schemas. The format is detected from the content."""
        if isinstance(tools, str | Path):
            place = Path(tools).expanduser()
            name = name or (folder_name(place) if place.is_dir() else place.stem)
            return cls(name, "tools", lambda: read_tools(place))
        if isinstance(tools, Mapping) or not isinstance(tools, Iterable):
            raise InputError(f"from_tools takes a file, a folder or a list of tools, not {tools!r}.")
        items = list(tools)
        return cls(name or "tools", "tools", lambda: Counted(tools_of(items), len(items)))

    @classmethod
    def from_functions(cls, functions: Iterable[Callable[..., Any]], name: str = "functions") -> CorpusSource:
        """Python functions as tools: signature, hints and docstring become the schema."""
        items = list(functions) if isinstance(functions, Iterable) else None
        if items is None or not all(map(callable, items)):
            raise InputError(f"from_functions takes a list of functions, not {functions!r}.")
        return cls(name, "functions", lambda: Counted(tools_of(items), len(items)))

    @classmethod
    def from_openapi(cls, path: str | Path, name: str | None = None) -> CorpusSource:
        """The operations of an OpenAPI 3 document in JSON or YAML."""
        file = Path(path).expanduser()
        return cls(name or file.stem, "openapi", lambda: read_openapi(file))

    @classmethod
    def from_mcp(cls, *place: Any, name: str | None = None, timeout: float = TIMEOUT_SECONDS) -> CorpusSource:
        """Tools, prompts and resources of live MCP servers: those of a configuration (a file or a mapping), the one at
        a URL, the one that a command runs or, without arguments, those in the usual files of project and user. A
        command runs only until it has answered. A server has `timeout` seconds unless it has its own limit."""
        name, servers = servers_at(*place, name=name)
        return cls(name, "mcp", lambda: read_servers(servers(), timeout))

    @classmethod
    def from_packages(cls, *folders: str | Path, name: str = "packages") -> CorpusSource:
        """The Python distributions that are installed in this environment, or in the given folders."""
        return cls(name, "packages", lambda: read_packages([Path(folder).expanduser() for folder in folders]))

    @classmethod
    def from_records(cls, address: str, name: str | None = None) -> CorpusSource:
        """The texts, Documents or mappings in "module:attribute" or, if that is a function, in its result. The module
        is imported from "folder/module:attribute", or else from the module search path or the current folder."""
        module, _, attribute = str(address).rpartition(":")
        if not module or not attribute:
            raise InputError(f"{address!r} is not an address of records. Write it as 'module:attribute'.")
        return cls(name or os.path.basename(address).replace(":", "."), "records", lambda: read_records(str(address)))

    @classmethod
    def of_kind(cls, kind: str, *arguments: Any, **options: Any) -> CorpusSource:
        if kind not in SOURCES:
            near = did_you_mean(kind, SOURCES)
            raise InputError(f"{kind!r} is not a kind of source.{near} The known kinds are {', '.join(SOURCES)}.")
        return SOURCES[kind](*arguments, **options)


SOURCES: dict[str, Callable[..., CorpusSource]] = {
    name.removeprefix("from_"): getattr(CorpusSource, name) for name in vars(CorpusSource) if name.startswith("from_")
}
"""The constructors by kind of source."""
