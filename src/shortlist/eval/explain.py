"""Explanations of misses: matched words, what ranked higher and by which signals, and what the selection cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shortlist._plain import Plain
from shortlist.eval.cases import Case
from shortlist.eval.reader import Reader
from shortlist.index.corpus import Corpus
from shortlist.index.text.analyzers import Analyzer, get_analyzer
from shortlist.results import Hit, Selection

ABOVE = 3
_SIGNALS = {"lexical": "words", "dense": "meaning"}


@dataclass(frozen=True, slots=True)
class Rival(Plain):
    """Something that stood before what should be found."""

    id: str
    rank: int
    score: float
    signals: Mapping[str, float]
    matched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Why(Plain):
    """What speaks for and against `id`, which is `wanted` or, where nothing applies, was returned."""

    _shown = "id wanted exists looked_at rank score signals matched elsewhere unknown above cut says"

    id: str
    wanted: bool
    exists: bool
    looked_at: int  # how many hits there were to find it among
    rank: int | None
    score: float | None
    signals: Mapping[str, float]
    matched: tuple[str, ...]  # words of the query that it holds
    elsewhere: tuple[str, ...]  # words that it does not hold, but others do
    unknown: tuple[str, ...]  # words that occur nowhere
    above: tuple[Rival, ...]
    cut: str  # what the floor or the rule of the selection did to it; empty if nothing

    @property
    def says(self) -> str:
        """All of it in sentences."""
        if not self.exists:
            return f"The corpus has no document {self.id!r}."
        parts = [self._place()]
        parts.append(f"It holds {_listed(self.matched)}." if self.matched else "It holds no word of the query.")
        if self.elsewhere:
            parts.append(f"It does not hold {_listed(self.elsewhere)}.")
        if self.unknown:
            parts.append(f"Nowhere in the corpus: {_listed(self.unknown)}.")
        if self.above:
            parts.append(f"Above it: {'; '.join(map(_rival, self.above))}.")
        return " ".join([*parts, self.cut] if self.cut else parts)

    def _place(self) -> str:
        if not self.wanted:
            return f"Nothing applies, but {self.id} was returned."
        if self.rank:
            return f"{self.id} has rank {self.rank}."
        return f"{self.id} is not among the {self.looked_at} that were found."


class Explainer:
    """Explains cases; what it learnt of documents and words serves the next."""

    def __init__(self, reader: Reader, corpora: Sequence[Corpus]) -> None:
        self._reader = reader
        self._corpora = corpora
        self._analyzers = {get_analyzer(corpus.config.analyzer) for corpus in corpora}
        self._terms: dict[str, frozenset[str]] = {}
        self._known: dict[str, bool] = {}

    def __call__(self, case: Case, hits: Sequence[Hit], rank: int | None, chosen: Selection, known: set[str]) -> Why:
        if case.in_scope:
            id = hits[rank - 1].id if rank else next((id for id in case.gold if id in known), case.gold[0])
        else:
            id = chosen.selected[0].id
            rank = next(at for at, hit in enumerate(hits, 1) if hit.id == id)
        hit = hits[rank - 1] if rank else None
        words = self._words(case.query)
        held = self._held(id, words)
        missing = [word for word in words if word not in held]
        unknown = [word for word in missing if not self._occurs(word)]
        above = [
            Rival(other.id, at, other.score, dict(other.signals), tuple(self._held(other.id, words)))
            for at, other in enumerate(hits[: rank - 1 if rank else None][:ABOVE], 1)
        ]
        return Why(
            id=id,
            wanted=case.in_scope,
            exists=id in known,
            looked_at=len(hits),
            rank=rank,
            score=hit.score if hit else None,
            signals=dict(hit.signals) if hit else {},
            matched=tuple(held),
            elsewhere=tuple(word for word in missing if word not in unknown),
            unknown=tuple(unknown),
            above=tuple(above),
            cut=_cut(hit, hits, chosen),
        )

    def _words(self, query: str) -> list[str]:
        """The words of a query that are searched for, as they stand in it."""
        found: dict[str, None] = {}
        for analyzer in self._analyzers:
            found |= dict.fromkeys(word for word in analyzer.words(query) if analyzer.says_something(word))
        return list(found)

    def _held(self, id: str, words: Sequence[str]) -> list[str]:
        """Those of the words that a document holds."""
        terms = self._terms.get(id)
        if terms is None:
            terms = self._terms[id] = frozenset(self._terms_of(id))
        return [word for word in words if any(not terms.isdisjoint(each.terms(word)) for each in self._analyzers)]

    def _terms_of(self, id: str) -> set[str]:
        terms: set[str] = set()
        for corpus in self._corpora:
            document = corpus.get(id)
            if document is not None:
                text = "\n".join((document.title, *document.keywords, document.content))
                analyzer: Analyzer = get_analyzer(corpus.config.analyzer)
                terms.update(analyzer.terms(text))
        return terms

    def _occurs(self, word: str) -> bool:
        if word not in self._known:
            self._known[word] = any(self._reader.knows(each.terms(word)) for each in self._analyzers)
        return self._known[word]


def _cut(hit: Hit | None, hits: Sequence[Hit], chosen: Selection) -> str:
    """What kept a hit that was found from being chosen."""
    if hit is None or any(hit.id == other.id for other in chosen.selected):
        return ""
    if chosen.abstained:
        return chosen.reason
    share = f"{hit.score / hits[0].score:.2f} of the best score" if hits[0].score > 0 else f"a score of {hit.score:.4g}"
    return f"It has {share}. {chosen.reason}"


def _rival(rival: Rival) -> str:
    by = [f"{word} {rival.signals[name]:.3g}" for name, word in _SIGNALS.items() if name in rival.signals]
    return f"{rival.id} {rival.score:.3g}" + (f" ({', '.join(by)})" if len(by) > 1 else "")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(repr(word) for word in words)
