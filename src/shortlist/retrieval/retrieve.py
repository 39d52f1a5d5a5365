"""Retrieval: the best passage of each matching document, best first, read from one state of each corpus."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from shortlist._limits import check_canceled, check_length
from shortlist._telemetry import traced
from shortlist.documents import Document, Passage
from shortlist.errors import InputError
from shortlist.index.config import Floor
from shortlist.index.corpus import Corpus
from shortlist.index.engines.service_engine import ServiceState
from shortlist.index.query_scores import Scores
from shortlist.index.text.query_terms import analyze, weight_of
from shortlist.library.opening import CorpusState, Searchable, open_corpora, open_states
from shortlist.protocols import Embedder, Progress
from shortlist.results import Hit, Hits, MergeFacts, Mode, Ranking, Selection
from shortlist.retrieval.filters import Filter, allowed
from shortlist.retrieval.learning.learned import apply_lessons, find_learned
from shortlist.retrieval.relevance import BY_WORDS, FLOOR, OTHER_SERVICE, calibration_of, probability, trust_in
from shortlist.retrieval.scores import best_passages, score
from shortlist.retrieval.services import find_unknown_services

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State
    from shortlist.results import Positions

# Number of candidates that a reranker sees: this many times k, but at least the second number.
RERANKED_TIMES_K = 5
RERANKED_AT_LEAST = 50

# From this many passages with vectors on, queries of a batch run in several threads.
PARALLEL_FROM = 50_000

MODES: tuple[Mode, ...] = get_args(Mode)

Reranker = Callable[[str, list[Hit]], Sequence[Hit]]

_DIGITS = re.compile(r"(\d+)")


@traced("search", lambda hits: {"mode": hits.mode, "hits": len(hits)})
def search(
    corpus: Searchable,
    query: str,
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    rerank: Reranker | None = None,
    progress: Progress | None = None,
) -> Hits:
    """Find the k documents that match the query best.

    `corpus` is a Corpus, its name, a list of these, or a list or mapping of texts or Documents. `mode` is "lexical"
    (BM25), "dense" (exact cosine), "hybrid" (reciprocal rank fusion of both) or "auto" (a blend of both, the best in
    our measurements). `progress` is called while a named corpus is built on first use.

    `rerank(query, hits)` gets at least 50 candidates and returns those to keep, best first: with new scores
    (`dataclasses.replace(hit, score=...)`), or in a new order, which then scores 1/rank. The original score stays in
    `hit.signals["retrieved"]`.
    """
    with open_query(corpus, query, mode, k, progress) as states:
        depth = max(RERANKED_TIMES_K * k, RERANKED_AT_LEAST) if rerank and k else k
        hits = _conclude(retrieve(states, query, mode, depth, filter), query, mode, depth)
    if rerank:
        hits[:] = _rerank(rerank, hits)[:k]
    return hits


def search_many(
    corpus: Searchable,
    queries: Iterable[str],
    mode: Mode = "auto",
    k: int = 10,
    filter: Filter | None = None,
    *,
    progress: Progress | None = None,
) -> list[Hits]:
    """Search for several queries: the hits of each, in the order of the queries, as `search` finds them.

    All queries read one state of each corpus. Semantic searches of large corpora run on all processor cores.
    """
    if isinstance(queries, str):
        raise InputError(f"search_many takes a list of queries, not {queries!r}. Use search for one query.")
    queries = list(queries)
    for query in queries:
        check_query(query, mode, k)
    with open_query(corpus, "", mode, k, progress) as states:
        masks = [allowed(state, filter) for _, state in states]

        def search_one(query: str) -> Hits:
            return _conclude(_retrieve(states, masks, query, mode, k), query, mode, k)

        # Python runs in one thread at a time, so threads gain only if most of the time is spent comparing vectors. The
        # state of a corpus in a cluster collects what it has read, so threads cannot share it.
        can_share = all(state.generation is not None for _, state in states)
        is_large = mode != "lexical" and sum(state.size for _, state in states if state.has_vectors) >= PARALLEL_FROM
        threads = min(len(queries), os.cpu_count() or 1) if can_share and is_large else 1
        if threads < 2:
            return list(map(search_one, queries))
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(search_one, queries))


def _conclude(found: Sequence[Found], query: str, mode: Mode, k: int) -> Hits:
    """The merged hits, with a note if every corpus with hits refuses the query."""
    hits = merge(found, query, mode, k)
    reasons = [refusal.reason if (refusal := refuse_unknown(one)) else "" for one in found if one.hits]
    hits.note = reasons[0] if all(reasons) and reasons else ""
    return hits


def _rerank(rerank: Reranker, hits: Hits) -> list[Hit]:
    found = {(hit.corpus, hit.id): hit for hit in hits}
    kept = list(rerank(hits.query, list(hits)))
    for hit in kept:
        if not isinstance(hit, Hit) or (hit.corpus, hit.id) not in found:
            raise InputError(f"rerank must return hits from the list it received, not {hit!r}.")
    if any(after.score > before.score for before, after in pairwise(kept)):
        kept = [replace(hit, score=1 / rank) for rank, hit in enumerate(kept, 1)]
    return [replace(hit, signals={**hit.signals, "retrieved": found[hit.corpus, hit.id].score}) for hit in kept]


@contextmanager
def open_query(
    corpus: Searchable, query: str, mode: Mode, k: int, progress: Progress | None = None
) -> Iterator[list[CorpusState]]:
    """Open the corpora, each in the one state that the whole query reads."""
    check_query(query, mode, k)
    with open_states(open_corpora(corpus, needs_vectors=mode != "lexical", progress=progress)) as states:
        check_comparable(states, mode)
        yield states


def check_query(query: str, mode: str, k: int) -> None:
    check_mode(mode)
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise InputError(f"k must be an integer of 0 or more, not {k!r}.")
    if not isinstance(query, str):
        raise InputError(f"A query must be a string, not {type(query).__name__}.")
    check_length(query)


def check_mode(mode: str) -> None:
    if mode not in MODES:
        raise InputError(f"Unknown mode {mode!r}. Use one of {', '.join(MODES)}.")


def check_comparable(states: Sequence[CorpusState], mode: Mode) -> None:
    if mode == "dense" and len(models := {one.state.config.embedder_name for one in states}) > 1:
        raise InputError(
            f"These corpora use different embedders ({', '.join(sorted(models))}), whose cosines cannot be compared. "
            f"Use mode 'auto' or 'hybrid', or search them one at a time."
        )


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of one corpus state, and what makes their scores comparable with those of other corpora."""

    corpus: Corpus
    state: State
    hits: Hits
    named: frozenset[str] = frozenset()  # ids of documents whose name is in the query
    perfect: float = 1.0  # score of a perfect match
    threshold: float = FLOOR  # least relevance of a match
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
        among_ten, growth = getattr(self.embedder, "noise", (0.0, 0.0))
        return float(among_ten + growth * math.log10(self.state.lexical.live / 10))

    def floor(self, mode: str) -> Floor:
        """The threshold that was calibrated for a mode."""
        return self.state.config.floor(mode, self.state.since)

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
        floor = self.floor(self.hits.mode)
        return MergeFacts(
            embedder=self.embedder_name,
            named=tuple(sorted(self.named)),
            perfect=self.perfect,
            min_relevance=self.threshold,
            threshold=floor.value,
            doubt=floor.doubt,
            has_content=self.has_content,
            is_known=self.is_known,
            noise=0.0 if self.is_known or not self.hits else self.noise,
            documents=self.count(),
            unknown_words=tuple(self.unknown_words()),
        )


