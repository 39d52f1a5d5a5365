"""An evaluation as one self-contained HTML page without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from shortlist.eval.calibration import Calibration
from shortlist.eval.distractors import Curve
from shortlist.eval.reporting import plots
from shortlist.eval.retrieval import OUTCOMES, Comparison, DiscoveryReport, Outcome
from shortlist.eval.selection import SelectionReport, Sweep

# More misses than this make a page that no browser likes.
SHOWN_MISSES = 200

STYLE = Path(__file__).with_suffix(".css")


def html_page(
    report: DiscoveryReport,
    *,
    selection: SelectionReport | None = None,
    sweep: Sweep | None = None,
    calibration: Calibration | None = None,
    curve: Curve | None = None,
    comparison: Comparison | None = None,
) -> str:
    """A page about an evaluation, with a plot for everything that was measured."""
    title = f"{report.corpus}: how well are things found?"
    drawn = figures(report, sweep=sweep, calibration=calibration, curve=curve, comparison=comparison)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(_about(report))}</p>',
        "<h2>Measures</h2>",
        _measures(report),
        "<h2>What became of the cases</h2>",
        _rows(
            ("outcome", "cases", "meaning"),
            [(name, count, OUTCOMES[name]) for name, count in report.taxonomy.items() if count],
        ),
        *_compared(comparison),
        "<h2>Plots</h2>",
        f'<div class="plots">{"".join(one.html() for one in drawn)}</div>',
        *_selected(selection, sweep, calibration),
        *_misses(report.misses),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE.read_text('utf-8')}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _about(report: DiscoveryReport) -> str:
    return (
        f"{report.documents:,} documents, mode {report.mode}, {len(report.in_scope):,} cases with gold, "
        f"{len(report.out_of_scope):,} to which nothing applies; intervals are {report.confidence:.0%} bootstrap."
    )


def _measures(report: DiscoveryReport) -> str:
    """Measures that have a k as a table of name by k; the others below."""
    ks = sorted({int(name.partition("@")[2]) for name in report.metrics if "@" in name})
    names = list(dict.fromkeys(name.partition("@")[0] for name in report.metrics))
    rows = []
    for name in names:
        found = [report.metrics.get(f"{name}@{k}") for k in ks]
        whole = report.metrics.get(name)
        rows.append((name, *(_interval(value) for value in found), _interval(whole)))
    return _rows(("", *(f"@{k}" for k in ks), "all"), rows)


def _interval(value: Any) -> str:
    return f"{value:.3f} ({value.low:.3f} to {value.high:.3f})" if value is not None else ""


def figures(
    report: DiscoveryReport,
    *,
    sweep: Sweep | None = None,
    calibration: Calibration | None = None,
    curve: Curve | None = None,
    comparison: Comparison | None = None,
) -> list[plots.Figure]:
    """A plot for everything that was measured."""
    found = _recall(report, comparison), _frontier(sweep), _floor(calibration), _growth(curve)
    return [figure for figure in found if figure]


def _recall(report: DiscoveryReport, comparison: Comparison | None) -> plots.Figure | None:
    reports = [comparison.first, comparison.second] if comparison else [report]
    same = len({one.corpus for one in reports}) == 1
    names = [one.mode if same else one.corpus for one in reports]
    recall = [plots.Series(name, one.recall_curve()) for name, one in zip(names, reports, strict=True)]
    return plots.lines("Recall against k", "k", "recall", recall, logarithmic=True)


def _frontier(sweep: Sweep | None) -> plots.Figure | None:
    if sweep is None:
        return None
    frontier = sweep.frontier()
    series = [
        _settings("frontier", frontier, joined=True),
        _settings("other settings", [one for one in sweep.points if one not in frontier], joined=False),
    ]
    return plots.lines("Precision and recall of the selection", "recall", "precision", series)


def _floor(calibration: Calibration | None) -> plots.Figure | None:
    if calibration is None:
        return None
    groups = [("something applies", calibration.in_scope), ("nothing applies", calibration.out_of_scope)]
    return plots.histogram("Best scores, and the floor", "best score", groups, ("floor", calibration.floor))


def _growth(curve: Curve | None) -> plots.Figure | None:
    if curve is None:
        return None
    names = {"accuracy": "right one first", "surfaced": f"among the first {curve.k}", "committed": "selected"}
    series = [
        plots.Series(
            label,
            [(point.size, float(getattr(point, name))) for point in curve.points],
            [(getattr(point, name).low, getattr(point, name).high) for point in curve.points],
        )
        for name, label in names.items()
    ]
    title = "The same questions, more distractors"
    return plots.lines(title, "size of the catalog", "share of questions", series, logarithmic=True)


def _settings(name: str, points: Sequence[Any], *, joined: bool) -> plots.Series:
    places = [(point.measures["recall"] or 0.0, point.measures["precision"] or 0.0) for point in points]
    labels = [f"max_k {point.max_k}, rel {point.rel:g}: recall {r:.3f}, precision {p:.3f}"
              for point, (r, p) in zip(points, places, strict=True)]  # fmt: skip
    return plots.Series(name, places, joined=joined, labels=labels)


def _compared(comparison: Comparison | None) -> Iterable[str]:
    if comparison is None:
        return
    yield "<h2>Compared</h2>"
    yield _rows(
        ("measure", "first", "second", "difference", "p", "better", "worse", "equal"),
        [
            (name, f"{one.first:.3f}", f"{one.second:.3f}", _interval(one.difference), f"{one.p_value:.4f}", one.wins,
             one.losses, one.ties)
            for name, one in comparison.metrics.items()
        ],
    )  # fmt: skip


def _selected(selection: SelectionReport | None, sweep: Sweep | None, calibration: Calibration | None) -> Iterable[str]:
    if selection:
        yield "<h2>Selection</h2>"
        found = [(name.replace("_", " "), _interval(value)) for name, value in selection.measures.items()]
        yield _rows(("measure", "value"), [row for row in found if row[1]])
    if sweep:
        best = sweep.best()
        words = f"Best F1, {best.measures['f1']:.3f}, with max_k {best.max_k} and rel {best.rel:g}."
        yield f"<p>{escape(words)}</p>"
    if calibration:
        yield f"<h2>The floor</h2><p>{escape(calibration.says)}</p>"


def _misses(misses: Sequence[Outcome]) -> Iterable[str]:
    if not misses:
        return
    more = f", the first {SHOWN_MISSES}" if len(misses) > SHOWN_MISSES else ""
    yield f"<h2>What went wrong, and why ({len(misses):,}{more})</h2>"
    for one in misses[:SHOWN_MISSES]:
        says = one.why.says if one.why else ""
        wanted = ", ".join(one.case.gold) or "nothing"
        yield (
            f"<details><summary><b>{escape(one.outcome.replace('_', ' '))}</b>{escape(one.case.query)}</summary>"
            f'<p><span class="soft">wanted</span> {escape(wanted)}<br><span class="soft">first</span> '
            f"{escape(', '.join(one.ranked[:5]) or 'nothing')}</p><p>{escape(says)}</p></details>"
        )


def _rows(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    return f'<td class="n">{value:,}</td>' if isinstance(value, int) else f"<td>{escape(str(value))}</td>"
