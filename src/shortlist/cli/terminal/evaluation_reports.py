"""Evaluation reports for people: measures with their intervals, misses with their reasons, and lint findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.text import Text

from shortlist._text import count_of
from shortlist.cli.terminal.screen import Cells, Screen
from shortlist.eval.calibration import Calibration
from shortlist.eval.lint import LintReport
from shortlist.eval.retrieval import OUTCOMES, Comparison, DiscoveryReport
from shortlist.eval.selection import Point, SelectionReport, Sweep
from shortlist.eval.statistics import Estimate

GOOD = ("hit_rank_1", "abstention_ok")
SWEEP_MEASURES = ("conditional_commit_rate", "precision", "recall", "f1", "mean_size", "abstention_accuracy")


def show_report(screen: Screen, report: DiscoveryReport, misses: int) -> None:
    counts = f"{count_of(len(report.outcomes), 'case')}, {len(report.out_of_scope):,} without an expected result"
    about = f", {report.mode}, {count_of(report.documents, 'document')}: {counts}"
    screen.draw(Text.assemble((report.corpus, "bold"), about))
    if report.metrics:
        ks = sorted({int(name.partition("@")[2]) for name in report.metrics if "@" in name})
        measures = dict.fromkeys(name.partition("@")[0] for name in report.metrics)
        keys = {name: (*(f"{name}@{k}" for k in ks), name) for name in measures}
        rows: list[Cells] = [[name, *(_format(report.metrics.get(key)) for key in row)] for name, row in keys.items()]
        _draw_numbers(screen, ["", *(f"@{k}" for k in ks), "all"], rows)
    outcomes = [
        (Text(name, "green" if name in GOOD else "yellow"), f"{count:,}", OUTCOMES[name])
        for name, count in report.taxonomy.items()
        if count
    ]
    screen.draw_table(("", "cases", ""), outcomes, ("", ">", "dim"))
    screen.say(f"Threshold: {report.threshold}.{_compare_without(report)}", "dim")
    for miss in report.misses[:misses]:
        screen.draw(Text.assemble((f"{miss.outcome}  ", "yellow"), (miss.case.query, "bold")))
        screen.say(miss.why.says if miss.why else "", "dim", indent=2)
    if len(report.misses) > misses:
        screen.say(
            f"{misses} of {len(report.misses):,} misses are shown. Show more with --misses N, or all with --json.",
            "dim",
        )


def _compare_without(report: DiscoveryReport) -> str:
    """How the outcomes would differ without a threshold."""
    counts = report.taxonomy_without_threshold
    changed = {name: count for name, count in counts.items() if count != report.taxonomy[name]}
    if not changed:
        return " Without it the outcomes are the same." if report.threshold != "none" else ""
    return f" Without it: {', '.join(f'{name} {count:,}' for name, count in changed.items())}."


def show_usage(screen: Screen, comparison: Comparison, misses: int) -> None:
    """An evaluation of cases from the log of use, without and with what was learned."""
    first, second = comparison.first, comparison.second
    screen.say("The cases are from the log of use. No one has reviewed them.", "yellow")
    screen.say("Without what was learned:", "bold")
    show_report(screen, first, misses)
    screen.say("With what was learned from the other searches:", "bold")
    show_comparison(screen, comparison, ("without", "learned"))
    changed = [name for name, count in first.taxonomy.items() if count != second.taxonomy[name]]
    outcomes = ", ".join(f"{name} {first.taxonomy[name]:,} -> {second.taxonomy[name]:,}" for name in changed)
    screen.say(f"Outcomes: {outcomes or 'the same'}.", "dim")


def show_comparison(screen: Screen, comparison: Comparison, names: Sequence[str] = ()) -> None:
    before, after = comparison.first, comparison.second
    is_same = before.corpus == after.corpus
    first, second = names or ((before.mode, after.mode) if is_same else (before.corpus, after.corpus))
    screen.draw(
        Text.assemble(
            (f"{first} against {second}", "bold"), f", {count_of(len(before.in_scope), 'case')} with an expected result"
        )
    )
    rows: list[Cells] = []
    for name, pair in comparison.metrics.items():
        if name.partition("@")[2] in ("", str(after.k)) or name == "hit@1":
            color = "" if pair.p_value >= 0.05 else "green" if pair.difference > 0 else "red"
            interval = f"{pair.difference.low:+.2f} to {pair.difference.high:+.2f}"
            change = Text.assemble((f"{pair.difference:+.3f} ", color), (interval, "dim"))
            counts = map(str, (pair.wins, pair.losses, pair.ties))
            p_value = Text(f"{pair.p_value:.4f}", color)
            rows.append([name, f"{pair.first:.3f}", f"{pair.second:.3f}", change, p_value, *counts])
    _draw_numbers(screen, ["", first, second, "difference", "p", "better", "worse", "equal"], rows)
    for word, pairs in (("better", comparison.better), ("worse", comparison.worse)):
        for old, new in pairs[:3]:
            ranks = f"{old.rank or 'not found'} -> {new.rank or 'not found'}"
            screen.draw(Text.assemble((f"{word}  {ranks}  ", "dim"), old.case.query))


def show_selection(screen: Screen, report: SelectionReport) -> None:
    screen.draw(Text.assemble((report.strategy, "bold"), f", {count_of(report.cases, 'case')}"))
    measures = (
        (name.replace("_", " "), _format(value)) for name, value in report.measures.items() if value is not None
    )
    _draw_numbers(screen, ["", " "], measures)


def show_sweep(screen: Screen, sweep: Sweep, best: Point) -> None:
    screen.say("No setting has more precision and more recall than these:", "bold")
    rows = [
        {"max_k": point.max_k, "rel": f"{point.rel:g}", "min_score": point.min_score}
        | {name: point.measures[name] for name in SWEEP_MEASURES}
        for point in sweep.frontier()
    ]
    show_rows(screen, rows)
    threshold = f", min_score {best.min_score:g}" if best.min_score is not None else ""
    screen.say(f"Best: max_k {best.max_k}, rel {best.rel:g}{threshold}.", "bold green")


def show_calibration(screen: Screen, made: Calibration) -> None:
    screen.draw(Text.assemble((f"{made.floor:.4g} ", "bold"), f"is the threshold of {made.corpus}, {made.mode}"))
    held_out = {name: f"{value:.3f}" for name, value in (made.held_out or {}).items()}
    names = ("sensitivity", "specificity", "youden_j", "auroc")
    rows = [(name.replace("_", " "), f"{getattr(made, name):.3f}", held_out.get(name, "-")) for name in names]
    _draw_numbers(screen, ["", "on these cases", "held out"], rows)
    screen.say(made.says)
    if made.persisted:
        screen.say("Saved: --min-relevance auto uses it.", "green")
    else:
        screen.say("Not saved. Add --persist to save it for --min-relevance auto.", "dim")


def show_rows(screen: Screen, rows: Sequence[Mapping[str, Any]]) -> None:
    titles = [name.replace("_", " ") for name in rows[0]] if rows else []
    _draw_numbers(screen, titles, ([_format(value, "-") for value in row.values()] for row in rows))


def show_findings(screen: Screen, report: LintReport) -> None:
    if not report.documents:
        screen.say("There are no documents to check.", "yellow")
        return
    rule = ""
    for finding in report.findings:
        if finding.rule != rule:
            color = "bold red" if finding.severity == "error" else "bold yellow"
            screen.draw(Text.assemble((f"{finding.severity}: {finding.rule}", color), (f"  {finding.advice}", "dim")))
            rule = finding.rule
        screen.say(finding.says, indent=2)
    warnings = len(report.findings) - len(report.errors)
    counts = f"{count_of(len(report.errors), 'error')}, {count_of(warnings, 'warning')}"
    screen.say(f"{count_of(report.documents, 'document')}: {counts if report.findings else 'no problems'}.", "bold")


def _draw_numbers(screen: Screen, titles: Sequence[str], rows: Iterable[Cells]) -> None:
    screen.draw_table(titles, rows, [">" if at else "" for at in range(len(titles))])


def _format(value: Any, missing: str = "") -> Text:
    if isinstance(value, Estimate):
        return Text.assemble(f"{value:.3f} ", (f"{value.low:.2f}-{value.high:.2f}", "dim"))
    return Text(missing if value is None else f"{value:.3f}" if isinstance(value, float) else str(value))
