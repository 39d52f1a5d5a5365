"""nDCG@10 of every mode compared with bm25s, and how well relevance separates answerable from unanswerable queries.

Takes folders or archives in BEIR layout and builds corpora with the public API. Sets with more than 1,500 judged
queries are sampled. The second table is for sets with unanswerable queries: the AUROC of the best relevance, the
error rates at the built-in threshold, and the AUROC of the best score of bm25s.

With `--folds=OUT`, a folder of `python -m training folds`, both tables include `embedder="tools"` with models that were
trained without the set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import bm25s
import numpy as np
import Stemmer

import shortlist
from bench import beir, report
from bench.folds import Folds, Kept, split_arguments
from bench.scope import MOST_QUERIES, Scope, scopes
from shortlist import Document
from shortlist.eval.calibration import auroc
from shortlist.index.corpus import Corpus
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.results import Mode
from shortlist.retrieval.relevance import THRESHOLD

MODES: tuple[Mode, ...] = get_args(Mode)
WITH_TOOLS: tuple[Mode, ...] = ("auto", "dense")


def run(arguments: list[Path]) -> None:
    folders, folds = split_arguments(arguments)
    if not folders:
        print("quality: give one or more folders or .tar.xz archives in BEIR layout")
        return
    sets = [beir.load(folder) for folder in folders]
    figures: dict[str, Any] = {}
    columns = ["bm25s", *MODES, *(f"{mode}, tools" for mode in WITH_TOOLS if folds)]
    print(f"{'nDCG@10':14}{'documents':>10}{'queries':>9}" + "".join(f"{name:>15}" for name in columns))
    for data in sets:
        figures[data.name] = row = _ranking(data, folds)
        numbers = "".join(f"{row[name]:15.4f}" for name in columns)
        print(f"{data.name:14}{row['documents']:10}{row['queries']:9}{numbers}", flush=True)
    judged = [scope for scope in scopes(sets) if scope.has_both]
    if judged:
        print(f"\n{'nothing fits':26}{'AUROC':>8}{'bm25s':>8}{'lost':>8}{'answered':>10}   at a floor of {THRESHOLD}")
    for scope in judged:
        _tell(scope, "default", "", figures)
        embedder = folds.embedder(scope.name.removesuffix("_offered").removesuffix("_examples")) if folds else None
        if isinstance(embedder, Kept) and (known := embedder.known(scope)):
            _tell(known, embedder, ", tools", figures)
    report.save("quality", figures, beside_others=True)


def ndcg_of(corpus: Corpus, data: beir.Set, asked: list[str], mode: Mode) -> float:
    found = {id: [hit.id for hit in shortlist.search(corpus, data.queries[id], mode=mode)] for id in asked}
    return sum(beir.ndcg(found[id], data.relevance[id]) for id in asked) / len(asked)


def _tell(scope: Scope, embedder: EmbedderSpec, mark: str, figures: dict[str, Any]) -> None:
    figures[f"{scope.name}{mark}: nothing fits"] = told = _telling(scope, embedder)
    numbers = "".join(f"{told[name]:8.3f}" for name in ("auroc", "bm25s", "lost"))
    print(f"{scope.name + mark:26}{numbers}{told['answered']:10.3f}", flush=True)


def _ranking(data: beir.Set, folds: Folds | None) -> dict[str, Any]:
    asked = data.asked(MOST_QUERIES)
    found, _ = rank_with_bm25s(data.documents, [data.queries[id] for id in asked])
    rival = sum(beir.ndcg(ids, data.relevance[id]) for id, ids in zip(asked, found, strict=True)) / len(asked)
    corpus = shortlist.build(data.documents, in_memory=True, embedder="default")
    by_mode: dict[str, float] = {mode: ndcg_of(corpus, data, asked, mode) for mode in MODES}
    if folds:
        corpus = shortlist.build(data.documents, in_memory=True, embedder=folds.embedder(data.name))
        by_mode |= {f"{mode}, tools": ndcg_of(corpus, data, asked, mode) for mode in WITH_TOOLS}
    return {"documents": len(data.documents), "queries": len(asked), "bm25s": rival, **by_mode}


def _telling(scope: Scope, embedder: EmbedderSpec) -> dict[str, Any]:
    corpus = shortlist.build(scope.documents, in_memory=True, embedder=embedder)
    best = np.array([
        max((hit.relevance or 0.0 for hit in question.ask(corpus, "auto", 10)), default=0.0)
        for question in scope.questions
    ])  # fmt: skip
    fits = np.array([bool(question.gold) for question in scope.questions])
    _, scores = rank_with_bm25s(scope.documents, [question.text for question in scope.questions])
    if any(question.among for question in scope.questions):
        scores = _bm25s_among(scope)
    return {
        "questions": len(fits),
        "that something fits": int(fits.sum()),
        "auroc": auroc(best[fits], best[~fits]),
        "bm25s": auroc(scores[fits], scores[~fits]),
        "floor": THRESHOLD,
        "lost": float((best[fits] < THRESHOLD).mean()),
        "answered": float((best[~fits] >= THRESHOLD).mean()),
    }


def _tokens(texts: list[str]) -> Any:
    return bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)


def _index(documents: list[Document]) -> Any:
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    index.index(_tokens([f"{document.title} {document.content}" for document in documents]), show_progress=False)
    return index


def rank_with_bm25s(documents: list[Document], queries: list[str]) -> tuple[list[list[str]], Any]:
    """The ids of the first ten, and the best score."""
    k = min(10, len(documents))
    found, scores = _index(documents).retrieve(_tokens(queries), k=k, show_progress=False)
    return [[documents[place].id for place in row] for row in found.tolist()], scores[:, 0]


def _bm25s_among(scope: Scope) -> Any:
    """The best score among what was offered with each question."""
    index = _index(scope.documents)
    place = {document.id: at for at, document in enumerate(scope.documents)}
    best = []
    for question in scope.questions:
        tokens = bm25s.tokenize(
            [question.text], stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False, return_ids=False
        )[0]
        scores = index.get_scores(tokens) if tokens else np.zeros(len(place))
        best.append(max((float(scores[place[id]]) for id in question.among if id in place), default=0.0))
    return np.array(best)
