"""A list of passages as a tool that an agent can search: BM25 with fixed parameters over English words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from shortlist._limits import check_length
from shortlist.compat.tool_index import index_texts
from shortlist.errors import InputError
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.text.analyzers import get_analyzer
from shortlist.protocols import AgentTool
from shortlist.retrieval.corpus_tool import parse_count, search_parameters

SCORING = Scoring("okapi", k1=1.2, b=0.75)
TOP_K = 4

Doc = str | Mapping[str, Any]


def tokenize(text: str) -> list[str]:
    """The words of at least two characters in lower case, without English stop words."""
    return get_analyzer("words-1").terms(text)


@dataclass(frozen=True)
class Index:
    """Passages and the postings of their words; immutable. Searches read the postings, not the counts.

    `docs`, `tf`, `df`, `dl`, `avgdl` and `n` are attributes and keys: `index.tf` is `index["tf"]`.
    """

    docs: list[dict[str, Any]]
    lexical: Lexical = field(repr=False)

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> tuple[str, ...]:
        return ("docs", "tf", "df", "dl", "avgdl", "n")

    @property
    def n(self) -> int:
        """The number of passages."""
        return len(self.docs)

    @cached_property
    def tf(self) -> list[dict[str, int]]:
        """The count of each word, by passage."""
        return [dict(Counter(tokenize(doc["text"]))) for doc in self.docs]

    @cached_property
    def df(self) -> dict[str, int]:
        """The number of passages with each word."""
        return dict(Counter(word for words in self.tf for word in words))

    @cached_property
    def dl(self) -> list[int]:
        """The number of words, by passage."""
        return [sum(words.values()) for words in self.tf]

    @property
    def avgdl(self) -> float:
        """The average number of words of a passage, or 0."""
        return sum(self.dl) / self.n if self.n else 0.0


def build_index(docs: Iterable[Doc]) -> Index:
    """An index over passages, each a string or {"text", "meta"}."""
    if isinstance(docs, str | Mapping) or not isinstance(docs, Iterable):
        raise InputError(f"docs must be a list of passages, not {type(docs).__name__}.")
    copies = [_copy(doc, number) for number, doc in enumerate(docs, 1)]
    return Index(copies, index_texts((doc["text"] for doc in copies), "words-1", SCORING))


def search(index: Index, query: str, k: int) -> list[dict[str, Any]]:
    """The k best passages for the query as {"text", "meta", "score"}, best first, none without a shared word."""
    if not isinstance(query, str):
        raise InputError(f"A query must be a string, not {type(query).__name__}.")
    check_length(query)
    k = parse_count(k, "k", most=max(len(index), 1))
    ranking = index.lexical.rank(query, k)
    best = zip(ranking.positions[:k].tolist(), ranking.scores[:k].tolist(), strict=True)
    return [{**deepcopy(index.docs[position]), "score": score} for position, score in best]


def _search_up_to(index: Index, default: int, query: str, top_k: Any = None) -> list[dict[str, Any]]:
    """`search` with a number that is capped at the number of passages."""
    k = default if top_k is None else parse_count(top_k, "top_k", most=max(len(index), 1))
    return search(index, query, k)


class InMemoryDocs(AgentTool):
    """A tool that searches a few passages: a call with a query returns [{"text", "meta", "score"}], best first."""

    def __init__(self, *, name: str, description: str, docs: Iterable[Doc], top_k: int = TOP_K) -> None:
        index = build_index(docs)
        most = max(len(index), 1)
        default = parse_count(top_k, "top_k", most=most)
        run = partial(_search_up_to, index, default)
        top_k_text = f"Maximum number of passages to return (default {default})."
        parameters = search_parameters("What to search for.", top_k_text, default, most)
        super().__init__(name, description, parameters, run)

    def as_tool(self) -> AgentTool:
        return self


def _copy(doc: Doc, number: int) -> dict[str, Any]:
    """A copy of a passage as {"text", "meta"}."""
    if isinstance(doc, str):
        return {"text": doc, "meta": {}}
    text = doc.get("text") if isinstance(doc, Mapping) else None
    if not isinstance(doc, Mapping) or not isinstance(text, str):
        raise InputError(f"Passage {number} must be a string or a mapping with a string 'text', not {doc!r}.")
    if unknown := [key for key in doc if key not in ("text", "meta")]:
        raise InputError(f"Passage {number} has an unknown key {unknown[0]!r}. Put it into 'meta'.")
    meta = {} if doc.get("meta") is None else doc["meta"]
    if not isinstance(meta, Mapping):
        raise InputError(f"The 'meta' of passage {number} must be a mapping, not {type(meta).__name__}.")
    return {"text": text, "meta": deepcopy(dict(meta))}
