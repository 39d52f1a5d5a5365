"""Which passages hold these words? The ranker over the postings of all segments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shortlist.index.formulas import FIELDS, FORMULAS, Formula, Scoring, gain_linear
from shortlist.index.postings import NAME_WORDS, Postings, weighted_tf
from shortlist.index.tokens import STOP_WORDS, Analyzer, name_words, term_key
from shortlist.types import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.types import Floats, Mask, Positions

# Below this many postings a query is done by numpy before numba would even be imported.
COMPILED_FROM = 200_000

# More hits than this are found by scoring everything exactly.
COARSE_UP_TO = 1_000


def top(scores: Floats, k: int) -> Positions:
    """Places of the k best scores above minus infinity and of all that tie with the last, best first, then by place."""
    found = np.flatnonzero(scores > -np.inf)
    if len(found) > k:
        values = scores[found]
        least = np.partition(values, len(values) - k)[len(values) - k] if k else np.inf
        found = found[values >= least]
    return found[np.argsort(-scores[found], kind="stable")].astype(np.int64)


class Part:
    """Postings in a snapshot: which of their passages are dead, and where they begin among all positions."""

    def __init__(self, postings: Postings, offset: int = 0) -> None:
        self.postings = postings
        self.offset = offset
        self.dead: Mask | None = None
        self.live = postings.size
        self.length_sums: NDArray[np.int64] = postings.lengths.sum(axis=0, dtype=np.int64)
        self._weighted: dict[tuple[float, ...], Floats] = {}
        self._impacts: dict[Scoring, Impacts] = {}
        self._scratch: list[tuple[NDArray[np.float32], NDArray[np.int32]]] = []

    def without(self, gone: NDArray[np.int64], offset: int | None = None) -> Part:
        """The same part with more of its passages dead, at the cost of those."""
        part = copy(self)
        part.offset = self.offset if offset is None else offset
        if len(gone):
            part.dead = np.zeros(self.postings.size, dtype=bool) if self.dead is None else self.dead.copy()
            gone = gone[~part.dead[gone]]
            part.dead[gone] = True
            part.live = self.live - len(gone)
            part.length_sums = self.length_sums - self.postings.lengths[gone].sum(axis=0, dtype=np.int64)
        return part

    def find(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the postings of each key start and end; an absent key's are empty."""
        postings = self.postings
        if not len(postings.keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        at = np.minimum(np.searchsorted(postings.keys, keys), len(postings.keys) - 1)
        known = postings.keys[at] == keys
        starts = postings.starts[at]
        return starts, np.where(known, postings.starts[at + 1], starts)

    def live_df(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
        df = ends - starts
        if self.dead is not None:
            docs = self.postings.docs
            gone = [self.dead[docs[s:e]].sum() for s, e in zip(starts, ends, strict=True)]
            df = df - np.array(gone, dtype=np.int64)
        return df

    def weighted_lengths(self, weights: tuple[float, float, float]) -> Floats:
        if weights not in self._weighted:
            lengths = self.postings.lengths.astype(np.float64)
            self._weighted[weights] = lengths @ np.array(weights, dtype=np.float64)
        return self._weighted[weights]

    def alive(self, allowed: Mask | None) -> Mask:
        """Which passages may be found; empty if all may."""
        if self.dead is None:
            return _ALL if allowed is None else allowed
        return ~self.dead if allowed is None else allowed & ~self.dead

    def impacts(self, formula: Formula, scoring: Scoring, base: float, scale: float) -> Impacts:
        """Coarse gains of the postings; the same ones until the average length has changed much."""
        known = self._impacts.get(scoring)
        if known is None or not 0.95 * scale <= known.scale <= 1.05 * scale:
            known = self._impacts[scoring] = Impacts(self, formula, scoring, base, scale)
        return known

    @contextmanager
    def scratch(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int32]]]:
        """Room for a score and a number of each passage, used again by the next query."""
        try:
            room = self._scratch.pop()
        except IndexError:
            room = np.empty(self.postings.size, np.float32), np.empty(self.postings.size, np.int32)
        yield room
        self._scratch.append(room)


