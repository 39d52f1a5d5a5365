"""Which passages hold these words? The ranker over the postings of all segments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.lexical.bm25 import FIELDS, FORMULAS, Scoring, gain_linear
from shortlist.index.lexical.bounds import norm
from shortlist.index.lexical.live_postings import ALL, Part, Terms, compiled
from shortlist.index.lexical.postings import NAME_WORDS, weighted_length, weighted_tf
from shortlist.index.text.analyzers import STOP_WORDS, Analyzer, name_words, span_keys, term_key
from shortlist.index.text.query_terms import Asked
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions

# Below this many postings a query is done by numpy before numba would even be imported.
COMPILED_FROM = 200_000

# After this many altogether numba is loaded all the same: it would have been quicker.
COMPILED_AFTER = 20 * COMPILED_FROM

# So many gains are kept from query to query: 12 bytes each.
REMEMBERED_GAINS = 2_000_000

# More hits than this are found by scoring everything exactly.
COARSE_UP_TO = 1_000

# In fewer passages it is quicker to have a score for each.
SPARSE_FROM = 20_000

# A part that holds no more postings of a query's terms is done without looking at bounds first.
FEW = 4_000

# Runs of blocks whose best are looked into first, to know what the others must reach.
STRIPES = 16

_done_without = 0  # postings that this process has ranked without numba


def _is_worth_compiling(work: int) -> bool:
    """Whether to load numba now: for much work at once, or because little has become much."""
    global _done_without
    _done_without += work
    return work >= COMPILED_FROM or _done_without >= COMPILED_AFTER


def top(scores: Floats, k: int) -> Positions:
    """Places of the k best scores above minus infinity and of all that tie with the last, best first, then by place."""
    found = np.flatnonzero(scores > -np.inf)
    if len(found) > k:
        values = scores[found]
        least = np.partition(values, len(values) - k)[len(values) - k] if k else np.inf
        found = found[values >= least]
    return found[np.argsort(-scores[found], kind="stable")].astype(np.int64)


def asked_names(query: str) -> set[int]:
    """The keys of all names that a query may hold; a mere stop word ("it", "no") must be all of it."""
    asked = name_words(query)
    alone = [word not in STOP_WORDS or len(asked) == 1 for word in asked]
    if asked and (loops := compiled("text_loops")):
        encoded = [word.encode("utf-8", "replace") for word in asked]
        ends = np.cumsum([len(word) + 1 for word in encoded]) - 1
        buffer = np.frombuffer(b" ".join(encoded), np.uint8)
        return set(loops.hash_runs(buffer, ends, NAME_WORDS, np.array(alone)).tolist())
    return {key for start, end, key in span_keys(asked, NAME_WORDS) if end - start > 1 or alone[start]}


def _merged(first: Ranking, second: Ranking, k: int) -> Ranking:
    """The best k of both and those that tie with the last of them."""
    if not len(second.scores):
        return first
    positions = np.concatenate([first.positions, second.positions])
    scores = np.concatenate([first.scores, second.scores])
    if len(scores) > k:
        kept = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        positions, scores = positions[kept], scores[kept]
    order = np.lexsort((positions, -scores))
    return Ranking(positions[order], scores[order])


_NOTHING = Ranking(np.zeros(0, np.int64), np.zeros(0))


class Found(NamedTuple):
    """The terms of a query: where they are in each part, how often each was asked for, df and idf."""

    terms: list[Terms]
    counts: Floats
    df: NDArray[np.int64]
    idf: Floats


class Lexical:
    """Ranks by shared words. df, the number of passages and the average length are those of all live passages."""

    def __init__(self, parts: Sequence[Part], analyzer: Analyzer, scoring: Scoring | None = None) -> None:
        self.parts = parts
        self.analyzer = analyzer
        self.scoring = scoring or Scoring()
        self._formula = FORMULAS[self.scoring.formula]
        self.size = sum(part.postings.size for part in parts)
        self.live = sum(part.live for part in parts)
        sums = np.sum([part.length_sums for part in parts], axis=0) if parts else np.zeros(len(FIELDS))
        total = sum(weight * int(length) for weight, length in zip(self.scoring.weights, sums, strict=True))
        self.average = total / self.live if self.live else 0.0
        self._vector_lengths: list[Floats] | None = None
        self._is_one_part = len(parts) == 1 and parts[0].dead is None
        self._by_size = sorted(range(len(parts)), key=lambda at: -parts[at].postings.size)
        self._of_parts: list[tuple[Any, ...] | None] = [None] * len(parts)
        self._known_gains: dict[tuple[int, int], tuple[NDArray[np.int32], Floats]] = {}
        self._room_for_gains = REMEMBERED_GAINS

    def rank(self, query: str | Asked, k: int, allowed: Mask | None = None) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them."""
        keys = self.analyzer.keys(query) if isinstance(query, str) else None
        coarsely = 0 < k <= COARSE_UP_TO and self._formula.gain is not gain_linear
        is_large = self._is_one_part and self.parts[0].postings.docs.size >= COMPILED_FROM
        if keys is not None and coarsely and is_large and compiled():
            return self._rank_one_part(keys, k, allowed)
        found = self._find(query) if keys is None else self._find_keys(keys)
        if coarsely and (compiled() or _is_worth_compiling(int(found.df.sum()))):
            return self._rank_coarsely(found, k, allowed)
        if coarsely and self.size >= SPARSE_FROM:
            return self._rank_sparsely(found, k, allowed)
        scores = self._scores(found, allowed)
        scores[scores <= 0] = -np.inf
        positions = top(scores, k)
        return Ranking(positions, scores[positions])

    def _rank_sparsely(self, found: Found, k: int, allowed: Mask | None) -> Ranking:
        """The same ranking at the cost of the postings, not of all passages; without numba."""
        weights = found.counts * found.idf
        matches = [self._matches(at, terms, weights, allowed) for at, terms in enumerate(found.terms)]
        positions = np.concatenate([np.zeros(0, np.int64), *(one.positions for one in matches)])
        scores = np.concatenate([np.zeros(0), *(one.scores for one in matches)])
        best = top(scores, k)
        return Ranking(positions[best], scores[best])

    def _matches(self, at: int, terms: Terms, weights: Floats, allowed: Mask | None) -> Ranking:
        """All that a part holds of these terms, in the order of positions, at the cost of their postings."""
        part = self.parts[at]
        if loops := compiled():
            places, scores = loops.matches(terms, weights, part.lists, self._numbers, part.alive(part.window(allowed)))
            return Ranking(places + part.offset, scores)
        docs, gains = [], []
        for start, end, weight in zip(terms.starts.tolist(), terms.ends.tolist(), weights.tolist(), strict=True):
            if start < end:
                held, gained = self._gains(part, slice(start, end), weight)
                docs.append(held)
                gains.append(gained)
        if not docs:
            return _NOTHING
        held, scores = docs[0], gains[0]
        if len(docs) > 1:
            held, number = np.unique(np.concatenate(docs), return_inverse=True)
            scores = np.bincount(number, np.concatenate(gains), len(held)).astype(np.float64)
        kept = scores > 0
        if part.dead is not None:
            kept &= ~part.dead[held]
        if allowed is not None:
            kept &= allowed[held + part.offset]
        return Ranking(held[kept] + part.offset, scores[kept])

    def is_alive(self, positions: Positions) -> Mask:
        alive = np.ones(len(positions), dtype=bool)
        for part in self.parts:
            if part.dead is not None:
                here, places = part.among(positions)
                alive[here] = ~part.dead[places]
        return alive

    def scores_at(self, terms: Asked, positions: Positions) -> Floats:
        """The score of some positions, 0 where nothing is shared or nothing is alive."""
        found = self._find(terms)
        if self._formula.gain is gain_linear:
            return self._scores(found, None)[positions]
        scores = np.zeros(len(positions))
        if compiled():
            for here, (gained, _) in self._look_at(found, positions):
                scores[here] = gained
        else:
            for weight, part, postings, here in self._postings_at(found, positions):
                scores[here] += self._gains(part, postings, weight)[1]
        return np.where(self.is_alive(positions), scores, 0.0)

    def held_at(self, terms: Asked, positions: Positions) -> Floats:
        """What share of all terms, weighed by their idf, the passage at each position holds."""
        found = self._find(terms)
        held = np.zeros(len(positions))
        if compiled():
            for here, (_, weight) in self._look_at(found, positions):
                held[here] = weight
        else:
            for one, _, _, here in self._postings_at(found, positions):
                held[here] += one
        return held / max(float((found.counts * found.idf).sum()), 1e-9)

    def _look_at(self, found: Found, positions: Positions) -> Iterator[tuple[NDArray[np.int64], tuple[Floats, Floats]]]:
        """Of each part, which of the positions lie in it, their scores, and what the terms weigh that they hold."""
        weights = found.counts * found.idf
        for part, terms in zip(self.parts, found.terms, strict=True):
            here, places = part.among(positions)
            if len(here):
                yield here, compiled().look_at(places, terms, weights, part.lists, self._numbers)

    def _postings_at(
        self, found: Found, positions: Positions
    ) -> Iterator[tuple[float, Part, NDArray[np.int64], NDArray[np.int64]]]:
        """The weight of each term, and where a part has it at these positions: among its postings, and at which."""
        weights = (found.counts * found.idf).tolist()
        for part, where in zip(self.parts, found.terms, strict=True):
            here, places = part.among(positions)
            for start, end, weight in zip(where.starts.tolist(), where.ends.tolist(), weights, strict=True):
                docs = part.postings.docs[start:end]
                at = np.searchsorted(docs, places)
                held = np.flatnonzero(at < len(docs))
                held = held[docs[at[held]] == places[held]]
                yield weight, part, start + at[held], here[held]

    def _gains(self, part: Part, postings: slice | NDArray[np.int64], weight: float) -> tuple[Positions, Floats]:
        """The passages of some postings of a term, and what each gains by it."""
        base, scale = self._norm
        docs = part.postings.docs[postings].astype(np.int64)
        tf = weighted_tf(part.postings.tfs[postings], self.scoring.weights)
        lengths = weighted_length(part.postings.lengths[docs], self.scoring.weights)
        gain = self._formula.gain(np.maximum(tf, 1e-300), base + scale * lengths, self.scoring.k1, self._formula.delta)
        return docs, np.where(tf > 0, weight * gain, 0.0)

    def _rank_one_part(self, keys: list[int], k: int, allowed: Mask | None) -> Ranking:
        """What `_rank_coarsely` gives, with all of it compiled."""
        part = self.parts[0]
        room = part.borrow_room()
        try:
            found = compiled().best_of_keys(
                np.array(keys, dtype=np.uint64), part.postings.keys, part.postings.starts,
                compiled().IDFS[self._formula.idf], self.live, self._prepared(0),
                k, max(STRIPES, k), ALL if allowed is None else allowed, room,
            )  # fmt: skip
        finally:
            part.return_room(room)
        return Ranking(*found)

    def _rank_coarsely(self, found: Found, k: int, allowed: Mask | None) -> Ranking:
        """The same ranking, faster: coarse gains leave a few passages that may be the best; those are scored."""
        weights = found.counts * found.idf
        ranking_loops = _NOTHING
        for at in self._by_size:
            part, terms = self.parts[at], found.terms[at]
            if int((terms.ends - terms.starts).sum()) <= FEW:
                ranking_loops = _merged(ranking_loops, self._matches(at, terms, weights, allowed), k)
                continue
            floor = float(ranking_loops.scores[k - 1]) if len(ranking_loops.scores) >= k else 0.0
            best = self._best_of_part(at, terms, weights, k, floor, part.alive(part.window(allowed)))
            ranking_loops = _merged(ranking_loops, best, k)
        return ranking_loops

    def _best_of_part(self, at: int, terms: Terms, weights: Floats, k: int, floor: float, alive: Mask) -> Ranking:
        """The best k of a part, ties with the last included; of those below the floor some may be missing."""
        from shortlist.index.kernels import ranking_loops  # noqa: PLC0415  # numba: only when there is work for it

        part = self.parts[at]
        room = part.borrow_room()
        try:
            places, scores = ranking_loops.best(
                terms, weights, self._prepared(at), floor, k, max(STRIPES, k), alive, room
            )
        finally:
            part.return_room(room)
        return Ranking(places + part.offset, scores)

    def _prepared(self, at: int) -> tuple[Any, ...]:
        """What `ranking.best` is told of a part whatever the query."""
        prepared = self._of_parts[at]
        if prepared is None:
            scoring, scale = self.scoring, self._norm[1]
            impacts = self.parts[at].impacts(scoring, self.average)
            prepared = self._of_parts[at] = (
                self.parts[at].lists,
                (impacts.values, impacts.frequent),
                (impacts.maxima, impacts.skips, impacts.packed),
                self._numbers,
                self._formula.ceiling(scoring.k1) / 255,
                impacts.scale / scale if scale else 1.0,
            )
        return prepared

    @cached_property
    def _numbers(self) -> tuple[Any, ...]:
        """What the compiled loops are told of the formula."""
        from shortlist.index.kernels import ranking_loops  # noqa: PLC0415  # numba: only when there is work for it

        base, scale = self._norm
        return (
            self.scoring.weights,
            base,
            scale,
            ranking_loops.CODES[self._formula.gain],
            self.scoring.k1,
            self._formula.delta,
        )

    @property
    def _norm(self) -> tuple[float, float]:
        return norm(self.scoring, self.average)

    def scores(self, terms: Asked, allowed: Mask | None = None) -> Floats:
        """The score of every position, 0 where nothing is shared, nothing is alive or nothing is allowed."""
        return self._scores(self._find(terms), allowed)

    def _scores(self, found: Found, allowed: Mask | None) -> Floats:
        scores = np.zeros(self.size)
        if not found.df.any():
            return scores
        weights = found.counts * found.idf
        if self._formula.gain is gain_linear:
            known = np.where(found.df > 0, weights, 0.0)
            weights = known / np.sqrt(np.square(known).sum()) * found.idf
        for at, (part, terms) in enumerate(zip(self.parts, found.terms, strict=True)):
            if not (terms.ends > terms.starts).any():
                continue
            here = scores[part.offset : part.offset + part.postings.size]
            self._accumulate(here, part, terms, weights, self._lengths(at))
            if part.dead is not None:
                here[part.dead] = 0.0
        if allowed is not None:
            scores[~allowed] = 0.0
        return scores

    def ideal(self, terms: Asked) -> float:
        """What a passage would score at most that holds all these terms, those that no passage holds included."""
        found = self._find(terms)
        ceiling = self._formula.ceiling(self.scoring.k1)
        return 1.0 if ceiling == math.inf else float((found.counts * found.idf).sum() * ceiling)

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """How many live passages hold each of these terms."""
        distinct = list(dict.fromkeys(terms))
        return dict(zip(distinct, self._find(distinct).df.tolist(), strict=True))

    def knows(self, terms: Asked) -> bool:
        """Whether any of these terms occurs at all."""
        return bool(self._find(terms).df.any())

    def named(self, query: str) -> Positions:
        """Positions of passages whose name stands in the query, word for word."""
        keys = np.array(list(asked_names(query)), dtype=np.uint64)
        found = []
        for part in self.parts:
            names = part.postings.name_keys
            first, last = np.searchsorted(names, keys), np.searchsorted(names, keys, side="right")
            hits = np.flatnonzero(last > first)
            docs = [part.postings.name_docs[first[hit] : last[hit]] for hit in hits.tolist()]
            if docs:
                at = np.unique(np.concatenate(docs)).astype(np.int64)
                found.append((at if part.dead is None else at[~part.dead[at]]) + part.offset)
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _find(self, terms: Asked) -> Found:
        if not isinstance(terms, Mapping):
            return self._find_keys(map(term_key, terms))
        keys = np.array([term_key(term) for term in terms], dtype=np.uint64)
        return self._weigh(keys, np.array(list(terms.values()), dtype=np.float64))

    def _find_keys(self, keys: Iterable[int]) -> Found:
        counts: dict[int, int] = {}
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
        return self._weigh(np.array(list(counts), dtype=np.uint64), np.array(list(counts.values()), dtype=np.float64))

    def _weigh(self, keys: NDArray[np.uint64], counts: Floats) -> Found:
        terms = [part.find(keys) for part in self.parts]
        counted = [part.live_df(here) for part, here in zip(self.parts, terms, strict=True)]
        df = np.zeros(len(keys), np.int64)
        for part_df in counted:
            df += part_df
        idf = np.array([self._formula.idf(self.live, n) if self.live else 0.0 for n in df.tolist()], dtype=np.float64)
        return Found(terms, counts, df, idf)

    def _lengths(self, at: int) -> Floats:
        """What normalises part `at`: lengths of passages in words or, for cosine, of their vectors."""
        if self._formula.gain is not gain_linear:
            return self.parts[at].weighted_lengths(self.scoring.weights)
        if self._vector_lengths is None:
            self._vector_lengths = self._measure_vectors()
        return self._vector_lengths[at]

    def _measure_vectors(self) -> list[Floats]:
        """Every passage's length as a tf-idf vector: a pass over all postings, once a snapshot."""
        keys = np.unique(np.concatenate([part.postings.keys for part in self.parts]))
        found = self._weigh(keys, np.ones(len(keys)))
        lengths = []
        for part, terms in zip(self.parts, found.terms, strict=True):
            times = terms.ends - terms.starts
            weights = weighted_tf(part.postings.tfs, self.scoring.weights) * np.repeat(found.idf, times)
            lengths.append(np.sqrt(np.bincount(part.postings.docs, np.square(weights), part.postings.size)))
        return lengths

    def _accumulate(self, scores: Floats, part: Part, terms: Terms, weights: Floats, lengths: Floats) -> None:
        scoring, formula = self.scoring, self._formula
        base, scale = self._norm
        docs, tfs = part.postings.docs, part.postings.tfs
        _, starts, ends = terms
        if compiled() or int((ends - starts).sum()) >= COMPILED_FROM:
            from shortlist.index.kernels import ranking_loops  # noqa: PLC0415  # numba: only when there is work for it

            ranking_loops.accumulate(
                scores, docs, tfs, lengths, starts, ends, weights, scoring.weights,
                base, scale, ranking_loops.CODES[formula.gain], scoring.k1, formula.delta,
            )  # fmt: skip
            return
        for start, end, weight in zip(starts.tolist(), ends.tolist(), weights.tolist(), strict=True):
            if start == end:
                continue
            known = self._known_gains.get((part.offset, start))
            if known is None:
                at = docs[start:end]
                tf = weighted_tf(tfs[start:end], scoring.weights)
                if not tf.all():
                    at, tf = at[tf > 0], tf[tf > 0]
                known = at, formula.gain(tf, base + scale * lengths[at], scoring.k1, formula.delta)
                self._remember((part.offset, start), known)
            at, gains = known
            scores[at] += weight * gains

    def _remember(self, term: tuple[int, int], gains: tuple[NDArray[np.int32], Floats]) -> None:
        """Keep what a term gains, the same for every query to this state, as long as there is room."""
        if len(gains[1]) <= self._room_for_gains:
            self._room_for_gains -= len(gains[1])
            self._known_gains[term] = gains
