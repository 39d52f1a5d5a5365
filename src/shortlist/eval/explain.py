"""Explanations of misses: matched words, what ranked higher with which signals, and what the selection removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Unpack

from shortlist._limits import check_length
from shortlist._plain import Plain
from shortlist.eval.cases import Case
from shortlist.eval.reader import Reader, open_reader
from shortlist.index.corpus import read_analyzer
from shortlist.library.opening import Searchable
from shortlist.results import Filter, Hit, MinRelevance, Mode, Selection, Selector, accept_min_score
from shortlist.retrieval.corpus_hits import CorpusHits
from shortlist.retrieval.options import STRATEGY, K, SearchOptions, SelectKeywords, combine_options

MOST_RIVALS = 3

# What log odds are made of, in words.
_ODDS = {
    "bias": "a constant",
    "best": "the blend of the best document",
    "dense": "the highest cosine",
    "other_service": "a service that no document mentions",
    "unknown_terms": "no known term",
    "behind": "what its blend is behind the best",
    "learned": "what was learned",
    "named": "its name",
    "calibration": "the calibration of this corpus",
    "read": "what reading it says",
}


@dataclass(frozen=True, slots=True)
class Competitor(Plain):
    """A hit that ranked above the expected one."""

    id: str
    rank: int
    score: float
    signals: Mapping[str, float]
    matched: tuple[str, ...]

    def __str__(self) -> str:
        signals = [f"{name} {self.signals[name]:.3g}" for name in ("lexical", "dense") if name in self.signals]
        return f"{self.id} {self.score:.3g}" + (f" ({', '.join(signals)})" if len(signals) > 1 else "")


@dataclass(frozen=True, slots=True)
class Explanation(Plain):
    """What explains the rank of `id`: the expected document (`wanted`) or, if nothing is expected, the returned one."""

    _shown = "id wanted exists looked_at rank score relevance odds signals matched elsewhere unknown above cut says"

    id: str
    wanted: bool
    exists: bool
    looked_at: int  # the number of hits among which it was looked for
    rank: int | None
    score: float | None
    signals: Mapping[str, float]
    matched: tuple[str, ...]  # words of the query that it contains
    elsewhere: tuple[str, ...]  # words that only other documents contain
    unknown: tuple[str, ...]  # words that no document contains
    above: tuple[Competitor, ...]
    cut: str  # what the threshold or the rule of the selection did to it; empty if nothing
    relevance: float | None = None
    odds: Mapping[str, float] = field(default_factory=dict)  # the log odds of the relevance by what they are made of

    @property
    def says(self) -> str:
        """The explanation in sentences."""
        if not self.exists:
            return f"The corpus has no document {self.id!r}."
        if not self.wanted:
            place = f"Nothing is expected, but {self.id} was returned."
        elif self.rank:
            place = f"{self.id} has rank {self.rank}."
        else:
            place = f"{self.id} is not among the {self.looked_at} hits."
        contains = f"It contains {_quote(self.matched)}." if self.matched else "It contains no word of the query."
        parts = [
            place,
            contains,
            f"It does not contain {_quote(self.elsewhere)}." if self.elsewhere else "",
            f"Not in the corpus: {_quote(self.unknown)}." if self.unknown else "",
            f"Ranked above it: {'; '.join(map(str, self.above))}." if self.above else "",
            self._explain_relevance() if self.odds and self.score == self.relevance else "",
            self.cut,
        ]
        return " ".join(filter(None, parts))

    def _explain_relevance(self) -> str:
        made_of = ", ".join(f"{_ODDS[name]} {value:+.2f}" for name, value in self.odds.items())
        return f"Its relevance is {self.relevance:.2f}; its log odds are made of {made_of}."


class Explainer:
    """Explains cases; the terms of documents and words are cached."""

    def __init__(self, reader: Reader, known: set[str]) -> None:
        self._reader = reader
        self._known = known  # ids of all documents
        self._bound = list(map(read_analyzer, reader.corpora))
        self._analyzers = set(self._bound)
        self._document_terms = cache(self._read_terms)
        self._is_indexed = cache(self._occurs)

    def explain(
        self, case: Case, hits: Sequence[Hit], rank: int | None, chosen: Selection, found: Sequence[CorpusHits]
    ) -> Explanation:
        if case.in_scope:
            id = hits[rank - 1].id if rank else next((id for id in case.gold if id in self._known), case.gold[0])
        else:
            id = chosen.selected[0].id
            rank = next(at for at, hit in enumerate(hits, 1) if hit.id == id)
        hit = hits[rank - 1] if rank else None
        words = dict.fromkeys(
            word for each in self._analyzers for word in each.words(case.query) if each.says_something(word)
        )
        matched = self._match(id, words)
        missing = [word for word in words if word not in matched]
        return Explanation(
            id=id,
            wanted=case.in_scope,
            exists=id in self._known,
            looked_at=len(hits),
            rank=rank,
            score=hit.score if hit else None,
            signals=dict(hit.signals) if hit else {},
            matched=matched,
            elsewhere=tuple(word for word in missing if self._is_indexed(word)),
            unknown=tuple(word for word in missing if not self._is_indexed(word)),
            above=tuple(
                Competitor(other.id, at, other.score, dict(other.signals), self._match(other.id, words))
                for at, other in enumerate(hits[: rank - 1 if rank else None][:MOST_RIVALS], 1)
            ),
            cut=_explain_cut(hit, hits, chosen),
            relevance=hit.relevance if hit else None,
            odds=next((part.explain(hit) for part in found if part.corpus.name == hit.corpus), {}) if hit else {},
        )

    def _match(self, id: str, words: Mapping[str, None]) -> tuple[str, ...]:
        """The words that a document contains."""
        terms = self._document_terms(id)
        return tuple(word for word in words if any(not terms.isdisjoint(each.terms(word)) for each in self._analyzers))

    def _read_terms(self, id: str) -> frozenset[str]:
        terms: set[str] = set()
        for analyzer, document in zip(self._bound, self._reader.get(id), strict=True):
            if document:
                text = "\n".join((document.title, *document.keywords, document.content))
                terms.update(analyzer.terms(text))
        return frozenset(terms)

    def _occurs(self, word: str) -> bool:
        return any(self._reader.has_term(each.terms(word)) for each in self._analyzers)


@accept_min_score
def explain(
    corpus: Searchable,
    id: str,
    query: str,
    mode: Mode = "auto",
    k: int = K,
    filter: Filter | None = None,
    strategy: str | Selector = STRATEGY,
    min_relevance: MinRelevance = "auto",
    *,
    exact: bool = False,
    options: SearchOptions | None = None,
    **selection: Unpack[SelectKeywords],
) -> Explanation:
    """Explain the rank of a document among the k candidates of a query; the options are those of `discover`."""
    check_length(query)
    options = combine_options(
        options, mode=mode, k=k, filter=filter, exact=exact, strategy=strategy, min_relevance=min_relevance, **selection
    )
    with open_reader(corpus, options.mode, options.filter, exact=options.exact) as reader:
        retrieved = reader.retrieve(query, options.k)
        hits, chosen = retrieved.rank(options.k), retrieved.choose(options)
        rank = next((at for at, hit in enumerate(hits, 1) if hit.id == id), None)
        known = {id} if any(reader.get(id)) else set()
        return Explainer(reader, known).explain(Case(query, (id,)), hits, rank, chosen, retrieved.found)


def _explain_cut(hit: Hit | None, hits: Sequence[Hit], chosen: Selection) -> str:
    """Why a hit that was found was not selected."""
    if hit is None or any(hit.id == other.id for other in chosen.selected):
        return ""
    if chosen.abstained:
        return chosen.reason
    share = f"{hit.score / hits[0].score:.2f} of the top score" if hits[0].score > 0 else f"a score of {hit.score:.4g}"
    return f"It has {share}. {chosen.reason}"


def _quote(words: Sequence[str]) -> str:
    return ", ".join(map(repr, words))
