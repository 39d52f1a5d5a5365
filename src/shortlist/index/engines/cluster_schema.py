"""The indices of a corpus in a cluster, each behind an alias: state, documents and passages.

`documents` has every document with its hash. `passages` is derived from it and is what is searched. `state` has the
configuration and the stamps of files. A rebuild makes new indices and switches all aliases to them at once.
`Dialect` is what OpenSearch and Elasticsearch do differently.
"""

from __future__ import annotations

import re
from fractions import Fraction
from hashlib import blake2b
from typing import Any, Protocol

from shortlist.errors import InputError
from shortlist.index.config import Config
from shortlist.index.engines.address import Address
from shortlist.index.engines.facets import FIELD as FACETS
from shortlist.index.engines.facets import Query
from shortlist.index.lexical.bm25 import FIELDS

VECTOR = "vector"
ZERO = "zero"  # marks a passage whose vector is zero because the embedder knows nothing in it

GRAPH = {"m": 16, "ef_construction": 100}

# How widely the graph is searched: OpenSearch's k, Elasticsearch's number of candidates. Of 100,000 passages in one
# segment a width of 100 finds all of the first ten for 74 % of queries, 600 for 94 %, 1,500 for 98 %, in 2, 4 and 8 ms.
WIDTH = 1_500

# The most hits of one search, and the most passages among which OpenSearch finds the nearest by comparing all.
WINDOW = 10_000

FORMAT = 1
FIRST = "000001"
PARTS = ("state", "documents", "passages")
LENGTHS = tuple(f"length_{field}" for field in FIELDS)

# Every change ends with a refresh, so only what a killed writer left waits for this one. A shorter interval would mean
# many small segments, whose graphs are built again when they merge.
REFRESH = "30s"

# The formulas whose idf is Lucene's, which finds the candidates.
FORMULAS = ("lucene", "okapi")

# Weights of fields become whole numbers of repetitions: at most this many for a weight of 1.
MOST_REPEATED = 4

_KEYWORD = {"type": "keyword"}
_HIDDEN = {"type": "keyword", "doc_values": False}
_COUNT = {"type": "integer", "index": False}
_BYTES = {"type": "binary", "doc_values": True}
_INTEGER, _LONG = {"type": "integer"}, {"type": "long"}
_FIELDS: dict[str, dict[str, Any]] = {
    "state": dict.fromkeys(("what", "id", "source"), _KEYWORD),
    "documents": {
        **dict.fromkeys(("id", "source", "locator", "place", "kind", "hash"), _KEYWORD),
        "added": _LONG,
        "ready": {"type": "boolean"},
        "passages": _INTEGER,
    },
    "passages": {
        **dict.fromkeys(("document", "place", "locator", "record"), _KEYWORD),
        "ordinal": _INTEGER,
        "added": _LONG,
        "written": _LONG,
        **dict.fromkeys((FACETS, "names"), _HIDDEN),
        "body": {"type": "text", "analyzer": "whitespace", "similarity": "words", "index_options": "freqs"},
        "counts": _BYTES,
        **dict.fromkeys(LENGTHS, _COUNT),
    },
}


