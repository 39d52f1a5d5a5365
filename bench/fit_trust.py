"""`python -m bench.fit_trust EMBEDDER FOLDER...`: fit the weights of `retrieval/relevance.py`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shortlist
from bench import beir, logistic
from bench.scope import MOST_QUERIES, Scope, scopes
from shortlist.eval.calibration import auroc
from shortlist.index.corpus import Corpus
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.query_scores import Request
from shortlist.index.text.query_terms import weigh_terms
from shortlist.results import Mode
from shortlist.retrieval.fusion import blend
from shortlist.retrieval.relevance import Share

SHARES = [Share(share, 0.0, share) for share in (0.4, 0.5, 0.6, 0.7, 0.8)]
SHARES += [
    Share(least, per_term, most) for least in (0.3, 0.4, 0.6) for per_term in (0.01, 0.02) for most in (0.8, 0.9)
]
TOP = 1  # hits of each question that the regression sees: what is far down would only blur what a best one is worth
SIGNALS = ("covered", "dense", "named")


@dataclass(frozen=True)
class Seen:
    """The signals of the first hits of each question, whether each is right, and of which question it is."""

    scope: Scope
    table: Any
    right: Any
    question: Any


def main(embedder: str, folders: list[Path]) -> None:
    sets = [beir.load(folder) for folder in folders]
    _fit_share(embedder, sets)
    for mode in ("auto", "lexical"):
        _fit_relevance([_see(embedder, scope, mode) for scope in scopes(sets)], by_meaning=mode == "auto")


def _fit_share(embedder: str, sets: list[beir.Set]) -> None:
    print(f"{'share of words':16}" + "".join(f"{share.least:>8}" for share in SHARES) + "   left out")
    print(f"{'and for a term':16}" + "".join(f"{share.per_term:>8}" for share in SHARES))
    print(f"{'at most':16}" + "".join(f"{share.most:>8}" for share in SHARES))
    rows = []
    for one in sets:
        corpus = shortlist.build(one.documents, in_memory=True, embedder=embedder)
        rows.append(_ndcgs(corpus, one))
    table = np.array(rows)
    for at, one in enumerate(sets):
        others = [other for other in range(len(sets)) if sets[other].name.split("_")[0] != one.name.split("_")[0]]
        best = int(table[others].mean(axis=0).argmax())
        print(f"{one.name:16}" + "".join(f"{value:8.4f}" for value in table[at]) + f"{table[at, best]:8.4f}")
    print(f"{'mean':16}" + "".join(f"{value:8.4f}" for value in table.mean(axis=0)))


def _ndcgs(corpus: Corpus, one: beir.Set) -> list[float]:
    """nDCG@10 at each share."""
    sums = np.zeros(len(SHARES))
    asked_ids = one.asked(MOST_QUERIES)
    with corpus.snapshot() as snapshot:
        lexical = snapshot.lexical
        ids = snapshot.ids(np.arange(snapshot.size))
        for id in asked_ids:
            terms = weigh_terms(lexical.analyzer, one.queries[id])
            parts = snapshot.score(Request(one.queries[id], terms, lexical=10, dense=10))
            words, meaning = (parts[name].every() for name in ("lexical", "dense"))
            assert words is not None
            assert meaning is not None
            for at, share in enumerate(SHARES):
                best = top(blend(words, meaning, lexical.ideal(terms), share.of(len(terms))), 10)[:10]
                sums[at] += beir.ndcg([ids[place] for place in best.tolist()], one.relevance[id])
    return [float(total / len(asked_ids)) for total in sums]


def _see(embedder: str, scope: Scope, mode: Mode) -> Seen:
    corpus = shortlist.build(scope.documents, in_memory=True, embedder=embedder)
    rows, right, asked = [], [], []
    for at, question in enumerate(scope.questions):
        for hit in question.ask(corpus, mode, 10)[:TOP]:  # among fewer, what the query names comes first
            rows.append([max(hit.signals.get(name, 0.0), 0.0) for name in SIGNALS])
            right.append(float(hit.id in question.gold))
            asked.append(at)
    return Seen(scope, np.array(rows), np.array(right), np.array(asked))


def _fit_relevance(seen: list[Seen], by_meaning: bool) -> None:
    columns = [0, 1, 2] if by_meaning else [0, 2]

    def fitted(sets: list[Seen]) -> tuple[Any, float]:
        counts = np.concatenate([np.full(len(one.table), 1000 / len(one.table)) for one in sets])
        table = np.concatenate([one.table for one in sets])[:, columns]
        return logistic.fit(table, np.concatenate([one.right for one in sets]), counts)

    print(f"\nrelevance, {'words and meaning' if by_meaning else 'words alone'}")
    print(f"{'left out':22}{'auroc':>8}{'right':>8}{'said':>8}   floor: lost and answered")
    for one in seen:
        weights, bias = fitted([other for other in seen if other.scope.family != one.scope.family])
        chance = 1 / (1 + np.exp(-(one.table[:, columns] @ weights + bias)))
        best = np.zeros(len(one.scope.questions))
        np.maximum.at(best, one.question, chance)
        fits = np.array([bool(question.gold) for question in one.scope.questions])
        inside, outside = best[fits], best[~fits]
        line = f"{one.scope.name:22}{auroc(inside, outside) if len(outside) else float('nan'):8.3f}"
        line += f"{one.right.mean():8.3f}{chance.mean():8.3f}  "
        for floor in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4):
            answered = f"{(outside >= floor).mean():.2f}" if len(outside) else " -  "
            line += f"  {floor}: {(inside < floor).mean():.2f} {answered}"
        print(line)
    weights, bias = fitted(seen)
    named = dict(zip([SIGNALS[column] for column in columns], weights.round(2).tolist(), strict=True))
    print(f"all: Relevance(bias={bias:.2f}, {', '.join(f'{name}={value}' for name, value in named.items())})")


if __name__ == "__main__":
    main(sys.argv[1], [Path(folder) for folder in sys.argv[2:]])