@dataclass(frozen=True, slots=True)
class RemoteFound(Found):
    """The hits of a corpus behind a service, with the facts that the service reports."""

    facts: MergeFacts = field(kw_only=True)

    @property
    def embedder_name(self) -> str:
        return self.facts.embedder

    @property
    def noise(self) -> float:
        return self.facts.noise

    def floor(self, mode: str) -> Floor:
        return Floor(self.facts.threshold, self.facts.doubt)

    def count(self) -> int:
        return self.facts.documents

    def get(self, id: str) -> Document | None:
        return self.corpus.get(id)

    def unknown_words(self) -> Iterator[str]:
        yield from self.facts.unknown_words


def merge(found: Sequence[Found], query: str, mode: str, k: int) -> Hits:
    """Merge the hits of several corpora, best first. Documents that the query names are always included.

    Lexical scores of several corpora are divided by the score of a perfect match in their corpus. The scores of "auto"
    are compared directly if the corpora have the same embedder; else the score of a hit becomes the best relevance
    from it on, so that every corpus keeps its order.
    """
    if len(found) == 1 and not found[0].named and found[0].perfect == 1.0:
        return Hits(found[0].hits[:k], query=query, mode=mode)
    embedders = {one.embedder_name for one in found if one.hits}
    rescore = _score_by_relevance if mode == "auto" and len(embedders) > 1 else _score_by_share
    hits = [(hit, hit.id in one.named) for one in found for hit in rescore(one)]
    hits.sort(key=lambda pair: -pair[0].score)
    kept = sorted(hits, key=lambda pair: not pair[1])[:k]
    return Hits(sorted((hit for hit, _ in kept), key=lambda hit: -hit.score), query=query, mode=mode)


def _score_by_relevance(found: Found) -> list[Hit]:
    best = list(accumulate((hit.relevance or 0.0 for hit in reversed(found.hits)), max))[::-1]
    scores = (best[at] if hit.score > 0 else hit.score for at, hit in enumerate(found.hits))  # at 0, nothing matches
    return [replace(hit, score=score) for hit, score in zip(found.hits, scores, strict=True)]


