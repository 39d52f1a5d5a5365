"""A corpus in a cluster as a reader sees it.

The server finds candidates, which come with their texts, counts and vectors. They are scored here as in the embedded
engine, with the statistics of the whole corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.documents import Document, Passage
from shortlist.index.config import Config
from shortlist.index.engine import Located, require_embedder
from shortlist.index.engines import facets
from shortlist.index.engines.cluster_client import Cluster
from shortlist.index.engines.cluster_corpus import PAGE, DocumentList
from shortlist.index.engines.cluster_ranking import MORE, MORE_TO_BLEND, BM25Query, KnownFacts, VectorQuery
from shortlist.index.engines.cluster_reader import PassageReader
from shortlist.index.engines.cluster_rows import SHOWN, STORED, document_key, passage_key, to_document, to_passage
from shortlist.index.engines.cluster_schema import WINDOW
from shortlist.index.engines.facets import EVERYTHING, Condition, Query
from shortlist.index.query_scores import CandidateScores, Request, Scores, only_found
from shortlist.index.storage.records import batched
from shortlist.protocols import Embedder

if TYPE_CHECKING:
    from shortlist.index.engine import Viewer
    from shortlist.results import Mask, Positions, Vectors

_ORDER = ("added", "document", "ordinal")


class ClusterSnapshot(PassageReader):
    """A corpus as it is now. It is not isolated: what is removed meanwhile is no longer found."""

    generation = None
    can_share_threads = False  # it collects what it has read

    def __init__(
        self,
        cluster: Cluster,
        base: str,
        config: Config,
        embedder: Callable[[], Embedder | None],
        known: KnownFacts,
        viewer: Viewer | None = None,
    ) -> None:
        super().__init__(cluster, base, config, viewer)
        self._embedder = embedder
        self._known = known

    @property
    def size(self) -> int:
        return self.lexical.live

    @property
    def rows(self) -> DocumentList:
        return DocumentList(self.cluster, self.base, self.viewer)

    @property
    def embedder(self) -> Embedder | None:
        return self._embedder() if self.has_vectors else None

    @cached_property
    def lexical(self) -> BM25Query:
        return BM25Query(self, self._known)

    @cached_property
    def _dense(self) -> VectorQuery:
        return VectorQuery(self, require_embedder(self._embedder()), self._known)

    def score(self, request: Request) -> dict[str, Scores]:
        query, terms, words, meaning, allowed, _, _, exact, wanted = request
        only_ranks = request.only_ranks and self.viewer is None  # the server's own scores depend on hidden passages
        lexical, parts = self.lexical, dict[str, Scores]()
        self.rows_read.clear()

        def depth(k: int) -> int:
            """The number of candidates. To blend two rankings fewer are enough than the caller reads at first."""
            is_first = wanted and k <= max(words, meaning) and not request.only_ranks
            more = MORE_TO_BLEND if words and meaning else MORE
            return k if only_ranks else min((wanted if is_first else k) + more, WINDOW)

        by_words: dict[str, Any] = {} if only_ranks else {"names_in": query, "with_vectors": meaning > 0}
        searches = lexical.first_searches(terms, depth(words) if words else 0, allowed, only_ranks, **by_words)
        if only_ranks or not (words and terms):
            searches += lexical.name_searches(query, explicit=not only_ranks)
        lexical.texts_read_for = None if only_ranks else query
        if words:
            rank = lexical.approximate if only_ranks else lexical.rank_candidates
            parts["lexical"] = CandidateScores(
                lambda k: rank(terms, depth(k), allowed, **by_words),
                lambda positions: only_found(np.array(lexical.scores_at(terms, positions))),
                is_exact=not only_ranks,
            )
        if meaning:
            dense, known = self._dense, self._known.statistics
            near = partial(dense.rank, query, only_ranks=only_ranks, exact=exact)
            parts["dense"] = CandidateScores(
                lambda k: near(depth(k), self.size, allowed),
                lambda positions: dense.scores_at(query, positions),
                is_exact=not only_ranks,
            )
            about = known.seen.live if known else self.size
            searches += dense.first_searches(query, depth(meaning), about, allowed, only_ranks=only_ranks, exact=exact)
        self.prefetch(searches)
        for part in parts.values():  # whose names the query has is then known
            part.ranking(max(words, meaning))
        return parts

    def siblings(self, positions: Positions) -> list[Positions]:
        ids = self.ids(positions)
        found = self._passages_of(ids)
        return [np.array(found.get(id, [at]), dtype=np.int64) for id, at in zip(ids, positions.tolist(), strict=True)]

    def find_documents(self, ids: Sequence[str]) -> dict[str, Located]:
        rows = self._get_rows(self.documents_alias, list(map(document_key, ids)), ("id", "hash"))
        hashes = {row["_source"]["id"]: bytes.fromhex(row["_source"]["hash"]) for row in rows if row}
        positions = self._passages_of(list(hashes))
        return {id: Located(np.array(own, np.int64), hashes[id]) for id, own in positions.items()}

    def encode(self, query: str) -> Vectors:
        return self._dense.encode(query)

    def _passages_of(self, ids: Sequence[str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for batch in batched(ids, PAGE):
            body = {
                "query": {"terms": {"document": batch}},
                "sort": ["document", "ordinal"],
                **self.columns(scored=True),
            }
            own = self.locate(list(self._scan(self.passages_alias, body)))
            for position, id in zip(own.tolist(), self.ids(own), strict=True):
                found.setdefault(id, []).append(position)
        return found

    def passages(self, positions: Positions) -> list[Passage]:
        """The passages; of one that was just removed, only its id."""
        # What a reader may see may have changed since.
        rows: dict[int, Query] = {} if self.viewer else dict(self.rows_read)
        missing = [at for at in positions.tolist() if at not in rows]
        found = self._get_rows(self.passages_alias, self.keys(missing), SHOWN)
        rows |= {at: row["_source"] for at, row in zip(missing, found, strict=True) if row}
        return [
            to_passage(rows[at]) if at in rows else Passage(id, id, "")
            for at, id in zip(positions.tolist(), self.ids(positions), strict=True)
        ]

    def stored(self, positions: Positions) -> list[Document]:
        """The documents; of one that was just removed, only its id."""
        ids = self.ids(positions)
        rows = self._get_rows(self.documents_alias, list(map(document_key, ids)), STORED)
        return [to_document(row["_source"]) if row else Document(id, id, "") for row, id in zip(rows, ids, strict=True)]

    # Filters

    def everything(self) -> Condition:
        return Condition(EVERYTHING, self._check)

    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> Condition:
        return Condition(facets.query(key, operator, operand), self._check)

    def _check(self, query: Query, positions: Positions) -> Mask:
        return np.isin(positions, self.locate(self.search_among(positions.tolist(), query)))

    def permits(self, id: str, allowed: Condition) -> bool:
        query = {"bool": {"filter": [{"term": {"document": id}}, allowed.query]}}
        return bool(self.hits(self.select({"query": query, "size": 1}, scored=False)))

    # Reading everything

    def sources(self, allowed: Condition | None = None) -> set[str]:
        found: set[str] = set()
        places: Query = {"size": PAGE, "sources": [{"place": {"terms": {"field": "place"}}}]}
        query = EVERYTHING if allowed is None else allowed.query
        while True:
            body = {"size": 0, "query": query, "aggs": {"places": {"composite": places}}}
            answer = self._search(self.passages_alias, body)["aggregations"]["places"]
            found |= {bucket["key"]["place"] for bucket in answer["buckets"]}
            if len(answer["buckets"]) < PAGE:
                return found
            places["after"] = answer["after_key"]

    def walk(self, allowed: Condition | None = None) -> Iterator[Passage]:
        query = EVERYTHING if allowed is None else allowed.query
        for hit in self._scan(self.passages_alias, {"query": query, "sort": _ORDER, "_source": SHOWN}):
            yield to_passage(hit["_source"])

    def neighbors(self, source: str, locator: str, before: int, after: int) -> list[Passage]:
        for field in ("locator", "record"):
            query = {"bool": {"filter": [{"term": {"place": source}}, {"term": {field: locator}}]}}
            found = self.hits(self.select({"query": query, "size": 1, "sort": _ORDER}, scored=False))
            if found:
                document, at = document_key(found[0]["fields"]["document"][0]), found[0]["fields"]["ordinal"][0]
                keys = [passage_key(document, ordinal) for ordinal in range(max(0, at - before), at + after + 1)]
                return [to_passage(row["_source"]) for row in self._get_rows(self.passages_alias, keys, SHOWN) if row]
        return []

    def places(self) -> list[tuple[str, str, str]]:
        rows = self._scan_documents(["id", "source", "locator"])
        return [(row["id"], row["source"], row["locator"]) for row in rows]
