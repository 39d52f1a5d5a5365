"""Accuracy as a catalog grows: the same queries on catalogs with more and more distractors."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from shortlist._plain import Plain
from shortlist._text import count_of
from shortlist.display.progress import show_progress
from shortlist.documents import Document
from shortlist.errors import InputError
from shortlist.eval.cases import Case
from shortlist.eval.reader import Retrieved, open_reader
from shortlist.eval.statistics import SEED, Estimate, Table, estimate_mean
from shortlist.index.corpus import create_corpus
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import ProgressOption
from shortlist.results import MinRelevance, Mode, Selector, accept_min_score
from shortlist.retrieval.options import STRATEGY, SearchOptions, SelectKeywords, combine_options
from shortlist.sources import CorpusSource, documents_of

SMALLEST = 10
REPEATS = 5
MEASURES = ("accuracy", "surfaced", "committed", "mean_size", "false_action")

Probes = Sequence[Case | tuple[str, str | Sequence[str]]] | Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class CurvePoint(Plain):
    """The measures of a catalog of one size, as means over the queries."""

    size: int
    questions: int
    accuracy: Estimate  # the first hit is an expected one
    surfaced: Estimate  # an expected result is in the top k
    committed: Estimate  # an expected result was selected
    mean_size: Estimate  # the number of selected results
    false_action: Estimate | None  # something was selected though nothing is expected; None without such queries


@dataclass(frozen=True, slots=True)
class Curve(Plain):
    """The measures at every size, from the smallest to the largest."""

    mode: str
    k: int
    points: Sequence[CurvePoint]

    def __repr__(self) -> str:
        ends = f", accuracy {self.points[0].accuracy:.3f} to {self.points[-1].accuracy:.3f}" if self.points else ""
        return f"Curve({self.mode}: {count_of(len(self.points), 'size')}{ends})"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def table(self) -> Table:
        """One row for each size."""
        return Table({name: getattr(one, name) for name in ("size", "questions", *MEASURES)} for one in self.points)


@accept_min_score
def distractor_robustness_curve(
    scope: Searchable | CorpusSource,
    probes: Probes,
    sizes: Sequence[int] | None = None,
    mode: Mode = "auto",
    k: int = 10,
    *,
    strategy: str | Selector = STRATEGY,
    min_relevance: MinRelevance = "auto",
    embedder: EmbedderSpec = None,
    repeats: int = REPEATS,
    seed: int = SEED,
    progress: ProgressOption = None,
    options: SearchOptions | None = None,
    **selection: Unpack[SelectKeywords],
) -> Curve:
    """Run the same queries on catalogs that contain the expected results and more and more other documents.

    `scope` is a corpus or documents, `probes` are cases or (query, gold) pairs. `sizes` double from 10 (or the fewest
    expected results of a case) to all. Each repeat draws expected results that fit into the smallest catalog, takes all
    queries about them, and draws the order in which other documents are added. All draws come from `seed`.
    """
    options = combine_options(options, mode=mode, k=k, strategy=strategy, min_relevance=min_relevance, **selection)
    mode, k = options.mode, options.k
    documents, own_embedder = _read_documents(scope)
    cases = _read_cases(probes, documents)
    in_scope = [case for case in cases if case.in_scope]
    out_of_scope = [case for case in cases if not case.in_scope]
    steps = _choose_sizes(sizes, len(documents), min(len(case.gold) for case in in_scope))
    embedder = next(each for each in (embedder, own_embedder, "default") if each is not None)
    rows: dict[int, dict[str, list[float]]] = {size: {name: [] for name in MEASURES} for size in steps}
    with show_progress(progress, "adding distractors", "catalogs") as report:
        for repeat in range(repeats):
            drawn = random.Random(f"{seed} {repeat}")
            gold, queries = _draw(in_scope, steps[0], drawn)
            queries += drawn.sample(out_of_scope, min(len(out_of_scope), len(queries)))
            others = sorted(documents.keys() - gold)
            drawn.shuffle(others)
            with create_corpus(in_memory=True, embedder="none" if mode == "lexical" else embedder) as corpus:
                corpus.add(documents[id] for id in sorted(gold))
                for step, size in enumerate(steps, 1):
                    corpus.add(documents[id] for id in others[len(corpus) - len(gold) : size - len(gold)])
                    with open_reader(corpus, mode, options.filter, exact=options.exact) as reader:
                        for case, found in reader.run(queries, k):
                            selected = [hit.id for hit in found.choose(options).selected]
                            for name, value in _measure(case, found, k, selected).items():
                                rows[size][name].append(float(value))
                    if report:
                        report(repeat * len(steps) + step, repeats * len(steps))
    points = []
    for size, columns in rows.items():
        means: dict[str, Any] = {name: estimate_mean(values, seed=seed) for name, values in columns.items()}
        points.append(CurvePoint(size, len(columns["accuracy"]), **means))
    return Curve(mode, k, points)


def _measure(case: Case, found: Retrieved, k: int, selected: Sequence[str]) -> dict[str, float]:
    if not case.in_scope:
        return {"false_action": bool(selected)}
    ids = [hit.id for hit in found.rank(k)]
    return {
        "accuracy": bool(ids) and ids[0] in case.gold,
        "surfaced": not set(case.gold).isdisjoint(ids),
        "committed": not set(case.gold).isdisjoint(selected),
        "mean_size": len(selected),
    }


def _draw(cases: Sequence[Case], size: int, drawn: random.Random) -> tuple[set[str], list[Case]]:
    """Expected results that fit into a catalog, and all cases that expect nothing else."""
    gold: set[str] = set()
    for case in drawn.sample(cases, len(cases)):
        if len(gold | set(case.gold)) <= size:
            gold |= set(case.gold)
    if not gold:
        raise InputError(f"A catalog of {size} is too small for the gold of any case. Use larger sizes.")
    return gold, [case for case in cases if gold.issuperset(case.gold)]


def _choose_sizes(given: Sequence[int] | None, total: int, least: int) -> list[int]:
    sizes = sorted(set(given)) if given is not None else [min(max(SMALLEST, least), total)]
    if given is not None and (not sizes or sizes[0] < 1 or sizes[-1] > total):
        raise InputError(f"Catalog sizes must be from 1 to {total}, the number of documents, not {given!r}.")
    while given is None and sizes[-1] < total:
        sizes.append(min(2 * sizes[-1], total))
    return sizes


def _read_documents(scope: Any) -> tuple[dict[str, Document], EmbedderSpec]:
    """The documents by id, and the embedder of the corpus if it is one."""
    embedder: EmbedderSpec = None
    if isinstance(scope, str) or hasattr(scope, "snapshot"):
        (corpus,) = open_corpora(scope, needs_vectors=False)
        items, embedder = list(corpus), corpus.embedder or "none"
    else:
        given = scope if isinstance(scope, Mapping) else [item for item in scope if not hasattr(item, "reason")]
        items = [item for item in documents_of(given) if isinstance(item, Document)]
    return {document.id: document for document in items}, embedder


def _read_cases(probes: Probes, documents: Mapping[str, Document]) -> list[Case]:
    pairs: Iterable[Any] = probes.items() if isinstance(probes, Mapping) else probes
    cases = [probe if isinstance(probe, Case) else Case(probe[0], probe[1]) for probe in pairs]
    if not any(case.in_scope for case in cases):
        raise InputError("No case has gold. A curve needs cases with gold.")
    for case in cases:
        if missing := [id for id in case.gold if id not in documents]:
            raise InputError(f"The catalog has no document {missing[0]!r}, which {case.query!r} expects.")
    return cases
