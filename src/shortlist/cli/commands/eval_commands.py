"""The commands that evaluate retrieval, generate cases, and lint a catalog, and the options of all that take cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import shortlist
from shortlist._redact import redact
from shortlist._text import count_of
from shortlist.cli.command import command
from shortlist.cli.commands.search_commands import (
    MODES,
    filter_option,
    k_option,
    min_relevance_option,
    mode_option,
    strategy_option,
)
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import WholeNumber, parse_integers
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output
from shortlist.cli.shared_options import combine, corpus_argument
from shortlist.errors import InputError

with lazy_imports():
    from shortlist.cli import confirming, corpora, usage_logs
    from shortlist.cli.terminal import evaluation_reports
    from shortlist.eval import cases as case_files
    from shortlist.eval import distractors as distractor_curves
    from shortlist.eval import generate, metrics, retrieval, usage_cases
    from shortlist.eval import lint as linting
    from shortlist.eval.reporting import study as studies
    from shortlist.eval.reporting import summary as summaries
    from shortlist.index import location
    from shortlist.library import corpus_names
    from shortlist.server import llm_settings

if TYPE_CHECKING:
    from shortlist.index.corpus import Corpus
    from shortlist.results import MinRelevance, Mode
    from shortlist.retrieval.filters import Filter

SHOWN_FLAWS, SHOWN_PROMPTS = 3, 2

cases_argument = click.argument("cases", required=False, metavar="[CASES]")
case_options = combine(
    click.option("--qrels", metavar="PATH", help="Relevance judgments of TREC topics."),
    click.option("--unreviewed", is_flag=True, help="Count the cases that no one has reviewed, too."),
)
seed_option = click.option(
    "--seed", metavar="N", type=WholeNumber(min=0), default=0, show_default=True, help="Random seed."
)


def load_with_cases(
    out: Output, corpus: str, cases: str | None, qrels: str | None, unreviewed: bool
) -> tuple[Corpus, list[case_files.Case]]:
    """The corpus and the cases that count; a BEIR folder has both."""
    if cases is not None:
        loaded = case_files.load_cases(cases, qrels)
        opened = corpora.open_corpus(out, corpus)
    elif Path(corpus).is_dir():
        documents, loaded = case_files.load_beir(corpus)
        with out.progress(f"indexing {corpus}") as progress:
            opened = shortlist.build(documents, Path(corpus).resolve().name, in_memory=True, progress=progress)
    else:
        raise click.UsageError(f"CASES is missing. Example: shortlist eval {corpus} cases.jsonl")
    if not loaded:
        raise InputError(f"There are no cases in {cases or corpus}.")
    counted = [case for case in loaded if unreviewed or case.is_reviewed]
    if skipped := len(loaded) - len(counted):
        is_skipped = count_of(skipped, "case", "that no one has reviewed is skipped")
        advice = 'Set "reviewed" to true in those that are right, or add --unreviewed to count them.'
        if not counted:
            raise InputError(f"There is no reviewed case in {cases or corpus}. {advice}")
        out.note(f"shortlist: {is_skipped}. {advice}")
    return opened, counted


@command(
    examples=[
        "shortlist eval tools.yaml cases.jsonl",
        "shortlist eval tools.yaml cases.jsonl -k 5 --mode lexical --misses 10 --filter access=read",
    ],
    exclusive=[
        ("--from-usage", "--compare"),
        ("--from-usage", "--fail-under"),
        ("--from-usage", "--html"),
        ("--from-usage", "--qrels"),
        ("--from-usage", "--summary"),
    ],
)
@corpus_argument
@cases_argument
@min_relevance_option
@click.option("--compare", metavar="A B", nargs=2, help="Compare two modes or two corpora.")
@click.option(
    "--fail-under", metavar="MEASURE=X", multiple=True, help="Exit with code 1 if a measure is lower. Repeatable."
)
@click.option(
    "--from-usage", is_flag=True, help="Take the cases from the log of use, and measure what learning from it brings."
)
@click.option("--html", metavar="PATH", help="Write an HTML report with plots, too.")
@click.option(
    "--misses",
    metavar="N",
    type=WholeNumber(min=0),
    default=5,
    show_default=True,
    help="Number of misses to show.",
)
@click.option("--summary", metavar="PATH", help="Write a summary in Markdown, too.")
@case_options
@k_option
@mode_option
@filter_option
@strategy_option
@seed_option
def eval(
    out: Output,
    corpus: str,
    cases: str | None,
    min_relevance: MinRelevance,
    compare: tuple[str, str] | None,
    fail_under: tuple[str, ...],
    from_usage: bool,
    html: str | None,
    misses: int,
    summary: str | None,
    qrels: str | None,
    unreviewed: bool,
    k: int,
    mode: Mode,
    filter: Filter | None,
    strategy: str,
    seed: int,
) -> int:
    """Measure how well a corpus answers the queries of a case file."""
    options: dict[str, Any] = {"filter": filter, "strategy": strategy, "min_relevance": min_relevance, "seed": seed}
    if from_usage:
        if cases is not None:
            raise click.UsageError("--from-usage takes the cases from the log of use. Leave out CASES.")
        return _evaluate_usage(out, corpus, misses, mode=mode, k=k, **options)
    for file in [path for path in (html, summary) if path]:  # before all the work
        if not (folder := Path(file).expanduser().parent).is_dir():
            raise InputError(f"{file} cannot be written: {folder} does not exist.")
    opened, loaded = load_with_cases(out, corpus, cases, qrels, unreviewed)
    limits = dict(map(_parse_limit, fail_under))
    flaws = report_flaws(out, opened, loaded)
    names = tuple(dict.fromkeys((*retrieval.default_metrics(k), *limits)))

    def evaluate(searched: Corpus, mode: Mode) -> retrieval.DiscoveryReport:
        with out.progress(f"evaluating {searched.name}, {mode}", "cases") as progress:
            return retrieval.evaluate_discovery(searched, loaded, mode, k, metrics=names, progress=progress, **options)

    comparison = None
    if compare:
        first, second = (_choose_side(out, opened, mode, name) for name in compare)
        comparison = retrieval.compare(evaluate(*first), evaluate(*second), seed=seed)
        opened, report = second[0], comparison.second
    else:
        report = evaluate(opened, mode)
    if html:
        with out.progress("writing the report") as progress:

            def tell(step: studies.Step) -> None:
                if progress:
                    progress.phase(step.name)
                    progress.count(100 * step.share, 100, "%")

            page = studies.study(opened, report, comparison, tell=tell, **options).html()
        Path(html).expanduser().write_text(page, "utf-8")
        out.note(f"Wrote {html}.")
    failed = {name: limit for name, limit in limits.items() if report.metrics.get(name, 0.0) < limit}
    if summary:
        sides = compare if compare and set(compare) <= set(MODES) else ("before", "after")
        text = summaries.write_summary(report, comparison, failed, names=sides)
        Path(summary).expanduser().write_text(text, "utf-8")
        out.note(f"Wrote {summary}.")
    data = (comparison or report).to_dict() | {"flaws": flaws, "failed": failed}
    brief = [f"{name}\t{float(value):.4f}" for name, value in report.metrics.items()]
    if comparison:
        out.show(data, lambda screen: evaluation_reports.show_comparison(screen, comparison), brief)
    else:
        out.show(data, lambda screen: evaluation_reports.show_report(screen, report, misses), brief)
    for name, limit in failed.items():
        value = report.metrics.get(name)
        result = "cannot be measured: no case has an expected result" if value is None else f"is {value:.4f}"
        out.warn(f"{name} {result}; --fail-under requires {limit:g}.")
    return ERROR if failed else OK


def _evaluate_usage(out: Output, name: str, misses: int, **options: Any) -> int:
    """Evaluate without what was learned, and with what was learned from the other searches."""
    log, logged = usage_logs.open_logged(out, name)
    cases = usage_cases.make_cases(log, {id for corpus in logged for id in corpus.ids()})
    if not any(case.in_scope for case in cases):
        raise InputError(f"No query in the log of {name!r} has led to a document that it still has.")
    with out.progress(f"evaluating {name}", "cases") as progress:
        report = usage_cases.evaluate_without_lessons(logged, cases, progress=progress, **options)
    with out.progress(f"evaluating {name} with what was learned", "cases") as progress:
        second = usage_cases.evaluate_with_lessons(logged, cases, log, progress=progress, **options)
    comparison = retrieval.compare(report, second, seed=options["seed"])
    data = report.to_dict() | {"reviewed": False, "learned": comparison.to_dict()}
    brief = [f"{metric}\t{value:.4f}\t{second.metrics[metric]:.4f}" for metric, value in report.metrics.items()]
    out.show(data, lambda screen: evaluation_reports.show_usage(screen, comparison, misses), brief)
    return OK


def _parse_limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        metrics.metric(name)
        if math.isfinite(limit := float(value)):
            return name, limit
        problem = f"{value!r} is not finite."
    except ValueError as error:
        problem = str(error) if isinstance(error, InputError) else f"{value!r} is not a number."
    raise click.UsageError(f"--fail-under must be a measure and a number, such as ndcg@10=0.6: {problem}")


def _choose_side(out: Output, corpus: Corpus, mode: Mode, name: str) -> tuple[Corpus, Mode]:
    """One side of a comparison: a mode of the corpus, or another corpus."""
    for known in MODES:
        if name == known:
            return corpus, known
    return corpora.open_corpus(out, name), mode


def report_flaws(out: Output, corpus: Corpus, cases: Sequence[case_files.Case]) -> list[dict[str, Any]]:
    """The flaws of the cases; the first few are printed."""
    flaws = case_files.validate_cases(corpus, cases)
    for flaw in flaws[:SHOWN_FLAWS]:
        out.note(f"shortlist: {flaw.says}")
    if len(flaws) > SHOWN_FLAWS:
        out.note(f"shortlist: {SHOWN_FLAWS} of {len(flaws)} cases with flaws are shown. Show all with --json.")
    return [flaw.to_dict() for flaw in flaws]


@command(
    examples=[
        "shortlist distractors tools.yaml cases.jsonl --sizes 10,30,90 --repeats 2",
        "shortlist distractors tools.yaml cases.jsonl -k 5 --mode lexical --seed 2 --json",
    ]
)
@corpus_argument
@cases_argument
@click.option("--sizes", metavar="N,N", type=parse_integers, help="Catalog sizes; by default 10, 20, 40 and so on.")
@click.option(
    "--repeats",
    metavar="N",
    type=WholeNumber(min=1),
    default=5,
    show_default=True,
    help="Number of random draws.",
)
@case_options
@k_option
@mode_option
@seed_option
def distractors(
    out: Output,
    corpus: str,
    cases: str | None,
    sizes: list[int] | None,
    repeats: int,
    qrels: str | None,
    unreviewed: bool,
    k: int,
    mode: Mode,
    seed: int,
) -> None:
    """Measure accuracy as the catalog grows."""
    opened, loaded = load_with_cases(out, corpus, cases, qrels, unreviewed)
    with out.progress("adding distractors", "catalogs") as progress:
        curve = distractor_curves.distractor_robustness_curve(
            opened, loaded, sizes, mode, k, repeats=repeats, seed=seed, progress=progress
        )
    brief = [f"{point.size}\t{float(point.accuracy):.4f}" for point in curve.points]
    out.show(curve.to_dict(), lambda screen: evaluation_reports.show_rows(screen, curve.table()), brief)


@command(
    examples=["shortlist eval-gen tools.yaml made.jsonl -n 5 --per-document 1 --out-of-scope 0.4 --dry-run --seed 1"]
)
@corpus_argument
@click.argument("file", metavar="PATH")
@click.option(
    "-n",
    metavar="N",
    type=WholeNumber(min=1),
    default=50,
    show_default=True,
    help="Number of cases with an answer.",
)
@click.option(
    "--per-document",
    metavar="N",
    type=WholeNumber(min=1),
    default=1,
    show_default=True,
    help="Number of queries about one document.",
)
@click.option(
    "--out-of-scope",
    metavar="X",
    type=float,
    default=0.25,
    show_default=True,
    help="Number of cases without an answer, as a share of -n.",
)
@click.option("--dry-run", is_flag=True, help="Show the prompts, and send none.")
@seed_option
def eval_gen(
    out: Output, corpus: str, file: str, n: int, per_document: int, out_of_scope: float, dry_run: bool, seed: int
) -> int:
    """Generate cases about a corpus with a language model, and write them to PATH as JSONL. Queries that give the
    answer away are dropped."""
    opened = corpora.open_corpus(out, corpus)
    if dry_run:
        planned = generate.plan(opened, n, per_document=per_document, out_of_scope=out_of_scope, seed=seed)
        prompts = [request.prompt for request in planned]
        shown = prompts[:SHOWN_PROMPTS] + prompts[SHOWN_PROMPTS:][-1:]  # the last is of another kind
        text = "\n\n".join([f"{count_of(len(prompts), 'prompt')} to send, such as:", *shown])
        out.show({"prompts": prompts}, text, [str(len(prompts))])
        return OK
    confirming.ask_to_confirm(out, [llm_settings.choose_llm().request])
    chosen = llm_settings.load_llm_settings()
    model = llm_settings.connect(chosen.llm)
    if model is None:
        advice = "Set one with shortlist config llm, or with SHORTLIST_LLM_URL and SHORTLIST_LLM_MODEL"
        advice = f"{chosen.request}; or" if chosen.request else f"{advice}, or"
        raise InputError(f"eval-gen needs a language model. {advice} add --dry-run to see the prompts.")
    out.note(f"shortlist: Passages are sent to {redact(model.url)} ({chosen.origin}).")
    with out.progress("generating cases", "requests") as progress:
        made = generate.generate_cases(
            opened, model, n, per_document=per_document, out_of_scope=out_of_scope, seed=seed, progress=progress
        )
    if made.cases:
        case_files.save_cases(made.cases, file)
    data = made.to_dict() | {"file": file if made.cases else None}
    text = "No case was generated, and no file was written."
    if made.cases:
        text = (
            f"Wrote {count_of(data['in_scope'], 'case')} with an answer and {data['out_of_scope']} without to {file}."
        )
    dropped = [f"{count} dropped: {reason}" for reason, count in data["reasons"].items()]
    out.show(data, "\n".join([text, *dropped]), [file] if made.cases else [])
    return OK if made.cases else ABSTAINED


@command(examples=["shortlist lint docs", "shortlist lint tools.yaml -k 5 --strict"])
@corpus_argument
@click.option(
    "-k",
    metavar="N",
    type=WholeNumber(min=1),
    default=10,
    show_default=True,
    help="Rank cutoff: found means ranked in the top k.",
)
@click.option("--strict", is_flag=True, help="Exit with code 1 on warnings, too.")
def lint(out: Output, corpus: str, k: int, strict: bool) -> int:
    """Find documents that are ambiguous, unfindable, empty or hostile. A path that was never
    built is checked without storing it."""
    name = corpora.resolve(corpus)
    if name != corpus and not location.find_corpus_file(name) and (entry := corpus_names.find_source(name)):
        with out.progress(f"indexing {corpus}") as progress:
            opened = shortlist.build(entry.source(), in_memory=True, progress=progress)
        out.report_problems(opened.changes.failed)
    else:
        opened = corpora.open_corpus(out, corpus)
    with out.progress(f"checking {opened.name}") as progress:
        report = linting.lint_corpus(opened, k=k, progress=progress)
    brief = [f"{finding.severity}\t{finding.rule}\t{','.join(finding.ids)}" for finding in report.findings]
    out.show(report.to_dict(), lambda screen: evaluation_reports.show_findings(screen, report), brief)
    if not report.documents:
        return ABSTAINED
    return ERROR if report.errors or (strict and report.findings) else OK
