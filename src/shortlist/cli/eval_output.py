"""What people see of an evaluation: measures with their intervals, misses and their reasons, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.padding import Padding
from rich.text import Text

from shortlist._text import count_of
from shortlist.cli.terminal import Screen, make_table
from shortlist.eval.calibration import Calibration
from shortlist.eval.lint import LintReport
from shortlist.eval.retrieval import OUTCOMES, Comparison, DiscoveryReport
from shortlist.eval.selection import Point, SelectionReport, Sweep
from shortlist.eval.statistics import Estimate, Table

GOOD = ("hit_rank_1", "abstention_ok")
SHOWN_PROMPTS = 2
SWEEP_TITLES = {
    "conditional_commit_rate": "commit rate",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "mean_size": "size",
    "abstention_accuracy": "abstention",
}


def show_report(screen: Screen, report: DiscoveryReport, misses: int) -> None:
    counts = f"{count_of(len(report.in_scope), 'case')}, {len(report.out_of_scope):,} that nothing applies to"
    about = f", {report.mode}, {count_of(report.documents, 'document')}: {counts}"
    screen.draw(Text.assemble((report.corpus, "bold"), about))
    if report.metrics:
        ks = sorted({int(name.partition("@")[2]) for name in report.metrics if "@" in name})
        measures = dict.fromkeys(name.partition("@")[0] for name in report.metrics)
        values = {
            name: [*(report.metrics.get(f"{name}@{k}") for k in ks), report.metrics.get(name)] for name in measures
        }
        _draw_table(
            screen, ["", *(f"@{k}" for k in ks), "all"], [[name, *map(_format, row)] for name, row in values.items()]
        )
    table = make_table(("", "cases", " "), right=("cases",))
    for name, count in report.taxonomy.items():
        if count:
            table.add_row(Text(name, "green" if name in GOOD else "yellow"), f"{count:,}", Text(OUTCOMES[name], "dim"))
    screen.draw(table)
    for one in report.misses[:misses]:
        screen.draw(Text.assemble((f"{one.outcome}  ", "yellow"), (one.case.query, "bold")))
        screen.draw(Padding(Text(one.why.says if one.why else "", "dim"), (0, 0, 0, 2)))
    if len(report.misses) > misses:
        screen.say(f"{len(report.misses) - misses:,} more went wrong; --misses shows more, --json all.", "dim")


def show_comparison(screen: Screen, comparison: Comparison) -> None:
    one, two = comparison.first, comparison.second
    first, second = (one.mode, two.mode) if one.corpus == two.corpus else (one.corpus, two.corpus)
    screen.draw(Text.assemble((f"{first} against {second}", "bold"), f", {count_of(len(one.in_scope), 'case')}"))
    rows: list[list[str | Text]] = []
    for name, pair in comparison.metrics.items():
        if name.partition("@")[2] not in ("", str(two.k)) and name != "hit@1":
            continue
        color = "" if pair.p_value >= 0.05 else "green" if pair.difference > 0 else "red"
        interval = f"{pair.difference.low:+.2f} to {pair.difference.high:+.2f}"
        change = Text.assemble((f"{pair.difference:+.3f} ", color), (interval, "dim"))
        counts = map(str, (pair.wins, pair.losses, pair.ties))
        rows.append(
            [name, f"{pair.first:.3f}", f"{pair.second:.3f}", change, Text(f"{pair.p_value:.4f}", color), *counts]
        )
    _draw_table(screen, ["", first, second, "difference", "p", "better", "worse", "equal"], rows)
    for word, pairs in (("better", comparison.better), ("worse", comparison.worse)):
        for before, after in pairs[:3]:
            ranks = f"{before.rank or 'not found'} -> {after.rank or 'not found'}"
            screen.draw(Text.assemble((f"{word}  {ranks}  ", "dim"), before.case.query))


def show_selection(screen: Screen, report: SelectionReport) -> None:
    screen.draw(Text.assemble((report.strategy, "bold"), f", {count_of(report.cases, 'case')}"))
    measures = {name.replace("_", " "): value for name, value in report.measures.items() if value is not None}
    _draw_table(screen, ["", " "], [[name, _format(value)] for name, value in measures.items()])


def show_sweep(screen: Screen, sweep: Sweep, best: Point) -> None:
    screen.say("No setting has more precision and more recall than these:", "bold")
    has_threshold = any(point.min_score is not None for point in sweep.points)
    rows = [
        {
            "max_k": point.max_k,
            "rel": f"{point.rel:g}",
            **({"min_score": point.min_score} if has_threshold else {}),
            **{title: point.measures[name] for name, title in SWEEP_TITLES.items()},
        }
        for point in sweep.frontier()
    ]
    show_rows(screen, Table(rows))
    threshold = f", min_score {best.min_score:g}" if best.min_score is not None else ""
    screen.say(f"Best: max_k {best.max_k}, rel {best.rel:g}{threshold}.", "bold green")


def show_calibration(screen: Screen, made: Calibration) -> None:
    screen.draw(Text.assemble((f"{made.floor:.4g} ", "bold"), f"is the floor of {made.corpus}, {made.mode}"))
    rows = []
    for name in ("sensitivity", "specificity", "youden_j"):
        held_out = f"{made.held_out[name]:.3f}" if made.held_out else "-"
        rows.append([name.replace("_", " "), f"{getattr(made, name):.3f}", held_out])
    _draw_table(screen, ["", "on these cases", "held out"], [*rows, ["auroc", f"{made.auroc:.3f}", ""]])
    screen.say(made.says)
    if made.persisted:
        screen.say("It is kept: --min-score auto uses it.", "green")
    else:
        screen.say("It is not kept; --persist keeps it for --min-score auto.", "dim")


def show_rows(screen: Screen, rows: Table) -> None:
    titles = [name.replace("_", " ") for name in rows[0]] if rows else []
    _draw_table(screen, titles, [[_format(value, "-") for value in row.values()] for row in rows])


def show_generated(screen: Screen, data: Mapping[str, Any]) -> None:
    if data["cases"]:
        cases = f"{count_of(data['in_scope'], 'case')} with an answer and {data['out_of_scope']} without"
        screen.say(f"Wrote {cases} to {data['file']}.")
    else:
        screen.say("No case came of it, and none was written.", "yellow")
    for reason, count in data["reasons"].items():
        screen.say(f"{count} dropped: {reason}", "dim")


def show_prompts(screen: Screen, texts: list[str]) -> None:
    screen.say(f"The model would be asked {'once' if len(texts) == 1 else f'{len(texts)} times'}, such as:", "bold")
    for text in texts[:SHOWN_PROMPTS] + texts[max(SHOWN_PROMPTS, len(texts) - 1) :]:  # the last is of another kind
        screen.draw(Padding(Text(text, "dim"), (1, 0, 0, 2)))


def show_findings(screen: Screen, report: LintReport) -> None:
    if not report.documents:
        screen.say("There is nothing to look at.", "yellow")
        return
    rule = ""
    for one in report.findings:
        if one.rule != rule:
            color = "bold red" if one.severity == "error" else "bold yellow"
            screen.draw(Text.assemble((f"{one.severity}: {one.rule}", color), (f"  {one.advice}", "dim")))
            rule = one.rule
        screen.draw(Padding(Text(one.says), (0, 0, 0, 2)))
    warnings = len(report.findings) - len(report.errors)
    counts = f"{count_of(len(report.errors), 'error')}, {count_of(warnings, 'warning')}"
    screen.say(f"{count_of(report.documents, 'document')}: {counts if report.findings else 'nothing to mend'}.", "bold")


def _draw_table(screen: Screen, titles: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> None:
    """A table of numbers: all but the first column are aligned on the right."""
    table = make_table(titles, right=titles[1:])
    for row in rows:
        table.add_row(*row)
    screen.draw(table)


def _format(value: Any, missing: str = "") -> Text:
    if isinstance(value, Estimate):
        return Text.assemble(f"{value:.3f} ", (f"{value.low:.2f}-{value.high:.2f}", "dim"))
    return Text(missing if value is None else f"{value:.3f}" if isinstance(value, float) else str(value))
