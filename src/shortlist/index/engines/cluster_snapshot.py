"""A corpus in a cluster as a reader sees it.

The server finds candidates by keywords (`bm25_query`) and by meaning (`vector_query`). They come with their counts and
vectors, and are scored here as in the embedded engine, with the statistics of the whole corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.documents import Document, Passage
from shortlist.index.config import Config, Drift
from shortlist.index.engine import require_embedder
from shortlist.index.engines import facets
from shortlist.index.engines.bm25_query import BM25Query
from shortlist.index.engines.cluster_client import Cluster
from shortlist.index.engines.cluster_documents import PAGE, READY, count, ids_of_file, pages, search_all
from shortlist.index.engines.cluster_reader import Condition, PassageReader
from shortlist.index.engines.cluster_rows import SHOWN, STORED, key_of, passage_key, to_document, to_passage
from shortlist.index.engines.cluster_schema import WINDOW, Names
from shortlist.index.engines.facets import EVERYTHING, Query
from shortlist.index.engines.vector_query import VectorQuery
from shortlist.index.query_scores import BestScores, Request, Scores, only_found
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.results import Mask, Positions

# Documents whose passages are requested together.
TOGETHER = 100


class LastSize:
    """The number of passages that was last seen in a corpus, to foresee its searches."""

    value: int | None = None


class ClusterSnapshot(PassageReader):
    """A corpus as it is now. It is not isolated: what is removed meanwhile is no longer found."""

    generation = None

    def __init__(
        self,
        cluster: Cluster,
        names: Names,
        config: Config,
        embedder: Callable[[], Embedder | None],
        last_size: LastSize,
    ) -> None:
        super().__init__(cluster, names, config)
        self._embedder = embedder
        self._last_size = last_size

    @property
    def size(self) -> int:
        self._last_size.value = self.lexical.live
        return self._last_size.value

    @property
    def embedder(self) -> Embedder | None:
        return self._embedder() if self.has_vectors else None

    @cached_property
    def lexical(self) -> BM25Query:
        return BM25Query(self)

    @cached_property
    def _dense(self) -> VectorQuery:
        return VectorQuery(self, require_embedder(self._embedder()))

    def score(self, request: Request) -> dict[str, Scores]:
        query, terms, words, meaning, allowed, only_ranks = request
        searches = [*self.lexical.foresee(terms, words, allowed, only_ranks), *self.lexical.foresee_names(query)]
        if meaning:
            about = self.size if self._last_size.value is None else self._last_size.value
            searches += self._dense.foresee(query, meaning, about, allowed, only_ranks)
        self.prefetch(searches)
        parts: dict[str, Scores] = {}
        if words:
            lexical = self.lexical
            rank = lexical.approximate if only_ranks else lexical.rank
            parts["lexical"] = BestScores(
                lambda k: rank(terms, k, allowed),
                lambda positions: only_found(lexical.scores_at(terms, positions)),
                is_exact=not only_ranks,
            )
        if meaning:
            dense = self._dense
            parts["dense"] = BestScores(
                lambda k: dense.rank(query, k, self.size, allowed, only_ranks),
                lambda positions: dense.scores_at(query, positions),
                is_exact=not only_ranks,
            )
        return parts

    def siblings(self, positions: Positions) -> list[Positions]:
        ids = self.ids(positions)
        found: dict[str, list[int]] = {}
        for start in range(0, len(ids), TOGETHER):
            own = self._of_documents(ids[start : start + TOGETHER])
            for position, id in zip(own.tolist(), self.ids(own), strict=True):
                found.setdefault(id, []).append(position)
        return [np.array(found.get(id, [at]), dtype=np.int64) for id, at in zip(ids, positions.tolist(), strict=True)]

    def _of_documents(self, ids: Sequence[str]) -> Positions:
        """The passages of documents, in their order."""
        query = {"bool": {"filter": [{"terms": {"document": list(ids)}}]}}
        hits = self.search({"query": query, "size": WINDOW, "sort": ["document", "ordinal"]}, scored=True)
        if len(hits) < WINDOW or len(ids) == 1:
            return self.note(hits)
        half = len(ids) // 2
        return np.concatenate([self._of_documents(ids[:half]), self._of_documents(ids[half:])])

    def passages(self, positions: Positions) -> list[Passage]:
        """The passages; of one that was just removed, only its id."""
        rows = self._rows(self.names.passages, self.keys(positions.tolist()), SHOWN)
        return [
            to_passage(row) if row else Passage(id, id, "") for row, id in zip(rows, self.ids(positions), strict=True)
        ]

    def stored(self, positions: Positions) -> list[Document]:
        """The documents; of one that was just removed, only its id."""
        ids = self.ids(positions)
        rows = self._rows(self.names.documents, [key_of(id) for id in ids], STORED)
        return [to_document(row) if row else Document(id, id, "") for row, id in zip(rows, ids, strict=True)]

    def _rows(self, index: str, keys: Sequence[str], shown: Sequence[str]) -> list[Query | None]:
        """The rows with these keys; None where there is none."""
        if not keys:
            return []
        path = f"/{index}/_mget?_source_includes={','.join(shown)}"
        rows = self.cluster.ask("POST", path, {"ids": keys}).body["docs"]
        return [row["_source"] if row.get("found") else None for row in rows]

    # Filters

    def everything(self) -> Condition:
        return Condition(facets.EVERYTHING, self._check)

    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> Condition:
        return Condition(facets.query(key, operator, operand), self._check)

    def _check(self, query: Query, positions: Positions) -> Mask:
        return np.isin(positions, self.note(self.search_among(positions.tolist(), query)))

    def permits(self, id: str, allowed: Condition) -> bool:
        query = {"bool": {"filter": [{"term": {"document": id}}, allowed.query]}}
        return bool(self.search({"query": query, "size": 1}))

    # Reading everything

    def sources(self, allowed: Condition | None = None) -> set[str]:
        found: set[str] = set()
        places: Query = {"size": PAGE, "sources": [{"place": {"terms": {"field": "place"}}}]}
        query = facets.EVERYTHING if allowed is None else allowed.query
        while True:
            body = {"size": 0, "query": query, "aggs": {"places": {"composite": places}}}
            answer = search_all(self.cluster, self.names.passages, body)["aggregations"]["places"]
            found |= {bucket["key"]["place"] for bucket in answer["buckets"]}
            if len(answer["buckets"]) < PAGE:
                return found
            places["after"] = answer["after_key"]

    def walk(self, allowed: Condition | None = None) -> Iterator[Passage]:
        query = facets.EVERYTHING if allowed is None else allowed.query
        for hit in pages(self.cluster, self.names.passages, query, ("added", "document", "ordinal"), SHOWN):
            yield to_passage(hit["_source"])

    def neighbors(self, source: str, locator: str, before: int, after: int) -> list[Passage]:
        for field in ("locator", "record"):
            query = {"bool": {"filter": [{"term": {"place": source}}, {"term": {field: locator}}]}}
            found = self.search({"query": query, "size": 1, "sort": ["added", "document", "ordinal"]})
            if found:
                document, at = key_of(found[0]["fields"]["document"][0]), found[0]["fields"]["ordinal"][0]
                keys = [passage_key(document, ordinal) for ordinal in range(max(0, at - before), at + after + 1)]
                return [to_passage(row) for row in self._rows(self.names.passages, keys, SHOWN) if row]
        return []

    def ids_of_file(self, id: str, source: str) -> set[str]:
        return ids_of_file(self.cluster, self.names, id, source)

    def places(self) -> list[tuple[str, str, str]]:
        shown = ("id", "source", "locator")
        hits = pages(self.cluster, self.names.documents, READY, ("added", "id"), shown)
        return [(row["id"], row["source"], row["locator"]) for row in (hit["_source"] for hit in hits)]

    def get(self, id: str) -> Document | None:
        return read_document(self.cluster, self.names, id)

    def count(self) -> int:
        return count(self.cluster, self.names.documents, READY)

    def since(self, mark: dict[str, Any]) -> Drift:
        return drift_since(self.cluster, self.names, mark)


def read_document(cluster: Cluster, names: Names, id: str) -> Document | None:
    reply = cluster.ask("GET", f"/{names.documents}/_doc/{key_of(id)}", accept=(404,))
    row = reply.body.get("_source") if reply.status != 404 else None
    return to_document(row) if row and row.get("ready") else None


def drift_since(cluster: Cluster, names: Names, mark: dict[str, Any]) -> Drift:
    later = {"range": {"written": {"gt": mark["when"]}}}
    return Drift(count(cluster, names.passages, later), count(cluster, names.passages, EVERYTHING))
