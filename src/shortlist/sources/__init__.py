"""Sources of documents. A `CorpusSource` names a place, which is read again each time it is iterated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist.documents import Document, Problem, Stamp, Stamps
from shortlist.errors import InputError
from shortlist.sources.folder import read_folder
from shortlist.sources.inline import documents_of, read_records
from shortlist.sources.mcp_servers.mcp_client import TIMEOUT, read_servers, servers_at
from shortlist.sources.packages import read_packages
from shortlist.sources.projects import folder_name
from shortlist.sources.skills import read_reports, read_skills
from shortlist.sources.tools.openapi import read_openapi
from shortlist.sources.tools.tool_catalogs import read_tools, tools_in_catalog, tools_of

__all__ = ["OF_TOOLS", "SOURCES", "CorpusSource", "documents_of"]

ReadSince = Callable[[Stamps], Iterable[Document | Problem | Stamp]]

OF_TOOLS = frozenset({"catalog", "tools", "functions", "openapi", "mcp"})
"""The kinds of source that contain tools."""


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A named, repeatable stream of documents."""

    name: str
    kind: str
    read: Callable[[], Iterable[Document | Problem]]
    read_since: ReadSince | None = None

    def __iter__(self) -> Iterator[Document | Problem]:
        return iter(self.read())

    @property
    def scope(self) -> dict[str, Document]:
        """The documents of the source by id, without what cannot be read."""
        return {item.id: item for item in self if isinstance(item, Document)}

    def since(self, known: Stamps) -> Iterable[Document | Problem | Stamp]:
        """As iterating, but without what is unchanged since these stamps, where the source can tell."""
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
        items = texts if isinstance(texts, list | tuple) else list(texts)
        return cls(name, "list", lambda: documents_of(items))

    @classmethod
    def from_files(
        cls, root: str | Path, pattern: str | None = None, exclude: str | None = None, name: str | None = None
    ) -> CorpusSource:
        """The files under a folder, or one file: a document for each file of text, Markdown, code, DOCX or HTML, each
        page of a PDF, and each row of CSV, JSON or XLSX. `pattern` and `exclude` are regular expressions on the path
        below the folder. What .gitignore files name is left out."""
        folder = Path(root).expanduser()
        return cls._of_folder(name or folder_name(folder), "files", read_folder(folder, pattern, exclude))

    @classmethod
    def from_md_reports(cls, root: str | Path = ".", name: str | None = None) -> CorpusSource:
        """The Markdown files under a folder, titled by their first heading, with front matter and date as metadata."""
        folder = Path(root).expanduser()
        return cls._of_folder(name or folder_name(folder), "md_reports", read_reports(folder))

    @classmethod
    def _of_folder(cls, name: str, kind: str, read: ReadSince) -> CorpusSource:
        return cls(name, kind, lambda: (item for item in read({}) if not isinstance(item, Stamp)), read)

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
            return cls(
                name or (folder_name(place) if place.is_dir() else place.stem), "tools", lambda: read_tools(place)
            )
        if isinstance(tools, Mapping) or not isinstance(tools, Iterable):
            raise InputError(f"from_tools takes a file, a folder or a list of tools, not {tools!r}.")
        items = list(tools)
        return cls(name or "tools", "tools", lambda: tools_of(items))

    @classmethod
    def from_functions(cls, functions: Iterable[Callable[..., Any]], name: str = "functions") -> CorpusSource:
        """Python functions as tools: signature, hints and docstring become the schema."""
        if callable(functions) or not isinstance(functions, Iterable):
            raise InputError(f"from_functions takes a list of functions, not {functions!r}.")
        items = list(functions)
        for item in items:
            if not callable(item):
                raise InputError(f"from_functions takes functions, and {item!r} cannot be called.")
        return cls(name, "functions", lambda: tools_of(items))

    @classmethod
    def from_openapi(cls, path: str | Path, name: str | None = None) -> CorpusSource:
        """The operations of an OpenAPI 3 document in JSON or YAML."""
        file = Path(path).expanduser()
        return cls(name or file.stem, "openapi", lambda: read_openapi(file))

    @classmethod
    def from_mcp(cls, *place: Any, name: str | None = None, timeout: float = TIMEOUT) -> CorpusSource:
        """Tools, prompts and resources of live MCP servers: those of a configuration (a file or a mapping), the one at
        an address, the one that a command runs or, without an argument, those in the usual files of project and user.
        Commands are run, and ended when they have answered. A server has `timeout` seconds."""
        name, servers = servers_at(*place, name=name)
        return cls(name, "mcp", lambda: read_servers(servers(), timeout))

    @classmethod
    def from_packages(cls, *folders: str | Path, name: str = "packages") -> CorpusSource:
        """The Python distributions that are installed in this environment, or in the given folders."""
        return cls(name, "packages", lambda: read_packages([Path(folder).expanduser() for folder in folders]))

    @classmethod
    def from_records(cls, address: str, name: str | None = None) -> CorpusSource:
        """What "module:attribute" holds or, if it is a function, returns: texts, Documents or mappings."""
        return cls(name or str(address).replace(":", "."), "records", read_records(address))

    @classmethod
    def of_kind(cls, kind: str, *arguments: Any, **options: Any) -> CorpusSource:
        if kind not in SOURCES:
            raise InputError(f"There is no kind of source {kind!r}; the known ones are {', '.join(SOURCES)}.")
        return SOURCES[kind](*arguments, **options)


SOURCES: dict[str, Callable[..., CorpusSource]] = {
    name.removeprefix("from_"): getattr(CorpusSource, name) for name in vars(CorpusSource) if name.startswith("from_")
}
"""The constructors by kind of source."""
