"""The examples of documents as arrays, and how similar a query is to them.

A document with examples is ranked by a mix of its own text and of them; the more examples, the more they count. What it
gains is bounded by the number of independent uses after queries that are like this one. The numbers were fitted with
`python -m bench learning`, which also shows what they bring.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.index.text.query_terms import weigh_terms
from shortlist.retrieval.learning.examples import Example, Key

if TYPE_CHECKING:
    from shortlist.index.engine import LexicalIndex
    from shortlist.results import Floats, Positions, Vectors

CENTERED_BY = 10.0  # examples after which the mean of all of them is removed by half
COMPARED = 8  # documents whose examples are compared one by one with the query; only these gain
GAIN_PER_USE = 0.07  # of the score of a perfect match, for each of many independent uses; the first gains half
MATCHES_FROM = 0.2  # own score, of that of a perfect match, from which the first uses count in full
FULL_USES = 4.0  # independent uses that count in full although a document does not match by itself
ALIKE = (0.1, 0.4)  # cosine from which a query begins to be like an example, and from which it is


class Weight(NamedTuple):
    """A weight that grows with the number of examples, to `most`; at `half` of them it is half of that."""

    most: float
    half: float

    def of(self, examples: Any) -> Any:
        return self.most * examples / (examples + self.half)


OWN = Weight(0.87, 4.5)  # what the document's own score loses
MEANING = Weight(0.41, 1.3)  # cosine with the examples
WORDS = Weight(0.2, 4.3)  # cosine of the words
LEVEL = Weight(0.083, 1.9)  # what a query must exceed: any two queries have something in common
SIMILARITY = Weight(0.22, 1.7)  # how much more than usual the examples are like each other, so that more is expected


def bound_gain(uses: Floats, own: Floats) -> Floats:
    """The most that scores gain by these numbers of independent uses; all scores are relative to a perfect match.

    A document that matches little by itself gains next to nothing by one use, and as much as others by four.
    """
    matches = np.minimum(np.maximum(own / MATCHES_FROM, 0.0), 1.0)
    trust = matches + (1.0 - matches) * np.minimum(uses / FULL_USES, 1.0) ** 2
    bound: Floats = GAIN_PER_USE * uses * uses / (uses + 1.0) * trust
    return bound


class ExampleMatch(NamedTuple):
    """What the examples of each row say about a query."""

    gain: Floats  # what they add to a score
    replaced: Floats  # the share of its own score that they replace
    uses: Floats  # independent ones after queries like this one, which bound the sum of both


@dataclass(frozen=True)
class Lessons:
    """The examples of a log as arrays: one row for each document, as it was defined when it was used."""

    keys: list[Key]
    count: Floats  # weight of all examples of each row
    similarity: Floats  # how much more than usual the examples of each row are like each other
    mean: Vectors  # of all examples, which says how people ask here
    centers: Vectors
    vectors: Vectors  # of all examples, by row
    independent: Floats  # weight of each example among independent uses
    starts: list[int]
    words: dict[str, tuple[Positions, Floats]]  # rows with a term, and its weights
    rarity: dict[str, float]
    rarest: float

    @cached_property
    def _weights(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What every query uses: weights of meaning and words, what a row must exceed, and the share that it loses."""
        needed = LEVEL.of(self.count) + SIMILARITY.of(self.count) * self.similarity
        return MEANING.of(self.count), WORDS.of(self.count), needed, OWN.of(self.count)

    def compare(self, vector: Vectors | None, terms: Mapping[str, float]) -> ExampleMatch:
        by_meaning, by_words, needed, replaced = self._weights
        words = self._compare_words(terms)
        if vector is None:
            meaning, uses = words, np.add.reduceat(self.independent, self.starts[:-1]) * _are_alike(words)
        else:
            meaning, uses = self._compare_vectors(vector)
        return ExampleMatch(by_meaning * meaning + by_words * words - needed, replaced, uses)

    def _compare_vectors(self, vector: Vectors) -> tuple[Floats, Floats]:
        """The cosine with the examples of each row, and the number of independent uses after queries like this one."""
        query = vector - self.mean
        query /= max(math.sqrt(query @ query), 1e-9)
        cosines: Floats = np.einsum("ij,j->i", self.centers, query).astype(np.float64)  # BLAS would wake a thread
        uses = np.zeros(len(cosines))
        for row in np.argsort(-cosines)[:COMPARED].tolist():
            own = slice(self.starts[row], self.starts[row + 1])
            each = self.vectors[own] @ query
            cosines[row] = (cosines[row] + each.max()) / 2
            uses[row] = self.independent[own] @ _are_alike(each)
        return cosines, uses

    def _compare_words(self, terms: Mapping[str, float]) -> Floats:
        cosines = np.zeros(len(self.keys))
        length = 0.0
        for term, weight in terms.items():
            weight *= self.rarity.get(term, self.rarest)
            length += weight * weight
            if found := self.words.get(term):
                cosines[found[0]] += weight * found[1]
        return cosines / math.sqrt(length) if length else cosines


