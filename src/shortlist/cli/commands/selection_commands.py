"""The commands that evaluate how results are selected, and tune it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shortlist.cli.command import command
from shortlist.cli.commands.eval_commands import (
    case_options,
    cases_argument,
    load_with_cases,
    report_flaws,
    seed_option,
)
from shortlist.cli.commands.search_commands import (
    filter_option,
    k_option,
    max_k_option,
    min_relevance_option,
    mode_option,
    strategy_option,
)
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import parse_integers, parse_numbers, parse_scores
from shortlist.cli.output import Output
from shortlist.cli.shared_options import corpus_argument

with lazy_imports():
    from shortlist.cli.terminal import evaluation_reports
    from shortlist.eval import calibration, selection

if TYPE_CHECKING:
    from shortlist.results import MinRelevance, Mode
    from shortlist.retrieval.filters import Filter


@command(
    examples=[
        "shortlist eval-select tools.yaml cases.jsonl --strategy conservative --max-k 3 --rel 0.8",
        "shortlist eval-select tools.yaml cases.jsonl -k 5 --mode lexical --min-relevance 0.3 "
        "--filter access=read --seed 1 --json",
    ]
)
@corpus_argument
@cases_argument
@click.option(
    "--rel",
    metavar="X",
    type=float,
    default=0.9,
    show_default=True,
    help="Minimum score, as a share of the top score.",
)
@min_relevance_option
@case_options
@k_option
@mode_option
@filter_option
@strategy_option
@max_k_option
@seed_option
def eval_select(
    out: Output,
    corpus: str,
    cases: str | None,
    rel: float,
    min_relevance: MinRelevance,
    qrels: str | None,
    unreviewed: bool,
    k: int,
    mode: Mode,
    filter: Filter | None,
    strategy: str,
    max_k: int | None,
    seed: int,
) -> None:
    """Measure how well results are selected."""
    opened, loaded = load_with_cases(out, corpus, cases, qrels, unreviewed)
    flaws = report_flaws(out, opened, loaded)
    with out.progress(f"evaluating {opened.name}", "cases") as progress:
        report = selection.evaluate_selection(
            opened,
            loaded,
            strategy,
            mode,
            k,
            filter,
            min_relevance=min_relevance,
            seed=seed,
            progress=progress,
            rel=rel,
            max_k=max_k,
        )
    brief = [f"{name}\t{float(value):.4f}" for name, value in report.measures.items() if value is not None]
    data = report.to_dict() | {"flaws": flaws}
    out.show(data, lambda screen: evaluation_reports.show_selection(screen, report), brief)


@command(
    examples=[
        "shortlist sweep-select tools.yaml cases.jsonl --max-k 1,2,3 --rel 0.7,0.8,0.9 --by f1",
        "shortlist sweep-select tools.yaml cases.jsonl -k 5 --mode lexical --min-score none,2,4 "
        "--filter access=read --quiet",
    ]
)
@corpus_argument
@cases_argument
@click.option(
    "--max-k",
    metavar="N,N",
    type=parse_integers,
    default="1,2,3,5,10",
    show_default=True,
    help="Values of max_k to try.",
)
@click.option(
    "--rel",
    metavar="X,X",
    type=parse_numbers,
    default="0.5,0.6,0.7,0.8,0.85,0.9,0.95,1",
    show_default=True,
    help="Values of rel to try.",
)
@click.option(
    "--min-score",
    metavar="SCORE,SCORE",
    type=parse_scores,
    default="none",
    show_default=True,
    help="Score thresholds to try; none means no threshold.",
)
@click.option("--by", metavar="MEASURE", default="f1", show_default=True, help="Measure to maximize.")
@case_options
@k_option
@mode_option
@filter_option
def sweep_select(
    out: Output,
    corpus: str,
    cases: str | None,
    max_k: list[int],
    rel: list[float],
    min_score: list[float | None],
    by: str,
    qrels: str | None,
    unreviewed: bool,
    k: int,
    mode: Mode,
    filter: Filter | None,
) -> None:
    """Try every combination of selection settings, and show the best. Candidates are retrieved once."""
    opened, loaded = load_with_cases(out, corpus, cases, qrels, unreviewed)
    with out.progress(f"evaluating {opened.name}", "cases") as progress:
        sweep = selection.sweep_selector(
            opened,
            loaded,
            mode,
            k,
            filter,
            max_k_grid=max_k,
            rel_grid=rel,
            min_score_grid=min_score,
            progress=progress,
        )
    best = sweep.best(by)
    data = sweep.to_dict() | {"best": best.to_dict()}
    brief = [f"{best.max_k}\t{best.rel:g}"]
    out.show(data, lambda screen: evaluation_reports.show_sweep(screen, sweep, best), brief)


@command(
    examples=[
        "shortlist calibrate-min-score tools.yaml cases.jsonl --mode lexical --persist",
        "shortlist calibrate-min-score tools.yaml cases.jsonl --filter access=read --floor-grid 0.2,0.3 --seed 3 "
        "--json",
    ]
)
@corpus_argument
@cases_argument
@click.option(
    "--floor-grid", metavar="X,X", type=parse_numbers, help="Thresholds to choose from (0 to 1 in the mode auto)."
)
@click.option("--persist", is_flag=True, help="Save it for --min-relevance auto.")
@case_options
@mode_option
@filter_option
@seed_option
def calibrate_min_score(
    out: Output,
    corpus: str,
    cases: str | None,
    floor_grid: list[float] | None,
    persist: bool,
    qrels: str | None,
    unreviewed: bool,
    mode: Mode,
    filter: Filter | None,
    seed: int,
) -> None:
    """Find the score threshold that best separates queries with an answer from those without. CASES needs both
    kinds."""
    opened, loaded = load_with_cases(out, corpus, cases, qrels, unreviewed)
    with out.progress(f"evaluating {opened.name}", "cases") as progress:
        made = calibration.calibrate_min_score(
            opened,
            loaded,
            mode,
            filter=filter,
            floor_grid=floor_grid,
            persist=persist,
            seed=seed,
            progress=progress,
        )
    out.show(made.to_dict(), lambda screen: evaluation_reports.show_calibration(screen, made), [f"{made.floor:.6g}"])
