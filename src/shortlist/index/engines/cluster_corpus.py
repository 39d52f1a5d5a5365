"""The indices of one corpus in a cluster, and the requests that read their rows."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from shortlist._text import clean
from shortlist.documents import Document, Stamp
from shortlist.errors import EngineError
from shortlist.index.config import Drift
from shortlist.index.engine import ACCESS, MISSING, Viewer
from shortlist.index.engines import facets
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_client import PATIENCE_WRITING, Cluster
from shortlist.index.engines.cluster_rows import STORED, document_key, to_document
from shortlist.index.engines.cluster_schema import PARTS
from shortlist.index.engines.facets import EVERYTHING, Query
from shortlist.index.engines.visibility import make_query
from shortlist.index.storage.records import batched

PAGE = 1_000
SCANNED = 200  # documents in one request, which may be long
SCANNED_COLUMNS = 5_000  # rows without their texts
READY: Query = {"term": {"ready": True}}
FIRST: Query = {"term": {"ordinal": 0}}  # the first passage of each document
STAMPS: Query = {"term": {"what": "stamp"}}
_BY_ADDED = ("added", "id")


def now() -> int:
    """The time in milliseconds."""
    return time.time_ns() // 1_000_000


def base_name(address: Address, name: str) -> str:
    """What the names of all indices of a corpus begin with."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    if plain != name:  # another name may look like this one
        plain = f"{plain or 'corpus'}-{blake2b(name.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
    return f"{address.prefix}-{plain}"


class ClusterCorpus:
    """The aliases of a corpus, and what both its engine and its snapshots read."""

    def __init__(self, cluster: Cluster, base: str, viewer: Viewer | None = None) -> None:
        self.cluster = cluster
        self.viewer = viewer  # who reads; None: someone who sees everything
        self.visible = EVERYTHING if viewer is None else make_query(viewer)
        self.base = base
        self.aliases = {part: f"{base}-{part}" for part in PARTS}
        self.state_alias, self.documents_alias, self.passages_alias = self.aliases.values()

    def get(self, id: str) -> Document | None:
        row = self._get_row(self.documents_alias, document_key(id))
        return to_document(row["_source"]) if row and row["_source"].get("ready") and self._sees(row) else None

    def count(self) -> int:
        if self.viewer:
            return self.count_rows(self.passages_alias, FIRST)
        return self.count_rows(self.documents_alias, READY)

    def since(self, mark: dict[str, Any]) -> Drift:
        later = {"range": {"written": {"gt": mark["when"]}}}
        return Drift(self.count_rows(self.passages_alias, later), self.count_rows(self.passages_alias))

    def stamps(self) -> dict[str, Stamp]:
        body = {"query": STAMPS, "sort": ["id", "source"], "_source": ["id", "source", "value", "skipped"]}
        return {hit["_source"]["id"]: Stamp(**hit["_source"]) for hit in self._scan(self.state_alias, body)}

    def ids_of_file(self, id: str, source: str) -> set[str]:
        """The ids of the documents of a file: the id of the file itself, or the same with `#` and more after it."""
        either = {"bool": {"should": [{"term": {"id": id}}, {"prefix": {"id": f"{id}#"}}]}}
        query = {"bool": {"filter": [READY, {"term": {"source": source}}, either]}}
        return {row["id"] for row in self._scan_documents(["id"], query)}

    def _get_row(self, alias: str, key: str) -> Query | None:
        row = self.cluster.request("GET", f"/{alias}/_doc/{key}", accept=404)
        return row if row.get("found") else None

    def _get_rows(
        self, alias: str, keys: Sequence[str], columns: Sequence[str], patience: float = 0
    ) -> list[Query | None]:
        """The rows with these keys; None where there is none that the reader may see."""
        seen_by = ("id", "document", "metadata") if self.viewer else ()
        path = f"/{alias}/_mget?_source_includes={','.join(dict.fromkeys((*columns, *seen_by)))}"
        rows: list[Query] = []
        for batch in batched(keys, PAGE):
            rows += self.cluster.request("POST", path, {"ids": batch}, patience=patience)["docs"]
        return [row if row.get("found") and self._sees(row) else None for row in rows]

    def _sees(self, row: Query) -> bool:
        """Whether the reader may see the document of a row, as it is now."""
        if self.viewer is None:
            return True
        found = row["_source"]
        if "metadata" not in found:  # it is being written
            return False
        access = json.loads(found["metadata"]).get(ACCESS, MISSING)
        return self.viewer.sees(access) and self.viewer.sees_id(found["id"] if "id" in found else found["document"])

    def restrict(self, body: Query) -> Query:
        """A search of passages, of those that the reader may see."""
        if self.viewer is None:
            return body
        return body | {"query": {"bool": {"must": [body.get("query", EVERYTHING)], "filter": [self.visible]}}}

    def _search(self, alias: str, body: Query) -> Query:
        """The answer to a search of all shards; an error if one is missing."""
        if self.viewer:
            assert alias == self.passages_alias, "only passages can be filtered by who may see them"
            body = self.restrict(body)
        return self._send_search(alias, body)

    def _send_search(self, alias: str, body: Query) -> Query:
        return self.cluster.request("POST", f"/{alias}/_search?allow_partial_search_results=false", body)

    def count_rows(self, alias: str, query: Query = EVERYTHING) -> int:
        body = {"query": query, "size": 0, "track_total_hits": True}
        return int(self._search(alias, body)["hits"]["total"]["value"])

    def _scan_documents(self, columns: Sequence[str], query: Query = READY, size: int = PAGE) -> Iterator[Query]:
        """The columns of documents, in the order in which they were first added."""
        if self.viewer:
            yield from self._scan_visible(columns, size)
            return
        body = {"query": query, "sort": _BY_ADDED, "_source": columns, "size": size}
        yield from (hit["_source"] for hit in self._scan(self.documents_alias, body))

    def _scan_visible(self, columns: Sequence[str], size: int) -> Iterator[Query]:
        """The columns of the documents that the reader may see, which their first passages show."""
        body = {"query": FIRST, "sort": ("added", "document"), "_source": ["document"], "size": size}
        for hits in batched(self._scan(self.passages_alias, body), size):
            keys = [document_key(hit["_source"]["document"]) for hit in hits]
            rows = self._get_rows(self.documents_alias, keys, [*columns, "ready"])
            yield from (row["_source"] for row in rows if row and row["_source"].get("ready"))

    def _scan(self, alias: str, body: Query) -> Iterator[Query]:
        """Every hit of a search, in the order of its `sort`."""
        body = {"size": PAGE, "track_total_hits": False, **body}
        while True:
            hits = self._search(alias, body)["hits"]["hits"]
            yield from hits
            if len(hits) < body["size"]:
                return
            body["search_after"] = hits[-1]["sort"]