def make_lessons(
    examples: Mapping[Key, list[Example]], vectors: Mapping[str, Vectors], lexical: LexicalIndex
) -> Lessons:
    """Arrays of the examples; `vectors` are those of their queries, empty without an embedder."""
    keys, listed = list(examples), list(examples.values())
    flat = [example for row in listed for example in row]
    weights = np.array([example.weight for example in flat])
    starts = [0, *np.cumsum([len(row) for row in listed]).tolist()]
    mean, centers, rows = np.zeros(0, np.float32), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32)
    similarity = np.zeros(len(keys))
    if vectors:
        rows = np.array([vectors[example.query] for example in flat], np.float32)
        mean = (weights @ rows / (weights.sum() + CENTERED_BY)).astype(np.float32)
        rows = _unit(rows - mean)
        weighed = rows * weights[:, None].astype(np.float32)
        sums = np.add.reduceat(weighed, starts[:-1], axis=0)
        centers, similarity = _unit(sums), _compare_within(rows, weighed, sums, starts)
    terms = [weigh_terms(lexical.analyzer, example.query) for example in flat]
    occurring = Counter(term for one in terms for term in one)
    known, size = lexical.frequency(list(occurring)), len(flat) + lexical.live
    rarity = {term: _rarity(size, count + known.get(term, 0)) for term, count in occurring.items()}
    words = _weigh_words(terms, weights, starts, rarity)
    count = np.add.reduceat(weights, starts[:-1])
    independent = np.array([example.independent for example in flat])
    rarest = _rarity(size, 0)
    return Lessons(keys, count, similarity, mean, centers, rows, independent, starts, words, rarity, rarest)


def _are_alike(cosines: Floats) -> Floats:
    """From 0 to 1: how much these cosines say that two queries are alike."""
    least, most = ALIKE
    alike: Floats = np.minimum(np.maximum((cosines - least) / (most - least), 0.0), 1.0)
    return alike


def _compare_within(rows: Vectors, weighed: Vectors, sums: Vectors, starts: Sequence[int]) -> Floats:
    """How like the others the examples of each row are, less the mean of all; a row with few is drawn to the mean."""
    sizes = np.diff(starts)
    others = _unit(np.repeat(sums, sizes, axis=0) - weighed)
    cosines = np.einsum("ij,ij->i", rows, others)
    compared = sizes > 1
    if not compared.any():
        return np.zeros(len(sizes))
    mean = cosines[np.repeat(compared, sizes)].mean()
    total = np.add.reduceat(cosines, starts[:-1])
    similarity: Floats = np.where(compared, (total - sizes * mean) / (sizes + 2), 0.0)
    return similarity


def _weigh_words(
    terms: Sequence[Mapping[str, float]], weights: Floats, starts: Sequence[int], rarity: Mapping[str, float]
) -> dict[str, tuple[Positions, Floats]]:
    """For each term the rows with it, and its weight in the unit vector of each row."""
    by_term: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row, (start, end) in enumerate(pairwise(starts)):
        total: dict[str, float] = defaultdict(float)
        for at in range(start, end):
            own = {term: weight * rarity[term] for term, weight in terms[at].items()}
            scale = weights[at] / (_length(own) or 1.0)
            for term, weight in own.items():
                total[term] += scale * weight
        length = _length(total) or 1.0
        for term, weight in total.items():
            by_term[term].append((row, weight / length))
    return {
        term: (np.array([row for row, _ in found]), np.array([weight for _, weight in found]))
        for term, found in by_term.items()
    }


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(sum(weight * weight for weight in weights.values()))


def _rarity(size: int, count: int) -> float:
    return math.log(1.0 + size / (count + 0.5))


def _unit(rows: Vectors) -> Vectors:
    lengths = np.sqrt(np.einsum("...i,...i->...", rows, rows))[..., None]
    unit: Vectors = rows / np.maximum(lengths, np.float32(1e-9))
    return unit
