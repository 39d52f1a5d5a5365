"""The lexical ranker over the postings of all segments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index import kernels
from shortlist.index.kernels import formulas
from shortlist.index.lexical.bm25 import FIELDS, FORMULAS, Scoring
from shortlist.index.lexical.indexing import NAME_WORDS
from shortlist.index.lexical.live_postings import ALL, Part, Terms, kernel_numbers, mask_live
from shortlist.index.text.analyzers import STOP_WORDS, Analyzer, name_words, span_keys, term_key
from shortlist.index.text.query_terms import Asked, QueryTerms
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions

# With less work, numpy finishes a query before numba would even be imported. A posting is 1 unit of work, and so are
# PASSAGES passages, because numpy gives each of them a score. After COMPILED_AFTER units in all, numba is loaded too.
COMPILED_FROM = 200_000
COMPILED_AFTER = 20 * COMPILED_FROM
PASSAGES = 10

CACHED_GAINS = 2_000_000  # 12 bytes each
COARSE_UP_TO = 1_000  # more hits are found by scoring everything
STRIPES = 16  # runs of blocks whose best are read first, to learn what the others must reach

_work_without_numba = 0


def _is_worth_compiling(work: int) -> bool:
    global _work_without_numba
    _work_without_numba += work
    return work >= COMPILED_FROM or _work_without_numba >= COMPILED_AFTER


def loaded_loops() -> Any:
    """The compiled loops if they are loaded; None while another thread is loading them."""
    return vars(kernels).get("ranking_loops")


def top(scores: Floats, k: int) -> Positions:
    """Places of the k best scores above minus infinity and of all that tie with the last, best first, then by place."""
    cut = len(scores) - k
    least = -np.inf
    if cut > 0:
        least = np.partition(scores, cut)[cut] if k else np.inf
    found = np.flatnonzero(scores >= least if least > -np.inf else scores > -np.inf)
    return found[np.argsort(-scores[found], kind="stable")].astype(np.int64, copy=False)


def find_name_keys(query: str) -> set[int]:
    """The keys of all names that a query may contain; a stop word ("it", "no") counts only if it is the whole query."""
    return set(_find_name_keys(query).tolist())


def _find_name_keys(query: str) -> NDArray[np.uint64]:
    words = name_words(query)
    can_be_name = [word not in STOP_WORDS or len(words) == 1 for word in words]
    if not words or not loaded_loops():
        runs = span_keys(words, NAME_WORDS)
        return np.array([key for start, end, key in runs if end - start > 1 or can_be_name[start]], dtype=np.uint64)
    buffer = np.frombuffer(bytearray(" ".join(words).encode("utf-8", "replace")), np.uint8)
    lengths = [len(word) if word.isascii() else len(word.encode("utf-8", "replace")) for word in words]
    ends = np.array([*accumulate(lengths, lambda end, length: end + 1 + length)])
    firsts, lasts = _runs_of(len(words))
    keys: NDArray[np.uint64] = kernels.text_loops.hash_spans(buffer, (ends - lengths)[firsts], ends[lasts])
    return keys if all(can_be_name) else keys[can_be_name + [True] * (len(keys) - len(words))]


@lru_cache(maxsize=64)
def _runs_of(words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last of each run of words that may be a name; the runs of one word come first."""
    runs = [(start, start + more) for more in range(NAME_WORDS) for start in range(words - more)]
    firsts, lasts = np.array(runs, dtype=np.int64).T
    return firsts, lasts


class Found(NamedTuple):
    """The terms of a query: where they are in each part, their df, and their weights (idf times count)."""

    terms: list[Terms]
    df: NDArray[np.int64]
    idf: Floats
    weights: Floats


class FoundTerms(dict[str, float]):
    """The terms of a query with their counts or weights, and where they are in one index."""

    def __init__(self, terms: Mapping[str, float], found: Found) -> None:
        super().__init__(terms)
        self.found = found


