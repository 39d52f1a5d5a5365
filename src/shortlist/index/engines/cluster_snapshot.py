"""What does a reader see of a corpus in a cluster? Passages by position: a number for each that was fetched.

The engine finds candidates, by words (`words.py`) and by meaning (`meaning.py`). They come with their counts and
vectors, and are scored here as in the embedded engine, with the numbers of the whole corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.documents import Document, Passage
from shortlist.errors import InputError
from shortlist.index.config import Config
from shortlist.index.engine import Drift
from shortlist.index.engines import facets
from shortlist.index.engines.bm25_query import ReadWords
from shortlist.index.engines.cluster_client import Cluster, Search
from shortlist.index.engines.cluster_rows import (
    SHOWN,
    Counts,
    key_of,
    passage_key,
    to_document,
    to_passage,
    unpack_vector,
)
from shortlist.index.engines.cluster_schema import Names
from shortlist.index.engines.dialects import WINDOW
from shortlist.index.engines.paging import PAGE, READY, ids_of_file, pages
from shortlist.index.engines.vector_query import ReadMeaning
from shortlist.index.text.query_terms import Asked
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.results import Mask, Positions, Vectors

Query = dict[str, Any]

# Counts and vectors that are kept for the next query to the same state.
REMEMBERED = 20_000

# Documents whose passages are asked for together.
TOGETHER = 100

# Of so many passages words and meaning are fetched together, where both will be asked for.
FEW = 100

_FIELDS = ("counts", "unit")


class Remembered:
    """What was last seen of a corpus, to foresee how it will be asked."""

    size: int | None = None


class Condition:
    """What a filter allows, as a query that the engine checks."""

    def __init__(self, query: Query, check: Callable[[Query, Positions], Mask]) -> None:
        self.query = query
        self._check = check

    def __and__(self, other: Condition) -> Condition:
        return Condition(facets.both(self.query, other.query), self._check)

    def __or__(self, other: Condition) -> Condition:
        return Condition(facets.either(self.query, other.query), self._check)

    def __invert__(self) -> Condition:
        return Condition(facets.refused(self.query), self._check)

    def __getitem__(self, positions: Positions) -> Mask:
        return self._check(self.query, positions)


class Reading:
    """A corpus as it is now. Nothing holds it still: what is removed meanwhile is no longer found."""

    def __init__(
        self,
        cluster: Cluster,
        names: Names,
        config: Config,
        embedder: Callable[[], Embedder | None],
        remembered: Remembered,
    ) -> None:
        self.config = config
        self.cluster = cluster
        self.names = names
        self._embedder = embedder
        self._remembered = remembered
        self._foreseen: dict[bytes, Query] = {}
        self._both = False  # whether words and meaning will be asked for
        self.blended = False  # and of the same passages
        self._positions: dict[tuple[str, int], int] = {}
        self._places: list[tuple[str, int]] = []  # the document's id and which of its passages, at each position
        self._documents: dict[str, int] = {}
        self._document_of: list[int] = []
        self.counts: dict[int, Counts] = {}
        self.vectors: dict[int, Vectors] = {}

    @property
    def size(self) -> int:
        self._remembered.size = self.lexical.live
        return self._remembered.size

    @property
    def has_vectors(self) -> bool:
        return self.config.dim > 0

    @cached_property
    def lexical(self) -> ReadWords:
        return ReadWords(self)

    @cached_property
    def dense(self) -> ReadMeaning:
        embedder = self._embedder() if self.has_vectors else None
        if embedder is None:
            raise InputError(
                "This corpus has no vectors (it was built with embedder='none'): search it with mode='lexical', "
                "or build it again with an embedder."
            )
        return ReadMeaning(self, embedder)

    def documents(self, positions: Positions) -> Positions:
        return np.array([self._document_of[position] for position in positions.tolist()], dtype=np.int64)

    def ids(self, positions: Positions) -> list[str]:
        return [self._places[position][0] for position in positions.tolist()]

    def siblings(self, positions: Positions) -> list[Positions]:
        ids = self.ids(positions)
        found: dict[str, list[int]] = {}
        for start in range(0, len(ids), TOGETHER):
            for position in self._of_documents(ids[start : start + TOGETHER]).tolist():
                found.setdefault(self._places[position][0], []).append(position)
        return [np.array(found.get(id, [at]), dtype=np.int64) for id, at in zip(ids, positions.tolist(), strict=True)]

    def _of_documents(self, ids: Sequence[str]) -> Positions:
        """The passages of documents, in their order."""
        own = {"terms": {"document": list(ids)}}
        hits = self.search({"query": {"bool": {"filter": [own]}}, "size": WINDOW, "sort": ["document", "ordinal"]})
        if len(hits) < WINDOW or len(ids) == 1:
            return self.note(hits)
        half = len(ids) // 2
        return np.concatenate([self._of_documents(ids[:half]), self._of_documents(ids[half:])])

    def passages(self, positions: Positions) -> list[Passage]:
        """What is shown of passages; of one that was removed a moment ago, its id alone."""
        rows = self._rows([self._key(position) for position in positions.tolist()])
        return [
            Passage(id, id, "") if row is None else to_passage(row)
            for row, id in zip(rows, self.ids(positions), strict=True)
        ]

    def _rows(self, keys: Sequence[str]) -> list[Query | None]:
        """What is shown of the passages with these keys; None where there is none."""
        if not keys:
            return []
        path = f"/{self.names.passages}/_mget?_source_includes={','.join(SHOWN)}"
        rows = self.cluster.ask("POST", path, {"ids": keys}).body["docs"]
        return [row["_source"] if row.get("found") else None for row in rows]

    # Filters

    def everything(self) -> Condition:
        return Condition(facets.EVERYTHING, self._check)

    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> Condition:
        return Condition(facets.query(key, operator, operand), self._check)

    def _check(self, query: Query, positions: Positions) -> Mask:
        wanted = positions.tolist()
        found: set[int] = set()
        for start in range(0, len(wanted), WINDOW):
            ids = {"ids": {"values": [self._key(position) for position in wanted[start : start + WINDOW]]}}
            hits = self.search({"query": {"bool": {"filter": [ids, query]}}, "size": WINDOW}, ())
            found |= set(self.note(hits).tolist())
        return np.array([position in found for position in wanted], dtype=bool)

    def permits(self, id: str, allowed: Condition) -> bool:
        query = {"bool": {"filter": [{"term": {"document": id}}, allowed.query]}}
        return bool(self.search({"query": query, "size": 1}, ()))

    # Going through all

    def sources(self, allowed: Condition | None = None) -> set[str]:
        found: set[str] = set()
        places: Query = {"size": PAGE, "sources": [{"place": {"terms": {"field": "place"}}}]}
        query = facets.EVERYTHING if allowed is None else allowed.query
        while True:
            body = {"size": 0, "query": query, "aggs": {"places": {"composite": places}}}
            path = f"/{self.names.passages}/_search?allow_partial_search_results=false"
            answer = self.cluster.ask("POST", path, body).body["aggregations"]["places"]
            found |= {bucket["key"]["place"] for bucket in answer["buckets"]}
            if len(answer["buckets"]) < PAGE:
                return found
            places["after"] = answer["after_key"]

    def walk(self, allowed: Condition | None = None) -> Iterator[Passage]:
        query = facets.EVERYTHING if allowed is None else allowed.query
        for hit in pages(self.cluster, self.names.passages, query, ["added", "document", "ordinal"], SHOWN):
            yield to_passage(hit["_source"])

    def neighbors(self, source: str, locator: str, before: int, after: int) -> list[Passage]:
        for field in ("locator", "record"):  # a locator without its offset means the first passage of the record
            query = {"bool": {"filter": [{"term": {"place": source}}, {"term": {field: locator}}]}}
            found = self.search({"query": query, "size": 1, "sort": ["added", "document", "ordinal"]}, ())
            if found:
                break
        else:
            return []
        document, at = key_of(found[0]["fields"]["document"][0]), found[0]["fields"]["ordinal"][0]
        keys = [passage_key(document, ordinal) for ordinal in range(max(0, at - before), at + after + 1)]
        return [to_passage(row) for row in self._rows(keys) if row is not None]

    def ids_of_file(self, id: str, source: str) -> set[str]:
        return ids_of_file(self.cluster, self.names, id, source)

    def places(self) -> list[tuple[str, str, str]]:
        shown = ("id", "source", "locator")
        hits = pages(self.cluster, self.names.documents, READY, ["added", "id"], shown)
        return [(row["id"], row["source"], row["locator"]) for row in (hit["_source"] for hit in hits)]

    def get(self, id: str) -> Document | None:
        return read_document(self.cluster, self.names, id)

    def count(self) -> int:
        return count(self.cluster, self.names.documents, READY)

    def since(self, mark: dict[str, Any]) -> Drift:
        return drift_since(self.cluster, self.names, mark)

    # Asking the engine

    def expect(
        self,
        query: str,
        terms: Asked,
        words: int,
        meaning: int,
        allowed: Condition | None = None,
        roughly: bool = False,
    ) -> None:
        """Ask in one request what will be asked in several; what was not foreseen rightly is just asked again."""
        self._both = bool(words and meaning)
        self.blended = self._both and not roughly
        searches = self.lexical.foreseen(terms, words, allowed, roughly)
        if meaning:
            about = self.size if self._remembered.size is None else self._remembered.size
            searches += self.dense.foreseen(query, meaning, allowed, roughly, about)
        names = self.lexical.names_in(query)
        searches += [names] if names else []
        asked = [search.line(self.names.passages) for search in searches]
        self._foreseen = dict(zip(asked, self.cluster.ask_several(b"".join(asked)), strict=True)) if asked else {}

    def several(self, searches: Sequence[Search]) -> list[Query]:
        """The answers to searches over the passages, those that were not foreseen in one request."""
        asked = [search.line(self.names.passages) for search in searches]
        known = {line: self._foreseen.pop(line) for line in asked if line in self._foreseen}
        unknown = [line for line in asked if line not in known]
        if unknown:
            known |= zip(unknown, self.cluster.ask_several(b"".join(unknown)), strict=True)
        return [known[line] for line in asked]

    def hits(self, searches: Sequence[Search]) -> list[list[Query]]:
        return [answer["hits"]["hits"] for answer in self.several(searches)]

    def search(self, body: Query, fields: Sequence[str] = _FIELDS) -> list[Query]:
        """The hits of a search over the passages."""
        (hits,) = self.hits([Search(self.fetching(body, fields))])
        return hits

    def fetching(self, body: Query, fields: Sequence[str]) -> Query:
        """A search that brings only columns: rows lie packed together, and to read one takes many times as long."""
        wanted = [field for field in fields if field != "unit" or self.has_vectors]
        columns = ["document", "ordinal", *wanted]
        return {"stored_fields": "_none_", "track_total_hits": False, "docvalue_fields": columns, **body}

    def note(self, hits: Sequence[Mapping[str, Any]]) -> Positions:
        """The positions of hits; what came with them is kept."""
        found = [(hit["fields"]["document"][0], hit["fields"]["ordinal"][0]) for hit in hits]
        for place in sorted(place for place in found if place not in self._positions):  # of a document in their order
            self._positions[place] = len(self._places)
            self._places.append(place)
            self._document_of.append(self._documents.setdefault(place[0], len(self._documents)))
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

    def fetch(self, positions: Positions, known: Mapping[int, Any], field: str) -> None:
        """Get what is not yet known of some positions, in one request for every 10,000."""
        wanted = positions.tolist()
        if self._both and len(wanted) <= FEW:
            missing = [at for at in wanted if at not in self.counts or at not in self.vectors]
            fields: Sequence[str] = _FIELDS
        else:
            missing, fields = [at for at in wanted if at not in known], (field,)
        for start in range(0, len(missing), WINDOW):
            keys = [self._key(at) for at in missing[start : start + WINDOW]]
            self.note(self.search({"query": {"bool": {"filter": [{"ids": {"values": keys}}]}}, "size": WINDOW}, fields))

    def _key(self, position: int) -> str:
        id, ordinal = self._places[position]
        return passage_key(key_of(id), ordinal)


def read_document(cluster: Cluster, names: Names, id: str) -> Document | None:
    reply = cluster.ask("GET", f"/{names.documents}/_doc/{key_of(id)}", accept=(404,))
    row = reply.body.get("_source") if reply.status != 404 else None
    return to_document(row) if row and row.get("ready") else None


def count(cluster: Cluster, index: str, query: Query) -> int:
    body = {"query": query, "size": 0, "track_total_hits": True}
    path = f"/{index}/_search?allow_partial_search_results=false"
    return int(cluster.ask("POST", path, body).body["hits"]["total"]["value"])


def drift_since(cluster: Cluster, names: Names, mark: dict[str, Any]) -> Drift:
    later = {"range": {"written": {"gt": mark["when"]}}}
    return Drift(count(cluster, names.passages, later), count(cluster, names.passages, facets.EVERYTHING))
