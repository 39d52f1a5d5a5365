"""Which documents fit this query? One hit per document, its best passage, best first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

import numpy as np

from shortlist.documents import Passage
from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.index.engine import Progress
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.query_scores import AllScores, Request, Scores
from shortlist.index.text.query_terms import Asked, asked
from shortlist.library.opening import Searchable, resolve
from shortlist.results import Hit, Hits, Mode, Ranking
from shortlist.search.filters import Filter, allowed
from shortlist.search.fusion import blend, reciprocal_rank
from shortlist.search.relevance import BY_WORDS, calibration_of, probability, trust_in

if TYPE_CHECKING:
    from shortlist.index.engine import Allowed, State
    from shortlist.results import Floats, Positions

# How deep each ranking goes into a fusion; a rank beyond adds less than a thousandth.
FUSED_DEPTH = 1000

# How deep rankings by words and by meaning are first looked into for the best of their blend.
BLENDED_DEPTH = 100

# Number of candidates that a reranker sees: this many times k, but at least the second number.
RERANKED_TIMES_K = 5
RERANKED_AT_LEAST = 50

Reranker = Callable[[str, list[Hit]], Sequence[Hit]]

_DIGITS = re.compile(r"(\d+)")


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
    """The k documents that fit the query best.

    `corpus` is a Corpus, the name of one, several of these in a list, or just a list or mapping of texts or Documents.
    `mode`: "lexical" is BM25, "dense" exact cosine, "hybrid" their reciprocal rank fusion, "auto" what measured best
    for what the corpus has. `progress` is told how a known corpus is built that never was.

    `rerank(query, hits)` gets more candidates than k, at least 50, and returns those to keep: with new scores
    (`dataclasses.replace(hit, score=...)`), best first, or just in another order, which then scores 1/rank. The first
    score stays in `hit.signals["retrieved"]`.
    """
    if rerank is None:
        return merge(retrieve(corpus, query, mode, k, filter, progress), query, mode, k)
    _check_k(k)
    depth = max(RERANKED_TIMES_K * k, RERANKED_AT_LEAST) if k else 0
    hits = merge(retrieve(corpus, query, mode, depth, filter, progress), query, mode, depth)
    return Hits(_reranked(rerank, hits)[:k], query=query, mode=mode)


def _reranked(rerank: Reranker, hits: Hits) -> list[Hit]:
    found = {(hit.corpus, hit.id): hit for hit in hits}
    kept = list(rerank(hits.query, list(hits)))
    for hit in kept:
        if not isinstance(hit, Hit) or (hit.corpus, hit.id) not in found:
            raise InputError(f"rerank must return hits that it was given, not {hit!r}.")
    if any(after.score > before.score for before, after in pairwise(kept)):
        kept = [replace(hit, score=1 / rank) for rank, hit in enumerate(kept, 1)]
    return [replace(hit, signals={**hit.signals, "retrieved": found[hit.corpus, hit.id].score}) for hit in kept]


def search_passages(
    corpus: Searchable, query: str, mode: Mode = "auto", k: int = 10, filter: Filter | None = None
) -> Hits:
    """The k passages that fit the query best; a document may have several among them."""
    return merge(retrieve(corpus, query, mode, k, filter, whole=False), query, mode, k)


@dataclass(frozen=True, slots=True)
class Found:
    """What one corpus has for a query; beside other corpora also what makes its hits comparable with theirs."""

    corpus: Corpus
    hits: Hits
    named: frozenset[str] = frozenset()  # ids of hits whose name stands in the query
    perfect: float = 1.0  # the score that counts as 1

    def comparable(self, hit: Hit) -> Hit:
        return hit if self.perfect == 1.0 else replace(hit, score=hit.score / self.perfect)


def merge(found: list[Found], query: str, mode: str, k: int) -> Hits:
    """The k best hits of several corpora, best first; documents that the query names are always among them.

    Cosines and blends are compared as they are, reciprocal ranks as ranks; a score by words alone is first divided by
    what a perfect match would score in its corpus, unless that corpus stands alone.
    """
    hits = [(hit, hit.id in one.named) for one in found for hit in map(one.comparable, one.hits)]
    hits.sort(key=lambda pair: -pair[0].score)
    kept = sorted(hits, key=lambda pair: not pair[1])[:k]
    return Hits(sorted((hit for hit, _ in kept), key=lambda hit: -hit.score), query=query, mode=mode)


def retrieve(
    corpus: Searchable,
    query: str,
    mode: Mode,
    k: int,
    filter: Filter | None,
    progress: Progress | None = None,
    *,
    whole: bool = True,
) -> list[Found]:
    """What each of the corpora has for the query: whole documents, each at its best passage, or passages."""
    check_mode(mode)
    _check_k(k)
    if not isinstance(query, str):
        raise InputError(f"A query is a string, not {type(query).__name__}.")
    corpora = resolve(corpus, needs_vectors=mode != "lexical", progress=progress)
    check_comparable(corpora, mode)
    found = []
    for one in corpora:
        with one.snapshot() as snapshot:
            mask = None if filter is None else allowed(snapshot, filter)
            found.append(look(one, snapshot, query, mode, k, mask, beside_others=len(corpora) > 1, whole=whole))
    return found


def _check_k(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise InputError(f"k is how many hits are wanted, 0 or more, not {k!r}.")


def check_mode(mode: str) -> None:
    if mode not in get_args(Mode):
        raise InputError(f"There is no mode {mode!r}; the known ones are {', '.join(get_args(Mode))}.")


def check_comparable(corpora: Sequence[Corpus], mode: Mode) -> None:
    if mode == "dense" and len(models := {one.config.embedder_name for one in corpora}) > 1:
        raise InputError(
            f"Cosines of different embedders ({', '.join(sorted(models))}) cannot be compared: search these corpora "
            f"with the mode 'auto' or 'hybrid', or one by one."
        )


def look(
    corpus: Corpus,
    snapshot: State,
    query: str,
    mode: Mode,
    k: int,
    mask: Allowed | None,
    *,
    beside_others: bool,
    read: Callable[[Positions], list[Passage]] | None = None,
    whole: bool = True,
) -> Found:
    """What one state of a corpus has for a query; `read` may know passages without asking the database."""
    lexical = snapshot.lexical
    weighed = asked(lexical.analyzer, query)
    trust = trust_in(snapshot.config.embedder_name)
    # BM25 by itself takes the terms as its formula says, "auto" as measured best.
    terms = weighed if mode == "auto" else lexical.analyzer.terms(query)
    parts, scores = _score(snapshot, query, terms, mode, k, mask, trust.lexical_share)
    named = lexical.named(query)
    if whole:
        positions = _best(snapshot, scores, k, named if mask is None else named[mask[named]])
    else:
        positions = _ordered(snapshot, scores, scores.ranking(k).positions)[:k]
    passages = (read or snapshot.passages)(positions)
    values = scores.at(positions)
    signals = {name: part.at(positions) for name, part in parts.items()}
    signals["covered"] = lexical.held_at(weighed, positions)
    signals["named"] = _belong(snapshot, positions, named)
    weights = trust.relevance if "dense" in signals else BY_WORDS
    slope, shift = calibration_of(snapshot.config, mode)
    relevance = probability(slope * weights.odds(signals) + shift).tolist()
    names, perfect = frozenset[str](), 1.0
    if beside_others:
        names = frozenset(snapshot.ids(named))
        if "dense" not in parts:
            perfect = lexical.ideal(terms) or 1.0
    hits = [
        Hit(
            passage,
            float(values[at]) if values[at] > -np.inf else 0.0,
            {name: float(part[at]) for name, part in signals.items() if part[at] > -np.inf},
            partial(corpus.get, passage.document_id),
            corpus.name,
            relevance[at],
        )
        for at, passage in enumerate(passages)
    ]
    return Found(corpus, Hits(hits, query=query, mode=mode), names, perfect)


def _first_depth(k: int) -> int:
    return max(BLENDED_DEPTH, 2 * k)


class _Blend:
    """The blend of words and meaning, from the best of both: Fagin's threshold algorithm.

    What is among neither best scores at most what the last of both would together; once the k-th best exceeds that,
    no other can come before it.
    """

    def __init__(self, words: Scores, meaning: Scores, mix: Callable[[Floats, Floats], Floats]) -> None:
        self._words = words
        self._meaning = meaning
        self._mix = mix

    def ranking(self, k: int) -> Ranking:
        for depth in (_first_depth(k), 4 * _first_depth(k)):
            words, meaning = self._words.ranking(depth), self._meaning.ranking(depth)
            positions = np.union1d(words.positions, meaning.positions)
            scores = self.at(positions)
            best = top(scores, k)
            last = words.scores[-1:] if len(words) >= depth else np.zeros(1)
            least = self._mix(last, meaning.scores[-1:])[0] if len(meaning) >= depth else -np.inf
            if least == -np.inf or (len(best) >= k and scores[best[k - 1]] > least):
                break
        else:
            if (everything := self.every()) is not None:
                return AllScores(everything).ranking(k)
        return Ranking(positions[best], scores[best])

    def at(self, positions: Positions) -> Floats:
        return self._mix(self._words.at(positions), self._meaning.at(positions))

    def every(self) -> Floats | None:
        words, meaning = self._words.every(), self._meaning.every()
        return None if words is None or meaning is None else self._mix(words, meaning)


def _score(
    snapshot: State, query: str, terms: Asked, mode: Mode, k: int, mask: Allowed | None, share: float
) -> tuple[dict[str, Scores], Scores]:
    """The scores, and the parts that they are made of."""
    is_by_meaning = mode in ("dense", "hybrid") or (mode == "auto" and snapshot.has_vectors)
    depth = max(k, 1)
    if is_by_meaning and mode != "dense":
        depth = FUSED_DEPTH if mode == "hybrid" else _first_depth(k)
    words, meaning = 0 if mode == "dense" else depth, depth if is_by_meaning else 0
    parts = snapshot.score(Request(query, terms, words, meaning, mask, only_ranks=mode == "hybrid"))
    if mode == "hybrid":
        return parts, _fused(snapshot, parts)
    if mode != "auto" or not is_by_meaning:
        return parts, next(iter(parts.values()))
    mix = partial(blend, ideal=snapshot.lexical.ideal(terms), share=share)
    lexical, dense = parts["lexical"], parts["dense"]
    if isinstance(lexical, AllScores) and isinstance(dense, AllScores):
        return parts, AllScores(mix(lexical.scores, dense.scores))
    return parts, _Blend(lexical, dense, mix)


class _Few:
    """The scores of a few positions."""

    def __init__(self, positions: Positions, scores: Floats) -> None:
        self._positions = positions
        self._scores = scores
        self._known = dict(zip(positions.tolist(), scores.tolist(), strict=True))

    def ranking(self, k: int) -> Ranking:
        best = top(self._scores, k)
        return Ranking(self._positions[best], self._scores[best])

    def at(self, positions: Positions) -> Floats:
        return np.array([self._known.get(position, -np.inf) for position in positions.tolist()], dtype=np.float64)

    def every(self) -> None:
        return None


def _fused(snapshot: State, parts: dict[str, Scores]) -> Scores:
    """Reciprocal ranks of documents, each standing at the passage that words chose or, without any, meaning."""
    best = {name: _best_passages(snapshot, part.ranking, FUSED_DEPTH) for name, part in parts.items()}
    place: dict[int, int] = {}
    for ranking in reversed(best.values()):
        place |= zip(snapshot.documents(ranking.positions).tolist(), ranking.positions.tolist(), strict=True)
    rankings = []
    for ranking in best.values():
        found = dict(zip(snapshot.documents(ranking.positions).tolist(), ranking.scores.tolist(), strict=True))
        rankings.append(np.array([found.get(document, -np.inf) for document in place]))
    order = sorted(range(len(place)), key=list(place.values()).__getitem__)
    scores = reciprocal_rank(rankings) if place else np.zeros(0)
    return _Few(np.array(list(place.values()), dtype=np.int64)[order], scores[order])


def _best_passages(snapshot: State, rank: Callable[[int], Ranking], k: int) -> Ranking:
    """The best position of each of the k best documents, and of all that tie with the last, best first."""
    wanted = k
    while True:
        ranking = rank(wanted)
        _, first = np.unique(snapshot.documents(ranking.positions), return_index=True)
        if len(first) >= k or len(ranking) < wanted:
            first.sort()
            return Ranking(ranking.positions[first], ranking.scores[first])
        wanted *= 4


def _best(snapshot: State, scores: Scores, k: int, named: Positions) -> Positions:
    """The positions of the k hits, by score, then by id; documents that the query names are always among them."""
    if k == 0:
        return np.zeros(0, np.int64)
    best = _ordered(snapshot, scores, _best_passages(snapshot, scores.ranking, k).positions)[:k]
    if not len(named):
        return best
    missing = named[~np.isin(snapshot.documents(named), snapshot.documents(best))]
    if not len(missing):
        return best
    missing = np.array([_best_of(scores, positions) for positions in snapshot.siblings(missing)])
    is_named = np.isin(snapshot.documents(best), snapshot.documents(named))
    wanted = _ordered(snapshot, scores, np.concatenate([best[is_named], missing]))[:k]
    return _ordered(snapshot, scores, np.concatenate([wanted, best[~is_named][: k - len(wanted)]]))


def _belong(snapshot: State, positions: Positions, others: Positions) -> Floats:
    """1 for each position whose document is one of the others', else 0."""
    if not len(others):
        return np.zeros(len(positions))
    return np.isin(snapshot.documents(positions), snapshot.documents(others)).astype(np.float64)


def _best_of(scores: Scores, positions: Positions) -> int:
    return int(positions[np.argmax(scores.at(positions))])


def _ordered(snapshot: State, scores: Scores, positions: Positions) -> Positions:
    """By score, best first, and by id where scores are equal."""
    values = scores.at(positions)
    if len(set(values.tolist())) == len(values):  # np.unique would import all of numpy.ma
        return positions[np.argsort(-values)]
    ids = snapshot.ids(positions)
    order = sorted(range(len(ids)), key=lambda at: (-values[at], _natural(ids[at])))
    return positions[order]


def _natural(id: str) -> tuple[list[tuple[int, str]], str]:
    """An id as a sort key in which item 9 comes before item 10."""
    parts = [part.lstrip("0") if part.isdecimal() else part for part in _DIGITS.split(id)]
    return [(len(part) if part.isdecimal() else -1, part) for part in parts], id
