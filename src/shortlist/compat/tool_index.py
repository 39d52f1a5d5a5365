"""A registry of tools ranked by the cosine of TF-IDF, stored as postings and never as vectors."""

from __future__ import annotations

import codecs
import json
import math
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from shortlist._files import replace_text
from shortlist._limits import check_length
from shortlist._paths import make_folder
from shortlist.documents import Problem
from shortlist.errors import SourceError
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.analyzers import get_analyzer
from shortlist.safety.untrusted_files import LARGEST_DATA, read_regular_file
from shortlist.sources.folder import walk

if TYPE_CHECKING:
    from shortlist.results import Mask

ANALYZER = "alphanumeric-2"
SCORING = Scoring("tfidf")
FORMAT = 1

_tokenize = get_analyzer("alphanumeric-1").terms


class ToolRecord(BaseModel):
    """A tool. Once `ToolIndex.build_index` has indexed it, `embedding` is computed when it is read; until then None."""

    tool_id: str
    name: str
    description: str
    tags: list[str] = Field(default_factory=list)
    capabilities: list[str] = Field(default_factory=list)
    embedding: list[float] | None = None

    if not TYPE_CHECKING:

        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            if name == "embedding" and value is None and (vectors := self.__dict__.get(_VECTORS)):
                return vectors.embedder.embed(_describe(self))
            return value


_VECTORS = "_vectors"  # in __dict__ but not a field, so it is neither compared nor serialized


class SearchQuery(BaseModel):
    """A query. If `tags_filter` has tags, only tools with at least one of them are found."""

    query_text: str
    tags_filter: list[str] | None = None
    top_k: int = Field(default=10, ge=1)


class SearchResult(BaseModel):
    """A tool, its cosine, and its rank from 1."""

    tool: ToolRecord
    score: float
    rank: int


class SimpleEmbedder:
    """TF-IDF vectors over the words of the fitted texts: [a-z0-9]+, in lower case."""

    def __init__(self) -> None:
        self.fit([])

    def fit(self, documents: list[str]) -> None:
        """Learn the words of these texts. Forgets all earlier texts."""
        df = Counter(token for text in documents for token in set(_tokenize(text)))
        self._num_docs = len(documents)
        self._vocab = sorted(df)
        self._vocab_index = {token: at for at, token in enumerate(self._vocab)}
        self._idf = {token: math.log((self._num_docs + 1) / (df[token] + 1)) + 1 for token in self._vocab}

    def embed(self, text: str) -> list[float]:
        """A unit vector; zeros if no word is known, an empty list before `fit`."""
        vector = [0.0] * len(self._vocab)
        for token, count in Counter(_tokenize(text)).items():
            at = self._vocab_index.get(token)
            if at is not None:
                vector[at] = count * self._idf[token]
        length = math.hypot(*vector)
        return [value / length for value in vector] if length else vector


class CosineSimilarity:
    """The cosine of two vectors."""

    @staticmethod
    def compute(vec_a: list[float], vec_b: list[float]) -> float:
        """From -1 to 1; 0 for empty and for zero vectors."""
        if len(vec_a) != len(vec_b):
            raise ValueError(f"Vector length mismatch: {len(vec_a)} and {len(vec_b)}.")
        lengths = float(np.linalg.norm(vec_a)) * float(np.linalg.norm(vec_b))
        return max(-1.0, min(1.0, float(np.dot(vec_a, vec_b)) / lengths)) if lengths else 0.0


@dataclass(frozen=True)
class _Built:
    """The tools as they were indexed, by position; `live` are those that were not replaced since."""

    tools: tuple[ToolRecord, ...]
    lexical: Lexical
    live: Mask

    @cached_property
    def tags(self) -> dict[str, list[int]]:
        tagged: dict[str, list[int]] = {}
        for at, tool in enumerate(self.tools):
            for tag in _fold(tool.tags):
                tagged.setdefault(tag, []).append(at)
        return tagged

    def filter_by_tags(self, tags: Iterable[str]) -> Mask:
        mask = np.zeros(len(self.tools), dtype=bool)
        for tag in _fold(tags):
            mask[self.tags.get(tag, [])] = True
        return mask & self.live


