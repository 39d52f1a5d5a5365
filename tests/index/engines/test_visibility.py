"""A reader of a corpus in a cluster of several shards gets what a reader of the embedded engine gets."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Corpus, CorpusError, Document
from shortlist.index.engines.visibility import to_regular_expression
from tests.index.engines.conftest import CHUNKS, Make, Place, assert_same_hits, cluster_address, on_servers
from tests.index.test_restricted_engine import QUERIES, READS, make_documents

RULES = [("d1*", ["board"]), ("d[2-3]?", ["hr", "board"]), ("file.md", ["board"]), ("*", ["staff"])]
READERS: dict[str, dict[str, Any]] = {
    "staff": {"groups": ["staff"]},
    "board": {"groups": ["board", "hr"]},
    "no group": {"groups": []},
    "rules": {"groups": ["staff"], "rules": RULES},
    "nothing": {"groups": ["hr"], "rules": RULES},
}
APART = {"info", "eval"}  # what names the engine, and what compares scores


def make_all() -> list[Document]:
    parts = [Document(f"file.md#{at}", "Part", f"kettle {at} oolong", source="/s/file.md") for at in range(3)]
    others = [Document("file.mdx", "Other", "kettle sencha"), Document("bare", "Kettle", ""), Document("null", "", "kettle")]
    others[-1].metadata["access"] = None
    return [*make_documents(), *parts, *others, Document("A*b", "Star", "kettle", kind="page")]


@pytest.fixture(scope="module", params=[pytest.param(kind) for kind in ("opensearch",)])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Corpus, Corpus]]:
    """The same documents in a cluster and embedded."""
    folder = tmp_path_factory.mktemp("visibility")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHORTLIST_DATA_DIR", str(folder))
        with cluster_address(request.param, request.getfixturevalue(f"{request.param}_url")) as address:
            engines = (f"{address}?shards=3", "embedded")
            both = [
                shortlist.create_corpus("tea", path=folder / str(at), engine=engine, embedder="light", **CHUNKS)
                for at, engine in enumerate(engines)
            ]
            for corpus in both:
                corpus.add(make_all(), False)
                corpus.remove("d59")
            yield both[0], both[1]
            for corpus in both:
                corpus.close()


@pytest.mark.parametrize("mode", ["auto", "lexical", "dense", "hybrid"])
@pytest.mark.parametrize("reader", READERS)
def test_x(pair, mode, reader):
    cluster, embedded = (c.for_groups(**READERS[reader]) for c in pair)
    for query in QUERIES:
        for k in (1,10,100):
            assert_same_hits(shortlist.search(cluster, query, mode, k), shortlist.search(embedded, query, mode, k))

@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("reader", READERS)
def test_y(pair, what, reader):
    c, e = (READS[what](c.for_groups(**READERS[reader])) for c in pair)
    assert json.loads(json.dumps(c, default=str)) == json.loads(json.dumps(e, default=str))

def test_z(pair):
    for reader in (None, "staff"):
        c, e = (x if reader is None else x.for_groups(**READERS[reader]) for x in pair)
        for q in QUERIES:
            a, b = (shortlist.search(x, q, "dense", 100) for x in (c, e))
            if [h.id for h in a] != [h.id for h in b]:
                n = next(i for i,(x,y) in enumerate(zip(a,b)) if x.id!=y.id) if [h.id for h in a[:len(b)]] != [h.id for h in b[:len(a)]] else -1; print("DIFF", reader, q, len(a), len(b), n, [(h.id, h.score) for h in a[n:n+4]], [(h.id, h.score) for h in b[n:n+4]])
