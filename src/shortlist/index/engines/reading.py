"""What does a reader see of a corpus in a cluster? Passages by position: a number for each that was fetched.

The engine finds candidates: by its own BM25, whose lengths are rounded to a byte, and by its graph of vectors. They
come with their counts and vectors, and are scored here by the formulas of the embedded engine, with the numbers of the
whole corpus. Rounding shortens lengths, so the engine never scores too low: once the last candidate cannot reach the
k-th best, the first k are exactly those of the embedded engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist.errors import InputError
from shortlist.index.asked import Asked
from shortlist.index.engines import facets
from shortlist.index.engines.cluster import Cluster, lines
from shortlist.index.engines.dialects import MOST_COMPARED
from shortlist.index.engines.rows import SHOWN, Counts, direction, key_of, passage_key, to_passage, token, unpack_vector
from shortlist.index.engines.schema import LENGTHS, Names, repetitions
from shortlist.index.formulas import FORMULAS, Scoring
from shortlist.index.impacts import norm
from shortlist.index.lexical import asked_names, top
from shortlist.index.postings import weighted_length, weighted_tf
from shortlist.index.store import Config
from shortlist.index.tokens import Analyzer, get_analyzer, term_key
from shortlist.types import Embedder, Passage, Ranking

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shortlist.types import Floats, Mask, Positions, Vectors

Query = dict[str, Any]

# The most that one search returns.
WINDOW = 10_000
PAGE = 1_000

# A ranking is looked into deeper than it is asked for, since candidates change places when they are scored exactly.
DEEPER, LEAST_DEPTH = 2, 100

# What was deleted and is not yet merged away still counts in the engine's own statistics.
MARGIN = 1.01

# Up to so many passages all vectors are compared, as the embedded engine does; beyond, the graph finds the nearest.
COMPARED_UP_TO = MOST_COMPARED

# A query of more words is looked for by the rarest of them; scores are of all.
MOST_CLAUSES = 1_000
MOST_NAMES = 10_000

# Counts and vectors that are kept for the next query to the same state.
REMEMBERED = 20_000

# The nearest so many come with their counts, since a blend scores them by words, too.
BLENDED = 200

_FIELDS = ("counts", "unit")


class Statistics(NamedTuple):
    """What the scores of the whole corpus depend on."""

    live: int
    lengths: tuple[float, ...]


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

    def __init__(self, cluster: Cluster, names: Names, config: Config, embedder: Callable[[], Embedder | None]) -> None:
        self.config = config
        self.cluster = cluster
        self.names = names
        self._embedder = embedder
        self._positions: dict[str, int] = {}
        self._keys: list[str] = []
        self._ids: list[str] = []
        self._documents: dict[str, int] = {}
        self._document_of: list[int] = []
        self.counts: dict[int, Counts] = {}
        self.vectors: dict[int, Vectors] = {}

    @property
    def size(self) -> int:
        return self.lexical.live

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
        return [self._ids[position] for position in positions.tolist()]

    def siblings(self, position: int) -> Positions:
        own = {"term": {"document": self._ids[position]}}
        body = {"query": {"bool": {"filter": [own]}}, "size": WINDOW, "sort": ["ordinal"]}
        return self.note(self.search(body))

    def passages(self, positions: Positions) -> list[Passage]:
        """What is shown of passages; of one that was removed a moment ago, its id alone."""
        keys = [self._keys[position] for position in positions.tolist()]
        if not keys:
            return []
        path = f"/{self.names.passages}/_mget?_source_includes={','.join(SHOWN)}"
        rows = self.cluster.ask("POST", path, {"ids": keys}).body["docs"]
        return [
            to_passage(row["_source"]) if row.get("found") else Passage(id, id, "")
            for row, id in zip(rows, self.ids(positions), strict=True)
        ]

    # Filters

    def everything(self) -> Condition:
        return Condition(facets.EVERYTHING, self._check)

    def match(self, key: str, operator: str, operand: Any, test: Callable[[Any], bool]) -> Condition:
        return Condition(facets.query(key, operator, operand), self._check)

    def _check(self, query: Query, positions: Positions) -> Mask:
        wanted = positions.tolist()
        found = set()
        for start in range(0, len(wanted), WINDOW):
            ids = {"ids": {"values": [self._keys[position] for position in wanted[start : start + WINDOW]]}}
            hits = self.search({"query": {"bool": {"filter": [ids, query]}}, "size": WINDOW}, ())
            found |= {passage_key(*_place(hit)) for hit in hits}
        return np.array([self._keys[position] in found for position in wanted], dtype=bool)

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
        document, at = _place(found[0])
        keys = [passage_key(document, ordinal) for ordinal in range(max(0, at - before), at + after + 1)]
        path = f"/{self.names.passages}/_mget?_source_includes={','.join(SHOWN)}"
        rows = self.cluster.ask("POST", path, {"ids": keys}).body["docs"]
        return [to_passage(row["_source"]) for row in rows if row.get("found")]

    def ids_of_file(self, id: str, source: str) -> set[str]:
        return ids_of_file(self.cluster, self.names, id, source)

    def places(self) -> list[tuple[str, str, str]]:
        shown = ("id", "source", "locator")
        hits = pages(self.cluster, self.names.documents, READY, ["added", "id"], shown)
        return [(row["id"], row["source"], row["locator"]) for row in (hit["_source"] for hit in hits)]

    # Asking the engine

    def search(self, body: Query, fields: Sequence[str] = _FIELDS) -> list[dict[str, Any]]:
        """The hits of a search over the passages."""
        path = f"/{self.names.passages}/_search?allow_partial_search_results=false"
        hits: list[dict[str, Any]] = self.cluster.ask("POST", path, self.fetching(body, fields)).body["hits"]["hits"]
        return hits

    def fetching(self, body: Query, fields: Sequence[str]) -> Query:
        """A search that brings only columns: rows lie packed together, and to read one takes many times as long."""
        wanted = [field for field in fields if field != "unit" or self.has_vectors]
        columns = ["document", "ordinal", *wanted]
        return {"stored_fields": "_none_", "track_total_hits": False, "docvalue_fields": columns, **body}

    def note(self, hits: Iterable[Mapping[str, Any]]) -> Positions:
        """The positions of hits; what came with them is kept."""
        found = [(hit, *_place(hit)) for hit in hits]
        for hit, document, ordinal in sorted(found, key=lambda one: one[1:]):  # those of a document in their order
            key = passage_key(document, ordinal)
            if key not in self._positions:
                self._positions[key] = len(self._keys)
                self._keys.append(key)
                self._ids.append(hit["fields"]["document"][0])
                self._document_of.append(self._documents.setdefault(document, len(self._documents)))
        for kept in (self.counts, self.vectors):
            if len(kept) > REMEMBERED:
                kept.clear()
        positions = [self._positions[passage_key(document, ordinal)] for _, document, ordinal in found]
        for position, (hit, _, _) in zip(positions, found, strict=True):
            if "counts" in hit["fields"]:
                self.counts[position] = Counts.unpack(hit["fields"]["counts"][0])
            if "unit" in hit["fields"]:
                self.vectors[position] = unpack_vector(hit["fields"]["unit"][0])
        return np.array(positions, dtype=np.int64)

    def fetch(self, positions: Positions, known: Mapping[int, Any], field: str) -> None:
        """Get what is not yet known of some positions, in one request for every 10,000."""
        keys = [self._keys[position] for position in positions.tolist() if position not in known]
        for start in range(0, len(keys), WINDOW):
            query = {"bool": {"filter": [{"ids": {"values": keys[start : start + WINDOW]}}]}}
            self.note(self.search({"query": query, "size": WINDOW}, (field,)))


class ReadWords:
    """Ranks by shared words."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.analyzer: Analyzer = get_analyzer(reading.config.analyzer)
        self.scoring: Scoring = reading.config.scoring
        self._formula = FORMULAS[self.scoring.formula]
        self._df: dict[int, int] = {}
        self._statistics: Statistics | None = None

    @property
    def live(self) -> int:
        return self._learn(()).live

    def rank(self, query: str | Asked, k: int, allowed: Condition | None = None) -> Ranking:
        """The k best for a text or for terms, and those that tie with the last of them."""
        counts = _weighed(self.analyzer.terms(query) if isinstance(query, str) else query)
        if not counts or not k:
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        depth = min(max(DEEPER * k, LEAST_DEPTH), WINDOW)
        while True:
            hits = self._candidates(counts, depth, allowed)
            positions = self._reading.note(hits)
            scores = self._scores(counts, positions)
            scores[scores <= 0] = -np.inf
            best = top(scores, k)
            if len(hits) < depth or depth >= WINDOW:
                break
            engines = np.array([hit["_score"] for hit in hits])
            if len(best) >= k and scores[best[k - 1]] > self._most(engines, scores):
                break
            depth = min(4 * depth, WINDOW)
        best = best[np.lexsort((positions[best], -scores[best]))]
        return Ranking(positions[best], scores[best])

    def scores_at(self, terms: Asked, positions: Positions) -> Floats:
        self._reading.fetch(positions, self._reading.counts, "counts")
        return self._scores(_weighed(terms), positions)

    def held_at(self, terms: Asked, positions: Positions) -> Floats:
        """What share of all terms, weighed by their idf, the passage at each position holds."""
        self._reading.fetch(positions, self._reading.counts, "counts")
        counts = _weighed(terms)
        idf = self._idf(counts)
        weights = np.array([count * idf[key] for key, count in counts.items()], dtype=np.float64)
        there, tfs = self._held(counts, positions)
        held = np.zeros(len(positions))
        held[there] = (tfs > 0) @ weights
        return held / max(float(weights.sum()), 1e-9)

    def ideal(self, terms: Asked) -> float:
        counts = _weighed(terms)
        idf = self._idf(counts)
        return float(sum(count * idf[key] for key, count in counts.items()) * self._formula.ceiling(self.scoring.k1))

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        keys = {term: term_key(term) for term in dict.fromkeys(terms)}
        self._learn(keys.values())
        return {term: self._df[key] for term, key in keys.items()}

    def knows(self, terms: Asked) -> bool:
        return any(self.frequency(list(terms)).values())

    def named(self, query: str) -> Positions:
        spans = [token(key) for key in asked_names(query)]
        if not spans:
            return np.zeros(0, np.int64)
        body = {"query": {"bool": {"filter": [{"terms": {"names": spans[:MOST_NAMES]}}]}}, "size": WINDOW}
        return np.sort(self._reading.note(self._reading.search(body, ())))

    def _most(self, engines: Floats, scores: Floats) -> float:
        """What a passage can score at most that is not among the candidates.

        Most engines multiply BM25 by k1 + 1, and some do not; the candidates tell. Rounding only makes it more.
        """
        factor = repetitions(self._reading.config)[1] * self.scoring.k1 + 1.0
        ceiling = self._formula.ceiling(self.scoring.k1)
        is_multiplied = bool((engines * ceiling >= 0.99 * factor * scores).all())
        return float(MARGIN * engines[-1] * ceiling / (factor if is_multiplied else 1.0))

    def _candidates(self, counts: Mapping[int, float], depth: int, allowed: Condition | None) -> list[dict[str, Any]]:
        """The best by the engine's own scores, best first."""
        wanted = counts
        if len(counts) > MOST_CLAUSES:
            idf = self._idf(counts)
            rarest = sorted(counts, key=lambda key: -counts[key] * idf[key] if self._df[key] else 0.0)
            wanted = {key: counts[key] for key in rarest[:MOST_CLAUSES]}
        clauses = [{"term": {"body": {"value": token(key), "boost": count}}} for key, count in wanted.items()]
        query: Query = {"bool": {"should": clauses, "minimum_should_match": 1}}
        if allowed is not None:
            query["bool"]["filter"] = [allowed.query]
        body = self._reading.fetching({"query": query, "size": depth}, ("counts",))
        (hits,) = self._asked(counts, [(body, True)])
        found: list[dict[str, Any]] = hits["hits"]["hits"]
        return found

    def _learn(self, keys: Iterable[int]) -> Statistics:
        self._asked(keys, [])
        assert self._statistics is not None
        return self._statistics

    def _asked(self, keys: Iterable[int], others: Sequence[tuple[Query, bool]]) -> list[dict[str, Any]]:
        """Ask for what is not yet known of the whole corpus and of these words, and for other things with it.

        What is asked of the corpus alone is the same for every query, so nodes answer it from memory until it changes.
        """
        unknown = [key for key in dict.fromkeys(keys) if key not in self._df]
        searches = list(others)
        if self._statistics is None:
            sums = {name: {"sum": {"field": name}} for name in LENGTHS}
            searches.append(({"size": 0, "track_total_hits": True, "aggs": sums}, False))
        for start in range(0, len(unknown), MOST_CLAUSES):
            terms = {str(key): {"term": {"body": token(key)}} for key in unknown[start : start + MOST_CLAUSES]}
            body = {"size": 0, "track_total_hits": False, "aggs": {"df": {"filters": {"filters": terms}}}}
            searches.append((body, False))
        if not searches:
            return []
        answers = self._several(searches)
        rest = iter(answers[len(others) :])
        if self._statistics is None:
            answer = next(rest)
            lengths = tuple(float(answer["aggregations"][name]["value"] or 0.0) for name in LENGTHS)
            self._statistics = Statistics(answer["hits"]["total"]["value"], lengths)
        for answer in rest:
            buckets = answer["aggregations"]["df"]["buckets"]
            self._df |= {int(key): bucket["doc_count"] for key, bucket in buckets.items()}
        return answers[: len(others)]

    def _several(self, searches: Sequence[tuple[Query, bool]]) -> list[dict[str, Any]]:
        rows: list[Query] = []
        for body, by_score in searches:
            head: Query = {"index": self._reading.names.passages, "allow_partial_search_results": False}
            if by_score:
                head["search_type"] = "dfs_query_then_fetch"
            rows += [head, body]
        return self._reading.cluster.ask_several(lines(rows))

    def _idf(self, keys: Iterable[int]) -> dict[int, float]:
        keys = list(keys)
        live = self._learn(keys).live
        return {key: self._formula.idf(live, self._df[key]) if live else 0.0 for key in keys}

    def _held(self, counts: Mapping[int, float], positions: Positions) -> tuple[list[int], NDArray[np.uint32]]:
        """Which of the positions are known, and how often, by field, each of these words stands there."""
        wanted = np.array(list(counts), dtype=np.uint64)
        known = self._reading.counts
        there = [at for at, position in enumerate(positions.tolist()) if position in known]
        tfs = np.zeros((len(there), len(wanted)), dtype=np.uint32)
        for row, at in zip(tfs, there, strict=True):
            held = known[int(positions[at])]
            if len(held.keys) and len(wanted):
                place = np.minimum(np.searchsorted(held.keys, wanted), len(held.keys) - 1)
                row[:] = np.where(held.keys[place] == wanted, held.tfs[place], 0)
        return there, tfs

    def _scores(self, counts: Mapping[int, float], positions: Positions) -> Floats:
        """Exact scores, as `lexical.Lexical` has them."""
        idf = self._idf(counts)
        statistics = self._learn(())
        weights = self.scoring.weights
        total = sum(weight * length for weight, length in zip(weights, statistics.lengths, strict=True))
        base, scale = norm(self.scoring, total / statistics.live if statistics.live else 0.0)
        scores = np.zeros(len(positions))
        there, tfs = self._held(counts, positions)
        if not there:
            return scores
        known = self._reading.counts
        lengths = weighted_length(np.array([known[int(positions[at])].lengths for at in there]), weights)
        sums = np.zeros(len(there))
        for column, (key, count) in enumerate(counts.items()):
            tf = weighted_tf(tfs[:, column], weights)
            gain = self._formula.gain(
                np.maximum(tf, 1e-300), base + scale * lengths, self.scoring.k1, self._formula.delta
            )
            sums += np.where(tf > 0, count * idf[key] * gain, 0.0)
        scores[there] = sums
        return scores


