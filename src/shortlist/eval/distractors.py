"""Accuracy as a catalog grows: the same queries asked of ever larger catalogs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shortlist._plain import Plain
from shortlist.documents import Document
from shortlist.errors import InputError
from shortlist.eval.cases import Case
from shortlist.eval.reader import reading
from shortlist.eval.statistics import SEED, Estimate, estimates
from shortlist.eval.text_table import Table
from shortlist.index.corpus import Corpus, create_corpus
from shortlist.index.embedders.embedder_binding import EmbedderSpec
from shortlist.library.opening import Searchable, open_corpora
from shortlist.protocols import Progress
from shortlist.results import Mode, Selector
from shortlist.search.discover import choose
from shortlist.search.retrieve import merge
from shortlist.sources import CorpusSource, documents_of

SMALLEST = 10
REPEATS = 5

Probes = Sequence[Case | tuple[str, str | Sequence[str]]] | Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class CurvePoint(Plain):
    """What is reached with a catalog of one size; shares of the questions that were asked of it.

    accuracy      the first hit is right
    surfaced      something right is among the first k
    committed     something right is among what was selected
    false_action  something was selected where nothing applies; None without such questions
    """

    size: int
    questions: int
    accuracy: Estimate
    surfaced: Estimate
    committed: Estimate
    mean_size: Estimate
    false_action: Estimate | None


@dataclass(frozen=True, slots=True)
class Curve(Plain):
    """What is reached at every size, from the smallest to the largest."""

    mode: str
    k: int
    points: Sequence[CurvePoint]

    def table(self) -> Table:
        """A row for every size; printed, it is a table."""
        names = ("accuracy", "surfaced", "committed", "mean_size", "false_action")
        return Table(
            {"size": point.size, "questions": point.questions, **{name: getattr(point, name) for name in names}}
            for point in self.points
        )


def distractor_robustness_curve(
    scope: Searchable | CorpusSource,
    probes: Probes,
    sizes: Sequence[int] | None = None,
    mode: Mode = "auto",
    k: int = 10,
    *,
    strategy: str | Selector = "conservative",
    min_score: float | None = None,
    embedder: EmbedderSpec = None,
    repeats: int = REPEATS,
    seed: int = SEED,
    progress: Progress | None = None,
    **selection: Any,
) -> Curve:
    """Ask the same questions of catalogs that hold what should be found and ever more of everything else.

    `scope` is a corpus or documents, `probes` are cases or (query, gold) pairs; `sizes` double from 10 (or the
    fewest ids that a case has) to all. Each
    repeat draws the gold that fits into the smallest catalog, asks all questions about it, and draws the order in which
    the others join; catalogs of one repeat are nested. All draws come from `seed`.
    """
    documents, own = _documents(scope)
    by_id = {document.id: document for document in documents}
    cases = _cases(probes)
    answerable = [case for case in cases if case.in_scope]
    if not answerable:
        raise InputError("A curve needs questions with gold.")
    for case in answerable:
        if missing := [id for id in case.gold if id not in by_id]:
            raise InputError(f"The catalog has no document {missing[0]!r}, which {case.query!r} should find.")
    steps = _sizes(sizes, len(by_id), min(len(case.gold) for case in answerable))
    chosen_embedder = embedder if embedder is not None else own if own is not None else "default"
    rows: dict[int, dict[str, list[float]]] = {size: {name: [] for name in _MEASURES} for size in steps}
    for repeat in range(repeats):
        drawn = random.Random(f"{seed} {repeat}")
        gold, questions = _draw(answerable, steps[0], drawn)
        nothing = [case for case in cases if not case.in_scope]
        nothing = drawn.sample(nothing, min(len(nothing), len(questions)))
        others = sorted(by_id.keys() - gold)
        drawn.shuffle(others)
        with create_corpus(in_memory=True, embedder="none" if mode == "lexical" else chosen_embedder) as corpus:
            corpus.add(by_id[id] for id in sorted(gold))
            for step, size in enumerate(steps):
                here = others[len(corpus) - len(gold) : size - len(gold)]
                corpus.add(by_id[id] for id in here)
                _ask(corpus, [*questions, *nothing], mode, k, strategy, min_score, selection, rows[size])
                if progress:
                    progress(repeat * len(steps) + step + 1, repeats * len(steps))
    return Curve(mode, k, [_point(size, rows[size], seed) for size in steps])


_MEASURES = ("accuracy", "surfaced", "committed", "mean_size", "false_action")


def _ask(
    corpus: Corpus,
    cases: Sequence[Case],
    mode: Mode,
    k: int,
    strategy: str | Selector,
    min_score: float | None,
    selection: Mapping[str, Any],
    rows: Mapping[str, list[float]],
) -> None:
    with reading([corpus], mode) as reader:
        for case in cases:
            found = reader.look(case.query, k)
            ids = [hit.id for hit in merge(found, case.query, mode, k)]
            chosen = choose(found, case.query, mode, k, strategy, min_score, **selection).selected
            if case.in_scope:
                gold = set(case.gold)
                rows["accuracy"].append(float(bool(ids) and ids[0] in gold))
                rows["surfaced"].append(float(not gold.isdisjoint(ids)))
                rows["committed"].append(float(any(hit.id in gold for hit in chosen)))
                rows["mean_size"].append(float(len(chosen)))
            else:
                rows["false_action"].append(float(bool(chosen)))


def _point(size: int, rows: Mapping[str, list[float]], seed: int) -> CurvePoint:
    found = {name: estimates({name: values}, seed=seed).get(name) for name, values in rows.items()}
    return CurvePoint(size, len(rows["accuracy"]), **found)  # type: ignore[arg-type]  # there is gold, so there are values


def _draw(cases: Sequence[Case], most: int, drawn: random.Random) -> tuple[set[str], list[Case]]:
    """Gold that fits into the smallest catalog, and all questions that are about nothing else."""
    gold: set[str] = set()
    for case in drawn.sample(cases, len(cases)):
        if len(gold | set(case.gold)) <= most:
            gold |= set(case.gold)
    if not gold:
        raise InputError(f"A catalog of {most} is too small for the gold of any question.")
    return gold, [case for case in cases if gold.issuperset(case.gold)]


def _sizes(given: Sequence[int] | None, total: int, least: int) -> list[int]:
    if given is None:
        sizes = [min(max(SMALLEST, least), total)]
        while sizes[-1] < total:
            sizes.append(min(2 * sizes[-1], total))
        return sizes
    sizes = sorted(set(given))
    if not sizes or sizes[0] < 1 or sizes[-1] > total:
        raise InputError(f"Sizes of catalogs are between 1 and {total}, the number of documents, not {given!r}.")
    return sizes


def _documents(scope: Any) -> tuple[list[Document], EmbedderSpec]:
    """The documents, and the embedder that they were indexed with if they were."""
    if isinstance(scope, str) or hasattr(scope, "snapshot"):
        (corpus,) = open_corpora(scope, needs_vectors=False)
        return list(corpus), corpus.embedder or "none"
    items = scope if isinstance(scope, Mapping) else [item for item in scope if not hasattr(item, "reason")]
    return [item for item in documents_of(items) if isinstance(item, Document)], None


def _cases(probes: Probes) -> list[Case]:
    pairs: Iterable[Any] = probes.items() if isinstance(probes, Mapping) else probes
    return [probe if isinstance(probe, Case) else Case(probe[0], probe[1]) for probe in pairs]
