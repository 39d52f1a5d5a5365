"""What `discover` returns by default: the right few, or nothing; compared with the first five of bm25s.

Takes folders in BEIR layout, and a folder mcp_servers with tool lists. For questions that something fits: how often a
right one is first and among the results, how often nothing is returned, and the number of results and the characters
of what an agent sees of them (id, description, required arguments). For questions that nothing fits: how often nothing
is returned. With `--folds=OUT`, a folder of `python -m training folds`, also with models trained without the set.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import shortlist
from bench import beir, mcp_servers, quality, report
from bench.folds import Kept, split_arguments
from bench.scope import Question, Scope, scopes
from shortlist.index.embedders.embedder_binding import EmbedderSpec

STRATEGIES: dict[str, dict[str, Any]] = {
    "adaptive": {},
    "conservative": {"strategy": "conservative"},
    "top 5": {"max_k": 5},
    "adaptive, no threshold": {"min_relevance": None},
}
COLUMNS = ("first", "among", "results", "characters", "lost", "refused")

Choose = Callable[[Question], list[tuple[str, int]]]  # the ids of the results, and their characters


def run(arguments: list[Path]) -> None:
    folders, folds = split_arguments(arguments)
    if not folders:
        print("decisions: give one or more folders in BEIR layout, or a folder mcp_servers with tool lists")
        return
    figures: dict[str, Any] = {}
    print(f"{'':44}" + "".join(f"{name:>12}" for name in COLUMNS))
    for folder in folders:
        is_mcp = folder.name == mcp_servers.NAME
        scope = mcp_servers.load(folder) if is_mcp else next(iter(scopes([beir.load(folder)])))
        name = scope.name.removesuffix("_offered")
        embedders: dict[str, EmbedderSpec] = {"default": "default", "tools": "tools"}
        if folds and isinstance(fold := folds.embedder(name), Kept):
            embedders = {"default": "default", "tools, left out": fold}
            embedders |= {"tools": "tools"} if is_mcp else {}
        for embedder, spec in embedders.items():
            asked = spec.known(scope) if isinstance(spec, Kept) else scope
            if asked is None:
                raise ValueError(f"The folds do not know the documents of {name}.")
            corpus = shortlist.build(asked.documents, in_memory=True, embedder=spec)
            for strategy, options in STRATEGIES.items():
                _show(f"{name}, {embedder}, {strategy}", asked, _discover(corpus, options), figures)
        if not any(question.among for question in scope.questions):
            _show(f"{name}, bm25s, top 5", scope, _take_five(scope), figures)
    report.save("decisions", figures, beside_others=True)


def choose_by_default(corpus: Any) -> Choose:
    """What `discover` returns by default."""
    return _discover(corpus, {})


def _discover(corpus: Any, options: dict[str, Any]) -> Choose:
    def choose(question: Question) -> list[tuple[str, int]]:
        only = {"id": {"$in": list(question.among)}} if question.among else None
        found = shortlist.discover(corpus, question.text, filter=only, **options)
        return [
            (item.id, len(json.dumps({"id": item.id, "description": item.description, "needs": item.needs})))
            for item in found.results
        ]

    return choose


def _take_five(scope: Scope) -> Choose:
    ids, _ = quality.rank_with_bm25s(scope.documents, [question.text for question in scope.questions])
    found = dict(zip([question.text for question in scope.questions], ids, strict=True))
    return lambda question: [(id, 0) for id in found[question.text][:5]]


def _show(name: str, scope: Scope, choose: Choose, figures: dict[str, Any]) -> None:
    figures[name] = row = measure(scope, choose)
    print(
        f"{name:44}" + "".join(f"{'' if row[key] is None else format(row[key], '.3f'):>12}" for key in COLUMNS),
        flush=True,
    )


def measure(scope: Scope, choose: Choose) -> dict[str, Any]:
    chosen = [(question, choose(question)) for question in scope.questions]
    fitting = [(question.gold, [id for id, _ in results]) for question, results in chosen if question.gold]
    returned = [results for question, results in chosen if question.gold and results]
    others = [results for question, results in chosen if not question.gold]
    return {
        "questions": len(fitting),
        "unanswerable": len(others),
        "first": fmean(bool(ids) and ids[0] in gold for gold, ids in fitting),
        "among": fmean(not gold.isdisjoint(ids) for gold, ids in fitting),
        "results": fmean(map(len, returned)),
        "characters": fmean(sum(size for _, size in results) for results in returned),
        "lost": fmean(not ids for _, ids in fitting),
        "refused": fmean(not results for results in others) if others else None,
    }
