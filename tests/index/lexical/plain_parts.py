"""The compiled loops in numpy, slow and plain: what tests compare their results with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.kernels import formulas
from shortlist.index.lexical.bm25 import FORMULAS, Scoring, weighted_length
from shortlist.index.lexical.compiled_parts import Shared
from shortlist.index.lexical.indexing import NAME_WORDS
from shortlist.index.lexical.live_postings import Part, kernel_numbers
from shortlist.index.lexical.postings import Counts, Postings
from shortlist.index.text.analyzers import span_keys
from shortlist.results import Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.results import Floats, Mask, Positions

Spans = list[list[tuple[int, int]]]  # by part, where the postings of each term are


class PlainParts:
    """The methods of `CompiledParts`."""

    has_bounds = False

    def __init__(self, parts: Sequence[Part], scoring: Scoring, average: float) -> None:
        self._parts, self._scoring = parts, scoring
        self._numbers = kernel_numbers(scoring, average)
        self._norms = [weighted_length(part.postings.lengths, scoring.weights) for part in parts]

    def find(self, keys: Sequence[int]) -> tuple[Spans, list[int]]:
        spans: Spans = []
        df = [0] * len(keys)
        for part in self._parts:
            known, starts = part.postings.keys, part.postings.starts
            places = np.searchsorted(known, np.array(keys, dtype=np.uint64)).tolist()
            held = [place < len(known) and known[place] == key for place, key in zip(places, keys, strict=True)]
            here = [
                (int(starts[place]), int(starts[place + 1])) if is_held else (0, 0)
                for place, is_held in zip(places, held, strict=True)
            ]
            for term, (start, end) in enumerate(here):
                docs = part.postings.docs[start:end]
                df[term] += len(docs) if part.dead is None else int((~part.dead[docs]).sum())
            spans.append(here)
        return spans, df

    def named(self, queries: Sequence[Sequence[str]], can_be_names: Sequence[bool]) -> list[dict[int, int]]:
        flags = iter(can_be_names)
        return [self._find_named(words, [*islice(flags, len(words))]) for words in queries]

    def _find_named(self, words: Sequence[str], can_be_names: Sequence[bool]) -> dict[int, int]:
        runs = span_keys(list(words), NAME_WORDS)
        sizes = {key: end - start for start, end, key in runs if end - start > 1 or can_be_names[start]}
        found: dict[int, int] = {}
        for part in self._parts:
            for key, doc in zip(part.postings.name_keys.tolist(), part.postings.name_docs.tolist(), strict=True):
                if key in sizes and (part.dead is None or not part.dead[doc]):
                    found[part.offset + doc] = max(sizes[key], found.get(part.offset + doc, 0))
        return dict(sorted(found.items()))

    def rank(
        self, spans: Spans, weights: Sequence[float], shares: Sequence[float], k: int, allowed: Mask | None
    ) -> tuple[Ranking, list[Shared]]:
        raise NotImplementedError("without bounds, everything is scored")

    def score_all(self, spans: Spans, weights: Sequence[float]) -> Floats:
        scores = np.zeros(sum(part.postings.size for part in self._parts))
        for part, norms, here in zip(self._parts, self._norms, spans, strict=True):
            for (start, end), weight in zip(here, weights, strict=True):
                docs = part.postings.docs[start:end]
                scores[part.span][docs] += weight * self._gain(part, norms[docs], start, end)
            if part.dead is not None:
                scores[part.span][part.dead] = 0.0
        return scores

    def look_at(
        self, spans: Spans, weights: Sequence[float], shares: Sequence[float], positions: Positions
    ) -> tuple[Floats, list[Shared]]:
        covered = np.zeros(len(positions))
        for part, here in zip(self._parts, spans, strict=True):
            for (start, end), share in zip(here, shares, strict=True):
                covered[np.isin(positions, part.postings.docs[start:end] + part.offset)] += share
        shared = self.score_all(spans, shares)[positions]
        return self.score_all(spans, weights)[positions], list(zip(shared.tolist(), covered.tolist(), strict=True))

    def _gain(self, part: Part, lengths: Floats, start: int, end: int) -> Floats:
        weights, base, scale, _, k1, delta = self._numbers
        tf: Floats = formulas.weighted_tf(part.postings.tfs(start, end), weights)
        with np.errstate(invalid="ignore", divide="ignore"):  # a field without weight in a passage without length
            gains = FORMULAS[self._scoring.formula].gain(tf, base + scale * lengths, k1, delta)
        return np.where(tf > 0, gains, 0.0)

    def set_vector_lengths(self, idf_of_part: Sequence[Floats]) -> None:
        self._norms = [self._measure(part, idf) for part, idf in zip(self._parts, idf_of_part, strict=True)]

    def _measure(self, part: Part, idf: Floats) -> NDArray[np.float64]:
        weights = formulas.weighted_tf(part.postings.tfs(), self._scoring.weights)
        weights = weights * np.repeat(idf, np.diff(part.postings.starts))
        return np.sqrt(np.bincount(part.postings.docs, np.square(weights), part.postings.size))


def join(parts: Sequence[Postings], new_docs: Sequence[NDArray[np.int32]]) -> tuple[NDArray[Any], ...]:
    """The result of `ranking_loops.merge`."""
    keys = np.concatenate([np.repeat(part.keys, np.diff(part.starts)) for part in parts])
    docs = np.concatenate([to[part.docs] for part, to in zip(parts, new_docs, strict=True)])
    order = np.lexsort((docs, keys))
    order = order[docs[order] >= 0]
    terms, starts = np.unique(keys[order], return_index=True)
    tfs = np.concatenate([part.tfs() for part in parts])[order]
    return terms, np.append(starts, len(order)), docs[order], *Counts.of(tfs)