class ToolIndex:
    """A registry of tools that is searched by words and tags. All methods are thread-safe."""

    def __init__(self) -> None:
        self._tools: dict[str, ToolRecord] = {}
        self._places: dict[str, int] = {}
        self._built: _Built | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A copy gets records of its own, since `build_index` changes them.
        vars(self).update(state, _lock=threading.Lock())
        built = self._built.tools if self._built else ()
        copies = {id(tool): tool.model_copy() for tool in (*self._tools.values(), *built)}
        self._tools = {name: copies[id(tool)] for name, tool in self._tools.items()}
        self._places = dict(self._places)
        if self._built:
            self._built = replace(self._built, tools=tuple(copies[id(tool)] for tool in built))

    def add_tool(self, tool: ToolRecord) -> None:
        """Register a copy of a tool, or replace the one with its id. It can be found after the next `build_index`."""
        own = {"tags": list(tool.tags), "capabilities": list(tool.capabilities), "embedding": None}
        copy = tool.model_copy(update=own)
        copy.__dict__.pop(_VECTORS, None)
        with self._lock:
            self._tools[tool.tool_id] = copy
            at = self._places.pop(tool.tool_id, None)
            if at is not None and self._built:
                live = self._built.live.copy()
                live[at] = False
                self._built = replace(self._built, live=live)

    def build_index(self) -> None:
        """Index all tools as they are now. Without any tool, nothing happens."""
        with self._lock:
            if not self._tools:
                return
            tools = tuple(self._tools.values())
            texts = [_describe(tool) for tool in tools]
            vectors = _Vectors(texts)
            for tool in tools:
                tool.__dict__[_VECTORS] = vectors
            self._places = {tool.tool_id: at for at, tool in enumerate(tools)}
            self._built = _Built(tools, index_texts(texts, ANALYZER, SCORING), np.ones(len(tools), dtype=bool))

    def search(self, query: SearchQuery) -> list[SearchResult]:
        """The tools that share a word with the query, by cosine, ties in the order in which they were added."""
        check_length(query.query_text)
        built = self._built
        if built is None:
            return []
        allowed = built.filter_by_tags(query.tags_filter) if query.tags_filter else built.live
        ranking = built.lexical.rank(query.query_text, query.top_k, allowed)
        best = zip(ranking.positions[: query.top_k].tolist(), ranking.scores.tolist(), strict=False)
        return [
            SearchResult(tool=built.tools[at], score=min(score, 1.0), rank=rank)
            for rank, (at, score) in enumerate(best, 1)
        ]

    def search_by_tags(self, tags: list[str]) -> list[ToolRecord]:
        """All tools with at least one of the tags, in the order in which they were added."""
        wanted = _fold(tags)
        return [tool for tool in self.get_all_tools() if not wanted.isdisjoint(_fold(tool.tags))]

    def _tool_document(self, tool: ToolRecord) -> str:
        """The text of a tool that is searched; the seed documents it for contributors."""
        return _describe(tool)

    def get_tool(self, tool_id: str) -> ToolRecord | None:
        return self._tools.get(tool_id)

    def get_all_tools(self) -> list[ToolRecord]:
        """A new list of all tools, in the order in which they were added."""
        with self._lock:
            return list(self._tools.values())

    def save(self, path: str | Path) -> None:
        """Write the tools to a JSON file atomically; `load` indexes them again."""
        tools = [tool.model_dump(mode="json", exclude={"embedding"}) for tool in self.get_all_tools()]
        file = Path(path).expanduser()
        make_folder(file.parent)
        data = {"format": FORMAT, "tools": tools}
        replace_text(file, json.dumps(data, ensure_ascii=False, separators=(",", ":")))

    @classmethod
    def load(cls, path: str | Path) -> ToolIndex:
        """The index of a file that `save` wrote, or of a JSON array of tools."""
        file = Path(path).expanduser()
        index = cls()
        try:
            data = json.loads(read_regular_file(file, limit=LARGEST_DATA).removeprefix(codecs.BOM_UTF8))
            if isinstance(data, dict) and data.get("format") != FORMAT:
                raise ValueError(f"its format is {data.get('format')!r}, but this version of shortlist reads {FORMAT}")
            if not isinstance(tools := data["tools"] if isinstance(data, dict) else data, list):
                raise ValueError(f"it must have a list of tools, not {type(tools).__name__}")
            for number, tool in enumerate(tools, 1):
                try:
                    index.add_tool(ToolRecord.model_validate(tool))
                except ValidationError as error:
                    raise ValueError(f"tool {number} is not a tool: {_explain(error)}") from None
        except OSError as error:
            raise SourceError(f"The index {file} cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise SourceError(f"The index {file} is damaged ({reason}). Create it again.") from None
        index.build_index()
        return index


def index_texts(texts: Iterable[str], analyzer: str, scoring: Scoring) -> Lexical:
    """The postings of texts, in memory."""
    own = get_analyzer(analyzer)
    return Lexical([Part(build((Fields(content=text) for text in texts), own))], own, scoring)


def read_tools(*folders: str | Path) -> tuple[list[ToolRecord], list[str]]:
    """The tools of folders with one tool in each JSON file, and a message for each file without one."""
    places = [Path(folder).expanduser() for folder in folders]
    for place in places:
        if not place.is_dir():
            raise SourceError(f"{place} is not a folder.")
    tools: dict[str, ToolRecord] = {}
    found = [item for place in places for item in walk(place)]
    problems = [f"{item.source} was skipped. {item.reason}" for item in found if isinstance(item, Problem)]
    for file in (item for item in found if isinstance(item, Path) and item.suffix.lower() == ".json"):
        try:
            tool = ToolRecord.model_validate_json(read_regular_file(file).removeprefix(codecs.BOM_UTF8))
        except OSError as error:
            problems.append(f"{file} cannot be read: {error.strerror}.")
        except ValidationError as error:
            problems.append(f"{file} is not a tool: {_explain(error)}.")
        else:
            if tools.setdefault(tool.tool_id, tool) is not tool:
                problems.append(f"{file} has the tool_id {tool.tool_id!r} of an earlier file.")
    return list(tools.values()), problems


def _explain(error: ValidationError) -> str:
    reasons = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}".removeprefix(": ") for one in error.errors())
    return "; ".join(reasons)


class _Vectors:
    """An embedder that is fitted to the texts of all tools on first use."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    @cached_property
    def embedder(self) -> SimpleEmbedder:
        embedder = SimpleEmbedder()
        embedder.fit(self._texts)
        return embedder


def _describe(tool: ToolRecord) -> str:
    return " ".join([tool.name, tool.description, *tool.tags, *tool.capabilities])


def _fold(tags: Iterable[str]) -> set[str]:
    return {tag.casefold() for tag in tags}
