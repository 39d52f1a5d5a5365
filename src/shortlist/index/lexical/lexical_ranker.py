"""The lexical ranker over the postings of all segments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index import kernels
from shortlist.index.kernels import formulas
from shortlist.index.lexical.bm25 import FIELDS, FORMULAS, Scoring
from shortlist.index.lexical.bounds import kernel_numbers
from shortlist.index.lexical.live_postings import ALL, Part, Terms
from shortlist.index.lexical.postings import NAME_WORDS
from shortlist.index.text.analyzers import STOP_WORDS, Analyzer, name_words, span_keys, term_key
from shortlist.index.text.query_terms import Asked
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions

# Below this much work numpy finishes a query before numba would even be imported. A posting is 1 unit of work, and so
# are PASSAGES passages, each of which numpy gives a score.
COMPILED_FROM = 200_000
PASSAGES = 10

# After this much work in all, numba is loaded anyway: it would have been faster.
COMPILED_AFTER = 20 * COMPILED_FROM

# Gains that are stored from query to query: 12 bytes each.
REMEMBERED_GAINS = 2_000_000

# More hits than this are found by scoring everything.
COARSE_UP_TO = 1_000

# Runs of blocks whose best are looked into first, to learn what the others must reach.
STRIPES = 16

_done_without = 0  # work that this process has done without numba


def _is_worth_compiling(work: int) -> bool:
    global _done_without
    _done_without += work
    return work >= COMPILED_FROM or _done_without >= COMPILED_AFTER


def loaded_loops() -> Any:
    """The compiled loops if they are loaded; None while another thread is loading them."""
    return vars(kernels).get("ranking_loops")


def top(scores: Floats, k: int) -> Positions:
    """Places of the k best scores above minus infinity and of all that tie with the last, best first, then by place."""
    found = np.flatnonzero(scores > -np.inf)
    if len(found) > k:
        values = scores[found]
        least = np.partition(values, len(values) - k)[len(values) - k] if k else np.inf
        found = found[values >= least]
    return found[np.argsort(-scores[found], kind="stable")].astype(np.int64)


def asked_names(query: str) -> set[int]:
    """The keys of all names that a query may contain; a stop word ("it", "no") counts only if it is the whole query."""
    asked = name_words(query)
    alone = [word not in STOP_WORDS or len(asked) == 1 for word in asked]
    if not asked or not loaded_loops():
        return {key for start, end, key in span_keys(asked, NAME_WORDS) if end - start > 1 or alone[start]}
    encoded = [word.encode("utf-8", "replace") for word in asked]
    ends = np.cumsum([len(word) + 1 for word in encoded]) - 1
    starts = np.concatenate([[0], ends[:-1] + 1])
    lasts = np.arange(len(asked))[:, None] + np.arange(NAME_WORDS)  # of the runs that begin with each word
    is_run = lasts < len(asked)
    is_run[:, 0] &= alone
    buffer = np.frombuffer(bytearray(b" ".join(encoded)), np.uint8)
    return set(kernels.text_loops.hash_spans(buffer, starts[np.nonzero(is_run)[0]], ends[lasts[is_run]]).tolist())


class Found(NamedTuple):
    """The terms of a query: where they are in each part, their df, and their weights (idf times count)."""

    terms: list[Terms]
    df: NDArray[np.int64]
    idf: Floats
    weights: Floats


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
        self._is_one_part = len(parts) == 1 and parts[0].dead is None
        self._by_size = sorted(range(len(parts)), key=lambda at: -parts[at].postings.size)
        self._of_parts: list[tuple[Any, ...] | None] = [None] * len(parts)
        self._known_gains: dict[tuple[int, int], tuple[NDArray[np.int32], Floats]] = {}
        self._room_for_gains = REMEMBERED_GAINS

    def rank(self, query: str | Asked, k: int, allowed: Mask | None = None) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them."""
        keys = self.analyzer.keys(query) if isinstance(query, str) else None
        coarsely = 0 < k <= COARSE_UP_TO and not self._formula.is_cosine
        is_large = self._is_one_part and self.parts[0].postings.docs.size >= COMPILED_FROM
        if keys is not None and coarsely and is_large and loaded_loops():
            return self._rank_one_part(keys, k, allowed)
        found = self._find(query) if keys is None else self._weigh(Counter(keys))
        if coarsely and (loaded_loops() or _is_worth_compiling(int(found.df.sum()) + self.size // PASSAGES)):
            return self._rank_coarsely(found, k, allowed)
        scores = self._scores(found, allowed)
        scores[scores <= 0] = -np.inf
        positions = top(scores, k)
        return Ranking(positions, scores[positions])

    def _rank_one_part(self, keys: list[int], k: int, allowed: Mask | None) -> Ranking:
        """The result of `_rank_coarsely`, with all of it compiled."""
        part = self.parts[0]
        room = part.borrow_room()
        found = kernels.ranking_loops.best_of_keys(
            np.array(keys, dtype=np.uint64), part.postings.keys, part.postings.starts,
            formulas.IDFS.index(self._formula.idf), self.live, self._prepared(0),
            k, max(STRIPES, k), ALL if allowed is None else allowed, room,
        )  # fmt: skip
        part.return_room(room)
        return Ranking(*found)

    def _rank_coarsely(self, found: Found, k: int, allowed: Mask | None) -> Ranking:
        """The same ranking, faster: coarse gains leave a few passages that may be the best; those are scored."""
        positions, scores = np.zeros(0, np.int64), np.zeros(0)
        for at in self._by_size:
            part, terms = self.parts[at], found.terms[at]
            if (terms.starts == terms.ends).all():
                continue
            floor = float(scores[k - 1]) if len(scores) >= k else 0.0
            alive = part.alive(None if allowed is None else allowed[part.offset : part.offset + part.postings.size])
            room = part.borrow_room()
            best = kernels.ranking_loops.best(
                tuple(terms), found.weights, self._prepared(at), floor, k, max(STRIPES, k), alive, room
            )
            part.return_room(room)
            positions, scores = np.concatenate([positions, best[0] + part.offset]), np.concatenate([scores, best[1]])
            order = np.lexsort((positions, -scores))
            positions, scores = positions[order], scores[order]
            if len(scores) > k:
                kept = scores >= scores[k - 1]
                positions, scores = positions[kept], scores[kept]
        return Ranking(positions, scores)

    def _prepared(self, at: int) -> tuple[Any, ...]:
        """The arguments of `ranking_loops.best` that depend on the part and not on the query."""
        prepared = self._of_parts[at]
        if prepared is None:
            part, scale = self.parts[at], self._numbers[2]
            impacts = part.impacts(self.scoring, self.average)
            prepared = self._of_parts[at] = (
                part.lists,
                (impacts.values, impacts.frequent),
                (impacts.maxima, impacts.skips, impacts.packed),
                self._numbers,
                self._formula.ceiling(self.scoring.k1) / 255,
                impacts.scale / scale if scale else 1.0,
            )
        return prepared

    @cached_property
    def _numbers(self) -> tuple[Any, ...]:
        return kernel_numbers(self.scoring, self.average)

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
        if self._formula.is_cosine or not loaded_loops():
            return self._scores(found, None)[positions]
        scores = np.zeros(len(positions))
        for here, (gained, _) in self._look_at(found, positions):
            scores[here] = gained
        return np.where(self.is_alive(positions), scores, 0.0)

    def held_at(self, terms: Asked, positions: Positions) -> Floats:
        """The share of all terms, weighted by their idf, that the passage at each position holds."""
        found = self._find(terms)
        if self._formula.is_cosine or not loaded_loops():
            of_all = np.zeros(self.size)
            for part, docs, weight, _ in self._postings_of(found.terms, found.weights):
                of_all[part.offset : part.offset + part.postings.size][docs] += weight
            held = of_all[positions]
        else:
            held = np.zeros(len(positions))
            for here, (_, weights) in self._look_at(found, positions):
                held[here] = weights
        return held / max(float(found.weights.sum()), 1e-9)

    def _look_at(self, found: Found, positions: Positions) -> Iterator[tuple[NDArray[np.int64], tuple[Floats, Floats]]]:
        """Of each part, which of the positions lie in it, their scores, and the weight of the terms that they hold."""
        for part, terms in zip(self.parts, found.terms, strict=True):
            here, places = part.among(positions)
            if len(here):
                yield (
                    here,
                    kernels.ranking_loops.look_at(places, tuple(terms), found.weights, part.lists, self._numbers),
                )

    def scores(self, terms: Asked, allowed: Mask | None = None) -> Floats:
        """The score of every position, 0 where nothing is shared, nothing is alive or nothing is allowed."""
        return self._scores(self._find(terms), allowed)

    def _scores(self, found: Found, allowed: Mask | None) -> Floats:
        scores = np.zeros(self.size)
        if not found.df.any():
            return scores
        weights = found.weights
        if self._formula.is_cosine:
            known = np.where(found.df > 0, weights, 0.0)
            weights = known / np.sqrt(np.square(known).sum()) * found.idf
        for part, docs, weight, start in self._postings_of(found.terms, weights):
            known_gains = self._known_gains.get((part.offset, start))
            if known_gains is None:
                known_gains = self._gains(part, slice(start, start + len(docs)))
                self._remember((part.offset, start), known_gains)
            docs, gains = known_gains
            scores[part.offset : part.offset + part.postings.size][docs] += weight * gains
        for part in self.parts:
            if part.dead is not None:
                scores[part.offset : part.offset + part.postings.size][part.dead] = 0.0
        if allowed is not None:
            scores[~allowed] = 0.0
        return scores

    def _postings_of(self, terms: list[Terms], weights: Floats) -> Iterator[tuple[Part, NDArray[np.int32], float, int]]:
        """The passages of each term in each part, the term's weight, and where its postings start."""
        for part, here in zip(self.parts, terms, strict=True):
            for start, end, weight in zip(here.starts.tolist(), here.ends.tolist(), weights.tolist(), strict=True):
                if start < end:
                    yield part, part.postings.docs[start:end], weight, start

    def _gains(self, part: Part, postings: slice) -> tuple[NDArray[np.int32], Floats]:
        """The passages of the postings of a term that gain by it, and their gains."""
        _, base, scale, _, k1, delta = self._numbers
        docs, tf = part.postings.docs[postings], formulas.weighted_tf(part.postings.tfs[postings], self.scoring.weights)
        if not tf.all():
            docs, tf = docs[tf > 0], tf[tf > 0]
        lengths = self._vector_lengths[part.offset] if self._formula.is_cosine else part.weighted_lengths(self.scoring)
        return docs, self._formula.gain(tf, base + scale * lengths[docs], k1, delta)

    def _remember(self, term: tuple[int, int], gains: tuple[NDArray[np.int32], Floats]) -> None:
        """Store the gains of a term, which are the same for every query, as long as there is room."""
        if len(gains[1]) <= self._room_for_gains:
            self._room_for_gains -= len(gains[1])
            self._known_gains[term] = gains

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
        """The most that a passage with all these terms could score, including terms that no passage holds."""
        ceiling = self._formula.ceiling(self.scoring.k1)
        return 1.0 if ceiling == math.inf else float(self._find(terms).weights.sum() * ceiling)

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """How many live passages hold each of these terms."""
        distinct = list(dict.fromkeys(terms))
        return dict(zip(distinct, self._find(distinct).df.tolist(), strict=True))

    def knows(self, terms: Asked) -> bool:
        """Whether any of these terms occurs at all."""
        return bool(self._find(terms).df.any())

    def named(self, query: str) -> Positions:
        """Positions of passages whose name occurs in the query, word for word."""
        keys = np.array(list(asked_names(query)), dtype=np.uint64)
        found = [np.zeros(0, np.int64)]
        for part in self.parts:
            names = part.postings.name_keys
            first, last = np.searchsorted(names, keys), np.searchsorted(names, keys, side="right")
            docs = [part.postings.name_docs[first[hit] : last[hit]] for hit in np.flatnonzero(last > first).tolist()]
            if docs:
                at = np.unique(np.concatenate(docs)).astype(np.int64)
                found.append((at if part.dead is None else at[~part.dead[at]]) + part.offset)
        return np.concatenate(found)

    def _find(self, terms: Asked) -> Found:
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