_ALL = np.zeros(0, dtype=bool)


class Impacts:
    """The gain of each posting in a byte, rounded up; a term's are computed when it is first asked for."""

    def __init__(self, part: Part, formula: Formula, scoring: Scoring, base: float, scale: float) -> None:
        from shortlist.index import kernel  # noqa: PLC0415  # numba: only when there is work for it

        self.code = kernel.CODES[formula.gain]
        self.ceiling = formula.ceiling(scoring.k1)
        self.scale = scale
        self.values = np.empty(len(part.postings.docs), dtype=np.uint8)
        self._ready: set[int] = set()
        numbers = (scoring.weights, base, scale, self.code, scoring.k1, formula.delta, self.ceiling)
        postings, lengths = part.postings, part.weighted_lengths(scoring.weights)
        self._quantise: Callable[[int, int], None] = lambda start, end: kernel.quantise(
            self.values, postings.docs, postings.tfs, lengths, start, end, *numbers
        )

    def prepare(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """See to it that the impacts of these terms are there."""
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if start not in self._ready:
                self._quantise(start, end)
                self._ready.add(start)


class Found(NamedTuple):
    """The terms of a query: where their postings lie in each part, how often each was asked for, df and idf."""

    ranges: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
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

    def rank(self, query: str, k: int, allowed: Mask | None = None) -> Ranking:
        found = self._find(self.analyzer.terms(query))
        work = sum(int((ends - starts).sum()) for starts, ends in found.ranges)
        if work >= COMPILED_FROM and 0 < k <= COARSE_UP_TO and self._formula.gain is not gain_linear:
            return self._rank_coarsely(found, k, allowed)
        scores = self._scores(found, allowed)
        scores[scores <= 0] = -np.inf
        positions = top(scores, k)
        return Ranking(positions, scores[positions])

    def _rank_coarsely(self, found: Found, k: int, allowed: Mask | None) -> Ranking:
        """The same ranking, faster: coarse sums leave a few passages that may be the best, which are scored exactly."""
        from shortlist.index import kernel  # noqa: PLC0415  # numba: only when there is work for it

        scoring, (base, scale) = self.scoring, self._norm
        weights = found.counts * found.idf
        positions, scores = np.zeros(0, np.int64), np.zeros(0)
        floor = 0.0
        for at in sorted(range(len(self.parts)), key=lambda at: -self.parts[at].postings.size):
            part, (starts, ends) = self.parts[at], found.ranges[at]
            postings = part.postings
            impacts = part.impacts(self._formula, scoring, base, scale)
            held = np.flatnonzero((ends > starts) & (weights > 0))
            impacts.prepare(starts[held], ends[held])
            drift = impacts.scale / scale if scale else 1.0
            steps = (weights[held] * impacts.ceiling / 255 * max(1.0, drift) * 1.0001).astype(np.float32)
            window = None if allowed is None else allowed[part.offset : part.offset + postings.size]
            with part.scratch() as (most, places):
                count = kernel.shortlist(
                    postings.docs, impacts.values, starts[held], ends[held], steps,
                    np.float32(0.9998 * min(1.0, drift) / max(1.0, drift)), np.float32(floor), postings.size,
                    part.alive(window), np.empty(k, dtype=np.float32), places, most,
                )  # fmt: skip
                places, most = places[:count].copy(), most[:count].copy()
            scored, exact = kernel.settle(
                places, most, k, postings.docs, postings.tfs, part.weighted_lengths(scoring.weights), starts, ends,
                weights, scoring.weights, base, scale, impacts.code, scoring.k1, self._formula.delta,
            )  # fmt: skip
            positions = np.concatenate([positions, places[scored].astype(np.int64) + part.offset])
            scores = np.concatenate([scores, exact])
            if len(scores) >= k:
                floor = float(np.partition(scores, -k)[-k]) * 0.9998
        by_place = np.argsort(positions)
        positions, scores = positions[by_place], scores[by_place]
        best = top(scores, k)
        return Ranking(positions[best], scores[best])

    @property
    def _norm(self) -> tuple[float, float]:
        """What a length is multiplied by and added to before it normalises a count."""
        if self._formula.gain is gain_linear:
            return 0.0, 1.0
        return 1.0 - self.scoring.b, self.scoring.b / (self.average or 1.0)

    def scores(self, terms: Sequence[str], allowed: Mask | None = None) -> Floats:
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
        for at, (part, (starts, ends)) in enumerate(zip(self.parts, found.ranges, strict=True)):
            here = scores[part.offset : part.offset + part.postings.size]
            self._accumulate(here, part, starts, ends, weights, self._lengths(at))
            if part.dead is not None:
                here[part.dead] = 0.0
        if allowed is not None:
            scores[~allowed] = 0.0
        return scores

    def ideal(self, terms: Sequence[str]) -> float:
        """What a passage would score at most that holds all these terms, those that no passage holds included."""
        found = self._find(terms)
        ceiling = self._formula.ceiling(self.scoring.k1)
        return 1.0 if ceiling == math.inf else float((found.counts * found.idf).sum() * ceiling)

    def knows(self, terms: Sequence[str]) -> bool:
        """Whether any of these terms occurs at all."""
        return bool(self._find(terms).df.any())

    def named(self, query: str) -> Positions:
        """Positions of passages whose name stands in the query, word for word.

        A name that is a mere stop word ("it", "no") must be all of the query.
        """
        asked = name_words(query)
        spans = {
            " ".join(asked[start:end])
            for start in range(len(asked))
            for end in range(start + 1, min(start + NAME_WORDS, len(asked)) + 1)
            if end - start > 1 or asked[start] not in STOP_WORDS or len(asked) == 1
        }
        keys = np.array([term_key(span) for span in spans], dtype=np.uint64)
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

    def _find(self, terms: Sequence[str]) -> Found:
        counts = Counter(terms)
        keys = np.array([term_key(term) for term in counts], dtype=np.uint64)
        return self._weigh(keys, np.array(list(counts.values()), dtype=np.float64))

    def _weigh(self, keys: NDArray[np.uint64], counts: Floats) -> Found:
        ranges = [part.find(keys) for part in self.parts]
        df = np.zeros(len(keys), dtype=np.int64)
        for part, (starts, ends) in zip(self.parts, ranges, strict=True):
            df += part.live_df(starts, ends)
        idf = np.array([self._formula.idf(self.live, n) if self.live else 0.0 for n in df.tolist()], dtype=np.float64)
        return Found(ranges, counts, df, idf)

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
        for part, (starts, ends) in zip(self.parts, found.ranges, strict=True):
            weights = weighted_tf(part.postings.tfs, self.scoring.weights) * np.repeat(found.idf, ends - starts)
            lengths.append(np.sqrt(np.bincount(part.postings.docs, np.square(weights), part.postings.size)))
        return lengths

    def _accumulate(
        self,
        scores: Floats,
        part: Part,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        idf: Floats,
        lengths: Floats,
    ) -> None:
        scoring, formula = self.scoring, self._formula
        base, scale = self._norm
        docs, tfs = part.postings.docs, part.postings.tfs
        if int((ends - starts).sum()) >= COMPILED_FROM:
            from shortlist.index import kernel  # noqa: PLC0415  # numba: only when there is work for it

            code = kernel.CODES[formula.gain]
            kernel.accumulate(
                scores,
                docs,
                tfs,
                lengths,
                starts,
                ends,
                idf,
                scoring.weights,
                base,
                scale,
                code,
                scoring.k1,
                formula.delta,
            )
            return
        for start, end, weight in zip(starts.tolist(), ends.tolist(), idf.tolist(), strict=True):
            at = docs[start:end]
            tf = weighted_tf(tfs[start:end], scoring.weights)
            if not tf.all():
                at, tf = at[tf > 0], tf[tf > 0]
            scores[at] += weight * formula.gain(tf, base + scale * lengths[at], scoring.k1, formula.delta)