class ReadMeaning:
    """Ranks by meaning."""

    def __init__(self, reading: Reading, embedder: Embedder) -> None:
        self._reading = reading
        self.embedder = embedder

    def rank(self, query: str, k: int, allowed: Condition | None = None) -> Ranking:
        vector = self.embedder.encode_query(query)
        if not vector.any() or not k:
            return Ranking(np.zeros(0, np.int64), np.zeros(0))
        condition = None if allowed is None else allowed.query
        dialect, asked = self._reading.cluster.dialect, direction(vector)
        compared = self._reading.lexical.live <= COMPARED_UP_TO
        depth = min(k + max(10, k // 10), WINDOW)
        while True:
            if compared:
                body: Query = {"query": dialect.compared(asked, condition), "size": depth}
            else:
                body = dialect.nearest(asked, depth, condition)
            positions = self._reading.note(self._reading.search(body, _FIELDS if k <= BLENDED else ("unit",)))
            scores = self._products(vector, positions)
            best = top(scores, k)
            all_seen = len(positions) < depth or depth >= WINDOW
            if all_seen or not compared or (k < depth and scores[best[k - 1]] > scores.min()):
                break
            depth = min(4 * depth, WINDOW)
        best = best[np.lexsort((positions[best], -scores[best]))]
        return Ranking(positions[best], scores[best])

    def scores_at(self, query: str, positions: Positions) -> Floats:
        vector = self.embedder.encode_query(query)
        if not vector.any():
            return np.full(len(positions), -np.inf)
        self._reading.fetch(positions, self._reading.vectors, "unit")
        return self._products(vector, positions)

    def _products(self, vector: Vectors, positions: Positions) -> Floats:
        scores = np.full(len(positions), -np.inf)
        known = [(at, self._reading.vectors.get(position)) for at, position in enumerate(positions.tolist())]
        there = [(at, unit) for at, unit in known if unit is not None]
        if there:
            scores[[at for at, _ in there]] = np.array([unit for _, unit in there]) @ vector
        return scores


def _weighed(terms: Asked) -> dict[int, float]:
    """The keys of terms, each with how often it comes, or what it weighs."""
    weights = terms if isinstance(terms, Mapping) else Counter(terms)
    return {term_key(term): float(weight) for term, weight in weights.items()}


READY: Query = {"term": {"ready": True}}


def ids_of_file(cluster: Cluster, names: Names, id: str, source: str) -> set[str]:
    """The ids of the documents of a file, whose id is that of the file or begins with it and #."""
    either = {"bool": {"should": [{"term": {"id": id}}, {"prefix": {"id": f"{id}#"}}], "minimum_should_match": 1}}
    query = {"bool": {"filter": [READY, {"term": {"source": source}}, either]}}
    return {hit["_source"]["id"] for hit in pages(cluster, names.documents, query, ["added", "id"], ("id",))}


def pages(
    cluster: Cluster, index: str, query: Query, sort: Sequence[str], shown: Sequence[str], **options: Any
) -> Iterator[dict[str, Any]]:
    """Every hit in an order that does not change, page by page."""
    body: Query = {"query": {"bool": {"filter": [query]}}, "sort": list(sort), "_source": list(shown), "size": PAGE}
    body |= {"track_total_hits": False, **options}
    while True:
        path = f"/{index}/_search?allow_partial_search_results=false"
        hits = cluster.ask("POST", path, body).body["hits"]["hits"]
        yield from hits
        if len(hits) < body["size"]:
            return
        body["search_after"] = hits[-1]["sort"]


def _place(hit: Mapping[str, Any]) -> tuple[str, int]:
    """The key of a hit's document, and which of its passages it is."""
    return key_of(hit["fields"]["document"][0]), int(hit["fields"]["ordinal"][0])
