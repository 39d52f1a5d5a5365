"""nDCG@10 of every mode beside bm25s, on the given folders or archives in BEIR layout.

Corpora are made as a user would make them. Of a set with more than 1,500 judged queries every nth is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import bm25s
import Stemmer

import shortlist
from bench import beir, report
from shortlist.types import Mode

MOST_QUERIES = 1500


def run(folders: list[Path]) -> None:
    if not folders:
        print("quality: give one or more folders or .tar.xz archives in BEIR layout")
        return
    modes: tuple[Mode, ...] = get_args(Mode)
    print(f"{'':14}{'documents':>10}{'queries':>9}{'bm25s':>9}" + "".join(f"{mode:>9}" for mode in modes))
    figures: dict[str, Any] = {}
    for folder in folders:
        data = beir.load(folder)
        asked = list(data.relevance)[:: max(1, -(-len(data.relevance) // MOST_QUERIES))]
        row = {"documents": len(data.documents), "queries": len(asked), "bm25s": _bm25s(data, asked)}
        corpus = shortlist.build(data.documents, in_memory=True)
        for mode in modes:
            ranked = {id: [hit.id for hit in shortlist.search(corpus, data.queries[id], mode=mode)] for id in asked}
            row[mode] = sum(beir.ndcg(ranked[id], data.relevance[id]) for id in asked) / len(asked)
        figures[data.name] = row
        numbers = "".join(f"{row[name]:9.4f}" for name in ("bm25s", *modes))
        print(f"{data.name:14}{row['documents']:10}{row['queries']:9}{numbers}", flush=True)
    report.save("quality", figures)


def _bm25s(data: beir.Set, asked: list[str]) -> float:
    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)

    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    index.index(tokens([f"{document.title} {document.content}" for document in data.documents]), show_progress=False)
    k = min(10, len(data.documents))
    found, _ = index.retrieve(tokens([data.queries[id] for id in asked]), k=k, show_progress=False)
    ranked = [[data.documents[place].id for place in row] for row in found.tolist()]
    return sum(beir.ndcg(row, data.relevance[id]) for id, row in zip(asked, ranked, strict=True)) / len(asked)