class Lexical:
    """Ranks by shared terms. df, the number of passages and the average length are those of all live passages."""

    def __init__(self, parts: Sequence[Part], analyzer: Analyzer, scoring: Scoring | None = None) -> None:
        self.parts, self.analyzer, self.scoring = parts, analyzer, scoring or Scoring()
        self._formula = FORMULAS[self.scoring.formula]
        self.size = sum(part.postings.size for part in parts)
        self.live = sum(part.live for part in parts)
        sums = np.sum([part.length_sums for part in parts], axis=0) if parts else np.zeros(len(FIELDS))
        total = sum(weight * int(length) for weight, length in zip(self.scoring.weights, sums, strict=True))
        self.average = total / self.live if self.live else 0.0
        self._is_one_part = len(parts) == 1 and parts[0].dead is None
        self._by_size = sorted(range(len(parts)), key=lambda at: -parts[at].postings.size)
        self._prepared: list[tuple[Any, ...] | None] = [None] * len(parts)
        self._gains: dict[tuple[int, int], tuple[NDArray[np.int32], Floats]] = {}
        self._room_for_gains = CACHED_GAINS

    def rank(self, query: str | Asked, k: int, allowed: Mask | None = None) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them."""
        keys = self.analyzer.keys(query) if isinstance(query, str) else None
        can_be_coarse = 0 < k <= COARSE_UP_TO and not self._formula.is_cosine
        is_large = self._is_one_part and self.parts[0].postings.docs.size >= COMPILED_FROM
        if keys is not None and can_be_coarse and is_large and loaded_loops():
            return self._rank_one_part(keys, k, allowed)
        found = self._find(query) if keys is None else self._weigh(Counter(keys))
        if can_be_coarse and (loaded_loops() or _is_worth_compiling(int(found.df.sum()) + self.size // PASSAGES)):
            return self._rank_coarsely(found, k, allowed)
        scores = self._scores(found, allowed)
        scores[scores <= 0] = -np.inf
        positions = top(scores, k)
        return Ranking(positions, scores[positions])

    def _rank_one_part(self, keys: list[int], k: int, allowed: Mask | None) -> Ranking:
        """The result of `_rank_coarsely`, with all of it compiled."""
        part = self.parts[0]
        workspace = part.borrow_workspace()
        best = kernels.ranking_loops.best_of_keys(
            np.array(keys, dtype=np.uint64), part.postings.keys, part.postings.starts,
            formulas.IDFS.index(self._formula.idf), self.live, self._prepare(0),
            k, max(STRIPES, k), ALL if allowed is None else allowed, workspace,
        )  # fmt: skip
        part.workspaces.append(workspace)
        return Ranking(*best)

    def _rank_coarsely(self, found: Found, k: int, allowed: Mask | None) -> Ranking:
        """The same ranking, faster: bounds leave a few passages that may be the best, and only those are scored."""
        positions, scores = np.zeros(0, np.int64), np.zeros(0)
        for at in self._by_size:
            part, terms = self.parts[at], found.terms[at]
            if (terms.starts == terms.ends).all():
                continue
            least = float(scores[k - 1]) if len(scores) >= k else 0.0
            live = mask_live(part.dead, None if allowed is None else allowed[part.span])
            workspace = part.borrow_workspace()
            best = kernels.ranking_loops.best(
                tuple(terms), found.weights, self._prepare(at), least, k, max(STRIPES, k),
                ALL if live is None else live, workspace,
            )  # fmt: skip
            part.workspaces.append(workspace)
            positions, scores = np.concatenate([positions, best[0] + part.offset]), np.concatenate([scores, best[1]])
            order = np.lexsort((positions, -scores))
            if len(order) > k:
                order = order[scores[order] >= scores[order[k - 1]]]
            positions, scores = positions[order], scores[order]
        return Ranking(positions, scores)

    def _prepare(self, at: int) -> tuple[Any, ...]:
        """The arguments of `ranking_loops.best` that depend on the part and not on the query."""
        prepared = self._prepared[at]
        if prepared is None:
            part, scale = self.parts[at], self._numbers[2]
            impacts = part.impacts(self.scoring, self.average)
            tables = (impacts.values, impacts.frequent), (impacts.maxima, impacts.skips, impacts.packed)
            step, drift = self._formula.ceiling(self.scoring.k1) / 255, impacts.scale / scale if scale else 1.0
            prepared = self._prepared[at] = (part.lists, *tables, self._numbers, step, drift)
        return prepared

    @cached_property
    def _numbers(self) -> tuple[Any, ...]:
        return kernel_numbers(self.scoring, self.average)

    @property
    def _needs_numpy(self) -> bool:
        return self._formula.is_cosine or not loaded_loops()

    def scores_at(self, terms: Asked, positions: Positions) -> Floats:
        """The score of some positions, 0 for a passage that has none of the terms or is deleted."""
        found = self._find(terms)
        return self._scores(found, None)[positions] if self._needs_numpy else self._look_at(found, positions)[0]

    def held_at(self, terms: Asked, positions: Positions) -> Floats:
        """The share of all terms, weighted by their idf, that the passage at each position has."""
        found = self._find(terms)
        if self._needs_numpy:
            held = self._sum(found.terms, found.weights, with_gains=False)[positions]
        else:
            held = self._look_at(found, positions)[1]
        return held / max(float(found.weights.sum()), 1e-9)

    def _look_at(self, found: Found, positions: Positions) -> tuple[Floats, Floats]:
        """The score of each position, and the weight of the terms that its passage has."""
        scores, held = np.zeros(len(positions)), np.zeros(len(positions))
        for part, terms in zip(self.parts, found.terms, strict=True):
            here, places = part.locate(positions)
            if len(here):
                gained = kernels.ranking_loops.look_at(places, tuple(terms), found.weights, part.lists, self._numbers)
                scores[here], held[here] = gained
                if part.dead is not None:
                    scores[here[part.dead[places]]] = 0.0
        return scores, held

    def scores(self, terms: Asked, allowed: Mask | None = None) -> Floats:
        """The score of every position, 0 for a passage that has none of the terms, is deleted or is not allowed."""
        return self._scores(self._find(terms), allowed)

    def _scores(self, found: Found, allowed: Mask | None) -> Floats:
        if not found.df.any():
            return np.zeros(self.size)
        weights = found.weights
        if self._formula.is_cosine:
            known = np.where(found.df > 0, weights, 0.0)
            weights = known / np.sqrt(np.square(known).sum()) * found.idf
        scores = self._sum(found.terms, weights)
        for part in self.parts:
            if part.dead is not None:
                scores[part.span][part.dead] = 0.0
        if allowed is not None:
            scores[~allowed] = 0.0
        return scores

    def _sum(self, terms: list[Terms], weights: Floats, *, with_gains: bool = True) -> Floats:
        """For every position the sum of the weights of its terms, each times its gain."""
        sums = np.zeros(self.size)
        for part, (_, starts, ends) in zip(self.parts, terms, strict=True):
            here = sums[part.span]
            for start, end, weight in zip(starts.tolist(), ends.tolist(), weights.tolist(), strict=True):
                if start < end and with_gains:
                    docs, gains = self._gains.get((part.offset, start)) or self._compute_gains(part, start, end)
                    here[docs] += weight * gains
                elif start < end:
                    here[part.postings.docs[start:end]] += weight
        return sums

    def _compute_gains(self, part: Part, start: int, end: int) -> tuple[NDArray[np.int32], Floats]:
        """The passages that gain from these postings of a term, and their gains, cached while there is room."""
        _, base, scale, _, k1, delta = self._numbers
        docs, tf = (
            part.postings.docs[start:end],
            formulas.weighted_tf(part.postings.tfs[start:end], self.scoring.weights),
        )
        if not tf.all():
            docs, tf = docs[tf > 0], tf[tf > 0]
        lengths = self._vector_lengths[part.offset] if self._formula.is_cosine else part.weighted_lengths(self.scoring)
        gains = docs, self._formula.gain(tf, base + scale * lengths[docs], k1, delta)
        if len(docs) <= self._room_for_gains:
            self._room_for_gains -= len(docs)
            self._gains[part.offset, start] = gains
        return gains

    @cached_property
    def _vector_lengths(self) -> dict[int, Floats]:
        """The length of every passage as a tf-idf vector, by the offsets of parts: one pass over all postings."""
        keys = np.unique(np.concatenate([part.postings.keys for part in self.parts]))
        found = self._weigh(dict.fromkeys(keys.tolist(), 1.0))
        lengths = {}
        for part, terms in zip(self.parts, found.terms, strict=True):
            weights = formulas.weighted_tf(part.postings.tfs, self.scoring.weights)
            weights = weights * np.repeat(found.idf, terms.ends - terms.starts)
            lengths[part.offset] = np.sqrt(np.bincount(part.postings.docs, np.square(weights), part.postings.size))
        return lengths

    def ideal(self, terms: Asked) -> float:
        """The most that a passage with all these terms could score, including terms that are in no passage."""
        ceiling = self._formula.ceiling(self.scoring.k1)
        return 1.0 if ceiling == math.inf else float(self._find(terms).weights.sum() * ceiling)

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """The number of live passages that have each of these terms."""
        distinct = list(dict.fromkeys(terms))
        return dict(zip(distinct, self._find(distinct).df.tolist(), strict=True))

    def knows(self, terms: Asked) -> bool:
        """Whether any passage has any of these terms."""
        return bool(self._find(terms).df.any())

    def named(self, query: str) -> Positions:
        """Positions of passages whose name occurs in the query, word for word."""
        keys = _find_name_keys(query)
        return np.array([doc + part.offset for part in self.parts for doc in part.find_names(keys)], dtype=np.int64)

    def find(self, query: QueryTerms) -> tuple[FoundTerms, FoundTerms]:
        """The terms of a query, looked up once for all other methods: by their weights, and by their counts."""
        found = self._find(query.weights)
        counted = found._replace(weights=np.array(list(query.counts.values()), dtype=np.float64) * found.idf)
        return FoundTerms(query.weights, found), FoundTerms(query.counts, counted)

    def _find(self, terms: Asked) -> Found:
        if isinstance(terms, FoundTerms):
            return terms.found
        counts = terms if isinstance(terms, Mapping) else Counter(terms)
        return self._weigh({term_key(term): count for term, count in counts.items()})

    def _weigh(self, counts: Mapping[int, float]) -> Found:
        """Where the terms with these keys are, and their weights; each counts as often as given."""
        keys = np.array(list(counts), dtype=np.uint64)
        terms = [part.find(keys) for part in self.parts]
        df = np.zeros(len(keys), np.int64)
        for part, here in zip(self.parts, terms, strict=True):
            df += part.live_df(here)
        idf = np.array([self._formula.idf(self.live, n) if self.live else 0.0 for n in df.tolist()], dtype=np.float64)
        return Found(terms, df, idf, np.array(list(counts.values()), dtype=np.float64) * idf)
