"""An evaluation as data, as plots, and as one self-contained HTML page without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from shortlist._plain import to_plain
from shortlist.eval.calibration import Calibration
from shortlist.eval.distractors import Curve
from shortlist.eval.reporting.plots import Figure, Series, histogram, lines
from shortlist.eval.retrieval import OUTCOMES, Comparison, DiscoveryReport, Outcome
from shortlist.eval.selection import Point, SelectionReport, Sweep

MOST_MISSES = 200  # more make a page that browsers are slow with


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
        report = self.report
        about = (
            f"{report.documents:,} documents, mode {report.mode}, {len(report.in_scope):,} cases with gold, "
            f"{len(report.out_of_scope):,} to which nothing applies; intervals are {report.confidence:.0%} bootstrap."
        )
        outcomes = [(name, count, OUTCOMES[name]) for name, count in report.taxonomy.items() if count]
        calibration = self.calibration
        return Template(Path(__file__).with_suffix(".html").read_text("utf-8")).substitute(
            corpus=escape(report.corpus),
            about=escape(about),
            metrics=_render_metrics(report),
            outcomes=_render_table(("outcome", "cases", "meaning"), outcomes),
            comparison=_render_comparison(self.comparison) if self.comparison else "",
            plots="".join(figure.html() for figure in self.figures()),
            selection=_render_selection(self.selection, self.sweep),
            threshold=f"<h2>Threshold</h2><p>{escape(calibration.says)}</p>" if calibration else "",
            misses=_render_misses(report.misses) if report.misses else "",
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
    selection: SelectionReport | None = None,
    sweep: Sweep | None = None,
    calibration: Calibration | None = None,
    curve: Curve | None = None,
    comparison: Comparison | None = None,
) -> str:
    """A page about an evaluation, with a plot for every measurement."""
    return Study(report, comparison, selection, sweep, calibration, curve).html()


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
    return histogram("Best scores, and the floor", "best score", groups, ("floor", calibration.floor))


def _plot_curve(curve: Curve) -> Figure | None:
    names = {"accuracy": "right one first", "surfaced": f"among the first {curve.k}", "committed": "selected"}
    series = []
    for name, label in names.items():
        values = [getattr(point, name) for point in curve.points]
        points = [(point.size, float(value)) for point, value in zip(curve.points, values, strict=True)]
        series.append(Series(label, points, [(value.low, value.high) for value in values]))
    title = "The same questions, more distractors"
    return lines(title, "size of the catalog", "share of questions", series, logarithmic=True)


def _render_metrics(report: DiscoveryReport) -> str:
    """A table with a row for each metric and a column for each k."""
    ks = sorted({int(name.partition("@")[2]) for name in report.metrics if "@" in name})
    names = dict.fromkeys(name.partition("@")[0] for name in report.metrics)
    columns = [*(f"@{k}" for k in ks), ""]
    rows = [(name, *(_format_interval(report.metrics.get(f"{name}{k}")) for k in columns)) for name in names]
    return _render_table(("", *columns[:-1], "all"), rows)


def _render_comparison(comparison: Comparison) -> str:
    rows = [
        (
            name,
            *(f"{one.first:.3f}", f"{one.second:.3f}", _format_interval(one.difference), f"{one.p_value:.4f}"),
            *(one.wins, one.losses, one.ties),
        )
        for name, one in comparison.metrics.items()
    ]
    titles = ("metric", "first", "second", "difference", "p", "better", "worse", "equal")
    return f"<h2>Comparison</h2>{_render_table(titles, rows)}"


def _render_selection(selection: SelectionReport | None, sweep: Sweep | None) -> str:
    parts = []
    if selection:
        measures = {name.replace("_", " "): value for name, value in selection.measures.items() if value is not None}
        rows = [(name, _format_interval(value)) for name, value in measures.items()]
        parts.append(f"<h2>Selection</h2>{_render_table(('measure', 'value'), rows)}")
    if sweep:
        best = sweep.best()
        parts.append(f"<p>Best F1: {best.measures['f1']:.3f}, with max_k {best.max_k} and rel {best.rel:g}.</p>")
    return "".join(parts)


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
    return "".join(parts)


def _format_interval(value: Any) -> str:
    return f"{value:.3f} ({value.low:.3f} to {value.high:.3f})" if value is not None else ""


def _render_table(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    def render_cell(value: Any) -> str:
        return f'<td class="n">{value:,}</td>' if isinstance(value, int) else f"<td>{escape(str(value))}</td>"

    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(map(render_cell, row))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
