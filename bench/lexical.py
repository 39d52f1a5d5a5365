"""Words alone, beside bm25s, tantivy, rank_bm25 and SQLite FTS5: seconds to index, milliseconds a query, nDCG@10.

One thread each, text in memory, no rival that is not installed (`pip install tantivy rank_bm25`). Each gets the whole
text, title first, and does its own tokenizing, of queries too. rank_bm25 and FTS5 are left out above 20,000 documents.
"""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import beir, report

MOST_QUERIES = 500
SLOW = ("rank_bm25", "sqlite-fts5")
K = 10

Ask = Callable[[str], list[int]]
Build = Callable[[list[str], list[str]], Ask]


def run(folders: list[Path]) -> None:
    if not folders:
        print("lexical: give one or more folders or archives in BEIR layout")
        return
    figures: dict[str, Any] = {}
    for folder in folders:
        data = beir.load(folder)
        titles = [document.title for document in data.documents]
        texts = [document.content for document in data.documents]
        asked = list(data.relevance)[:: max(1, -(-len(data.relevance) // MOST_QUERIES))]
        print(f"{data.name}: {len(texts)} documents, {len(asked)} queries")
        rows = figures[data.name] = {"documents": len(texts), "queries": len(asked)}
        for name, build in RIVALS.items():
            if not _is_installed(name) or (name in SLOW and len(texts) > 20_000):
                continue
            rows[name] = row = _measure(build, titles, texts, data, asked)
            print("  " + f"{name:12}" + "  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    report.save("lexical", figures)


def _measure(build: Build, titles: list[str], texts: list[str], data: beir.Set, asked: list[str]) -> dict[str, float]:
    build(titles[:100], texts[:100])("warm up")  # compiles what is compiled on first use
    started = time.perf_counter()
    ask = build(titles, texts)
    indexed = time.perf_counter() - started
    for id in asked:
        ask(data.queries[id])
    times, gained = [], 0.0
    for id in asked:
        started = time.perf_counter()
        found = ask(data.queries[id])
        times.append(time.perf_counter() - started)
        gained += beir.ndcg([data.documents[place].id for place in found], data.relevance[id], K)
    p50, p95, p99 = (round(1e3 * float(np.percentile(times, share)), 3) for share in (50, 95, 99))
    return {
        "index s": round(indexed, 2),
        "p50 ms": p50,
        "p95 ms": p95,
        "p99 ms": p99,
        "ndcg": round(gained / len(asked), 4),
    }


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name.split("-")[0]) is not None or name == "sqlite-fts5"


def _shortlist(titles: list[str], texts: list[str]) -> Ask:
    from shortlist.index import lexical, postings
    from shortlist.index.lexical import Lexical, Part
    from shortlist.index.postings import Fields
    from shortlist.index.store import CORPUS_SCORING
    from shortlist.index.tokens import get_analyzer

    postings.COMPILED_TEXT = lexical.COMPILED_FROM = 0
    analyzer = get_analyzer()
    fields = [Fields(title, (), text, (title,)) for title, text in zip(titles, texts, strict=True)]
    index = Lexical([Part(postings.build(fields, analyzer))], analyzer, CORPUS_SCORING)
    return lambda query: index.rank(query, K).positions[:K].tolist()


def _bm25s(backend: str) -> Build:
    def build(titles: list[str], texts: list[str]) -> Ask:
        import bm25s
        import Stemmer

        stemmer = Stemmer.Stemmer("english")

        def tokens(texts: list[str], **options: Any) -> Any:
            return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False, **options)

        index = bm25s.BM25(method="lucene", backend=backend)
        index.index(tokens(_joined(titles, texts)), show_progress=False)

        def ask(query: str) -> list[int]:
            k = min(K, len(texts))
            found, scores = index.retrieve(tokens([query], return_ids=False), k=k, show_progress=False, n_threads=0)
            return [int(place) for place, score in zip(found[0], scores[0], strict=True) if score > 0]

        return ask

    return build


def _tantivy(titles: list[str], texts: list[str]) -> Ask:
    import tantivy  # type: ignore[import-not-found, unused-ignore]

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
    builder.add_unsigned_field("place", stored=True)
    index = tantivy.Index(builder.build())
    writer = index.writer(1_000_000_000, 1)
    for place, text in enumerate(_joined(titles, texts)):
        writer.add_document(tantivy.Document(text=text, place=place))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(query: str) -> list[int]:
        parsed = index.parse_query(_plain(query), ["text"])
        return [searcher.doc(address)["place"][0] for _, address in searcher.search(parsed, K).hits]

    return ask


def _rank_bm25(titles: list[str], texts: list[str]) -> Ask:
    import rank_bm25  # type: ignore[import-not-found, unused-ignore]
    import Stemmer

    stem = Stemmer.Stemmer("english").stemWords

    def tokens(text: str) -> list[str]:
        return list(stem(re.findall(r"\w\w+", text.lower())))

    index = rank_bm25.BM25Okapi([tokens(text) for text in _joined(titles, texts)])
    return lambda query: np.argsort(-index.get_scores(tokens(query)))[:K].tolist()


def _sqlite(titles: list[str], texts: list[str]) -> Ask:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
    database.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", enumerate(_joined(titles, texts)))

    def ask(query: str) -> list[int]:
        match = " OR ".join(f'"{word}"' for word in _plain(query).split())
        rows = database.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (match, K))
        return [place for (place,) in rows]

    return ask


def _joined(titles: list[str], texts: list[str]) -> list[str]:
    return [f"{title}\n{text}" for title, text in zip(titles, texts, strict=True)]


def _plain(query: str) -> str:
    return re.sub(r"[^\w ]|_", " ", query)


RIVALS: dict[str, Build] = {
    "shortlist": _shortlist,
    "bm25s-numba": _bm25s("numba"),
    "bm25s-numpy": _bm25s("numpy"),
    "tantivy": _tantivy,
    "rank_bm25": _rank_bm25,
    "sqlite-fts5": _sqlite,
}
