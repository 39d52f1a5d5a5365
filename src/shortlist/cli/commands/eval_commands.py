"""The commands that evaluate retrieval and selection, tune their settings, generate cases, and lint a catalog."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import click

import shortlist
from shortlist.cli import eval_output, options
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output, command
from shortlist.errors import InputError
from shortlist.eval import calibration, generate, retrieval, selection
from shortlist.eval import distractors as distractor_curve
from shortlist.eval.cases import Case, load_beir, load_cases, save_cases, validate_cases
from shortlist.eval.lint import lint_corpus
from shortlist.eval.metrics import metric
from shortlist.eval.reporting.study import study
from shortlist.index.corpus import Corpus
from shortlist.library.opening import is_known
from shortlist.results import Mode
from shortlist.server.llm_settings import connect, load_llm_settings

qrels_option = click.option("--qrels", metavar="FILE", help="Relevance judgments of TREC topics.")
case_options = options.combine(options.corpus_argument, click.argument("cases"), qrels_option)


def numbers_option(name: str, parse: Callable[[str], float | int | None], **more: Any) -> Callable[[Any], Any]:
    """An option that takes numbers separated by commas."""
    kind = "whole numbers" if parse is int else "numbers"

    def read(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
        try:
            numbers = [parse(number) for number in text.split(",")] if text is not None else None
        except ValueError:
            numbers = [math.nan]
        if numbers is None or all(number is None or math.isfinite(number) for number in numbers):
            return numbers
        raise click.UsageError(f"{name} takes {kind} separated by commas, not {text!r}.")

    return click.option(name, metavar="A,B,...", callback=read, show_default=True, **more)


@command
@options.corpus_argument
@click.argument("cases", required=False)
@qrels_option
@options.retrieval_options
@options.min_score_option(None)
@options.strategy_option
@click.option("--compare", nargs=2, metavar="A B", help="Compare two modes or two corpora.")
@options.repeatable("--fail-under", metavar="MEASURE=X", help="Exit with code 1 if a measure is lower.")
@click.option("--html", metavar="FILE", help="Write a page with plots, too.")
@options.count("--misses", least=0, default=5, help="Number of misses to show.")
@options.seed_option
def eval(
    out: Output,
    corpus: str,
    cases: str | None,
    qrels: str | None,
    mode: Mode,
    k: int,
    compare: tuple[str, str] | None,
    fail_under: Sequence[str],
    html: str | None,
    misses: int,
    **how: Any,
) -> int:
    limits = dict(map(_parse_limit, fail_under))
    where, asked = _load(out, corpus, cases, qrels)
    flaws = _report_flaws(out, where, asked)
    metrics = tuple(dict.fromkeys((*retrieval.default_metrics(k), *limits)))

    def evaluate(one: Corpus, mode: Mode) -> retrieval.DiscoveryReport:
        with out.progress(f"asking {one.name}, {mode}") as progress:
            return retrieval.evaluate_discovery(one, asked, mode, k, metrics=metrics, progress=progress, **how)

    comparison = None
    if compare:
        first, second = (_choose_side(out, where, mode, name) for name in compare)
        comparison = retrieval.compare(evaluate(*first), evaluate(*second), seed=how["seed"])
        where, report = second[0], comparison.second
    else:
        report = evaluate(where, mode)
    if html:
        with out.progress("measuring more") as progress:
            tell = progress and (lambda step: progress(step.done, step.total))
            page = study(where, report, comparison, tell=tell, **how).html()
        Path(html).expanduser().write_text(page, "utf-8")
        out.note(f"The page is in {html}.")
    failed = {name: limit for name, limit in limits.items() if report.metrics.get(name, 0.0) < limit}
    data = (comparison or report).to_dict() | {"flaws": flaws, "failed": failed}
    brief = [f"{name}\t{float(value):.4f}" for name, value in report.metrics.items()]
    if comparison:
        out.show(data, lambda screen: eval_output.show_comparison(screen, comparison), brief)
    else:
        out.show(data, lambda screen: eval_output.show_report(screen, report, misses), brief)
    for name, limit in failed.items():
        if name in report.metrics:
            out.warn(f"{name} is {report.metrics[name]:.4f}, which is under {limit:g}.")
        else:
            out.warn(f"{name} cannot be measured, since no case has gold.")
    return ERROR if failed else OK


def _parse_limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        metric(name)
        limit = float(value)
        if math.isfinite(limit):
            return name, limit
        problem = f"{value!r} is no limit."
    except ValueError as error:
        problem = str(error) if isinstance(error, InputError) else f"{value!r} is not a number."
    raise click.UsageError(f"--fail-under takes a measure and a number, as in ndcg@10=0.6: {problem}")


def _choose_side(out: Output, corpus: Corpus, mode: Mode, name: str) -> tuple[Corpus, Mode]:
    """One side of a comparison: a mode of the corpus, or another corpus."""
    for known in get_args(Mode):
        if name == known:
            return corpus, known
    return options.open_corpora(out, [name])[0], mode


def _load(out: Output, corpus: str, cases: str | None, qrels: str | None) -> tuple[Corpus, list[Case]]:
    """The corpus and the cases; a BEIR folder has both."""
    if cases is not None:
        asked = load_cases(cases, qrels)
        opened = options.open_corpora(out, [corpus])[0]
    elif Path(corpus).is_dir():
        documents, asked = load_beir(corpus)
        with out.progress(f"indexing {corpus}") as progress:
            opened = shortlist.build(documents, Path(corpus).resolve().name, in_memory=True, progress=progress)
    else:
        raise click.UsageError("Say which cases to ask, such as: shortlist eval skills cases.jsonl.")
    if not asked:
        raise InputError(f"There are no cases in {cases or corpus}.")
    return opened, asked


def _report_flaws(out: Output, corpus: Corpus, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """What is wrong with the cases; the first few are printed."""
    flaws = validate_cases(corpus, cases)
    for flaw in flaws[:3]:
        out.note(f"shortlist: {flaw.says}")
    if len(flaws) > 3:
        out.note(f"shortlist: {len(flaws) - 3} more cases have flaws; --json tells all.")
    return [flaw.to_dict() for flaw in flaws]


@command
@case_options
@options.retrieval_options
@options.strategy_option
@options.max_k_option
@click.option("--rel", default=0.9, show_default=True, help="Minimum score, as a share of the top score.")
@options.min_score_option(None)
@options.seed_option
def eval_select(out: Output, corpus: str, cases: str, qrels: str | None, **how: Any) -> None:
    where, asked = _load(out, corpus, cases, qrels)
    flaws = _report_flaws(out, where, asked)
    with out.progress(f"asking {where.name}") as progress:
        report = selection.evaluate_selection(where, asked, progress=progress, **how)
    brief = [f"{name}\t{float(value):.4f}" for name, value in report.measures.items() if value is not None]
    out.show(report.to_dict() | {"flaws": flaws}, lambda screen: eval_output.show_selection(screen, report), brief)


@command
@case_options
@options.retrieval_options
@numbers_option("--max-k", int, default="1,2,3,5,10", help="Values of max_k to try.")
@numbers_option("--rel", float, default="0.5,0.6,0.7,0.8,0.85,0.9,0.95,1", help="Values of rel to try.")
@click.option("--min-score", default="none", metavar="A,B,...", help="Thresholds to try; none: no threshold.")
@click.option("--by", default="f1", show_default=True, metavar="MEASURE", help="Measure to maximize.")
def sweep_select(
    out: Output, corpus: str, cases: str, qrels: str | None, max_k: Any, rel: Any, min_score: str, by: str, **how: Any
) -> None:
    thresholds = [options.parse_threshold(None, None, text) for text in min_score.split(",")]
    where, asked = _load(out, corpus, cases, qrels)
    with out.progress(f"asking {where.name}") as progress:
        sweep = selection.sweep_selector(
            where, asked, max_k_grid=max_k, rel_grid=rel, min_score_grid=thresholds, progress=progress, **how
        )
    best = sweep.best(by)
    data = sweep.to_dict() | {"best": best.to_dict()}
    out.show(data, lambda screen: eval_output.show_sweep(screen, sweep, best), [f"{best.max_k}\t{best.rel:g}"])


@command
@case_options
@options.mode_option
@options.filter_option
@numbers_option("--floor-grid", float, help="Thresholds to choose from.")
@options.flag("--persist", help="Save it for --min-score auto.")
@options.seed_option
def calibrate_min_score(out: Output, corpus: str, cases: str, qrels: str | None, **how: Any) -> None:
    where, asked = _load(out, corpus, cases, qrels)
    with out.progress(f"asking {where.name}") as progress:
        made = calibration.calibrate_min_score(where, asked, progress=progress, **how)
    out.show(made.to_dict(), lambda screen: eval_output.show_calibration(screen, made), [f"{made.floor:.6g}"])


@command
@case_options
@options.k_option
@options.mode_option
@numbers_option("--sizes", int, help="Catalog sizes; else 10, 20, 40, ...")
@options.count("--repeats", default=5, help="Number of random draws.")
@options.seed_option
def distractors(out: Output, corpus: str, cases: str, qrels: str | None, **how: Any) -> None:
    where, asked = _load(out, corpus, cases, qrels)
    with out.progress("adding distractors") as progress:
        curve = distractor_curve.distractor_robustness_curve(where, asked, progress=progress, **how)
    brief = [f"{point.size}\t{float(point.accuracy):.4f}" for point in curve.points]
    out.show(curve.to_dict(), lambda screen: eval_output.show_rows(screen, curve.table()), brief)


@command
@options.corpus_argument
@click.argument("file")
@options.count("-n", default=50, help="Number of cases with an answer.")
@options.count("--per-document", default=1, help="Queries about one document.")
@click.option("--out-of-scope", default=0.25, show_default=True, help="Cases without an answer, as a share of -n.")
@options.flag("--dry-run", help="Show the prompts, and send none.")
@options.seed_option
def eval_gen(out: Output, corpus: str, file: str, dry_run: bool, **how: Any) -> int:
    (opened,) = options.open_corpora(out, [corpus])
    if dry_run:
        prompts = [request.prompt for request in generate.plan(opened, **how)]
        out.show({"prompts": prompts}, lambda screen: eval_output.show_prompts(screen, prompts), [str(len(prompts))])
        return OK
    model = connect(load_llm_settings())
    if model is None:
        raise InputError(
            "eval-gen needs a language model: set SHORTLIST_LLM_URL and SHORTLIST_LLM_MODEL (any OpenAI-compatible "
            "endpoint). --dry-run shows what it would be asked."
        )
    with out.progress("writing cases") as progress:
        made = generate.generate_cases(opened, model, **how, progress=progress)
    if made.cases:
        save_cases(made.cases, file)
    data = made.to_dict() | {"file": file if made.cases else None}
    out.show(data, lambda screen: eval_output.show_generated(screen, data), [file] if made.cases else [])
    return OK if made.cases else ABSTAINED


@command
@click.argument("corpus", metavar="CORPUS|PATH", shell_complete=options.complete)
@options.count("-k", default=10, help="Rank cutoff: found means ranked in the top k.")
@options.flag("--strict", help="Exit with code 1 on warnings, too.")
def lint(out: Output, corpus: str, k: int, strict: bool) -> int:
    entry = None if is_known(corpus) else options.find_path_source(corpus)
    if entry:
        with out.progress(f"indexing {corpus}") as progress:
            where = shortlist.build(entry.source(), in_memory=True, progress=progress)
        out.report_problems(where.changes.failed)
    else:
        (where,) = options.open_corpora(out, [corpus])
    with out.progress(f"reading {where.name}") as progress:
        report = lint_corpus(where, k=k, progress=progress)
    brief = [f"{one.severity}\t{one.rule}\t{','.join(one.ids)}" for one in report.findings]
    out.show(report.to_dict(), lambda screen: eval_output.show_findings(screen, report), brief)
    if not report.documents:
        return ABSTAINED
    return ERROR if report.errors or (strict and report.findings) else OK
