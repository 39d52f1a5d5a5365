"""One interface for shortlist and other engines: build from titles and texts, rank, and add a document.

Each gets the whole text, title first, does its own tokenizing, of queries too, and works with one thread. What is named
`-disk` stores the text as well, and a document is added only when it is committed and found.
"""

from __future__ import annotations

import importlib.util
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

K = 10


class Engine:
    """What is measured of an engine."""

    needs = ""
    most_documents = 10_000_000

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def is_installed(cls) -> bool:
        return not cls.needs or importlib.util.find_spec(cls.needs) is not None

    def build(self, titles: list[str], texts: list[str]) -> None:
        raise NotImplementedError

    def ask(self, query: str) -> list[int]:
        raise NotImplementedError

    def open(self) -> None:
        """Open what another process built."""
        raise NotImplementedError

    def add(self, title: str, text: str) -> None:
        """Add a document; it is found once this returns."""
        raise NotImplementedError


class Shortlist(Engine):
    def build(self, titles: list[str], texts: list[str]) -> None:
        from shortlist.index.config import CORPUS_SCORING
        from shortlist.index.lexical import indexing, lexical_ranker
        from shortlist.index.lexical.lexical_ranker import Lexical
        from shortlist.index.lexical.live_postings import Part
        from shortlist.index.lexical.postings import Fields
        from shortlist.index.text.analyzers import get_analyzer

        indexing.COMPILED_TEXT = lexical_ranker.COMPILED_FROM = 0
        analyzer = get_analyzer()
        fields = (Fields(title, (), text, (title,)) for title, text in zip(titles, texts, strict=True))
        self.index = Lexical([Part(indexing.build(fields, analyzer))], analyzer, CORPUS_SCORING)
        self.index.rank("a first query", K)  # makes what the first query needs

    def ask(self, query: str) -> list[int]:
        return list(self.index.rank(query, K).positions[:K])


class ShortlistDisk(Engine):
    """A stored corpus, searched through its snapshot as `search` does it."""

    def build(self, titles: list[str], texts: list[str]) -> None:
        import shortlist
        from shortlist import Document

        documents = (Document(f"d{place}", titles[place], texts[place]) for place in range(len(texts)))
        self.corpus = shortlist.create_corpus(path=self.folder / "corpus", embedder="none")
        self.corpus.sync(documents)

    def open(self) -> None:
        import shortlist

        self.corpus = shortlist.open_corpus(self.folder / "corpus")

    def ask(self, query: str) -> list[int]:
        with self.corpus.snapshot() as snapshot:
            return list(snapshot.lexical.rank(query, K).positions[:K])

    def add(self, title: str, text: str) -> None:
        from shortlist import Document

        self.corpus.add([Document(title, title, text)])
        assert self.ask(title)


class Bm25s(Engine):
    needs = "bm25s"
    most_documents = 300_000
    backend = "numba"

    def build(self, titles: list[str], texts: list[str]) -> None:
        import bm25s
        import Stemmer

        self.stemmer = Stemmer.Stemmer("english")
        self.index = bm25s.BM25(method="lucene", backend=self.backend)
        self.index.index(self._tokens(joined(titles, texts)), show_progress=False)
        self.size = len(texts)

    def _tokens(self, texts: list[str], **options: Any) -> Any:
        import bm25s

        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False, **options)

    def ask(self, query: str) -> list[int]:
        tokens = self._tokens([query], return_ids=False)
        found, scores = self.index.retrieve(tokens, k=min(K, self.size), show_progress=False, n_threads=0)
        return [int(place) for place, score in zip(found[0], scores[0], strict=True) if score > 0]


class Bm25sNumpy(Bm25s):
    backend = "numpy"


class Tantivy(Engine):
    needs = "tantivy"
    stored = False

    def build(self, titles: list[str], texts: list[str]) -> None:
        import tantivy

        self.index = tantivy.Index(self._schema(), **({"path": str(self.folder)} if self.stored else {}))
        self.writer = self.index.writer(1_000_000_000, 1)
        for place, text in enumerate(joined(titles, texts)):
            self.writer.add_document(tantivy.Document(text=text, place=place))
        self.writer.commit()
        self.writer.wait_merging_threads()
        self._reload()

    def _schema(self) -> Any:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=self.stored, tokenizer_name="en_stem")
        builder.add_unsigned_field("place", stored=True)
        return builder.build()

    def _reload(self) -> None:
        self.index.reload()
        self.searcher = self.index.searcher()

    def open(self) -> None:
        import tantivy

        self.index = tantivy.Index.open(str(self.folder))
        self.searcher = self.index.searcher()
        self.writer = None

    def ask(self, query: str) -> list[int]:
        parsed = self.index.parse_query(plain(query), ["text"])
        return [self.searcher.doc(address)["place"][0] for _, address in self.searcher.search(parsed, K).hits]

    def add(self, title: str, text: str) -> None:
        import tantivy

        if getattr(self, "adder", None) is None:
            self.adder = self.index.writer(50_000_000, 1)
        self.adder.add_document(tantivy.Document(text=f"{title}\n{text}", place=0))
        self.adder.commit()
        self._reload()
        assert self.ask(title)


class TantivyDisk(Tantivy):
    stored = True


class RankBm25(Engine):
    needs = "rank_bm25"
    most_documents = 20_000

    def build(self, titles: list[str], texts: list[str]) -> None:
        import rank_bm25
        import Stemmer

        self.stem = Stemmer.Stemmer("english").stemWords
        self.index = rank_bm25.BM25Okapi([self._tokens(text) for text in joined(titles, texts)])

    def _tokens(self, text: str) -> list[str]:
        return list(self.stem(re.findall(r"\w\w+", text.lower())))

    def ask(self, query: str) -> list[int]:
        found: list[int] = np.argsort(-self.index.get_scores(self._tokens(query)))[:K].tolist()
        return found


class Fts5(Engine):
    stored = False
    most_documents = 120_000

    def build(self, titles: list[str], texts: list[str]) -> None:
        self.open()
        self.database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
        with self.database:
            rows = enumerate(joined(titles, texts))
            self.database.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows)

    def open(self) -> None:
        self.database = sqlite3.connect(str(self.folder / "fts5.db") if self.stored else ":memory:")

    def ask(self, query: str) -> list[int]:
        match = " OR ".join(f'"{word}"' for word in plain(query).split())
        rows = self.database.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (match, K))
        return [place for (place,) in rows]

    def add(self, title: str, text: str) -> None:
        with self.database:
            self.database.execute("INSERT INTO texts(text) VALUES (?)", (f"{title}\n{text}",))
        assert self.ask(title)


class Fts5Disk(Fts5):
    stored = True
    most_documents = 20_000


def joined(titles: list[str], texts: list[str]) -> list[str]:
    return [f"{title}\n{text}" for title, text in zip(titles, texts, strict=True)]


def plain(query: str) -> str:
    return re.sub(r"[^\w ]|_", " ", query)


ENGINES: dict[str, type[Engine]] = {
    "shortlist": Shortlist,
    "bm25s-numba": Bm25s,
    "bm25s-numpy": Bm25sNumpy,
    "tantivy": Tantivy,
    "rank_bm25": RankBm25,
    "sqlite-fts5": Fts5,
    "shortlist-disk": ShortlistDisk,
    "tantivy-disk": TantivyDisk,
    "sqlite-fts5-disk": Fts5Disk,
}
