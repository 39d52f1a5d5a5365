"""What does a person see of a judgement? Measures with their intervals, what went wrong and why, and what to mend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shortlist._text import count_of
from shortlist.cli.terminal import Screen
from shortlist.eval.calibration import Calibration
from shortlist.eval.lint import LintReport
from shortlist.eval.reporting.text_table import Table as Rows
from shortlist.eval.retrieval import OUTCOMES, Comparison, DiscoveryReport
from shortlist.eval.selection import Point, SelectionReport, Sweep
from shortlist.eval.statistics import Estimate

_GOOD = ("hit_rank_1", "abstention_ok")
SHOWN_PROMPTS = 2


def report(screen: Screen, found: DiscoveryReport, misses: int) -> None:
    counts = f"{count_of(len(found.in_scope), 'case')}, {len(found.out_of_scope):,} that nothing applies to"
    screen.draw(
        Text.assemble((found.corpus, "bold"), f", {found.mode}, {count_of(found.documents, 'document')}: {counts}")
    )
    if found.metrics:
        screen.draw(_by_k(found))
    table = _grid("", "cases")
    table.add_column()
    for name, count in found.taxonomy.items():
        if count:
            colour = "green" if name in _GOOD else "yellow"
            table.add_row(Text(name, colour), f"{count:,}", Text(OUTCOMES[name], "dim"))
    screen.draw(table)
    for one in found.misses[:misses]:
        screen.draw(Text.assemble((f"{one.outcome}  ", "yellow"), (one.case.query, "bold")))
        screen.draw(Padding(Text(one.why.says if one.why else "", "dim"), (0, 0, 0, 2)))
    if len(found.misses) > misses:
        screen.say(f"{len(found.misses) - misses:,} more went wrong; --misses shows more, --json all.", "dim")


def _by_k(found: DiscoveryReport) -> Table:
    ks = sorted({int(name.partition("@")[2]) for name in found.metrics if "@" in name})
    table = _grid("", *(f"@{k}" for k in ks), "all")
    for measure in dict.fromkeys(name.partition("@")[0] for name in found.metrics):
        values = [found.metrics.get(f"{measure}@{k}") for k in ks] + [found.metrics.get(measure)]
        table.add_row(measure, *(_interval(value) for value in values))
    return table


def _interval(value: Any) -> Text:
    return Text.assemble(f"{value:.3f} ", (f"{value.low:.2f}-{value.high:.2f}", "dim")) if value is not None else Text()


def comparison(screen: Screen, found: Comparison) -> None:
    one, two = found.first, found.second
    same = one.corpus == two.corpus
    first, second = (one.mode, two.mode) if same else (one.corpus, two.corpus)
    screen.draw(Text.assemble((f"{first} against {second}", "bold"), f", {count_of(len(one.in_scope), 'case')}"))
    table = _grid("", first, second, "difference", "p", "better", "worse", "equal")
    for name, pair in found.metrics.items():
        if name.partition("@")[2] not in ("", str(two.k)) and name != "hit@1":
            continue
        sure = pair.p_value < 0.05
        colour = ("green" if pair.difference > 0 else "red") if sure else ""
        change = Text.assemble((f"{pair.difference:+.3f} ", colour),
                               (f"{pair.difference.low:+.2f} to {pair.difference.high:+.2f}", "dim"))  # fmt: skip
        table.add_row(
            name, f"{pair.first:.3f}", f"{pair.second:.3f}", change, Text(f"{pair.p_value:.4f}", colour),
            str(pair.wins), str(pair.losses), str(pair.ties),
        )  # fmt: skip
    screen.draw(table)
    for word, pairs in (("better", found.better), ("worse", found.worse)):
        for before, after in pairs[:3]:
            ranks = f"{before.rank or 'not found'} -> {after.rank or 'not found'}"
            screen.draw(Text.assemble((f"{word}  {ranks}  ", "dim"), before.case.query))


def selection(screen: Screen, found: SelectionReport) -> None:
    screen.draw(Text.assemble((found.strategy, "bold"), f", {count_of(found.cases, 'case')}"))
    table = _grid("", "")
    for name, value in found.measures.items():
        if value is not None:
            table.add_row(name.replace("_", " "), _interval(value))
    screen.draw(table)


def sweep(screen: Screen, found: Sweep, best: Point) -> None:
    screen.say("No setting has more precision and more recall than these:", "bold")
    names = {"conditional_commit_rate": "commit rate", "precision": "precision", "recall": "recall", "f1": "f1",
             "mean_size": "size", "abstention_accuracy": "abstention"}  # fmt: skip
    with_threshold = any(point.min_score is not None for point in found.points)
    table(
        screen,
        Rows(
            {
                "max_k": point.max_k,
                "rel": f"{point.rel:g}",
                **({"min_score": point.min_score} if with_threshold else {}),
                **{names[name]: point.measures[name] for name in names},
            }
            for point in found.frontier()
        ),
    )
    threshold = f", min_score {best.min_score:g}" if best.min_score is not None else ""
    screen.say(f"Best: max_k {best.max_k}, rel {best.rel:g}{threshold}.", "bold green")


def calibration(screen: Screen, found: Calibration) -> None:
    screen.draw(Text.assemble((f"{found.floor:.4g} ", "bold"), f"is the floor of {found.corpus}, {found.mode}"))
    rows = _grid("", "on these cases", "held out")
    for name in ("sensitivity", "specificity", "youden_j"):
        held = f"{found.held_out[name]:.3f}" if found.held_out else "-"
        rows.add_row(name.replace("_", " "), f"{getattr(found, name):.3f}", held)
    rows.add_row("auroc", f"{found.auroc:.3f}", "")
    screen.draw(rows)
    screen.say(found.says)
    if found.persisted:
        screen.say("It is kept: --min-score auto uses it.", "green")
    else:
        screen.say("It is not kept; --persist keeps it for --min-score auto.", "dim")


def table(screen: Screen, rows: Rows) -> None:
    names = list(rows[0]) if rows else []
    drawn = _grid(*(name.replace("_", " ") for name in names))
    for row in rows:
        drawn.add_row(*(_cell(value) for value in row.values()))
    screen.draw(drawn)


def _cell(value: Any) -> Text:
    if isinstance(value, Estimate):
        return _interval(value)
    return Text("-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value))


def generated(screen: Screen, data: Mapping[str, Any]) -> None:
    if data["cases"]:
        cases = f"{count_of(data['in_scope'], 'case')} with an answer and {data['out_of_scope']} without"
        screen.say(f"Wrote {cases} to {data['file']}.")
    else:
        screen.say("No case came of it, and none was written.", "yellow")
    for reason, count in data["reasons"].items():
        screen.say(f"{count} dropped: {reason}", "dim")


def prompts(screen: Screen, texts: list[str]) -> None:
    screen.say(f"The model would be asked {'once' if len(texts) == 1 else f'{len(texts)} times'}, such as:", "bold")
    for text in texts[:SHOWN_PROMPTS] + texts[max(SHOWN_PROMPTS, len(texts) - 1) :]:  # the last is of another kind
        screen.draw(Padding(Text(text, "dim"), (1, 0, 0, 2)))


def findings(screen: Screen, found: LintReport) -> None:
    if not found.documents:
        screen.say("There is nothing to look at.", "yellow")
        return
    rule = ""
    for one in found.findings:
        if one.rule != rule:
            colour = "bold red" if one.severity == "error" else "bold yellow"
            screen.draw(Text.assemble((f"{one.severity}: {one.rule}", colour), (f"  {one.advice}", "dim")))
            rule = one.rule
        screen.draw(Padding(Text(one.says), (0, 0, 0, 2)))
    wrong = len(found.findings)
    warnings = wrong - len(found.errors)
    counts = f"{count_of(len(found.errors), 'error')}, {count_of(warnings, 'warning')}"
    screen.say(f"{count_of(found.documents, 'document')}: {counts if wrong else 'nothing to mend'}.", "bold")


def _grid(*titles: str) -> Table:
    drawn = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for at, title in enumerate(titles):
        drawn.add_column(title, justify="left" if not at else "right", overflow="fold")
    return drawn
