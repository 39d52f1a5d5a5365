"""Searches over the passages of a corpus in a cluster; each passage that was fetched gets a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.config import Config
from shortlist.index.engines.cluster_client import Cluster, to_lines
from shortlist.index.engines.cluster_corpus import ClusterCorpus
from shortlist.index.engines.cluster_rows import RowCounts, document_key, passage_key, unpack_vector
from shortlist.index.engines.cluster_schema import WINDOW
from shortlist.index.engines.facets import EVERYTHING, Query
from shortlist.index.lexical.lexical_ranker import can_be_name, top
from shortlist.index.storage.records import batched
from shortlist.index.storage.writer import list_names
from shortlist.index.text.analyzers import name_words
from shortlist.results import Ranking

if TYPE_CHECKING:
    from shortlist.index.engine import Viewer
    from shortlist.results import Floats, Positions, Vectors

# Counts and vectors that are remembered for later searches.
REMEMBERED = 20_000

NO_HITS = Ranking(np.zeros(0, np.int64), np.zeros(0))


class PassageReader(ClusterCorpus):
    """The passages that were fetched, and requests for more."""

    def __init__(self, cluster: Cluster, base: str, config: Config, viewer: Viewer | None = None) -> None:
        super().__init__(cluster, base, viewer)
        self.config = config
        self.counts: dict[int, RowCounts] = {}
        self.vectors: dict[int, Vectors] = {}
        self.rows_read: dict[int, Query] = {}  # what is shown of the passages
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
        return [passage_key(document_key(id), ordinal) for id, ordinal in (self._places[at] for at in positions)]

    def make_search(self, body: Query, *, by_score: bool = False, is_restricted: bool = False) -> bytes:
        """One of several searches in one request; `by_score` uses the statistics of all shards.

        `is_restricted` says that the body itself has the condition of what the reader may see.
        """
        body = body if is_restricted else self.restrict(body)
        head: Query = {"index": self.passages_alias, "allow_partial_search_results": False}
        return to_lines(head | ({"search_type": "dfs_query_then_fetch"} if by_score else {}), body)

    def select(self, body: Query, *, by_score: bool = False, is_restricted: bool = False, **columns: bool) -> bytes:
        """A search that returns columns."""
        return self.make_search(self.columns(**columns) | body, by_score=by_score, is_restricted=is_restricted)

    def columns(self, *, scored: bool, with_vectors: bool = True, shown: bool = False) -> Query:
        """The part of a search that names what it returns: where passages are, what they are scored by, and their
        texts. Texts are slower to read than columns, but much faster in a search than in a request of their own."""
        columns = ["document", "ordinal"]
        if scored:
            columns += ["counts", "unit"] if self.has_vectors and with_vectors else ["counts"]
        texts = {} if shown else {"stored_fields": "_none_"}
        return {"track_total_hits": False, "docvalue_fields": columns, **texts}

    def prefetch(self, searches: Sequence[bytes]) -> None:
        """Send the expected searches in one request; others are sent when they are needed."""
        self._prefetched = {}
        self._prefetched = dict(zip(searches, self.answer(searches), strict=True))

    def answer(self, searches: Sequence[bytes]) -> list[Query]:
        """The answers to searches; those that were not prefetched are sent in one request."""
        known = {search: self._prefetched.pop(search) for search in searches if search in self._prefetched}
        unknown = [search for search in searches if search not in known]
        if unknown:
            answers = self.cluster.request("POST", "/_msearch", b"".join(unknown))["responses"]
            known |= zip(unknown, answers, strict=True)
        return [known[search] for search in searches]

    def hits(self, search: bytes) -> list[Query]:
        hits: list[Query] = self.answer([search])[0]["hits"]["hits"]
        return hits

    def locate(self, hits: Sequence[Mapping[str, Any]]) -> Positions:
        """The positions of hits; their counts and vectors are remembered."""
        places = [(hit["fields"]["document"][0], hit["fields"]["ordinal"][0]) for hit in hits]
        for place in sorted(set(places) - self._positions.keys()):  # passages of a document in their order
            self._positions[place] = len(self._places)
            self._places.append(place)
            self._numbers.setdefault(place[0], len(self._numbers))
        remembered: tuple[dict[int, Any], ...] = (self.counts, self.vectors, self.rows_read)
        for one in remembered:
            if len(one) > REMEMBERED:
                one.clear()
        positions = [self._positions[place] for place in places]
        for position, hit in zip(positions, hits, strict=True):
            fields = hit["fields"]
            if "counts" in fields and position not in self.counts:
                self.counts[position] = RowCounts.unpack(fields["counts"][0])
            if "unit" in fields and position not in self.vectors:
                self.vectors[position] = unpack_vector(fields["unit"][0])
            if "_source" in hit:
                self.rows_read[position] = hit["_source"]
        return np.array(positions, dtype=np.int64)

    def fetch(self, positions: Positions, known: Mapping[int, Any]) -> None:
        """Fetch what passages are scored by, where it is not yet known."""
        missing = [at for at in positions.tolist() if at not in known]
        self.locate(self.search_among(missing, EVERYTHING, scored=True))

    def find_named(self, asked: Sequence[str]) -> dict[int, int]:
        """Of the documents whose texts were fetched, one passage of each with a name among the words that were asked,
        in one piece, and the most words of such a name."""
        text, found, documents = f" {' '.join(asked)} ", dict[int, int](), set[str]()
        for position, row in sorted(self.rows_read.items()):
            names = map(name_words, list_names(row["document"], row["title"]))
            sizes = [len(name) for name in names if can_be_name(name, asked) and f" {' '.join(name)} " in text]
            if sizes and row["document"] not in documents:
                documents.add(row["document"])
                found[position] = max(sizes)
        return found

    def count_segments(self) -> int:
        path = f"/{self.passages_alias}/_stats/segments?filter_path=_all.primaries.segments.count"
        return int(self.cluster.request("GET", path)["_all"]["primaries"]["segments"]["count"])

    def search_among(self, positions: Sequence[int], query: Query, *, scored: bool = False) -> list[Query]:
        """The hits of a query among some positions."""
        hits: list[Query] = []
        for batch in batched(positions, WINDOW):
            ids = {"ids": {"values": self.keys(batch)}}
            body = {"query": {"bool": {"filter": [ids, query]}}, "size": WINDOW}
            hits += self.hits(self.select(body, scored=scored))
        return hits


def best_of(positions: Positions, scores: Floats, k: int) -> Ranking:
    """The k best positions and those that tie with the last of them, best first, then by position."""
    best = top(scores, k)
    best = best[np.lexsort((positions[best], -scores[best]))]
    return Ranking(positions[best], scores[best])
