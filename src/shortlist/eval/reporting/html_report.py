"""What does somebody see who was not there? One HTML page with everything in it: no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from shortlist.eval.calibration import Calibration
from shortlist.eval.distractors import Curve
from shortlist.eval.reporting import plots
from shortlist.eval.retrieval import OUTCOMES, Comparison, DiscoveryReport, Outcome
from shortlist.eval.selection import SelectionReport, Sweep

# More misses than this make a page that no browser likes.
SHOWN_MISSES = 200

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #616e7c; --edge: #d9e2ec; --back: #ffffff; --card: #f7f9fb;
  --s1: #0b7285; --s2: #e8590c; --s3: #6741d9; --s4: #2b8a3e; --good: #2b8a3e; --bad: #c92a2a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --soft: #9aa5b1; --edge: #323f4b; --back: #12171c;
  --card: #1a2129; --s1: #3bc9db; --s2: #ffa94d; --s3: #b197fc; --s4: #69db7c; --good: #69db7c; --bad: #ff8787; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 28px 20px 60px; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 18px; margin: 34px 0 10px; } p { margin: 4px 0 12px; }
.soft { color: var(--soft); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(380px, 1fr)); gap: 16px; }
figure { margin: 0; padding: 14px; background: var(--card); border: 1px solid var(--edge); border-radius: 8px; }
figcaption { font-weight: 600; margin-bottom: 6px; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 12px; }
.grid { stroke: var(--edge); } .base { stroke: var(--soft); }
.mark { stroke: var(--bad); stroke-dasharray: 5 4; stroke-width: 2; }
.line { fill: none; stroke-width: 2; } .band { opacity: .15; } .column { opacity: .6; }
.line.s1 { stroke: var(--s1); } .line.s2 { stroke: var(--s2); }
.line.s3 { stroke: var(--s3); } .line.s4 { stroke: var(--s4); }
.dot.s1, .column.s1, .band.s1 { fill: var(--s1); } .dot.s2, .column.s2, .band.s2 { fill: var(--s2); }
.dot.s3, .column.s3, .band.s3 { fill: var(--s3); } .dot.s4, .column.s4, .band.s4 { fill: var(--s4); }
.keys { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 4px; font-size: 13px; color: var(--soft); }
.key i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
i.s1 { background: var(--s1); } i.s2 { background: var(--s2); }
i.s3 { background: var(--s3); } i.s4 { background: var(--s4); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 14px 4px 0; text-align: left; border-bottom: 1px solid var(--edge); vertical-align: top; }
th { color: var(--soft); font-weight: 500; } td.n, th.n { text-align: right; }
details { border-bottom: 1px solid var(--edge); padding: 6px 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
summary b { font-weight: 600; margin-right: 8px; } details p { margin: 6px 0 6px 18px; overflow-wrap: anywhere; }
"""


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
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
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