class DocumentList(ClusterCorpus):
    """The documents that the reader may see, in the order in which they were first added."""

    def browse(self, text: str, offset: int, limit: int | None) -> tuple[list[Document], int]:
        end = None if limit is None else offset + limit
        if not text:
            return list(itertools.islice(self.scan(), offset, end)), self.count()
        wanted, found, total = clean(text).casefold(), list[Document](), 0
        for document in self.scan():
            texts = (document.id, document.title, document.content, *document.keywords)
            if any(wanted in part.casefold() for part in texts):
                total += 1
                if total > offset and (end is None or total <= end):
                    found.append(document)
        return found, total

    def scan(self) -> Iterator[Document]:
        return map(to_document, self._scan_documents(STORED, size=SCANNED))

    def ids(self) -> list[str]:
        return [row["id"] for row in self._scan_documents(["id"])]

    def kinds(self) -> dict[str, int]:
        body: Query = {"size": 0, "query": READY, "aggs": {"kinds": {"terms": {"field": "kind", "size": 1000}}}}
        buckets = self._send_search(self.documents_alias, body)["aggregations"]["kinds"]["buckets"]
        counts = [(bucket["key"], bucket["doc_count"]) for bucket in buckets]
        if self.viewer:
            each = [{"bool": {"filter": [FIRST, facets.query("kind", "$eq", kind)]}} for kind, _ in counts]
            body = {"size": 0, "aggs": {"kinds": {"filters": {"filters": each}}}}
            buckets = self._search(self.passages_alias, body)["aggregations"]["kinds"]["buckets"]
            counts = [(kind, own["doc_count"]) for (kind, _), own in zip(counts, buckets, strict=True)]
        return dict(sorted(((kind, n) for kind, n in counts if n), key=lambda pair: (-pair[1], pair[0])))


