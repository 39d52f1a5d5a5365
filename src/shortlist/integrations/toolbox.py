"""Tools that a model finds with a query and calls by name, shared by the integrations for tool search."""

from __future__ import annotations

import inspect
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NoReturn, Unpack
from weakref import WeakValueDictionary

from shortlist._limits import run_in_thread
from shortlist._text import did_you_mean
from shortlist.documents import Document, Problem
from shortlist.errors import InputError, ShortlistError
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.embedders.tools_model import default_in_memory
from shortlist.library.opening import open_named
from shortlist.protocols import AgentTool, ToolKeywords
from shortlist.retrieval.corpus_tool import as_tool
from shortlist.retrieval.learning.usage_session import UsageSession
from shortlist.sources.tools.tool_catalogs import describe_tool, tools_of

MAX_NAME = 64  # characters in a name that every vendor accepts
CHECK_SECONDS = 30.0  # between checks of an engine that does not announce changes

Tools = Corpus | str | Path | Iterable[Any]
Place = tuple[str, str]  # the name of a corpus and an id in it

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MARKED = re.compile(r".*_[0-9a-f]{10}")

# The sessions of the corpora whose tools are called here, by path or, in memory, by identity.
_sessions: WeakValueDictionary[Path | int, UsageSession] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class ToolMatches:
    """The tools that match, complete, and the reason; no tools without a match."""

    tools: list[AgentTool]
    reason: str


class ToolboxKeywords(ToolKeywords, total=False):
    """The keyword arguments of `Toolbox`."""

    name: str
    description: str | None
    k: int | None


