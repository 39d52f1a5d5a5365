"""The indices of a corpus in a cluster, each behind an alias, and how the two kinds of server differ.

`documents` has every document with its hash. `passages` is derived from it and is what is searched. `state` has the
configuration and the stamps of files. A rebuild fills new indices and switches all aliases to them at once.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

from shortlist.errors import InputError
from shortlist.index.config import Config
from shortlist.index.engines.address import Address
from shortlist.index.engines.facets import FIELD as FACETS
from shortlist.index.engines.facets import Query
from shortlist.index.lexical.bm25 import FIELDS

VECTOR = "vector"
ZERO = "zero"  # marks a passage whose vector is zero because the embedder knows none of its words

GRAPH = {"m": 16, "ef_construction": 100}

# How widely the graph of one segment is searched: OpenSearch's k, Elasticsearch's number of candidates. Each of several
# segments is searched by itself, so less is enough. Of 42,021 passages in one segment a width of 100 finds 94.5 % of
# the first ten, 300 98.1 % and 600 99.5 %; in 14 segments, a width of 100 finds 98.9 % and 200 99.8 %.
WIDTH, LEAST_WIDTH = 600, 100

# The most hits of one search. In a corpus of up to this number of passages all vectors are compared, as in the embedded
# engine; beyond, a graph finds the nearest.
WINDOW = 10_000

FORMAT = 1
FIRST = "000001"
PARTS = ("state", "documents", "passages")
LENGTHS = tuple(f"length_{field}" for field in FIELDS)

# Every change ends with a refresh, so this interval only matters for what a killed writer left. A shorter one would
# make many small segments, whose graphs are built again when they merge.
REFRESH = "30s"

# The formulas with the idf of Lucene, which finds the candidates.
FORMULAS = ("lucene", "okapi")

# Weights of fields become whole numbers of repetitions: at most this many for a weight of 1.
MOST_REPEATED = 4

_FIELDS: dict[str, Query] = json.loads(Path(__file__).with_name("mappings.json").read_bytes())


def repetitions(config: Config) -> tuple[tuple[int, int, int], int]:
    """The number of times that a word of each field is repeated for the server, and what a weight of 1 becomes.

    A word of weight 2 counts as two words, in tf and in length: so it is written twice, and k1 doubles.
    """
    weights = config.scoring.weights
    unit = next(
        (n for n in range(1, MOST_REPEATED + 1) if all((n * Fraction(w)).denominator == 1 for w in weights)),
        MOST_REPEATED,
    )
    title, keywords, content = (max(round(unit * weight), 1 if weight else 0) for weight in weights)
    return (title, keywords, content), unit


def check_formula(config: Config) -> None:
    if config.scoring.formula not in FORMULAS:
        raise InputError(
            f"A cluster cannot rank by the formula {config.scoring.formula!r}. Use {' or '.join(FORMULAS)}, or the "
            f"embedded engine."
        )


def settings(part: str, config: Config, address: Address, dialect: Dialect) -> Query:
    """The body of the request that creates an index."""
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
    made: Query = {"dynamic": False, "_meta": {"shortlist": FORMAT}, "properties": _FIELDS[part]}
    if part == "passages":
        made["_source"] = {"excludes": ["body", "counts", "names", FACETS, *LENGTHS, "unit", VECTOR, ZERO]}
        if config.dim:
            unit, zero = {"type": "binary", "doc_values": True}, {"type": "boolean"}
            made["properties"] = {**_FIELDS[part], VECTOR: dialect.vector_field(config.dim), "unit": unit, ZERO: zero}
    return made


def find_mismatch(found: Query, expected: Query) -> str:
    """What is wrong with the mapping of an index; empty if nothing is."""
    made_with = found.get("_meta", {}).get("shortlist")
    if made_with != FORMAT:
        return f"has format {made_with}; this version reads {FORMAT}" if made_with else "was not made by shortlist"
    for name, field in expected["properties"].items():
        type = found.get("properties", {}).get(name, {}).get("type", "missing")
        if type != field["type"]:
            return f"has a wrong field: {name} is {type}, not {field['type']}"
    return ""


class OpenSearch:
    name = "opensearch"
    oldest = (2, 4)  # the first whose vector search takes a filter
    needs_knn_setting = True

    def vector_field(self, dim: int) -> Query:
        # All vectors have the same length, so the nearest have the largest cosine, and a distance is faster to compute.
        method = {"name": "hnsw", "space_type": "l2", "engine": "lucene", "parameters": GRAPH}
        return {"type": "knn_vector", "dimension": dim, "method": method, "doc_values": False}

    def search_graph(self, vector: list[int], k: int, width: int, condition: Query | None) -> Query:
        """A search for the nearest with the graph, which may miss some."""
        wanted = {"vector": vector, "k": width, **({"filter": condition} if condition else {})}
        return {"query": {"knn": {VECTOR: wanted}}, "size": k}

    def compare_all(self, vector: list[int], condition: Query | None) -> Query:
        """A query that compares all passages, which the server does if a filter allows at most k."""
        return {"knn": {VECTOR: {"vector": vector, "k": WINDOW, "filter": _with_vector(condition)}}}


class Elasticsearch:
    name = "elasticsearch"
    oldest = (8, 4)  # the first whose search takes knn with a filter
    needs_knn_setting = False

    def vector_field(self, dim: int) -> Query:
        graph = {"type": "hnsw", **GRAPH}
        return {"type": "dense_vector", "dims": dim, "index": True, "similarity": "cosine", "index_options": graph}

    def search_graph(self, vector: list[int], k: int, width: int, condition: Query | None) -> Query:
        wanted = {"field": VECTOR, "query_vector": vector, "k": k, "num_candidates": width}
        return {"knn": {**wanted, **({"filter": condition} if condition else {})}, "size": k}

    def compare_all(self, vector: list[int], condition: Query | None) -> Query:
        script = {"source": f"cosineSimilarity(params.query, '{VECTOR}') + 1.0", "params": {"query": vector}}
        return {"script_score": {"query": _with_vector(condition), "script": script}}


Dialect = OpenSearch | Elasticsearch
DIALECTS: dict[str, Dialect] = {"opensearch": OpenSearch(), "elasticsearch": Elasticsearch()}


def find_width(k: int, segments: int) -> int:
    """How widely the graphs of a number of segments are searched for the k nearest."""
    return min(max(3 * k, LEAST_WIDTH, round(WIDTH / math.sqrt(max(segments, 1)))), WINDOW)


def _with_vector(condition: Query | None) -> Query:
    return {"bool": {"must_not": [{"term": {ZERO: True}}], "filter": [condition] if condition else []}}
