"""Tools that a model searches in words and calls by name: what all integrations for tool search share."""

from __future__ import annotations

import inspect
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NoReturn

from shortlist._text import did_you_mean
from shortlist.documents import Document, Problem
from shortlist.errors import InputError, ShortlistError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.library.opening import open_named
from shortlist.protocols import AgentTool
from shortlist.search.corpus_tool import as_tool
from shortlist.sources.tools.openapi import arguments_of
from shortlist.sources.tools.tool_catalogs import SCHEMAS, tools_of

K = 5
LONGEST = 64  # characters in a name that every vendor takes
LOOKED_AT_EVERY = 30.0  # seconds, where a change is not announced

Tools = Corpus | str | Path | Iterable[Any]
Place = tuple[str, str]  # the name of a corpus and an id in it

_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_MARKED = re.compile(r".*_[0-9a-f]{10}")


@dataclass(frozen=True, slots=True)
class Found:
    """The tools that fit, whole, and the reason; none where nothing fits."""

    tools: list[AgentTool]
    reason: str


class Toolbox:
    """Tools that a model asks for in words, and then calls by a name that is theirs alone.

    `tools` is a corpus, its name, several of these, or a list of Python functions, AgentTools, Documents and schemas
    of any vendor. `search` is the one tool that a model sees at first. Options are those of `discover`; without
    another `min_score`, the floor that was calibrated for the corpus counts.
    """

    def __init__(
        self, tools: Tools, *, name: str = "search_tools", description: str | None = None, k: int = K, **options: Any
    ) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        self._places = self._locate(tools)
        kinds = self._count_kinds()
        if len(kinds) > 1:  # only then, for what is called kind in the metadata hides the kind of the document
            given = options.get("filter")
            options["filter"] = {"$and": [{"kind": "tool"}, given]} if given else {"kind": "tool"}
        described = description or (
            f"Finds the tools for a task among {kinds['tool']:,} that are not shown, or says that none fits. What it "
            "finds can be called afterwards. Search before you say that something cannot be done."
        )
        searched = self._places[0] if len(self._places) == 1 else self._places
        self.search = as_tool(searched, name=name, description=described, k=k, level="metadata", **options)
        self._names = _Names(self._corpora(), name)

    def find(self, arguments: str | Mapping[str, Any]) -> Found:
        """What a call of `search` finds, with these arguments: a mapping or its JSON text."""
        answer = self.search.invoke(arguments)
        corpora, names = self._current()
        tools = []
        for item in answer["results"]:
            document = corpora[item["corpus"]].get(item["id"])
            name = names.of.get((item["corpus"], item["id"]))
            if document is not None and name is not None:
                tools.append(self._tool(name, document))
        return Found(tools, answer["reason"])

    def __iter__(self) -> Iterator[AgentTool]:
        """All tools, in the order in which they were added."""
        return (tool for tool, _ in self.items())

    def items(self) -> Iterator[tuple[AgentTool, Document]]:
        """All tools, each with the document that it was made of."""
        corpora, names = self._current()
        for corpus in corpora.values():
            for document in corpus:
                if name := names.of.get((corpus.name, document.id)):
                    yield self._tool(name, document), document

    def __getitem__(self, name: str) -> AgentTool:
        """The tool that has this name."""
        return self._tool(name, self.document(name))

    def __contains__(self, name: object) -> bool:
        return name in self._current()[1].places

    def document(self, name: str) -> Document:
        """The document that the tool of this name was made of; its source says where it lives."""
        corpora, names = self._current()
        place = names.places.get(name)
        document = corpora[place[0]].get(place[1]) if place else None
        if document is None:
            raise InputError(f"There is no tool {name!r} here.{did_you_mean(str(name), names.places)}")
        return document

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Call a tool that is a function of this program; what it returns, as text for a model."""
        tool = self[name]
        try:
            value = tool.invoke(arguments)
        except ShortlistError:
            raise
        except Exception as error:  # a function may fail in any way, and a model should hear of it
            raise ShortlistError(f"{name} failed: {type(error).__name__}: {error}") from error
        if inspect.iscoroutine(value):
            value.close()
            raise InputError(f"{name} is asynchronous: await it where the loop runs.")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

    def _locate(self, tools: Tools) -> list[Corpus | str | Path]:
        if isinstance(tools, Corpus | str | Path):
            return [tools]
        if isinstance(tools, Mapping) or not isinstance(tools, Iterable):
            raise InputError(f"Tools are a corpus, its name, or a list of tools, not {tools!r}.")
        listed = list(tools)
        are_corpora = listed and all(isinstance(item, Corpus | str | Path) for item in listed)
        return listed if are_corpora else [self._index(listed)]

    def _index(self, items: list[Any]) -> Corpus:
        """A corpus in memory of the tools of a list."""
        documents: dict[str, Document] = {}
        plain = (item.to_openai() if isinstance(item, AgentTool) else item for item in items)
        for item, document in zip(items, tools_of(plain), strict=True):
            if isinstance(document, Problem):
                raise InputError(f"{document.id} is no tool: {document.reason}")
            if document.id in documents:
                raise InputError(f"Two tools of the list are {document.id!r}.")
            documents[document.id] = document
            if callable(item):
                self._functions[document.id] = item.run if isinstance(item, AgentTool) else item
        corpus = create_corpus("tools", in_memory=True)
        corpus.add(documents.values())
        return corpus

    def _corpora(self) -> dict[str, Corpus]:
        found = [place if isinstance(place, Corpus) else open_named(place) for place in self._places]
        named = {corpus.name: corpus for corpus in found}
        if len(named) < len(found):
            raise InputError("Corpora that are searched together need names of their own.")
        return named

    def _count_kinds(self) -> Counter[str]:
        kinds: Counter[str] = Counter()
        for corpus in self._corpora().values():
            kinds.update(corpus.kinds())
        if kinds and not kinds["tool"]:
            held = ", ".join(f"{count:,} of kind {kind}" for kind, count in kinds.items() if count)
            raise InputError(f"There are no tools among {held}: shortlist.as_tool() makes one tool of a corpus.")
        return kinds

    def _current(self) -> tuple[dict[str, Corpus], _Names]:
        """The corpora as they are now, and the names of their tools."""
        corpora = self._corpora()
        if self._names.version != _version(corpora):
            self._names = _Names(corpora, self.search.name)
        return corpora, self._names

    def _tool(self, name: str, document: Document) -> AgentTool:
        def elsewhere(**_: Any) -> NoReturn:
            raise InputError(f"{name} is not run here: call {document.id} where it lives.")

        return AgentTool(name, *_describe(document), self._functions.get(document.id, elsewhere))


class _Names:
    """The names of all tools, as models may write them, and the corpus and id of each.

    A name that two tools have, or the search, or that looks like a marked one, is marked with a hash of corpus and id.
    So it depends on nothing else, and nobody can choose a name that means another's tool.
    """

    def __init__(self, corpora: Mapping[str, Corpus], search: str) -> None:
        self.version = _version(corpora)
        plain = {
            (corpus.name, document.id): _plain_name(document)
            for corpus in corpora.values()
            for document in corpus
            if document.kind == "tool"
        }
        count = Counter([search, *plain.values()])
        self.of = {
            place: _mark(name, place) if count[name] > 1 or _MARKED.fullmatch(name) else name
            for place, name in plain.items()
        }
        self.places = {name: place for place, name in self.of.items()}


def _version(corpora: Mapping[str, Corpus]) -> list[tuple[int, int]]:
    """What changes whenever a corpus does; a cluster does not announce changes, so there also from time to time."""
    versions = []
    for corpus in corpora.values():
        with corpus.snapshot() as state:
            now = int(time.monotonic() / LOOKED_AT_EVERY)
            versions.append((id(corpus), now if state.generation is None else state.generation))
    return versions


def _plain_name(document: Document) -> str:
    """The name of a tool in letters that all vendors take; that of a server's tool comes after the server's."""
    server, slash, _ = document.id.rpartition(f"/{document.title}")
    candidates = [f"{server}__{document.title}"] if slash and server else [document.name, document.id]
    fitting = [name for name in candidates if not _OTHER.search(name) and 0 < len(name) <= LONGEST]
    if fitting:
        return fitting[0]
    name = _OTHER.sub("_", candidates[0]).strip("_")
    return name if 0 < len(name) <= LONGEST else _mark(name, ("", document.id))


def _mark(name: str, place: Place) -> str:
    mark = blake2b("\0".join(place).encode(), digest_size=5).hexdigest()
    return f"{name[: LONGEST - 11] or 'tool'}_{mark}"


def _describe(document: Document) -> tuple[str, dict[str, Any]]:
    """The description of a tool, and what it takes: as its vendor wrote it, or as a catalog says in its metadata."""
    entry = _entry(document)
    function = entry.get("function")
    inner = function if isinstance(function, Mapping) else entry
    if isinstance(entry.get("method"), str) and isinstance(entry.get("path"), str):
        schema: Any = arguments_of(entry)
    else:
        schema = next((inner[key] for key in SCHEMAS if isinstance(inner.get(key), Mapping)), {})
    description = inner.get("description") or inner.get("summary") or document.content
    return str(description).strip(), _as_object(schema)


def _entry(document: Document) -> Mapping[str, Any]:
    if document.payload is None:
        return document.metadata
    try:
        entry = json.loads(document.payload)
    except ValueError:
        entry = None
    return entry if isinstance(entry, Mapping) else {}


def _as_object(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as vendors take it: an object, whose alternatives at the top are laid over each other."""
    parts = [part for word in _ALTERNATIVES for part in schema.get(word) or () if isinstance(part, Mapping)]
    properties: dict[str, Any] = {}
    for part in [*parts, schema]:
        properties |= part.get("properties") or {}
    kept = {key: value for key, value in schema.items() if key not in _ALTERNATIVES}
    return {**kept, "type": "object", "properties": properties}


class ToolSearch:
    """Tool search on our side, in the shapes of one vendor. `tools` and options are those of `Toolbox`."""

    def __init__(self, tools: Tools, **options: Any) -> None:
        self.toolbox = Toolbox(tools, **options)


def field_of(item: Any, key: str) -> Any:
    """A field of what a vendor's API returned: a dict, or an object of its SDK."""
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)