class Names:
    """The aliases of one corpus."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.state, self.documents, self.passages = map(self.alias, PARTS)

    @classmethod
    def of(cls, address: Address, name: str) -> Names:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
        if plain != name:  # another name may look like this one
            plain = f"{plain or 'corpus'}-{blake2b(name.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
        return cls(f"{address.prefix}-{plain}")

    def alias(self, part: str) -> str:
        return f"{self.base}-{part}"

    def index(self, part: str, generation: str) -> str:
        return f"{self.base}-{part}-{generation}"


def repetitions(config: Config) -> tuple[tuple[int, int, int], int]:
    """How often a word of each field is repeated for the server, and what a weight of 1 becomes.

    A word of weight 2 counts as two words, in tf and in length: so it is written twice, and k1 doubles.
    """
    weights = config.scoring.weights
    unit = next(
        (n for n in range(1, MOST_REPEATED + 1) if all((n * Fraction(w)).denominator == 1 for w in weights)),
        MOST_REPEATED,
    )
    title, keywords, content = (max(round(unit * weight), 1 if weight else 0) for weight in weights)
    return (title, keywords, content), unit


def check(config: Config) -> None:
    """Refuse what a cluster cannot do."""
    if config.scoring.formula not in FORMULAS:
        raise InputError(
            f"The formula {config.scoring.formula!r} is known to the embedded engine only; elsewhere there are "
            f"{' and '.join(FORMULAS)}."
        )


def settings(part: str, config: Config, address: Address, dialect: Dialect) -> Query:
    """The body that creates an index."""
    own: Query = {"index.number_of_shards": 1 if part == "state" else address.shards}
    if address.replicas is None:
        own["index.auto_expand_replicas"] = "0-1"
    else:
        own["index.number_of_replicas"] = address.replicas
    if part != "state":
        own["index.refresh_interval"] = REFRESH
    if part == "passages":
        scoring, (_, unit) = config.scoring, repetitions(config)
        similarity = {"type": "BM25", "k1": scoring.k1 * unit, "b": scoring.b}
        own |= {f"index.similarity.words.{name}": value for name, value in similarity.items()}
        own |= {"index.knn": True} if config.dim and dialect.needs_knn_setting else {}
    return {"settings": own, "mappings": mapping(part, config, dialect)}


def mapping(part: str, config: Config, dialect: Dialect) -> Query:
    made: Query = {"dynamic": False, "_meta": {"shortlist": FORMAT}, "properties": dict(_FIELDS[part])}
    if part == "passages":
        made["_source"] = {"excludes": ["body", "counts", "names", FACETS, *LENGTHS, "unit", VECTOR, ZERO]}
        if config.dim:
            made["properties"] |= {VECTOR: dialect.field(config.dim), "unit": _BYTES, ZERO: {"type": "boolean"}}
    return made


def differences(found: Query, wanted: Query) -> list[str]:
    """The fields whose type is wrong."""
    types = {name: field.get("type", "missing") for name, field in found.get("properties", {}).items()}
    return [
        f"{name} is {types.get(name, 'missing')}, not {field['type']}"
        for name, field in wanted["properties"].items()
        if types.get(name) != field["type"]
    ]


class Dialect(Protocol):
    """One kind of server. `nearest` searches with the graph, which may miss some; `compared` compares all passages."""

    name: str
    oldest: tuple[int, int]
    needs_knn_setting: bool

    def field(self, dim: int) -> Query: ...  # the mapping of a vector
    def nearest(self, vector: list[int], k: int, condition: Query | None) -> Query: ...
    def compared(self, vector: list[int], condition: Query | None) -> Query: ...


class OpenSearch:
    name = "opensearch"
    oldest = (2, 4)  # the first whose vector search takes a filter
    needs_knn_setting = True

    def field(self, dim: int) -> Query:
        # All have the same length, so the nearest have the largest cosine, and a distance is faster to compute.
        method = {"name": "hnsw", "space_type": "l2", "engine": "lucene", "parameters": GRAPH}
        return {"type": "knn_vector", "dimension": dim, "method": method, "doc_values": False}

    def nearest(self, vector: list[int], k: int, condition: Query | None) -> Query:
        wanted = {"vector": vector, "k": _width(k), **({"filter": condition} if condition else {})}
        return {"query": {"knn": {VECTOR: wanted}}, "size": k}

    def compared(self, vector: list[int], condition: Query | None) -> Query:
        """If a filter allows at most k, the server compares all of them."""
        return {"knn": {VECTOR: {"vector": vector, "k": WINDOW, "filter": _with_direction(condition)}}}


class Elasticsearch:
    name = "elasticsearch"
    oldest = (8, 4)  # the first whose search takes knn with a filter
    needs_knn_setting = False

    def field(self, dim: int) -> Query:
        graph = {"type": "hnsw", **GRAPH}
        return {"type": "dense_vector", "dims": dim, "index": True, "similarity": "cosine", "index_options": graph}

    def nearest(self, vector: list[int], k: int, condition: Query | None) -> Query:
        wanted = {"field": VECTOR, "query_vector": vector, "k": k, "num_candidates": _width(k)}
        return {"knn": {**wanted, **({"filter": condition} if condition else {})}, "size": k}

    def compared(self, vector: list[int], condition: Query | None) -> Query:
        script = {"source": f"cosineSimilarity(params.asked, '{VECTOR}') + 1.0", "params": {"asked": vector}}
        return {"script_score": {"query": _with_direction(condition), "script": script}}


def _width(k: int) -> int:
    return min(max(3 * k, WIDTH), WINDOW)


def _with_direction(condition: Query | None) -> Query:
    return {"bool": {"must_not": [{"term": {ZERO: True}}], "filter": [condition] if condition else []}}


DIALECTS: dict[str, Dialect] = {"opensearch": OpenSearch(), "elasticsearch": Elasticsearch()}
