"""Which numbers suit a corpus? The commands that judge the choice, tune it, and see what growth costs."""

from __future__ import annotations

import math
from typing import Annotated, Any

from shortlist.cli.commands.eval_commands import Floor, Qrels, Seed, Where, corpus_and_cases, flaws
from shortlist.cli.commands.search_commands import Conditions, HowToSearch, Most, Strategy, conditions, floor_given
from shortlist.cli.declare import Argument, option
from shortlist.cli.output import OK, Output, WrongUsage

CaseFile = Annotated[str, Argument(metavar="CASES", help="JSONL, a BEIR folder, or TREC topics with --qrels.")]


def eval_select(
    out: Output,
    corpus: Where,
    cases: CaseFile,
    qrels: Qrels = None,
    k: Most = 10,
    mode: HowToSearch = "auto",
    filter: Conditions = None,
    strategy: Strategy = "conservative",
    max_k: Annotated[int, option("--max-k", help="Choose at most so many.", least=1)] = 3,
    rel: Annotated[float, option("--rel", help="Keep what scores at least this share of the best.")] = 0.9,
    min_score: Floor = None,
    seed: Seed = 0,
) -> int:
    """Measure how well the few are chosen: what is kept, what is dropped, and when nothing is."""
    from shortlist.cli import eval_output
    from shortlist.eval.selection import evaluate_selection

    where, asked = corpus_and_cases(out, corpus, cases, qrels)
    wrong = flaws(out, where, asked)
    with out.progress(f"asking {where.name}") as progress:
        report = evaluate_selection(
            where, asked, strategy, mode, k, conditions(filter), min_score=floor_given(min_score), max_k=max_k, rel=rel,
            seed=seed, progress=progress,
        )  # fmt: skip
    brief = [f"{name}\t{float(value):.4f}" for name, value in report.measures.items() if value is not None]
    out.show(report.to_dict() | {"flaws": wrong}, lambda screen: eval_output.selection(screen, report), brief)
    return OK


def sweep_select(
    out: Output,
    corpus: Where,
    cases: CaseFile,
    qrels: Qrels = None,
    k: Most = 10,
    mode: HowToSearch = "auto",
    filter: Conditions = None,
    max_ks: Annotated[str, option("--max-k", help="The values of max_k to try.", metavar="A,B,...")] = "1,2,3,5,10",
    rels: Annotated[
        str, option("--rel", help="The values of rel to try.", metavar="A,B,...")
    ] = "0.5,0.6,0.7,0.8,0.85,0.9,0.95,1",
    min_scores: Annotated[
        str, option("--min-score", help="The thresholds to try; none: no threshold.", metavar="A,B,...")
    ] = "none",
    by: Annotated[str, option("--by", help="The measure that the best one has most of.", metavar="MEASURE")] = "f1",
) -> int:
    """Try every max_k, rel and min_score on the candidates of one retrieval, and tell which is best."""
    from shortlist.cli import eval_output
    from shortlist.eval.selection import sweep_selector

    grid: dict[str, Any] = {
        "max_k_grid": _whole_numbers(max_ks, "--max-k"),
        "rel_grid": _numbers(rels, "--rel"),
        "min_score_grid": [floor_given(number) for number in min_scores.split(",")],
    }
    where, asked = corpus_and_cases(out, corpus, cases, qrels)
    with out.progress(f"asking {where.name}") as progress:
        sweep = sweep_selector(where, asked, mode, k, conditions(filter), **grid, progress=progress)
    best = sweep.best(by)
    data = sweep.to_dict() | {"best": best.to_dict()}
    out.show(data, lambda screen: eval_output.sweep(screen, sweep, best), [f"{best.max_k}\t{best.rel:g}"])
    return OK


def _numbers(text: str, option: str) -> list[float]:
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise WrongUsage(f"{option} takes numbers separated by commas, not {text!r}.")
    return numbers


def _whole_numbers(text: str, option: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise WrongUsage(f"{option} takes whole numbers separated by commas, not {text!r}.") from None


def calibrate_min_score(
    out: Output,
    corpus: Where,
    cases: CaseFile,
    qrels: Qrels = None,
    mode: HowToSearch = "auto",
    filter: Conditions = None,
    floor_grid: Annotated[
        str | None, option("--floor-grid", help="The thresholds to choose from.", metavar="A,B,...")
    ] = None,
    persist: Annotated[bool, option("--persist", help="Keep it for --min-score auto.")] = False,
    seed: Seed = 0,
) -> int:
    """Find the best score below which nothing fits, from cases with and without an answer."""
    from shortlist.cli import eval_output
    from shortlist.eval import calibration

    grid = _numbers(floor_grid, "--floor-grid") if floor_grid else None
    where, asked = corpus_and_cases(out, corpus, cases, qrels)
    with out.progress(f"asking {where.name}") as progress:
        found = calibration.calibrate_min_score(
            where,
            asked,
            mode,
            filter=conditions(filter),
            floor_grid=grid,
            persist=persist,
            seed=seed,
            progress=progress,
        )
    out.show(found.to_dict(), lambda screen: eval_output.calibration(screen, found), [f"{found.floor:.6g}"])
    return OK


def distractors(
    out: Output,
    corpus: Where,
    cases: CaseFile,
    qrels: Qrels = None,
    k: Most = 10,
    mode: HowToSearch = "auto",
    sizes: Annotated[
        str | None, option("--sizes", help="The sizes of the catalogs; else 10, 20, 40, ...", metavar="A,B,...")
    ] = None,
    repeats: Annotated[int, option("--repeats", help="Draw so many times.", least=1)] = 5,
    seed: Seed = 0,
) -> int:
    """Ask the same questions of ever larger catalogs, to see what a catalog costs that grows."""
    from shortlist.cli import eval_output
    from shortlist.eval.distractors import distractor_robustness_curve

    wanted = _whole_numbers(sizes, "--sizes") if sizes else None
    where, asked = corpus_and_cases(out, corpus, cases, qrels)
    with out.progress("adding distractors") as progress:
        curve = distractor_robustness_curve(
            where, asked, wanted, mode, k, repeats=repeats, seed=seed, progress=progress
        )
    brief = [f"{point.size}\t{float(point.accuracy):.4f}" for point in curve.points]
    out.show(curve.to_dict(), lambda screen: eval_output.table(screen, curve.table()), brief)
    return OK