def _score_by_share(found: Found) -> list[Hit]:
    if found.perfect == 1.0:
        return found.hits
    return [replace(hit, score=hit.score / found.perfect) for hit in found.hits]


def refuse_unknown(found: Found) -> Selection | None:
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


@traced("retrieve", lambda found: {"corpora": len(found), "hits": sum(len(one.hits) for one in found)})
def retrieve(
    states: Sequence[CorpusState], query: str, mode: Mode, k: int, filter: Filter | None, *, whole: bool = True
) -> list[Found]:
    """Retrieve from each corpus: one hit per document (its best passage), or with `whole=False` passages."""
    masks = [allowed(state, filter) for _, state in states]
    return _retrieve(states, masks, query, mode, k, whole=whole)


def _retrieve(
    states: Sequence[CorpusState],
    masks: Sequence[Allowed | None],
    query: str,
    mode: Mode,
    k: int,
    *,
    whole: bool = True,
) -> list[Found]:
    several = len(states) > 1
    return [
        look(corpus, state, query, mode, k, mask, beside_others=several, whole=whole)
        for (corpus, state), mask in zip(states, masks, strict=True)
    ]


def look(
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
) -> Found:
    """Retrieve from one state of a corpus. `read` replaces reading passages from the database."""
    check_canceled()
    if isinstance(state, ServiceState):
        return _retrieve_remotely(corpus, state, query, mode, k, mask, beside_others=beside_others, whole=whole)
    lexical = state.lexical
    asked = analyze(lexical.analyzer, query)
    weighed, counted = lexical.find(asked)
    trust = trust_in(state.config.embedder_name)
    # Pure BM25 uses plain term counts; "auto" weights the query terms.
    terms = weighed if mode == "auto" else counted
    learned = find_learned(corpus, state, mode)
    share = trust.lexical_share.of(len(weighed))
    parts, own = score(state, query, terms, mode, k, mask, share, reads_all=learned is not None)
    check_canceled()
    scores = apply_lessons(learned, state, query, asked.weights, own, k, mask) if learned else own
    named = lexical.named(query, asked.name_words)
    # "auto" adds documents that the query names; the other modes rank as they say.
    added = named[:0] if mode != "auto" else named if mask is None else named[mask[named]]
    best = _best(state, scores, k, added) if whole else _sort(state, scores.ranking(k))[:k]
    positions = np.array([position for position, _ in best], dtype=np.int64)
    check_canceled()
    passages = (read or state.passages)(positions)
    # Of each hit; plain numbers, since there are few.
    values = [value if value > -math.inf else 0.0 for _, value in best]
    signals = {
        name: [value for _, value in best] if part is scores else part.at(positions).tolist()
        for name, part in parts.items()
    }
    signals["covered"] = lexical.covered_at(weighed, positions).tolist()
    signals["named"] = _are_of(state, positions, named)
    if learned:
        ideal = 1.0 if "dense" in parts else lexical.ideal(terms) or 1.0
        before = [value if value > -math.inf else 0.0 for value in own.at(positions).tolist()]
        signals["learned"] = [(now - then) / ideal for now, then in zip(values, before, strict=True)]
    weights = trust.relevance if "dense" in parts else BY_WORDS
    slope, shift = calibration_of(state.config, mode)
    shift += slope * OTHER_SERVICE if find_unknown_services(query, lexical) else 0.0
    hits = Hits(query=query, mode=mode)
    for passage, value, *row in zip(passages, values, *signals.values(), strict=True):
        own_signals = {name: part for name, part in zip(signals, row, strict=True) if part > -math.inf}
        relevance = probability(slope * weights.odds(own_signals) + shift)
        load = partial(corpus.get, passage.document_id)
        hits.append(Hit(passage, value, own_signals, load, corpus.name, relevance, corpus.is_own))
    names, perfect = frozenset[str](), 1.0
    if beside_others:
        names = frozenset(state.ids(added))
        perfect = 1.0 if "dense" in parts else lexical.ideal(terms) or 1.0
    threshold = learned.least_relevance if learned else FLOOR
    is_known = bool(len(named)) or (asked.has_content and lexical.knows(weighed))
    return Found(corpus, state, hits, names, perfect, threshold, asked.has_content, is_known)


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
) -> Found:
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
    return RemoteFound(
        corpus, state, hits, frozenset(facts.named) if beside_others else frozenset(),
        facts.perfect if beside_others else 1.0, facts.min_relevance, facts.has_content, facts.is_known, facts=facts,
    )  # fmt: skip


def search_with_facts(corpus: Corpus, query: str, mode: Mode, k: int, filter: Filter | None) -> dict[str, Any]:
    """The hits of one corpus, as plain data, and what makes them comparable with those of other corpora."""
    with open_query(corpus, query, mode, k) as ((_, state),):
        found = look(corpus, state, query, mode, k, allowed(state, filter), beside_others=True)
        return found.hits.to_dict() | {"facts": found.describe().to_dict()}


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