class Toolbox:
    """Tools that a model finds with a query, and then calls by a unique name.

    `tools` is a corpus, its name, several of these, or a list of Python functions, AgentTools, Documents and schemas
    of any vendor. `search` is the only tool that a model sees at first. Options are those of `as_tool`.

    Python functions that are called after `find` found them are ranked higher for similar queries. Calls of other tools
    are not seen here; report them with `Corpus.learn`.
    """

    def __init__(
        self,
        tools: Tools,
        *,
        name: str = "search_tools",
        description: str | None = None,
        k: int | None = None,
        **options: Unpack[ToolKeywords],
    ) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        self._places = self._locate(tools)
        self._usage = UsageSession()
        if self._functions:
            self.expect_calls()
        corpora = self._open()
        kinds = sum((Counter(corpus.kinds()) for corpus in corpora.values()), Counter())
        if kinds and not kinds["tool"]:
            others = ", ".join(f"{count:,} of kind {kind}" for kind, count in kinds.items() if count)
            raise InputError(f"There are no tools, only documents: {others}. shortlist.as_tool() makes a tool of them.")
        if len(kinds) > 1:  # only then, as a `kind` in the metadata hides the kind of the document
            given = options.get("filter")
            options["filter"] = {"$and": [{"kind": "tool"}, given]} if given else {"kind": "tool"}
        description = description or (
            f"Finds the tools for a task among {kinds['tool']:,} that are not shown, or says that none fits. What it "
            "finds can be called afterwards. Search before you say that something cannot be done."
        )
        searched = self._places[0] if len(self._places) == 1 else tuple(self._places)
        self.search = as_tool(searched, name=name, description=description, k=k, level="metadata", **options)
        self._names = _Names(corpora, name)

    def find(self, arguments: str | Mapping[str, Any]) -> ToolMatches:
        """The result of a call of `search` with these arguments: a mapping or its JSON text."""
        answer = self.search.invoke(arguments)
        corpora, names = self._current()
        tools, shown = [], []
        for item in answer["results"]:
            document = corpora[item["corpus"]].get(item["id"])
            name = names.of.get((item["corpus"], item["id"]))
            if document is not None and name is not None:
                tools.append(self._tool(name, document))
                if not self._functions or document.id in self._functions:  # of others, no call is seen
                    shown.append((item["corpus"], item["id"], item["relevance"]))
        for corpus in corpora.values():
            if usage := _sessions.get(corpus.path or id(corpus)):
                usage.searched([corpus], answer["query"], shown)
        return ToolMatches(tools, answer["reason"])

    async def afind(self, arguments: str | Mapping[str, Any]) -> ToolMatches:
        """As `find`, without blocking the event loop."""
        return await run_in_thread(lambda: self.find(arguments))

    def expect_calls(self) -> None:
        """Store the searches of these corpora from now on; `follow` stores which tools are called."""
        for corpus in self._open().values():
            self._usage = _sessions.setdefault(corpus.path or id(corpus), self._usage)

    @contextmanager
    def follow(self, name: str) -> Iterator[None]:
        """Store the outcome of the call of a tool that is made in this context; invalid arguments are none."""
        place = self._names.places.get(name, ("", ""))
        try:
            yield
        except InputError:
            raise
        except Exception:
            self._usage.used(*place, "failed")
            raise
        self._usage.used(*place, "called")

    def __iter__(self) -> Iterator[AgentTool]:
        """All tools, in the order in which they were added."""
        return (tool for tool, _ in self.items())

    def items(self) -> Iterator[tuple[AgentTool, Document]]:
        """All tools, each with its document."""
        corpora, names = self._current()
        for corpus in corpora.values():
            for document in corpus:
                if name := names.of.get((corpus.name, document.id)):
                    yield self._tool(name, document), document

    def __getitem__(self, name: str) -> AgentTool:
        return self._tool(name, self.document(name))

    def __contains__(self, name: object) -> bool:
        return name in self._current()[1].places

    def document(self, name: str) -> Document:
        """The document of a tool; its source says where the tool is."""
        corpora, names = self._current()
        place = names.places.get(name)
        document = corpora[place[0]].get(place[1]) if place else None
        if document is None:
            raise InputError(f"There is no tool {name!r} here.{did_you_mean(str(name), names.places)}")
        return document

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Call a tool that is a Python function; its return value as text for a model."""
        tool = self[name]
        with _report_failure(name):
            value = tool.invoke(arguments)
        if inspect.iscoroutine(value):
            value.close()
            raise InputError(f"{name} is asynchronous. Use acall, or await it in your event loop instead.")
        return _to_text(value)

    async def acall(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """As `call`; an asynchronous function is awaited, any other one runs in a thread."""
        tool = await run_in_thread(lambda: self[name])
        with _report_failure(name):
            if inspect.iscoroutinefunction(tool.run):
                return _to_text(await tool.invoke(arguments))
            return _to_text(await run_in_thread(lambda: tool.invoke(arguments)))

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
                raise InputError(f"{document.id} is not a tool: {document.reason}")
            if document.id in documents:
                raise InputError(f"Two tools of the list have the id {document.id!r}.")
            documents[document.id] = document
            if callable(item):
                self._functions[document.id] = item.run if isinstance(item, AgentTool) else item
        corpus = create_corpus("tools", in_memory=True, embedder=default_in_memory(documents.values()))
        corpus.add(documents.values())
        return corpus

    def _open(self) -> dict[str, Corpus]:
        corpora = [place if isinstance(place, Corpus) else open_named(place) for place in self._places]
        by_name = {corpus.name: corpus for corpus in corpora}
        if len(by_name) < len(corpora):
            raise InputError("Corpora that are searched together need distinct names.")
        return by_name

    def _current(self) -> tuple[dict[str, Corpus], _Names]:
        """The corpora as they are now, and the names of their tools."""
        corpora = self._open()
        if self._names.version != _version(corpora):
            self._names = _Names(corpora, self.search.name)
        return corpora, self._names

    def _tool(self, name: str, document: Document) -> AgentTool:
        def refuse(**_: Any) -> NoReturn:
            raise InputError(f"{name} is not a Python function. Call {document.id} where it runs.")

        function: Callable[..., Any] = self._functions.get(document.id, refuse)

        def run(**arguments: Any) -> Any:
            with self.follow(name):
                return function(**arguments)

        async def run_async(**arguments: Any) -> Any:
            with self.follow(name):
                return await function(**arguments)

        followed = run_async if inspect.iscoroutinefunction(function) else run
        return AgentTool(name, *describe_tool(document), followed)


@contextmanager
def _report_failure(name: str) -> Iterator[None]:
    """Turn whatever a function raises into an error that the model should know of."""
    try:
        yield
    except ShortlistError:
        raise
    except Exception as error:
        raise ShortlistError(f"{name} failed: {type(error).__name__}: {error}") from error


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class _Names:
    """The names of all tools, as models can write them, and the corpus and id of each.

    A name that is not unique, that of the search, or that looks like a marked one, is marked with a hash of corpus and
    id. So it depends on nothing else, and no tool can take the name of another.
    """

    def __init__(self, corpora: Mapping[str, Corpus], search: str) -> None:
        self.version = _version(corpora)
        tools = ((corpus.name, tool) for corpus in corpora.values() for tool in corpus if tool.kind == "tool")
        plain = {(corpus, tool.id): _plain_name(tool) for corpus, tool in tools}
        count = Counter([search, *plain.values()])
        self.of = {
            place: _mark(name, place) if count[name] > 1 or _MARKED.fullmatch(name) else name
            for place, name in plain.items()
        }
        self.places = {name: place for place, name in self.of.items()}


def _version(corpora: Mapping[str, Corpus]) -> list[tuple[int, int]]:
    """A value that changes when a corpus does. A cluster does not announce changes: there it changes regularly."""
    versions = []
    for corpus in corpora.values():
        with corpus.snapshot() as state:
            now = int(time.monotonic() / CHECK_SECONDS)
            versions.append((id(corpus), now if state.generation is None else state.generation))
    return versions


def _plain_name(document: Document) -> str:
    """The name of a tool in characters that all vendors accept, prefixed with its server if it has one."""
    server, slash, _ = document.id.rpartition(f"/{document.title}")
    candidates = [f"{server}__{document.title}"] if slash and server else [document.name, document.id]
    safe = _UNSAFE.sub("_", candidates[0]).strip("_")
    valid = [name for name in candidates if not _UNSAFE.search(name)]
    fitting = [name for name in (*valid, safe) if 0 < len(name) <= MAX_NAME]
    return fitting[0] if fitting else _mark(safe, ("", document.id))


def _mark(name: str, place: Place) -> str:
    mark = blake2b("\0".join(place).encode(), digest_size=5).hexdigest()
    return f"{name[: MAX_NAME - 11] or 'tool'}_{mark}"


class ToolSearch:
    """Client-side tool search in the format of one vendor. `tools` and options are those of `Toolbox`."""

    def __init__(self, tools: Tools, **options: Unpack[ToolboxKeywords]) -> None:
        self.toolbox = Toolbox(tools, **options)


def field_of(item: Any, key: str) -> Any:
    """A field of what a vendor's API returned: a dict, or an object of its SDK."""
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)
