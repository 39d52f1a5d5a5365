"""Retrieval from one state of a corpus: the best passage of each matching document, with its signals and relevance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nsmallest
from itertools import islice, repeat
from operator import gt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from shortlist._limits import check_canceled
from shortlist._plain import get_maker
from shortlist._telemetry import traced
from shortlist._text import natural_key
from shortlist.documents import Document, Passage
from shortlist.index.config import ScoreThreshold, threshold_scale_of
from shortlist.index.corpus import Corpus, RemoteCorpus
from shortlist.index.embedders.cosine_scale import CosineScale, noise_of, scale_of
from shortlist.index.query_scores import Scores, only_found
from shortlist.index.snapshot import Snapshot
from shortlist.index.storage.records import batched
from shortlist.index.text.query_terms import QueryTerms, TermWeights, analyze, find_query_language, weight_of
from shortlist.library.opening import CorpusState
from shortlist.protocols import Embedder
from shortlist.results import Hit, Hits, MergeFacts, Mode, Selection
from shortlist.retrieval.filters import Filter, allowed
from shortlist.retrieval.learning.learned import Learned, apply_lessons, find_learned
from shortlist.retrieval.naming import find_identified, find_possible
from shortlist.retrieval.relevance import (
    BY_WORDS,
    FITTED_WEIGHTS,
    THRESHOLD,
    QueryRelevance,
    calibration_of,
    weights_for,
)
from shortlist.retrieval.scores import best_passages, blend, score
from shortlist.retrieval.services import find_unknown_services
from shortlist.retrieval.tool_reading import READ, change, rate_best

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State
    from shortlist.index.engines.service_engine import ServiceState
    from shortlist.index.lexical.lexical_ranker import FoundTerms, Lexical
    from shortlist.results import Positions

# Queries of a batch whose rankings and rows are found together, and from how many on other threads rank them.
AT_ONCE, RANKED_AHEAD_FROM = 128, 8

_NO_SCALE = CosineScale()
_NO_POSITIONS = np.zeros(0, np.int64)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CorpusHits:
    """The hits of one corpus state, and what makes their scores comparable with those of other corpora."""

    corpus: Corpus
    state: State
    hits: Hits
    perfect: float = 1.0  # what scores are divided by to compare them with those of other corpora
    threshold: float = THRESHOLD  # least relevance of a match
    has_content: bool = True  # whether the query has more than stop words
    is_known: bool = True  # whether the index has one of its terms, or a document that it names
    relevance: QueryRelevance | None = None  # None if another process computed it
    is_read: bool = False  # whether its best hits are to be read with the query

    @property
    def embedder(self) -> Embedder | None:
        return self.state.embedder

    @property
    def embedder_name(self) -> str:
        return self.state.config.embedder_name

    @property
    def noise(self) -> float:
        """The cosine that is reached by coincidence."""
        return _find_noise(self.state)

    def score_threshold(self, mode: str) -> ScoreThreshold:
        """The threshold that was calibrated for a mode."""
        return self.state.config.threshold(mode, self.state.since)

    def explain(self, hit: Hit) -> dict[str, float]:
        """The log odds of a hit by what they are made of; empty if another process computed them."""
        if self.relevance is None:
            return {}
        signals = hit.signals
        made_of = self.relevance.explain(
            signals.get("blend", 0.0), signals.get("learned", 0.0), is_named=signals.get("named", 0.0) > 0
        )
        return made_of | ({"read": signals["read"]} if "read" in signals else {})

    def count(self) -> int:
        """The number of documents in the corpus."""
        return self.state.count()

    def get(self, id: str) -> Document | None:
        return self.state.get(id)

    def unknown_words(self) -> Iterator[str]:
        """The query words that no passage contains, except function words and words such as "please"."""
        lexical, query = self.state.lexical, self.hits.query
        language = find_query_language(lexical.analyzer, query)
        analyzer = lexical.analyzer.for_query(language)
        for word in dict.fromkeys(analyzer.words(query)):
            terms = analyzer.terms_of(word)
            if terms and weight_of(word, language) == 1.0 and not lexical.knows(terms):
                yield word

    def describe(self) -> MergeFacts:
        """What another process needs to merge the hits with those of other corpora."""
        calibrated = self.score_threshold(self.hits.mode)
        return MergeFacts(
            embedder=self.embedder_name,
            perfect=self.perfect,
            min_relevance=self.threshold,
            threshold=calibrated.value,
            doubt=calibrated.doubt,
            has_content=self.has_content,
            is_known=self.is_known,
            noise=0.0 if self.is_known or not self.hits else self.noise,
            documents=self.count(),
            unknown_words=tuple(self.unknown_words()),
            scale=threshold_scale_of(self.hits.mode),
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
        if self.facts.scale != threshold_scale_of(mode):  # a service of an earlier version, with other scores
            return ScoreThreshold(None)
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
    states: Sequence[CorpusState],
    query: str,
    mode: Mode,
    k: int,
    filter: Filter | None,
    *,
    whole: bool = True,
    exact: bool = False,
) -> list[CorpusHits]:
    """Retrieve from each corpus: one hit per document (its best passage), or with `whole=False` passages."""
    masks = [allowed(state, filter) for _, state in states]
    return retrieve_masked(states, masks, query, mode, k, whole=whole, exact=exact)


def retrieve_masked(
    states: Sequence[CorpusState],
    masks: Sequence[Allowed | None],
    query: str,
    mode: Mode,
    k: int,
    *,
    whole: bool = True,
    exact: bool = False,
) -> list[CorpusHits]:
    """Like `retrieve`, with the filter already applied to each state."""
    several = len(states) > 1
    found = [
        retrieve_from_state(corpus, state, query, mode, k, mask, beside_others=several, whole=whole, exact=exact)
        for (corpus, state), mask in zip(states, masks, strict=True)
    ]
    return read_best(found, k)


def read_best(found: Sequence[CorpusHits], k: int) -> list[CorpusHits]:
    """The k best hits of each corpus, after the best of all tools and skills were read with the query."""
    tools = [part for part in found if part.is_read]
    hits = [[*part.hits] for part in tools]
    odds = rate_best(hits, [part.get for part in tools], tools[0].hits.query) if tools else None
    if odds:
        hits = [sorted(map(change, *both), key=lambda hit: -hit.score) for both in zip(hits, odds, strict=True)]
    best = iter(hits)
    return [
        replace(part, hits=Hits(next(best)[:k], query=part.hits.query, mode=part.hits.mode)) if part.is_read else part
        for part in found
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
    exact: bool = False,
) -> CorpusHits:
    """Retrieve from one state of a corpus; of tools there may be more than k hits, which `read_best` expects.

    `read` replaces reading passages from the database.
    """
    if isinstance(corpus, RemoteCorpus):
        check_canceled()
        remote = cast("ServiceState", state)
        return _retrieve_remotely(
            corpus, remote, query, mode, k, mask, beside_others=beside_others, whole=whole, exact=exact
        )
    batch = _QueryBatch(corpus, state, [query], mode, k, mask, exact=exact)
    (found,) = batch.to_hits(read or state.passages, beside_others=beside_others, whole=whole)
    return found


def retrieve_many(
    states: Sequence[CorpusState],
    masks: Sequence[Allowed | None],
    queries: Sequence[str],
    mode: Mode,
    k: int,
    *,
    exact: bool = False,
) -> Iterator[Sequence[CorpusHits]]:
    """What `retrieve_masked` returns for each query.

    Of local corpora, the other processor cores find the best passages by keywords of some queries, in compiled loops,
    while the hits of those before are made in this thread.
    """
    if not all(isinstance(state, Snapshot) for _, state in states):
        for query in queries:
            yield retrieve_masked(states, masks, query, mode, k, exact=exact)
        return
    several = len(states) > 1
    ready: list[_QueryBatch] = []
    ranking: list[_QueryBatch] = []
    try:
        for some in (*batched(queries, AT_ONCE), []):
            ready, ranking = ranking, []
            for (corpus, state), mask in zip(states, masks, strict=True):
                ranking.append(_QueryBatch(corpus, state, some, mode, k, mask, exact=exact))
                if mode == "lexical" and len(some) >= RANKED_AHEAD_FROM:
                    ranking[-1].begin()
            found = [batch.to_hits(batch.state.passages, beside_others=several, whole=True) for batch in ready]
            yield from (read_best(parts, k) for parts in zip(*found, strict=True))
    finally:
        for batch in (*ready, *ranking):
            batch.finish()


class _QueryBatch:
    """Some queries of one state of a corpus: what all of them need is looked up and read together."""

    def __init__(
        self,
        corpus: Corpus,
        state: State,
        queries: Sequence[str],
        mode: Mode,
        k: int,
        mask: Allowed | None,
        *,
        exact: bool,
    ) -> None:
        self.state = state
        self._terms = [analyze(state.lexical.analyzer, query) for query in queries]
        self._located = state.lexical.find(self._terms)
        self._is_read = mode == "auto" and k > 0 and _is_for_tools(state)
        self._depth = max(k, READ) if self._is_read else k
        self._rank = partial(_rank, corpus, state, mode=mode, k=self._depth, mask=mask, exact=exact)
        self._corpus, self._mode, self._k, self._mask = corpus, mode, k, mask
        self._finish: Callable[[], None] | None = None

    def begin(self) -> None:
        """Begin to rank the passages of a local corpus by keywords, in other threads, until `finish` is called."""
        counted = [cast("FoundTerms", counted) for _, counted in self._located]
        self._finish = cast("Lexical", self.state.lexical).rank_all(counted, max(self._k, 1), self._mask)

    def finish(self) -> None:
        """Rank what the other threads have not ranked yet."""
        finish, self._finish = self._finish, None
        if finish:
            finish()

    def to_hits(
        self, read: Callable[[Positions], list[Passage]], *, beside_others: bool, whole: bool
    ) -> list[CorpusHits]:
        """The hits of each query; `read` reads their passages."""
        self.finish()
        state, k = self.state, self._depth if whole else self._k
        ranked = [self._rank(*both) for both in zip(self._terms, self._located, strict=True)]
        named = state.lexical.named(self._terms)  # a cluster has found them together with the scores
        possible = self._find_possible(named)
        candidates = [one.find_best(k, whole=whole) for one in ranked]
        ids = _read_ids_of_ties(state, candidates)
        identified = self._find_identified(possible) if self._mode == "auto" else possible
        found = [
            _find(one, some, ids, its_own, k, is_named=bool(names), whole=whole)
            for one, some, its_own, names in zip(ranked, candidates, identified, named, strict=True)
        ]
        check_canceled()
        rows = iter(_read_together(read, [one.positions for one in found]))
        passages = [list(islice(rows, len(one.best))) for one in found]
        if self._mode != "auto":
            for each in zip(self._terms, found, passages, strict=True):
                _keep_identified(*each)
        is_read = self._is_read and whole
        return [
            one.to_hits(own, self._corpus, beside_others=beside_others, is_read=is_read)
            for one, own in zip(found, passages, strict=True)
        ]

    def _find_possible(self, named: Sequence[dict[int, int]]) -> list[Positions]:
        """The positions of passages that each query may identify by their names, which are in it."""
        if self._mask is not None:
            named = [_permit(names, self._mask) if names else names for names in named]
        return [
            np.array(find_possible(query.text, query.name_words, names), dtype=np.int64) if names else _NO_POSITIONS
            for query, names in zip(self._terms, named, strict=True)
        ]

    def _find_identified(self, possible: Sequence[Positions]) -> list[Positions]:
        """Those of the possible positions that each query identifies."""
        passages = iter(_read_together(self.state.passages, possible))
        return [
            find_identified(query.text, query.name_words, some, list(islice(passages, len(some))))
            if len(some)
            else some
            for query, some in zip(self._terms, possible, strict=True)
        ]


def _keep_identified(terms: QueryTerms, found: _Found, passages: Sequence[Passage]) -> None:
    """Of the hits that the query may identify, leave the signal to those that it does: their names were not known."""
    named = found.signals["named"]
    if any(named):
        for at, passage in enumerate(passages):
            if named[at]:
                own = find_identified(terms.text, terms.name_words, found.positions[at : at + 1], [passage])
                named[at] = float(len(own))


def _read_together(read: Callable[[Positions], list[T]], positions: Sequence[Positions]) -> list[T]:
    """What `read` returns for all positions."""
    every = positions[0] if len(positions) == 1 else np.concatenate([_NO_POSITIONS, *positions])
    return read(every) if len(every) else []


def _find(
    ranked: _Ranked,
    candidates: list[_Candidate],
    ids: Mapping[int, str],
    identified: Positions,
    k: int,
    *,
    is_named: bool,
    whole: bool,
) -> _Found:
    """The best passages of a query without their texts: of the candidates and, in "auto", of those that it identifies.

    `identified` are in other modes those that it may identify. `ids` are those of candidates that tie, and `is_named`
    says whether the name of any passage is in the query.
    """
    check_canceled()
    state, lexical, terms, mode = ranked.state, ranked.state.lexical, ranked.terms, ranked.mode
    is_known = is_named or (terms.has_content and lexical.knows(ranked.weighted)) or ranked.is_foreign
    noise = None if is_known or not ranked.has_vectors else ranked.scale.apply(_find_noise(state))
    best = _sort(candidates, ids, k)
    positions, blends = ranked.look_at(best)
    first = ranked.blend_at(ranked.before.ranking(1).positions[:1]) if ranked.learned and k else blends
    relevance = _relevance_for(ranked, next(iter(first), 0.0), noise)
    if mode == "auto" and k and len(identified):  # the other modes rank as they say
        candidates = _raise_identified(ranked, candidates, identified, relevance, whole=whole)
        best = _sort(candidates, _read_ids_of_ties(state, [candidates]), k)
        positions, blends = ranked.look_at(best)
    signals = ranked.signals_at(positions, best, blends)
    signals["covered"] = lexical.covered_at(ranked.weighted, positions)
    signals["named"] = _are_of(state, positions, identified)
    return _Found(ranked, best, positions, signals, relevance, terms.has_content, is_known)


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
    exact: bool,
) -> RemoteHits:
    """Let a service search, and report what a merge with other corpora needs."""
    if not whole:
        raise state.refuse("ranking passages")
    hits, facts = state.search(query, mode, k, mask, exact=exact)
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
        perfect=facts.perfect if beside_others else 1.0,
        threshold=facts.min_relevance,
        has_content=facts.has_content,
        is_known=facts.is_known,
        facts=facts,
    )


# The position of a passage, its score, and its total, which it is sorted by: in "auto" its blend with its name and what
# was learned.
_Candidate = tuple[int, float, float]


class _Ranked(NamedTuple):
    """The scores of all passages for a query, and what they are made of."""

    state: State
    terms: QueryTerms
    mode: Mode
    weighted: TermWeights
    scale: CosineScale
    share: float  # of the keywords in the blend
    parts: Mapping[str, Scores]  # lexical and dense
    before: Scores  # without what was learned
    scores: Scores
    learned: Learned | None
    perfect: float  # the score of a perfect match
    is_foreign: bool  # whether the query is in a language that only the vectors know: its words tell nothing

    @property
    def has_vectors(self) -> bool:
        return "dense" in self.parts

    def blend_at(self, positions: Positions) -> list[float]:
        """The blends of passages without what was learned, in every mode; 0 where nothing matches."""
        if self.mode == "auto":
            return [_or_zero(score) / self.perfect for score in self.before.at(positions).tolist()]
        lexical = self.state.lexical
        words, ideal = lexical.scores_at(self.weighted, positions), lexical.ideal(self.weighted)
        if not self.has_vectors:
            return [score / ideal if score > 0 else 0.0 for score in words]
        meaning = self.scale.apply(self.parts["dense"].at(positions))
        return list(map(_or_zero, blend(only_found(np.array(words)), meaning, ideal, self.share).tolist()))

    def find_best(self, k: int, *, whole: bool) -> list[_Candidate]:
        """The best passages of the k best documents, or the k best passages, and all ties."""
        if k == 0:
            return []
        ranking = best_passages(self.state, self.scores.ranking, k) if whole else self.scores.ranking(k)
        found, perfect = zip(ranking.positions.tolist(), ranking.scores.tolist(), strict=True), self.perfect
        return [(at, score, score / perfect) for at, score in found]

    def look_at(self, best: Sequence[_Candidate]) -> tuple[Positions, list[float]]:
        """The positions of the hits, and their blends without what was learned."""
        positions = np.array([at for at, _, _ in best], dtype=np.int64)
        return positions, self.blend_at(positions)

    def signals_at(
        self, positions: Positions, best: Sequence[_Candidate], blends: list[float]
    ) -> dict[str, list[float]]:
        """What the scores of the hits are made of; plain numbers, since there are few."""
        signals = {
            name: [score for _, score, _ in best] if part is self.scores else part.at(positions).tolist()
            for name, part in self.parts.items()
        }
        signals["blend"] = blends
        if self.learned:
            now = [score / self.perfect for _, score, _ in best]
            signals["learned"] = [after - before for after, before in zip(now, blends, strict=True)]
        return signals


class _Found(NamedTuple):
    """The best passages of a query, without their texts."""

    ranked: _Ranked
    best: list[_Candidate]
    positions: Positions
    signals: dict[str, list[float]]
    relevance: QueryRelevance
    has_content: bool
    is_known: bool

    def to_hits(self, passages: Sequence[Passage], corpus: Corpus, *, beside_others: bool, is_read: bool) -> CorpusHits:
        ranked, relevance, mode = self.ranked, self.relevance, self.ranked.mode
        is_auto, signals = mode == "auto", self.signals
        totals = [total for _, _, total in self.best] if is_auto else signals["blend"]
        if not is_auto and any(signals["named"]):
            named = zip(totals, signals["named"], strict=True)
            totals = [relevance.total(blend, is_named=is_named > 0) for blend, is_named in named]
        chances = relevance.of_all(totals)
        scores = chances if is_auto else [score for _, score, _ in self.best]
        own: list[dict[str, float]] = [{} for _ in passages]
        for name, values in signals.items():
            for one, value in zip(own, values, strict=True):
                if value > -math.inf:
                    one[name] = value
        get = corpus.get
        loads = [partial(get, passage.document_id) for passage in passages]
        shared = repeat(corpus.name), chances, repeat(corpus.is_own), repeat(None)
        hits = Hits(map(get_maker(Hit), passages, scores, own, loads, *shared), query=ranked.terms.text, mode=mode)
        return CorpusHits(
            corpus,
            ranked.state,
            hits,
            perfect=ranked.perfect if beside_others and not is_auto else 1.0,
            threshold=ranked.learned.least_relevance if ranked.learned else THRESHOLD,
            has_content=self.has_content,
            is_known=self.is_known,
            relevance=relevance,
            is_read=is_read,
        )


def _rank(
    corpus: Corpus,
    state: State,
    terms: QueryTerms,
    located: tuple[TermWeights, TermWeights],
    mode: Mode,
    k: int,
    mask: Allowed | None,
    *,
    exact: bool,
) -> _Ranked:
    """Score the passages. Pure BM25 uses term counts; "auto" weights the terms and uses what was learned."""
    check_canceled()
    weighted, counted = located
    learned = find_learned(corpus, state, mode)
    scale = scale_of(state) if mode != "lexical" and state.has_vectors else _NO_SCALE
    weights = weights_for(scale.like)
    if scale.anchors:  # an embedder that is used like one of ours: which languages it knows is not known
        weights = weights._replace(knows_languages=None)
    is_foreign = bool(weights.knows_languages) and terms.language not in state.lexical.analyzer.languages
    share = weights.share_of(len(weighted), terms.language, is_foreign=is_foreign)
    scored = weighted if mode == "auto" else counted
    reads_all = learned is not None
    parts, before = score(state, terms.text, scored, mode, k, mask, share, scale, reads_all=reads_all, exact=exact)
    check_canceled()
    scores = apply_lessons(learned, state, terms.text, terms.weights, before, k, mask) if learned else before
    perfect = 1.0 if "dense" in parts else state.lexical.ideal(scored) or 1.0
    return _Ranked(
        state,
        terms,
        mode,
        weighted,
        scale,
        share,
        parts,
        before,
        scores,
        learned,
        perfect,
        is_foreign and "dense" in parts,
    )


def _permit(named: dict[int, int], mask: Allowed) -> dict[int, int]:
    is_permitted = mask[np.array([*named], dtype=np.int64)]
    return {at: size for (at, size), permitted in zip(named.items(), is_permitted.tolist(), strict=True) if permitted}


def _relevance_for(ranked: _Ranked, best: float, noise: float | None) -> QueryRelevance:
    """The relevance of the hits of a query. `best` is the highest blend, without what was learned."""
    dense: list[float] = []
    if ranked.has_vectors:
        cosines = ranked.parts["dense"]
        dense = ranked.scale.apply(cosines.at(cosines.ranking(1).positions[:1])).tolist()
    slope, shift = calibration_of(ranked.state.config, ranked.mode)
    return QueryRelevance(
        weights_for(ranked.scale.like).relevance if ranked.has_vectors else BY_WORDS,
        best=best,
        dense=next(map(_or_zero, dense), 0.0),
        names_other_service=bool(find_unknown_services(ranked.terms.text, ranked.state.lexical)),
        noise=noise,
        slope=slope,
        shift=shift,
    )


def _is_for_tools(state: State) -> bool:
    """Whether the vectors are those of our embedder for tools, or are used like them."""
    return state.has_vectors and weights_for(scale_of(state).like) is FITTED_WEIGHTS["tools"]


def _find_noise(state: State) -> float:
    """The cosine that is reached by coincidence in a corpus of this size."""
    among_ten, growth = noise_of(state)
    return float(among_ten + growth * math.log10(max(state.lexical.live, 1) / 10))


def _or_zero(value: float) -> float:
    """The score, or 0 where nothing matches."""
    return value if value > -math.inf else 0.0


def _raise_identified(
    ranked: _Ranked, candidates: Sequence[_Candidate], identified: Positions, relevance: QueryRelevance, *, whole: bool
) -> list[_Candidate]:
    """The candidates and those of the documents that the query identifies, which lead as a perfect match does.

    These are candidates whatever their score. Of the others, those that are among the k best with them are also without
    them.
    """
    state, perfect, scored = ranked.state, ranked.perfect, {at: score for at, score, _ in candidates}
    documents = dict(zip(scored, state.documents(np.array([*scored], dtype=np.int64)).tolist(), strict=True))
    names = dict(zip(state.documents(identified).tolist(), identified.tolist(), strict=True))
    missing = [at for document, at in names.items() if not whole or document not in documents.values()]
    for own in state.siblings(np.array(missing, dtype=np.int64)):
        values = dict(zip(own.tolist(), map(_or_zero, ranked.scores.at(own).tolist()), strict=True))
        added = [max(values, key=values.__getitem__)] if whole else list(values)
        scored |= {at: values[at] for at in added}
        documents |= dict.fromkeys(added, int(state.documents(own[:1])[0]))
    highest: dict[int, float] = {}  # blend of each named document
    for at, value in scored.items():
        if (document := documents[at]) in names:
            highest[document] = max(highest.get(document, -math.inf), value / perfect)
    lead = {document: relevance.total(blend, is_named=True) - blend for document, blend in highest.items()}
    return [(at, value, value / perfect + lead.get(documents[at], 0.0)) for at, value in scored.items()]


def _are_of(state: State, positions: Positions, others: Positions) -> list[float]:
    """1.0 for each position whose document is also among the others, else 0.0."""
    if not len(others):
        return [0.0] * len(positions)
    wanted = set(state.documents(others).tolist())
    return [float(document in wanted) for document in state.documents(positions).tolist()]


def _read_ids_of_ties(state: State, lists: Sequence[Sequence[_Candidate]]) -> dict[int, str]:
    """The ids of all candidates with the same total and score as another one of their list, by position."""
    tied: list[int] = []
    for candidates in lists:
        if len({total for _, _, total in candidates}) < len(candidates):
            keys = [(total, score) for _, score, total in candidates]
            counts = Counter(keys)
            tied += [at for (at, _, _), key in zip(candidates, keys, strict=True) if counts[key] > 1]
    return dict(zip(tied, state.ids(np.array(tied, dtype=np.int64)), strict=True)) if tied else {}


def _sort(candidates: list[_Candidate], ids: Mapping[int, str], k: int) -> list[_Candidate]:
    """The best k candidates, best first; ties by id."""
    totals = [total for _, _, total in candidates]
    if all(map(gt, totals, totals[1:])):
        return candidates[:k]
    keys: list[tuple[Any, ...]] = [(-total, -score) for _, score, total in candidates]
    for place, (at, _, _) in enumerate(candidates):
        if at in ids:
            keys[place] += (natural_key(ids[at]),)
    return [candidates[place] for place in nsmallest(k, range(len(keys)), key=keys.__getitem__)]
