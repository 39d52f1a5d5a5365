"""Searches over the passages of a corpus in a cluster; each passage that was fetched gets a position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.config import Config
from shortlist.index.engines import facets
from shortlist.index.engines.cluster_client import Cluster, Search
from shortlist.index.engines.cluster_rows import Counts, key_of, passage_key, unpack_vector
from shortlist.index.engines.cluster_schema import WINDOW, Names
from shortlist.index.engines.facets import Query

if TYPE_CHECKING:
    from shortlist.results import Mask, Positions, Vectors

# Counts and vectors that are kept for later searches.
REMEMBERED = 20_000


class Condition:
    """A filter, as a query that the server checks."""

    def __init__(self, query: Query, check: Callable[[Query, Positions], Mask]) -> None:
        self.query = query
        self._check = check

    def __and__(self, other: Condition) -> Condition:
        return Condition(facets.both(self.query, other.query), self._check)

    def __or__(self, other: Condition) -> Condition:
        return Condition(facets.either(self.query, other.query), self._check)

    def __invert__(self) -> Condition:
        return Condition(facets.negate(self.query), self._check)

    def __getitem__(self, positions: Positions) -> Mask:
        return self._check(self.query, positions)


class PassageReader:
    """The passages that were fetched, and requests for more."""

    def __init__(self, cluster: Cluster, names: Names, config: Config) -> None:
        self.cluster = cluster
        self.names = names
        self.config = config
        self.counts: dict[int, Counts] = {}
        self.vectors: dict[int, Vectors] = {}
        self._prefetched: dict[bytes, Query] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._places: list[tuple[str, int]] = []  # id of the document and ordinal of the passage at each position
        self._numbers: dict[str, int] = {}  # of documents

    @property
    def has_vectors(self) -> bool:
        return self.config.dim > 0

    def documents(self, positions: Positions) -> Positions:
        return np.array([self._numbers[id] for id in self.ids(positions)], dtype=np.int64)

    def ids(self, positions: Positions) -> list[str]:
        return [self._places[position][0] for position in positions.tolist()]

    def keys(self, positions: Sequence[int]) -> list[str]:
        """The keys of the rows of passages."""
        return [passage_key(key_of(id), ordinal) for id, ordinal in (self._places[at] for at in positions)]

    def prefetch(self, searches: Sequence[Search]) -> None:
        """Send in one request what will be needed soon; a search that was not foreseen is just sent later."""
        lines = [search.line(self.names.passages) for search in searches]
        self._prefetched = dict(zip(lines, self.cluster.ask_several(b"".join(lines)), strict=True)) if lines else {}

    def answer(self, searches: Sequence[Search]) -> list[Query]:
        """The answers to searches; those that were not prefetched are sent in one request."""
        lines = [search.line(self.names.passages) for search in searches]
        known = {line: self._prefetched.pop(line) for line in lines if line in self._prefetched}
        unknown = [line for line in lines if line not in known]
        if unknown:
            known |= zip(unknown, self.cluster.ask_several(b"".join(unknown)), strict=True)
        return [known[line] for line in lines]

    def search(self, body: Query, *, scored: bool = False) -> list[Query]:
        """The hits of one search."""
        return self.hits(Search(self.select(body, scored=scored)))

    def hits(self, search: Search) -> list[Query]:
        hits: list[Query] = self.answer([search])[0]["hits"]["hits"]
        return hits

    def select(self, body: Query, *, scored: bool) -> Query:
        """A search that returns columns, with or without those for scores: reading rows is many times slower."""
        columns = ["document", "ordinal"]
        if scored:
            columns += ["counts", "unit"] if self.has_vectors else ["counts"]
        return {"stored_fields": "_none_", "track_total_hits": False, "docvalue_fields": columns, **body}

    def note(self, hits: Sequence[Mapping[str, Any]]) -> Positions:
        """The positions of hits; their counts and vectors are kept."""
        found = [(hit["fields"]["document"][0], hit["fields"]["ordinal"][0]) for hit in hits]
        for place in sorted(set(found) - self._positions.keys()):  # passages of a document in their order
            self._positions[place] = len(self._places)
            self._places.append(place)
            self._numbers.setdefault(place[0], len(self._numbers))
        for kept in (self.counts, self.vectors):
            if len(kept) > REMEMBERED:
                kept.clear()
        positions = [self._positions[place] for place in found]
        for position, hit in zip(positions, hits, strict=True):
            fields = hit["fields"]
            if "counts" in fields and position not in self.counts:
                self.counts[position] = Counts.unpack(fields["counts"][0])
            if "unit" in fields and position not in self.vectors:
                self.vectors[position] = unpack_vector(fields["unit"][0])
        return np.array(positions, dtype=np.int64)

    def fetch(self, positions: Positions) -> None:
        """Fetch what passages are scored by, where it is missing."""
        known = self.counts.keys() & self.vectors.keys() if self.has_vectors else self.counts
        missing = [at for at in positions.tolist() if at not in known]
        self.note(self.search_among(missing, facets.EVERYTHING, scored=True))

    def search_among(self, positions: Sequence[int], query: Query, *, scored: bool = False) -> list[Query]:
        """The hits of a query among some positions."""
        hits: list[Query] = []
        for start in range(0, len(positions), WINDOW):
            ids = {"ids": {"values": self.keys(positions[start : start + WINDOW])}}
            hits += self.search({"query": {"bool": {"filter": [ids, query]}}, "size": WINDOW}, scored=scored)
        return hits