class StoredRow(NamedTuple):
    """The row of a document as it was read."""

    key: str
    version: dict[str, int]
    id: str
    source: str = ""
    hash: str = ""
    added: int = 0
    passages: int = 0
    ready: bool = False
    writer: str = ""
    since: int = 0

    @classmethod
    def of(cls, row: Query) -> StoredRow:
        return cls(row["_id"], version_of(row), **row["_source"])


_COLUMNS = StoredRow._fields[2:]
_INDEXED_COLUMNS = _COLUMNS[:-2]  # all that a complete row has


def version_of(row: Query) -> dict[str, int]:
    """The version of a row, as the condition of a later change."""
    return {"if_seq_no": row["_seq_no"], "if_primary_term": row["_primary_term"]}


class StoredDocuments(ClusterCorpus):
    """The stored documents that a sync compares with."""

    def generation(self) -> int:
        return 0  # each document is protected by the version of its own row

    def read(self, ids: Sequence[str]) -> dict[str, StoredRow]:
        """The rows of those documents that have one, complete or not."""
        keys = [document_key(id) for id in ids]
        rows = self._get_rows(self.documents_alias, keys, _COLUMNS, PATIENCE_WRITING)
        return {row["_source"]["id"]: StoredRow.of(row) for row in rows if row}

    def find(self, ids: Sequence[str]) -> dict[str, StoredRow]:
        """The rows of those documents that had one at the last refresh, which is much faster than to `read` them."""
        rows = [self._to_columns(hit) for hit in self._find(ids, _INDEXED_COLUMNS, EVERYTHING)]
        found = {row["id"]: StoredRow(document_key(row["id"]), **row) for row in rows}
        return found | self.read([id for id, row in found.items() if not row.hash])  # with who writes them

    def stored(self, ids: Sequence[str]) -> dict[str, tuple[Any, bytes]]:
        rows = map(self._to_columns, self._find(ids, ("id", "hash"), READY))
        return {row["id"]: (row["id"], bytes.fromhex(row["hash"])) for row in rows}

    def count(self) -> int:
        """The number of documents, complete or not."""
        return self.count_rows(self.documents_alias)

    def everything(self) -> Iterable[tuple[Any, str, str]]:
        body = {"sort": ["id"], "size": SCANNED_COLUMNS, "stored_fields": "_none_", "docvalue_fields": ("id", "source")}
        for row in map(self._to_columns, self._scan(self.documents_alias, body)):
            yield row["id"], row["id"], row["source"]

    def _find(self, ids: Sequence[str], columns: Sequence[str], query: Query) -> Iterator[Query]:
        for batch in batched(ids, PAGE):
            keys = {"ids": {"values": list(map(document_key, batch))}}
            body = {"query": {"bool": {"filter": [keys, query]}}, "size": len(batch), "sort": ["_doc"]}
            body |= {"stored_fields": "_none_", "docvalue_fields": columns, "track_total_hits": False}
            body["seq_no_primary_term"] = columns is _INDEXED_COLUMNS
            path = f"/{self.documents_alias}/_search?allow_partial_search_results=false"
            yield from self.cluster.request("POST", path, body, patience=PATIENCE_WRITING)["hits"]["hits"]

    @staticmethod
    def _to_columns(hit: Query) -> dict[str, Any]:
        columns = {name: values[0] for name, values in hit["fields"].items()}
        return columns | ({"version": version_of(hit)} if "_seq_no" in hit else {})

    def stamped(self, stamp: Stamp) -> set[str]:
        return self.ids_of_file(stamp.id, stamp.source)

    def refresh(self) -> None:
        """Make everything visible that was written. A server whose shards have no node does not answer for a minute."""
        aliases = f"{self.documents_alias},{self.passages_alias}"
        try:
            self.cluster.write("POST", f"/{aliases}/_refresh", accept=404)
        except EngineError:
            health = self.cluster.request("GET", f"/_cluster/health/{aliases}?timeout=1s", accept=408)
            if health["status"] == "red":
                raise self.cluster.missing_shards(f"shards without a node: {health['unassigned_shards']}") from None
            raise
