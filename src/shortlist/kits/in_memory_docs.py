"""How does a list of passages become a tool that an agent can search? BM25 with fixed numbers over words of English."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shortlist.errors import InputError
from shortlist.index.lexical.bm25 import Scoring
from shortlist.index.lexical.indexing import build
from shortlist.index.lexical.lexical_ranker import Lexical
from shortlist.index.lexical.live_postings import Part
from shortlist.index.lexical.postings import Fields
from shortlist.index.text.analyzers import get_analyzer
from shortlist.protocols import AgentTool
from shortlist.search.corpus_tool import how_many

SCORING = Scoring("okapi", k1=1.2, b=0.75)
TOP_K = 4

Doc = str | Mapping[str, Any]


def tokenize(text: str) -> list[str]:
    """The words of two characters and more in lower case, without the stop words of English."""
    return get_analyzer("words-1").terms(text)


@dataclass(frozen=True)
class Index:
    """Passages and the postings of their words. It never changes.

    Searches read the postings. The counts of words, `tf` by passage and `df` over all of them, are there to be looked
    at, and computed when they first are.
    """

    docs: list[dict[str, Any]]
    lexical: Lexical = field(repr=False)

    def __len__(self) -> int:
        return self.n

    @property
    def n(self) -> int:
        """The number of passages."""
        return len(self.docs)

    @cached_property
    def tf(self) -> list[dict[str, int]]:
        """For each passage, how often it has each word."""
        return [dict(Counter(tokenize(doc["text"]))) for doc in self.docs]

    @cached_property
    def df(self) -> dict[str, int]:
        """For each word, how many passages have it."""
        return dict(Counter(word for words in self.tf for word in words))

    @cached_property
    def dl(self) -> list[int]:
        """For each passage, its number of words."""
        return [sum(words.values()) for words in self.tf]

    @property
    def avgdl(self) -> float:
        """The average number of words of a passage; 0 if there is none."""
        return sum(self.dl) / self.n if self.n else 0.0


def build_index(docs: Iterable[Doc]) -> Index:
    """An index over passages, each a string or {"text", "meta"}."""
    if isinstance(docs, str | Mapping) or not isinstance(docs, Iterable):
        raise InputError(f"docs is a list of passages, not {type(docs).__name__}.")
    kept = [_normalised(doc, number) for number, doc in enumerate(docs, 1)]
    analyzer = get_analyzer("words-1")
    postings = build((Fields(content=doc["text"]) for doc in kept), analyzer)
    return Index(kept, Lexical([Part(postings)], analyzer, SCORING))


def search(index: Index, query: str, k: int) -> list[dict[str, Any]]:
    """The k best passages for the query as {"text", "meta", "score"}, best first, none without a shared word."""
    if not isinstance(query, str):
        raise InputError(f"A query is a string, not {type(query).__name__}.")
    k = how_many(k, "k", most=max(len(index), 1))
    ranking = index.lexical.rank(query, k)
    found = zip(ranking.positions[:k].tolist(), ranking.scores[:k].tolist(), strict=True)
    return [{**deepcopy(index.docs[position]), "score": score} for position, score in found]


class InMemoryDocs(AgentTool):
    """A tool that searches a few passages: called with a query it returns [{"text", "meta", "score"}], best first."""

    def __init__(self, *, name: str, description: str, docs: Iterable[Doc], top_k: int = TOP_K) -> None:
        index = build_index(docs)
        most = max(len(index), 1)
        default = how_many(top_k, "top_k", most=most)

        def run(query: str, top_k: Any = None) -> list[dict[str, Any]]:
            return search(index, query, default if top_k is None else how_many(top_k, "top_k", most=most))

        parameters = {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to search for."},
                "top_k": {
                    "type": "integer",
                    "description": f"How many passages to return; {default} if left out.",
                    "minimum": 1,
                    "maximum": most,
                    "default": default,
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        }
        super().__init__(name, description, parameters, run)

    def as_tool(self) -> AgentTool:
        return self


def _normalised(doc: Doc, number: int) -> dict[str, Any]:
    """A copy of a passage as {"text", "meta"}."""
    if isinstance(doc, str):
        return {"text": doc, "meta": {}}
    text = doc.get("text") if isinstance(doc, Mapping) else None
    if not isinstance(doc, Mapping) or not isinstance(text, str):
        raise InputError(f"Passage {number} is a string or a mapping with a string 'text', not {doc!r}.")
    unknown = [key for key in doc if key not in ("text", "meta")]
    if unknown:
        raise InputError(f"Passage {number} has {unknown[0]!r} beside 'text' and 'meta': put that into 'meta'.")
    meta = {} if doc.get("meta") is None else doc["meta"]
    if not isinstance(meta, Mapping):
        raise InputError(f"The 'meta' of passage {number} is a mapping, not {type(meta).__name__}.")
    return {"text": text, "meta": deepcopy(dict(meta))}
