"""All measurements of an evaluation that are worth a plot; as data, and as one HTML page without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from shortlist._plain import to_plain
from shortlist.eval.calibration import Calibration, calibrate_min_score
from shortlist.eval.cases import Case
from shortlist.eval.distractors import Curve, distractor_robustness_curve
from shortlist.eval.reporting.plots import Figure, Series, histogram, lines
from shortlist.eval.retrieval import OUTCOMES, Comparison, DiscoveryReport, Outcome
from shortlist.eval.selection import Point, SelectionReport, Sweep, evaluate_selection, sweep_selector
from shortlist.eval.statistics import SEED, Estimate
from shortlist.index.corpus import Corpus
from shortlist.results import Filter, MinRelevance, Selector, accept_min_score
from shortlist.retrieval.options import STRATEGY, SearchOptions

MOST_DOCUMENTS = 20_000  # for a curve of distractors, which indexes them all again
MOST_MISSES = 200  # more make a page that browsers are slow with
TEMPLATE = Path(__file__).with_name("study.html")


@dataclass(frozen=True, slots=True)
class Study:
    """An evaluation and further measurements on its cases; those that were not made are None."""

    report: DiscoveryReport
    comparison: Comparison | None = None
    selection: SelectionReport | None = None
    sweep: Sweep | None = None
    calibration: Calibration | None = None
    curve: Curve | None = None

    def figures(self) -> list[Figure]:
        """A plot for every measurement."""
        plots = [
            _plot_recall(self.report, self.comparison),
            _plot_sweep(self.sweep) if self.sweep else None,
            _plot_scores(self.calibration) if self.calibration else None,
            _plot_curve(self.curve) if self.curve else None,
        ]
        return [plot for plot in plots if plot]

    def html(self) -> str:
        report, best = self.report, self.sweep.best() if self.sweep else None
        about = (
            f"{report.documents:,} documents, mode {report.mode}, {len(report.outcomes):,} cases, "
            f"{len(report.out_of_scope):,} without an expected result; intervals are {report.confidence:.0%} bootstrap."
        )
        counts = [(name, count) for name, count in report.taxonomy.items() if count]
        outcomes = [{"outcome": name, "cases": count, "meaning": OUTCOMES[name]} for name, count in counts]
        compared = self.comparison.metrics if self.comparison else {}
        measures = self.selection.measures if self.selection else {}
        selection = [{"measure": name, "value": value} for name, value in measures.items() if value is not None]
        return Template(TEMPLATE.read_text("utf-8")).substitute(
            corpus=escape(report.corpus),
            about=escape(about),
            metrics=_render_table("Metrics", _tabulate_metrics(report)),
            outcomes=_render_table("Outcomes", outcomes),
            comparison=_render_table("Comparison", [{"metric": name, **asdict(one)} for name, one in compared.items()]),
            plots="".join(figure.html() for figure in self.figures()),
            selection=_render_table("Selection", selection),
            best=f"Best F1: {best.measures['f1']:.3f}, with max_k {best.max_k} and rel {best.rel:g}." if best else "",
            threshold=escape(self.calibration.says) if self.calibration else "",
            misses=_render_misses(report.misses),
        )

    def to_dict(self) -> dict[str, Any]:
        """The report with its misses instead of all cases, and the other measurements."""
        calibration = to_plain(self.calibration)
        if self.calibration:
            scores = {"in_scope": self.calibration.in_scope, "out_of_scope": self.calibration.out_of_scope}
            calibration |= {"scores": to_plain(scores)}
        return {
            **self.report.to_dict(cases=False),
            "recall_at": [{"k": k, "recall": recall} for k, recall in self.report.recall_curve()],
            "misses": to_plain(self.report.misses),
            "comparison": to_plain(self.comparison),
            "selection": to_plain(self.selection),
            "sweep": to_plain(self.sweep),
            "calibration": calibration,
            "curve": to_plain(self.curve),
            "plots": to_plain(self.figures()),
        }


def html_page(
    report: DiscoveryReport,
    *,
    comparison: Comparison | None = None,
    selection: SelectionReport | None = None,
    sweep: Sweep | None = None,
    calibration: Calibration | None = None,
    curve: Curve | None = None,
) -> str:
    """A page about an evaluation and other measurements on its cases, with a plot for each."""
    return Study(report, comparison, selection, sweep, calibration, curve).html()


@dataclass(frozen=True, slots=True)
class Step:
    """The progress of a study: the current step, and how much of it is done."""

    name: str
    done: int
    total: int
    share: float  # of the whole study


@accept_min_score
def study(
    corpus: Corpus,
    report: DiscoveryReport,
    comparison: Comparison | None = None,
    *,
    filter: Filter | None = None,
    strategy: str | Selector = STRATEGY,
    min_relevance: MinRelevance = "auto",
    curve: bool = True,
    seed: int = SEED,
    tell: Callable[[Step], None] | None = None,
) -> Study:
    """Run the cases of a report again to measure selection, its settings, the threshold and the cost of growth.

    `tell` is called with each step.
    """
    cases = [one.case for one in report.outcomes]
    out_of_scope = [case for case in cases if not case.in_scope]
    ids = set(corpus.ids())
    known = [Case(case.query, tuple(id for id in case.gold if id in ids)) for case in cases]
    known = [case for case in known if case.in_scope]
    has_retrieved = any(one.rank is not None and one.rank <= report.k for one in report.outcomes)
    has_step = {
        "evaluating selection": True,
        "sweeping settings": bool(report.in_scope),
        "calibrating the threshold": has_retrieved and bool(out_of_scope),
        "adding distractors": curve and bool(known) and len(corpus) <= MOST_DOCUMENTS,
    }
    steps = [name for name, is_wanted in has_step.items() if is_wanted]

    def progress(done: int, total: int | None, name: str) -> None:
        if tell:
            tell(Step(name, done, total or 1, (steps.index(name) + done / (total or 1)) / len(steps)))

    selecting, sweeping, calibrating, growing = (partial(progress, name=name) for name in has_step)
    plain = SearchOptions(mode=report.mode, k=report.k)
    options = replace(plain, filter=filter, strategy=strategy, min_relevance=min_relevance)
    selection = evaluate_selection(corpus, cases, options=options, seed=seed, progress=selecting)
    sweep = calibration = growth = None
    if has_step["sweeping settings"]:
        sweep = sweep_selector(corpus, cases, options=options, progress=sweeping)
    if has_step["calibrating the threshold"]:
        both = [*known, *out_of_scope]
        calibration = calibrate_min_score(corpus, both, options=options, seed=seed, progress=calibrating)
    if has_step["adding distractors"]:
        growth = distractor_robustness_curve(corpus, known, options=plain, seed=seed, progress=growing)
    return Study(report, comparison, selection, sweep, calibration, growth)


def _plot_recall(report: DiscoveryReport, comparison: Comparison | None) -> Figure | None:
    reports = [comparison.first, comparison.second] if comparison else [report]
    has_one_corpus = len({one.corpus for one in reports}) == 1
    series = [Series(one.mode if has_one_corpus else one.corpus, one.recall_curve()) for one in reports]
    return lines("Recall against k", "k", "recall", series, logarithmic=True)


def _plot_sweep(sweep: Sweep) -> Figure | None:
    frontier = sweep.frontier()

    def make_series(name: str, points: Sequence[Point], *, joined: bool) -> Series:
        places = [point.recall_and_precision for point in points]
        labels = [
            f"max_k {point.max_k}, rel {point.rel:g}: recall {recall:.3f}, precision {precision:.3f}"
            for point, (recall, precision) in zip(points, places, strict=True)
        ]
        return Series(name, places, joined=joined, labels=labels)

    others = [point for point in sweep.points if point not in frontier]
    series = [make_series("frontier", frontier, joined=True), make_series("other settings", others, joined=False)]
    return lines("Precision and recall of the selection", "recall", "precision", series)


def _plot_scores(calibration: Calibration) -> Figure | None:
    groups = [("something applies", calibration.in_scope), ("nothing applies", calibration.out_of_scope)]
    return histogram("Best scores and the threshold", "best score", groups, ("threshold", calibration.floor))


def _plot_curve(curve: Curve) -> Figure | None:
    names = {"accuracy": "right one first", "surfaced": f"among the first {curve.k}", "committed": "selected"}
    series = []
    for name, label in names.items():
        values = [getattr(point, name) for point in curve.points]
        points = [(point.size, float(value)) for point, value in zip(curve.points, values, strict=True)]
        series.append(Series(label, points, [(value.low, value.high) for value in values]))
    title = "The same questions, more distractors"
    return lines(title, "size of the catalog", "share of questions", series, logarithmic=True)


def _tabulate_metrics(report: DiscoveryReport) -> Iterator[dict[str, Any]]:
    """A row for each metric, with a column for each k."""
    ks = sorted({int(name.partition("@")[2]) for name in report.metrics if "@" in name})
    for metric in dict.fromkeys(name.partition("@")[0] for name in report.metrics):
        at_k = {f"@{k}": report.metrics.get(f"{metric}@{k}") for k in ks}
        yield {"metric": metric, **at_k, "all": report.metrics.get(metric)}


def _render_misses(misses: Sequence[Outcome]) -> str:
    more = f", the first {MOST_MISSES}" if len(misses) > MOST_MISSES else ""
    parts = [f"<h2>Misses ({len(misses):,}{more})</h2>"]
    for one in misses[:MOST_MISSES]:
        why = one.why.says if one.why else ""
        expected, first = (escape(", ".join(ids) or "nothing") for ids in (one.case.gold, one.ranked[:5]))
        parts.append(
            f"<details><summary><b>{escape(one.outcome.replace('_', ' '))}</b>{escape(one.case.query)}</summary>"
            f'<p><span class="soft">expected</span> {expected}<br><span class="soft">top hits</span> {first}</p>'
            f"<p>{escape(why)}</p></details>"
        )
    return "".join(parts) if misses else ""


def _render_table(title: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows with the same keys below a heading, or nothing without rows."""
    rows = list(rows)
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in rows[0]) if rows else ""
    body = "".join(f"<tr>{''.join(map(_render_cell, row.values()))}</tr>" for row in rows)
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return f"<h2>{title}</h2>\n{table}" if rows else ""


def _render_cell(value: Any) -> str:
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    if isinstance(value, Estimate):
        value = f"{value:.3f} ({value.low:.3f} to {value.high:.3f})"
    elif isinstance(value, float):
        value = f"{value:.4f}"
    return f"<td>{'' if value is None else escape(str(value))}</td>"
