"""What lies in a cluster? Three indices for a corpus, each behind an alias: state, documents and passages.

`documents` is the truth: every document with its hash. `passages` is derived from it and is what is searched. `state`
has the configuration and the stamps of files. A rebuild makes new indices and lets all aliases point to them at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import Any

from shortlist.errors import InputError
from shortlist.index.config import Config
from shortlist.index.engines.address import Address
from shortlist.index.engines.dialects import VECTOR, ZERO, Dialect
from shortlist.index.engines.facets import FIELD as FACETS
from shortlist.index.lexical.bm25 import FIELDS

FORMAT = 1
FIRST = "000001"
PARTS = ("state", "documents", "passages")
LENGTHS = tuple(f"length_{field}" for field in FIELDS)

# Every change ends with a refresh, so only what a dead writer left waits for this one. More often would mean many small
# segments, whose graphs are made again when they merge.
REFRESH = "30s"

# The formulas whose idf is Lucene's, which ranks first; with another one its first would not be ours.
FORMULAS = ("lucene", "okapi")

# Weights of fields become whole numbers of repetitions; up to so many for a weight of 1.
MOST_REPEATED = 4

_KEYWORD = {"type": "keyword"}
_HIDDEN = {"type": "keyword", "doc_values": False}
_COUNT = {"type": "integer", "index": False}
_BYTES = {"type": "binary", "doc_values": True}


@dataclass(frozen=True, slots=True)
class Names:
    """The aliases of one corpus."""

    base: str

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

    @property
    def state(self) -> str:
        return self.alias("state")

    @property
    def documents(self) -> str:
        return self.alias("documents")

    @property
    def passages(self) -> str:
        return self.alias("passages")


def repetitions(config: Config) -> tuple[tuple[int, int, int], int]:
    """How often a word of each field is written for the engine, and what a weight of 1 has become.

    A word of weight 2 counts as two words, in tf and in length: so it is written twice, and k1 grows by the same.
    """
    weights = config.scoring.weights
    unit = next(
        (n for n in range(1, MOST_REPEATED + 1) if all((n * Fraction(w)).denominator == 1 for w in weights)),
        MOST_REPEATED,
    )
    title, keywords, content = (max(round(unit * weight), 1 if weight else 0) for weight in weights)
    return (title, keywords, content), unit


def check(config: Config) -> None:
    """Refuse what an engine elsewhere cannot do."""
    if config.scoring.formula not in FORMULAS:
        raise InputError(
            f"The formula {config.scoring.formula!r} is known to the embedded engine only; elsewhere there are "
            f"{' and '.join(FORMULAS)}."
        )


def settings(part: str, config: Config, address: Address, dialect: Dialect) -> dict[str, Any]:
    """The body that makes an index."""
    shards = 1 if part == "state" else address.shards
    own: dict[str, Any] = {"index.number_of_shards": shards}
    if address.replicas is None:
        own["index.auto_expand_replicas"] = "0-1"
    else:
        own["index.number_of_replicas"] = address.replicas
    if part != "state":
        own["index.refresh_interval"] = REFRESH
    if part == "passages":
        scoring, (_, unit) = config.scoring, repetitions(config)
        own["index.similarity.words.type"] = "BM25"
        own["index.similarity.words.k1"] = scoring.k1 * unit
        own["index.similarity.words.b"] = scoring.b
        own |= dialect.settings() if config.dim else {}
    return {"settings": own, "mappings": mapping(part, config, dialect)}


def mapping(part: str, config: Config, dialect: Dialect) -> dict[str, Any]:
    parts: dict[str, dict[str, Any]] = {
        "state": {"what": _KEYWORD, "id": _KEYWORD, "source": _KEYWORD},
        "documents": {
            "id": _KEYWORD,
            "source": _KEYWORD,
            "locator": _KEYWORD,
            "place": _KEYWORD,
            "kind": _KEYWORD,
            "hash": _KEYWORD,
            "added": {"type": "long"},
            "ready": {"type": "boolean"},
            "passages": {"type": "integer"},
        },
        "passages": {
            "document": _KEYWORD,
            "place": _KEYWORD,
            "locator": _KEYWORD,
            "record": _KEYWORD,
            "ordinal": {"type": "integer"},
            "added": {"type": "long"},
            "written": {"type": "long"},
            FACETS: _HIDDEN,
            "names": _HIDDEN,
            "body": {"type": "text", "analyzer": "whitespace", "similarity": "words", "index_options": "freqs"},
            "counts": _BYTES,
            **dict.fromkeys(LENGTHS, _COUNT),
        },
    }
    properties = parts[part]
    made: dict[str, Any] = {"dynamic": False, "_meta": {"shortlist": FORMAT}, "properties": properties}
    if part == "passages":
        made["_source"] = {"excludes": ["body", "counts", "names", FACETS, *LENGTHS, "unit", VECTOR, ZERO]}
        if config.dim:
            properties |= {VECTOR: dialect.field(config.dim), "unit": _BYTES, ZERO: {"type": "boolean"}}
    return made


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """The fields that are not what they should be."""
    there = found.get("properties", {})
    return [
        f"{name} is {there.get(name, {}).get('type', 'missing')}, not {field['type']}"
        for name, field in wanted["properties"].items()
        if there.get(name, {}).get("type") != field["type"]
    ]
