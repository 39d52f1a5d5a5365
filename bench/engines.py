"""One interface for shortlist and other engines: build from documents, search, and put a document.

Every search returns ids and texts of ten hits. Each engine gets the whole text, title first, tokenizes it and the
queries itself, and searches with one thread. Engines named "on disk" store the text in files, and a document is put
only when it is committed and found. Tantivy writes with one thread, stored text and its default heap.

This module imports nothing but the standard library, so that it runs where only one of the engines is installed.
"""

from __future__ import annotations

import importlib.util
import re
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

K = 10

Row = tuple[str, str, str]  # id, title, text
Found = list[tuple[str, str]]  # id and text of each hit, best first


class Engine:
    """What is measured of an engine."""

    needs = ""
    is_stored = False
    has_texts = True
    most_documents = 10_000_000

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def is_installed(cls) -> bool:
        return all(importlib.util.find_spec(package) is not None for package in cls.needs.split())

    def build(self, rows: Sequence[Row]) -> None:
        """Index the documents; they are found, and stored if the engine stores them, once this returns."""
        raise NotImplementedError

    def settle(self) -> None:
        """Wait for what the engine goes on doing after a build."""

    def open(self) -> None:
        """Open what another process built."""
        raise NotImplementedError

    def search(self, query: str) -> Found:
        raise NotImplementedError

    def search_many(self, queries: Sequence[str]) -> list[Found] | None:
        """Search with two threads; None if the engine cannot."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(self.search, queries))

    def put(self, row: Row) -> None:
        """Add a document, or replace the one with its id; it is found once this returns."""
        raise NotImplementedError


class Shortlist(Engine):
    """A stored corpus, created, searched and changed with the public functions."""

    needs = "shortlist"
    is_stored = True
    embedder = "none"

    def build(self, rows: Sequence[Row]) -> None:
        import shortlist

        self.corpus = shortlist.create_corpus(**self._place(), embedder=self.embedder)
        self.corpus.sync(shortlist.Document(*row) for row in rows)

    def _place(self) -> dict[str, Any]:
        return {"path": self.folder / "corpus"}

    def open(self) -> None:
        import shortlist

        self.corpus = shortlist.open_corpus(self.folder / "corpus")

    def search(self, query: str) -> Found:
        import shortlist

        return [(hit.id, hit.text) for hit in shortlist.search(self.corpus, query, mode="lexical", k=K)]

    def search_many(self, queries: Sequence[str]) -> list[Found] | None:
        import shortlist

        if not hasattr(shortlist, "search_many"):
            return None
        found = shortlist.search_many(self.corpus, queries, mode="lexical", k=K)
        return [[(hit.id, hit.text) for hit in hits] for hits in found]

    def put(self, row: Row) -> None:
        import shortlist

        self.corpus.add([shortlist.Document(*row)])
        assert self.search(row[1])[0][0] == row[0]


class ShortlistInMemory(Shortlist):
    is_stored = False

    def _place(self) -> dict[str, Any]:
        return {"in_memory": True}


class ShortlistRanker(Shortlist):
    """The ranker of a stored corpus, which finds positions, neither ids nor texts: a lower bound of a search."""

    is_stored = False
    has_texts = False

    def search(self, query: str) -> Found:
        with self.corpus.snapshot() as state:
            return [(str(position), "") for position in state.lexical.rank(query, K).positions[:K].tolist()]

    def search_many(self, queries: Sequence[str]) -> list[Found] | None:
        return None


class Bm25s(Engine):
    needs = "bm25s numba Stemmer"
    most_documents = 300_000
    backend = "numba"

    def build(self, rows: Sequence[Row]) -> None:
        import bm25s

        documents = [{"id": id, "text": text} for id, text in join(rows)]
        self.index = bm25s.BM25(corpus=documents, method="lucene", backend=self.backend)
        self._load_stemmer()
        self.index.index(self._tokenize([document["text"] for document in documents]), show_progress=False)
        if self.is_stored:
            self.index.save(str(self.folder), corpus=documents, show_progress=False)
            self.open()

    def open(self) -> None:
        import bm25s

        self._load_stemmer()
        self.index = bm25s.BM25.load(str(self.folder), mmap=True, load_corpus=True, show_progress=False)
        self.index.backend = self.backend

    def _load_stemmer(self) -> None:
        import Stemmer

        self.stemmer = Stemmer.Stemmer("english")

    def _tokenize(self, texts: Sequence[str], **options: Any) -> Any:
        import bm25s

        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False, **options)

    def search(self, query: str) -> Found:
        return self._retrieve([query], 0)[0]

    def search_many(self, queries: Sequence[str]) -> list[Found] | None:
        return self._retrieve(queries, 2)

    def _retrieve(self, queries: Sequence[str], threads: int) -> list[Found]:
        tokens = self._tokenize(queries, return_ids=False)
        found, scores = self.index.retrieve(tokens, k=K, show_progress=False, n_threads=threads)
        return [
            [(hit["id"], hit["text"]) for hit, score in zip(*both, strict=True) if score > 0]
            for both in zip(found, scores, strict=True)
        ]


class Bm25sOnDisk(Bm25s):
    is_stored = True


class Bm25sNumpy(Bm25s):
    needs = "bm25s Stemmer"
    backend = "numpy"


class Tantivy(Engine):
    needs = "tantivy"

    def build(self, rows: Sequence[Row]) -> None:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
        builder.add_text_field("id", stored=True, tokenizer_name="raw")
        self.index = tantivy.Index(builder.build(), **({"path": str(self.folder)} if self.is_stored else {}))
        self.writer = self.index.writer(num_threads=1)
        for id, text in join(rows):
            self.writer.add_document(tantivy.Document(text=text, id=id))
        self.writer.commit()
        self._reload()

    def settle(self) -> None:
        self.writer.wait_merging_threads()  # which also ends the writer
        self.writer = None
        self._reload()

    def _reload(self) -> None:
        self.index.reload()
        self.searcher = self.index.searcher()

    def open(self) -> None:
        import tantivy

        self.index = tantivy.Index.open(str(self.folder))
        self.searcher = self.index.searcher()
        self.writer = None

    def search(self, query: str) -> Found:
        parsed = self.index.parse_query(keep_words(query), ["text"])
        hits = [self.searcher.doc(address) for _, address in self.searcher.search(parsed, K).hits]
        return [(hit["id"][0], hit["text"][0]) for hit in hits]

    def put(self, row: Row) -> None:
        import tantivy

        self.writer = self.writer or self.index.writer(num_threads=1)
        id, text = join([row])[0]
        self.writer.delete_documents_by_term("id", id)
        self.writer.add_document(tantivy.Document(text=text, id=id))
        self.writer.commit()
        self._reload()
        assert self.search(row[1])[0][0] == id


class TantivyOnDisk(Tantivy):
    is_stored = True


class RankBm25(Engine):
    needs = "rank_bm25 Stemmer"
    most_documents = 10_000

    def build(self, rows: Sequence[Row]) -> None:
        import rank_bm25
        import Stemmer

        self.stem = Stemmer.Stemmer("english").stemWords
        self.documents = join(rows)
        self.index = rank_bm25.BM25Okapi([self._tokenize(text) for _, text in self.documents])

    def _tokenize(self, text: str) -> list[str]:
        return list(self.stem(re.findall(r"\w\w+", text.lower())))

    def search(self, query: str) -> Found:
        best = (-self.index.get_scores(self._tokenize(query))).argsort()[:K]
        return [self.documents[place] for place in best]


class Fts5(Engine):
    most_documents = 10_000

    def build(self, rows: Sequence[Row]) -> None:
        self.open()
        self.database.execute("CREATE VIRTUAL TABLE texts USING fts5(id UNINDEXED, text, tokenize='porter unicode61')")
        with self.database:
            self.database.executemany("INSERT INTO texts(id, text) VALUES (?, ?)", join(rows))

    def open(self) -> None:
        self.database = sqlite3.connect(str(self.folder / "fts5.db") if self.is_stored else ":memory:")

    def __del__(self) -> None:
        if hasattr(self, "database"):
            self.database.close()  # from Python 3.13 on, it warns otherwise

    def search(self, query: str) -> Found:
        match = " OR ".join(f'"{word}"' for word in keep_words(query).split())
        statement = "SELECT id, text FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?"
        return self.database.execute(statement, (match, K)).fetchall()

    def search_many(self, queries: Sequence[str]) -> list[Found] | None:
        return None  # a connection stays in its thread

    def put(self, row: Row) -> None:
        id, text = join([row])[0]
        with self.database:
            self.database.execute("INSERT INTO texts(id, text) VALUES (?, ?)", (id, text))
        assert self.search(row[1])[0][0] == id


class Fts5OnDisk(Fts5):
    is_stored = True


def join(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The id and the whole text of each document."""
    return [(id, f"{title}\n{text}") for id, title, text in rows]


def keep_words(query: str) -> str:
    return re.sub(r"[^\w ]|_", " ", query)


ENGINES: dict[str, type[Engine]] = {
    "shortlist": Shortlist,
    "shortlist in memory": ShortlistInMemory,
    "shortlist, ranker alone": ShortlistRanker,
    "tantivy on disk": TantivyOnDisk,
    "tantivy in memory": Tantivy,
    "bm25s numba on disk": Bm25sOnDisk,
    "bm25s numba in memory": Bm25s,
    "bm25s numpy in memory": Bm25sNumpy,
    "sqlite fts5 on disk": Fts5OnDisk,
    "sqlite fts5 in memory": Fts5,
    "rank_bm25 in memory": RankBm25,
}
