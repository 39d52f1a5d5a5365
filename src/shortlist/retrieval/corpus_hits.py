"""Retrieval from one state of a corpus: the best passage of each matching document, with its signals and relevance."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shortlist._limits import check_canceled
from shortlist._telemetry import traced
from shortlist.documents import Document, Passage
from shortlist.index.config import ScoreThreshold
from shortlist.index.corpus import Corpus
from shortlist.index.embedders.cosine_scale import noise_of, scale_of
from shortlist.index.engines.service_engine import ServiceState
from shortlist.index.query_scores import Scores
from shortlist.index.text.query_terms import QueryTerms, TermWeights, analyze, weight_of
from shortlist.library.opening import CorpusState
from shortlist.protocols import Embedder
from shortlist.results import Hit, Hits, MergeFacts, Mode, Ranking, Selection
from shortlist.retrieval.filters import Filter, allowed
from shortlist.retrieval.learning.learned import Learned, apply_lessons, find_learned
from shortlist.retrieval.relevance import BY_WORDS, OTHER_SERVICE, THRESHOLD, calibration_of, probability, weights_for
from shortlist.retrieval.scores import best_passages, score
from shortlist.retrieval.services import find_unknown_services

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State
    from shortlist.results import Positions

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class CorpusHits:
    """The hits of one corpus state, and what makes their scores comparable with those of other corpora."""

    corpus: Corpus
    state: State
    hits: Hits
    named: frozenset[str] = frozenset()  # ids of documents whose name is in the query
    perfect: float = 1.0  # score of a perfect match
    threshold: float = THRESHOLD  # least relevance of a match
    has_content: bool = True  # whether the query has more than stop words
    is_known: bool = True  # whether the index has one of its terms, or a document that it names

    @property
    def embedder(self) -> Embedder | None:
        return self.state.embedder

    @property
    def embedder_name(self) -> str:
        return self.state.config.embedder_name

    @property
    def noise(self) -> float:
        """The cosine that is reached by coincidence."""
        among_ten, growth = noise_of(self.state)
        return float(among_ten + growth * math.log10(self.state.lexical.live / 10))

    def score_threshold(self, mode: str) -> ScoreThreshold:
        """The threshold that was calibrated for a mode."""
        return self.state.config.threshold(mode, self.state.since)

    def count(self) -> int:
        """The number of documents in the corpus."""
        return self.state.count()

    def get(self, id: str) -> Document | None:
        return self.state.get(id)

    def unknown_words(self) -> Iterator[str]:
        """The query words that no passage contains, except function words and words such as "please"."""
        lexical = self.state.lexical
        for word in dict.fromkeys(lexical.analyzer.words(self.hits.query)):
            terms = lexical.analyzer.terms_of(word)
            if terms and weight_of(word) == 1.0 and not lexical.knows(terms):
                yield word

    def describe(self) -> MergeFacts:
        """What another process needs to merge the hits with those of other corpora."""
        calibrated = self.score_threshold(self.hits.mode)
        return MergeFacts(
            embedder=self.embedder_name,
            named=tuple(sorted(self.named)),
            perfect=self.perfect,
            min_relevance=self.threshold,
            threshold=calibrated.value,
            doubt=calibrated.doubt,
            has_content=self.has_content,
            is_known=self.is_known,
            noise=0.0 if self.is_known or not self.hits else self.noise,
            documents=self.count(),
            unknown_words=tuple(self.unknown_words()),
        )


@dataclass(frozen=True, slots=True)
class RemoteHits(CorpusHits):
    """The hits of a corpus behind a service, with the facts that the service reports."""

    facts: MergeFacts = field(kw_only=True)

    @property
    def embedder_name(self) -> str:
        return self.facts.embedder

    @property
    def noise(self) -> float:
        return self.facts.noise

    def score_threshold(self, mode: str) -> ScoreThreshold:
        return ScoreThreshold(self.facts.threshold, self.facts.doubt)

    def count(self) -> int:
        return self.facts.documents

    def get(self, id: str) -> Document | None:
        return self.corpus.get(id)

    def unknown_words(self) -> Iterator[str]:
        yield from self.facts.unknown_words


def refuse_unknown(found: CorpusHits) -> Selection | None:
    """Abstain if the query has only stop words, or no known term and no passage that is semantically close.

    Every text has a nearest neighbor; a cosine below the embedder's noise level is a coincidence.
    """
    hits = found.hits
    if not hits or found.is_known or any(hit.signals.get("learned", 0.0) > 0 for hit in hits):
        return None
    signals = {"candidates": len(hits)}
    if not found.has_content:
        return Selection([], "The query has no searchable terms.", signals)
    nearest = max(hit.signals.get("dense", 0.0) for hit in hits)
    noise = found.noise
    if nearest > noise:
        return None
    reason = "None of the query terms are in the index, and no document is semantically close."
    return Selection([], reason, signals | {"nearest": nearest, "noise": noise})


@traced("retrieve", lambda found: {"corpora": len(found), "hits": sum(len(part.hits) for part in found)})
def retrieve(
    states: Sequence[CorpusState], query: str, mode: Mode, k: int, filter: Filter | None, *, whole: bool = True
) -> list[CorpusHits]:
    """Retrieve from each corpus: one hit per document (its best passage), or with `whole=False` passages."""
    masks = [allowed(state, filter) for _, state in states]
    return retrieve_masked(states, masks, query, mode, k, whole=whole)


def retrieve_masked(
    states: Sequence[CorpusState],
    masks: Sequence[Allowed | None],
    query: str,
    mode: Mode,
    k: int,
    *,
    whole: bool = True,
) -> list[CorpusHits]:
    """Like `retrieve`, with the filter already applied to each state."""
    several = len(states) > 1
    return [
        retrieve_from_state(corpus, state, query, mode, k, mask, beside_others=several, whole=whole)
        for (corpus, state), mask in zip(states, masks, strict=True)
    ]


def retrieve_from_state(
    corpus: Corpus,
    state: State,
    query: str,
    mode: Mode,
    k: int,
    mask: Allowed | None,
    *,
    beside_others: bool,
    read: Callable[[Positions], list[Passage]] | None = None,
    whole: bool = True,
) -> CorpusHits:
    """Retrieve from one state of a corpus. `read` replaces reading passages from the database."""
    check_canceled()
    if isinstance(state, ServiceState):
        return _retrieve_remotely(corpus, state, query, mode, k, mask, beside_others=beside_others, whole=whole)
    lexical = state.lexical
    terms = analyze(lexical.analyzer, query)
    weighted, counted = lexical.find(terms)
    ranked = _rank(corpus, state, terms, weighted if mode == "auto" else counted, mode, k, mask)
    named = lexical.named(query, terms.name_words)  # a cluster has found them together with the scores
    # "auto" adds documents that the query names; the other modes rank as they say.
    added = named[:0] if mode != "auto" else named if mask is None else named[mask[named]]
    best = _best(state, ranked.scores, k, added) if whole else _sort(state, ranked.scores.ranking(k))[:k]
    positions = np.array([position for position, _ in best], dtype=np.int64)
    check_canceled()
    passages = (read or state.passages)(positions)
    values = [value for _, value in best]
    signals = ranked.signals_at(positions, values)
    signals["covered"] = lexical.covered_at(weighted, positions).tolist()
    signals["named"] = _are_of(state, positions, named)
    relevance = _relevance_for(state, query, mode, has_vectors=ranked.has_vectors)
    hits = Hits(query=query, mode=mode)
    for passage, value, *row in zip(passages, values, *signals.values(), strict=True):
        own = {name: part for name, part in zip(signals, row, strict=True) if part > -math.inf}
        load = partial(corpus.get, passage.document_id)
        hits.append(Hit(passage, _or_zero(value), own, load, corpus.name, relevance(own), corpus.is_own))
    return CorpusHits(
        corpus,
        state,
        hits,
        named=frozenset(state.ids(added)) if beside_others else frozenset(),
        perfect=ranked.perfect() if beside_others else 1.0,
        threshold=ranked.learned.least_relevance if ranked.learned else THRESHOLD,
        has_content=terms.has_content,
        is_known=bool(len(named)) or (terms.has_content and lexical.knows(weighted)),
    )


def _retrieve_remotely(
    corpus: Corpus,
    state: ServiceState,
    query: str,
    mode: Mode,
    k: int,
    mask: Allowed | None,
    *,
    beside_others: bool,
    whole: bool,
) -> RemoteHits:
    """Let a service search, and report what a merge with other corpora needs."""
    if not whole:
        raise state.refuse("ranking passages")
    hits, facts = state.search(query, mode, k, mask)
    hits[:] = [
        replace(
            hit,
            corpus=corpus.name,
            load=partial(corpus.get, hit.id),
            read_body=partial(state.read_body, hit.id),
        )
        for hit in hits
    ]
    return RemoteHits(
        corpus,
        state,
        hits,
        named=frozenset(facts.named) if beside_others else frozenset(),
        perfect=facts.perfect if beside_others else 1.0,
        threshold=facts.min_relevance,
        has_content=facts.has_content,
        is_known=facts.is_known,
        facts=facts,
    )


class _Ranked(NamedTuple):
    """The scores of all passages for a query, and what they are made of."""

    state: State
    terms: TermWeights
    parts: Mapping[str, Scores]  # lexical and dense
    before: Scores  # without what was learned
    scores: Scores
    learned: Learned | None

    @property
    def has_vectors(self) -> bool:
        return "dense" in self.parts

    def perfect(self) -> float:
        """The score of a perfect match."""
        return 1.0 if self.has_vectors else self.state.lexical.ideal(self.terms) or 1.0

    def signals_at(self, positions: Positions, values: list[float]) -> dict[str, list[float]]:
        """The scores of the hits by part; plain numbers, since there are few. `values` are their final scores."""
        signals = {
            name: list(values) if part is self.scores else part.at(positions).tolist()
            for name, part in self.parts.items()
        }
        if self.learned:
            before = self.before.at(positions).tolist()
            changes = zip(map(_or_zero, values), map(_or_zero, before), strict=True)
            perfect = self.perfect()
            signals["learned"] = [(now - then) / perfect for now, then in changes]
        return signals


def _rank(
    corpus: Corpus, state: State, terms: QueryTerms, scored: TermWeights, mode: Mode, k: int, mask: Allowed | None
) -> _Ranked:
    """Score the passages. Pure BM25 uses term counts; "auto" weights the terms and uses what was learned."""
    learned = find_learned(corpus, state, mode)
    is_blend = mode == "auto" and state.has_vectors
    share = weights_for(scale_of(state).like).lexical_share.of(len(scored)) if is_blend else 1.0
    parts, before = score(state, terms.text, scored, mode, k, mask, share, reads_all=learned is not None)
    check_canceled()
    scores = apply_lessons(learned, state, terms.text, terms.weights, before, k, mask) if learned else before
    return _Ranked(state, scored, parts, before, scores, learned)


def _relevance_for(
    state: State, query: str, mode: Mode, *, has_vectors: bool
) -> Callable[[Mapping[str, float]], float]:
    """The relevance of a hit of this query, as a function of its signals."""
    scale = scale_of(state) if has_vectors else None
    weights = weights_for(scale.like).relevance if scale else BY_WORDS
    slope, shift = calibration_of(state.config, mode)
    if find_unknown_services(query, state.lexical):
        shift += slope * OTHER_SERVICE

    def relevance(signals: Mapping[str, float]) -> float:
        scaled = {"dense": scale.apply(signals["dense"])} if scale and "dense" in signals else {}
        return probability(slope * weights.odds({**signals, **scaled}) + shift)

    return relevance


def _or_zero(value: float) -> float:
    """The score, or 0 where nothing matches."""
    return value if value > -math.inf else 0.0


_Scored = list[tuple[int, float]]  # positions with their scores


def _best(state: State, scores: Scores, k: int, named: Positions) -> _Scored:
    """The best passages of the k best documents, by score, then id. Documents that the query names are included."""
    if k == 0:
        return []
    best = _sort(state, best_passages(state, scores.ranking, k))[:k]
    if not len(named):
        return best
    of_best = state.documents(np.array([position for position, _ in best], dtype=np.int64)).tolist()
    of_named = state.documents(named).tolist()
    missing = [at for at, document in enumerate(of_named) if document not in of_best]
    if not missing:
        return best
    siblings = state.siblings(named[missing])
    every = np.concatenate(siblings)
    value_at = dict(zip(every.tolist(), scores.at(every).tolist(), strict=True))
    added = [max(own.tolist(), key=value_at.__getitem__) for own in siblings]
    are_named = {position for (position, _), document in zip(best, of_best, strict=True) if document in of_named}
    are_named.update(added)
    value_at |= best
    candidates = np.array([*(position for position, _ in best), *added], dtype=np.int64)
    found = _sort(state, Ranking(candidates, np.array([value_at[position] for position in candidates.tolist()])))
    kept = sorted(found, key=lambda pair: pair[0] not in are_named)[:k]
    return [pair for pair in found if pair in kept]


def _are_of(state: State, positions: Positions, others: Positions) -> list[float]:
    """1.0 for each position whose document is also among the others, else 0.0."""
    if not len(others):
        return [0.0] * len(positions)
    wanted = set(state.documents(others).tolist())
    return [float(document in wanted) for document in state.documents(positions).tolist()]


def _sort(state: State, ranking: Ranking) -> _Scored:
    """The positions with their scores, best first; ties by id."""
    found: _Scored = list(zip(ranking.positions.tolist(), ranking.scores.tolist(), strict=True))
    if len({value for _, value in found}) == len(found):
        return sorted(found, key=lambda pair: -pair[1])
    ids = dict(zip(found, state.ids(ranking.positions), strict=True))
    return sorted(found, key=lambda pair: (-pair[1], _natural_key(ids[pair])))


def _natural_key(id: str) -> tuple[list[tuple[int, str]], str]:
    """A sort key that puts item 9 before item 10."""
    parts = [part.lstrip("0") if part.isdecimal() else part for part in _DIGITS.split(id)]
    return [(len(part) if part.isdecimal() else -1, part) for part in parts], id
