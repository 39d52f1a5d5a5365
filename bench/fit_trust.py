"""`python -m bench.fit_trust EMBEDDER FOLDER... [--folds=OUT]`: fit the weights of `retrieval/relevance.py`.

Takes folders in BEIR layout, and a folder mcp_servers with tool lists; at most 500 questions of each kind per set.
Prints nDCG@10 by the share of keywords, how many results `discover` returns by the scale, and for each choice of
signals what the odds of the best document are worth on a set that was left out: the AUROC, how often that document is
right and is said to be, and at several thresholds the questions that are lost and those that are wrongly answered. The
weights can be pasted. With `--folds=OUT`, a folder of `python -m training folds`, the vectors of a set are those of the
model that was trained without it.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import shortlist
from bench import beir, logistic, mcp_servers
from bench.folds import Folds, Kept, split_arguments
from bench.scope import Question, Scope, scopes
from shortlist.eval.calibration import auroc
from shortlist.index.corpus import Corpus
from shortlist.index.embedders.named import load_embedder
from shortlist.index.lexical.lexical_ranker import top
from shortlist.index.query_scores import Request
from shortlist.index.text.query_terms import weigh_terms
from shortlist.library.opening import open_states
from shortlist.protocols import Embedder
from shortlist.retrieval.corpus_hits import retrieve
from shortlist.retrieval.options import ADAPTIVE_MAX_K
from shortlist.retrieval.relevance import OTHER_SERVICE, Share, weights_for
from shortlist.retrieval.scores import blend
from shortlist.retrieval.select import NEAR_ODDS

if TYPE_CHECKING:
    from shortlist.results import Vectors

MOST_OF_A_KIND = 500  # questions that something fits, and questions that nothing fits
SHARES = [Share(share, 0.0, share) for share in (0.4, 0.5, 0.6, 0.7, 0.8)]
SHARES += [
    Share(least, per_term, most) for least in (0.3, 0.4, 0.6) for per_term in (0.01, 0.02) for most in (0.8, 0.9)
]
SCALES = (5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 15.0, 20.0)
RESULTS = 3.3  # the mean number of results that the scale is chosen for
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
SIGNALS = ("best", "dense")
CHOICES = (SIGNALS, ("dense",), ("best",))


class Remembered:
    """An embedder whose vectors are stored in a file, so that a second fit takes seconds."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner, self._path = inner, path
        self.name, self.dim = inner.name, inner.dim
        self._vectors: dict[str, Vectors] = dict(np.load(path)) if path.exists() else {}

    def encode_query(self, text: str) -> Vectors:
        encode = self._inner.encode_query
        vector: Vectors = self._find("query", [text], lambda texts: [encode(one) for one in texts])[0]
        return vector

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return self._find("document", texts, self._inner.encode_documents)

    def _find(self, kind: str, texts: Sequence[str], encode: Any) -> Vectors:
        keys = [hashlib.sha256(f"{kind} {text}".encode()).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        if missing:
            self._vectors |= zip(missing, encode(list(missing.values())), strict=True)
        return np.array([self._vectors[key] for key in keys])

    def save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(self._path, **self._vectors)  # type: ignore[arg-type]


class Answered(NamedTuple):
    """One question: whether anything fits, the signals of its best document, and the hits."""

    fits: bool
    table: tuple[float, ...]  # SIGNALS
    names_other_service: bool
    is_right: bool
    is_named: bool
    blends: list[float]
    right: list[bool]
    ndcg: float


@dataclass(frozen=True)
class Seen:
    scope: Scope
    answers: list[Answered]

    def column(self, name: str) -> Any:
        return np.array([getattr(answer, name) for answer in self.answers])


def main(embedder: str, folders: list[Path], folds: Folds | None) -> None:
    seen = {"auto": list[Seen](), "words alone": list[Seen]()}
    ndcgs = {}
    for scope, spec in _load(embedder, folders, folds):
        corpus = shortlist.build(scope.documents, in_memory=True, embedder=spec)
        ndcgs[scope.name] = _measure_shares(corpus, scope)
        seen["auto"].append(_ask(corpus, scope))
        seen["words alone"].append(_ask(shortlist.build(scope.documents, in_memory=True, embedder="none"), scope))
        if isinstance(spec, Remembered):
            spec.save()
    _show_shares(
        ndcgs, weights_for("tools" if folds else getattr(load_embedder(embedder), "name", "none")).lexical_share
    )
    for name, rows in seen.items():
        scale = _show_scales(name, rows)
        for signals in CHOICES:
            if name == "auto" or "dense" not in signals:
                _show_fit(name, rows, signals, scale)


def _load(embedder: str, folders: list[Path], folds: Folds | None) -> Any:
    """Each set with the embedder that it is measured with."""
    for folder in folders:
        loaded = [mcp_servers.load(folder)] if folder.name == mcp_servers.NAME else scopes([beir.load(folder)])
        for scope in loaded:
            spec: Any = folds.embedder(scope.name.removesuffix("_offered").removesuffix("_examples")) if folds else None
            if isinstance(spec, Kept):
                if (known := spec.known(scope)) is None:
                    continue
                yield _shorten(known), spec
            else:
                inner = load_embedder(embedder)
                path = Path(tempfile.gettempdir()) / "shortlist-fit" / f"{embedder}-{scope.name}.npz"
                yield _shorten(scope), Remembered(inner, path) if inner else "none"


def _shorten(scope: Scope) -> Scope:
    kinds = ([one for one in scope.questions if bool(one.gold) is fits] for fits in (True, False))
    kept = [one for kind in kinds for one in kind[:: max(1, -(-len(kind) // MOST_OF_A_KIND))]]
    return replace(scope, questions=kept)


def _ask(corpus: Corpus, scope: Scope) -> Seen:
    answers = []
    for question in scope.questions:
        only = {"id": {"$in": list(question.among)}} if question.among else None
        with open_states([corpus]) as states:
            (found,) = retrieve(states, question.text, "auto", 10, only)
        of = found.relevance
        assert of
        hits = found.hits
        answers.append(
            Answered(
                bool(question.gold),
                (of.best, max(of.dense, 0.0)),
                of.names_other_service,
                bool(hits) and hits[0].id in question.gold,
                bool(hits) and hits[0].signals["named"] > 0,
                [hit.signals["blend"] for hit in hits],
                [hit.id in question.gold for hit in hits],
                beir.ndcg([hit.id for hit in hits], dict.fromkeys(question.gold, 1.0)) if question.gold else 0.0,
            )
        )
    return Seen(scope, answers)


def _measure_shares(corpus: Corpus, scope: Scope) -> list[float]:
    """nDCG@10 at each share, without names."""
    sums = np.zeros(len(SHARES))
    asked = [question for question in scope.questions if question.gold and not question.among]
    with corpus.snapshot() as snapshot:
        lexical = snapshot.lexical
        ids = snapshot.ids(np.arange(snapshot.size))
        for question in asked if snapshot.has_vectors else ():
            sums += _rank_by_share(question, snapshot, lexical, ids)
    return [float(total / len(asked)) if asked else float("nan") for total in sums]


def _rank_by_share(question: Question, snapshot: Any, lexical: Any, ids: list[str]) -> Any:
    terms = weigh_terms(lexical.analyzer, question.text)
    parts = snapshot.score(Request(question.text, terms, lexical=10, dense=10))
    words, meaning = (parts[name].every() for name in ("lexical", "dense"))
    gold, found = dict.fromkeys(question.gold, 1.0), []
    for share in SHARES:
        best = top(blend(words, meaning, lexical.ideal(terms), share.of(len(terms))), 10)[:10]
        found.append(beir.ndcg([ids[place] for place in best.tolist()], gold))
    return np.array(found)


def _show_shares(ndcgs: dict[str, list[float]], current: Share) -> None:
    print(f"{'share of words':22}" + "".join(f"{share.least:>8}" for share in SHARES))
    print(f"{'and for a term':22}" + "".join(f"{share.per_term:>8}" for share in SHARES))
    print(f"{'at most':22}" + "".join(f"{share.most:>8}" for share in SHARES))
    for name, row in ndcgs.items():
        print(f"{name:22}" + "".join(f"{value:8.4f}" for value in row))
    print(f"{'mean':22}" + "".join(f"{value:8.4f}" for value in np.nanmean(list(ndcgs.values()), axis=0)))
    print(f"now: {current}")


def _show_scales(name: str, seen: list[Seen]) -> float:
    """Show how many results are near the best by scale, and how often a right one is among them; choose the scale."""
    print(f"\n{name}: right among results / results, by scale")
    print(f"{'':22}{'nDCG@10':>8}  " + "".join(f"{scale:>12g}" for scale in SCALES))
    table = np.array([[_measure_selection(one, scale) for scale in SCALES] for one in seen])
    for one, row in zip(seen, table, strict=True):
        quality = one.column("ndcg")[one.column("fits")].mean()
        print(f"{one.scope.name:22}{quality:8.4f}  " + "".join(f"{among:7.3f}/{size:4.2f}" for among, size in row))
    mean = table.mean(axis=0)
    print(f"{'mean':32}" + "".join(f"{among:7.3f}/{size:4.2f}" for among, size in mean))
    return SCALES[int(np.abs(mean[:, 1] - RESULTS).argmin())]


def _measure_selection(seen: Seen, scale: float) -> tuple[float, float]:
    among, sizes = [], []
    for answer in (one for one in seen.answers if one.fits and one.blends):
        near = [at for at, value in enumerate(answer.blends) if scale * (answer.blends[0] - value) <= NEAR_ODDS]
        near = near[:ADAPTIVE_MAX_K]
        among.append(any(answer.right[at] for at in near))
        sizes.append(len(near))
    return float(np.mean(among)), float(np.mean(sizes))


def _show_fit(name: str, seen: list[Seen], signals: Sequence[str], scale: float) -> None:
    columns = [SIGNALS.index(signal) for signal in signals]

    def fitted(sets: list[Seen]) -> tuple[Any, float]:
        """Fit to the best documents that were not found by their name and whose service is not another one."""
        tables, labels, counts = [], [], []
        for one in sets:
            kept = ~(one.column("is_named") | one.column("names_other_service"))
            tables.append(one.column("table")[kept][:, columns])
            labels.append(one.column("is_right")[kept].astype(float))
            counts.append(np.full(int(kept.sum()), 1000 / max(int(kept.sum()), 1)))
        return logistic.fit(np.concatenate(tables), np.concatenate(labels), np.concatenate(counts))

    print(f"\n{name}, by {', '.join(signals)}; each set left out")
    print(f"{'':22}{'auroc':>7}{'loss':>7}{'right':>7}{'said':>7}   threshold: lost and answered wrongly")
    rows = []
    for one in seen:
        weights, bias = fitted([other for other in seen if other.scope.family != one.scope.family] or seen)
        odds = one.column("table")[:, columns] @ weights + bias + OTHER_SERVICE * one.column("names_other_service")
        chance = 1 / (1 + np.exp(-odds))
        rows.append(_measure_chances(one, chance))
        print(f"{one.scope.name:22}" + _format(rows[-1]))
    print(f"{'mean':22}" + _format([float(value) for value in np.nanmean(rows, axis=0)]))
    weights, bias = fitted(seen)
    values = dict.fromkeys(SIGNALS, 0.0) | dict(zip(signals, weights.round(2).tolist(), strict=True))
    said = ", ".join(f"{signal}={value}" for signal, value in values.items())
    print(f"all: Relevance(bias={bias:.2f}, {said}, scale={scale})")


def _measure_chances(seen: Seen, chance: Any) -> list[float]:
    fits, right = seen.column("fits"), seen.column("is_right")
    inside, outside = chance[fits], chance[~fits]
    row = [auroc(inside, outside) if len(outside) else float("nan")]
    row += [float(-np.log(np.where(right, chance, 1 - chance)).mean()), float(right.mean()), float(chance.mean())]
    for threshold in THRESHOLDS:
        row.append(float((inside < threshold).mean()))
        row.append(float((outside >= threshold).mean()) if len(outside) else float("nan"))
    return row


def _format(row: list[float]) -> str:
    pairs = zip(THRESHOLDS, row[4::2], row[5::2], strict=True)
    return "".join(f"{value:7.3f}" for value in row[:4]) + "".join(
        f"  {threshold}: {lost:.2f} {answered:.2f}" for threshold, lost, answered in pairs
    )


if __name__ == "__main__":
    main(sys.argv[1], *split_arguments([Path(one) for one in sys.argv[2:]]))
