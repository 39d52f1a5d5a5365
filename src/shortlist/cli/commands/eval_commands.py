"""The commands that evaluate retrieval and selection, tune their settings, generate cases, and lint a catalog."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import click

import shortlist
from shortlist._redact import redact
from shortlist._text import count_of
from shortlist.cli import eval_output
from shortlist.cli.confirming import ask_to_confirm
from shortlist.cli.corpora import find_path_source, open_corpora
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output
from shortlist.cli.usage_logs import open_logged
from shortlist.errors import InputError
from shortlist.eval import calibration, generate, retrieval, selection
from shortlist.eval import distractors as distractor_curve
from shortlist.eval.cases import Case, load_beir, load_cases, save_cases, validate_cases
from shortlist.eval.lint import lint_corpus
from shortlist.eval.metrics import metric
from shortlist.eval.reporting.study import study
from shortlist.eval.usage_cases import evaluate_with_lessons, evaluate_without_lessons, make_cases
from shortlist.index.corpus import Corpus
from shortlist.library.opening import is_known
from shortlist.results import Mode
from shortlist.server.llm_settings import choose_llm, connect, load_llm_settings

SHOWN_FLAWS, SHOWN_PROMPTS = 3, 2
Cases = Sequence[Case]


def with_cases(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a command the corpus and the cases that its arguments mean."""

    def call(
        out: Output, corpus: str, cases: str | None, qrels: str | None, unreviewed: bool, **how: Any
    ) -> int | None:
        return function(out, *_load(out, corpus, cases, qrels, unreviewed), **how)

    return call


def _load(out: Output, corpus: str, cases: str | None, qrels: str | None, unreviewed: bool) -> tuple[Corpus, Cases]:
    """The corpus and the cases that count; a BEIR folder has both."""
    if cases is not None:
        loaded = load_cases(cases, qrels)
        (opened,) = open_corpora(out, [corpus])
    elif Path(corpus).is_dir():
        documents, loaded = load_beir(corpus)
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


def eval(
    out: Output, corpus: str, cases: str | None, qrels: str | None, unreviewed: bool, from_usage: bool, **how: Any
) -> int:
    if not from_usage:
        return _evaluate(out, *_load(out, corpus, cases, qrels, unreviewed), **how)
    if cases is not None:
        raise click.UsageError("--from-usage takes the cases from the log of use. Leave out CASES.")
    return _evaluate_usage(out, corpus, **how)


def _evaluate(
    out: Output, corpus: Corpus, cases: Cases, mode: Mode, k: int, compare: Sequence[str], fail_under: Sequence[str],
    html: str | None, misses: int, **how: Any,
) -> int:  # fmt: skip
    limits = dict(map(_parse_limit, fail_under))
    flaws = _report_flaws(out, corpus, cases)
    metrics = tuple(dict.fromkeys((*retrieval.default_metrics(k), *limits)))

    def evaluate(one: Corpus, mode: Mode) -> retrieval.DiscoveryReport:
        with out.progress(f"evaluating {one.name}, {mode}") as progress:
            return retrieval.evaluate_discovery(one, cases, mode, k, metrics=metrics, progress=progress, **how)

    comparison = None
    if compare:
        first, second = (_choose_side(out, corpus, mode, name) for name in compare)
        comparison = retrieval.compare(evaluate(*first), evaluate(*second), seed=how["seed"])
        corpus, report = second[0], comparison.second
    else:
        report = evaluate(corpus, mode)
    if html:
        with out.progress("writing the report") as progress:
            tell = progress and (lambda step: progress(step.done, step.total))
            page = study(corpus, report, comparison, tell=tell, **how).html()
        Path(html).expanduser().write_text(page, "utf-8")
        out.note(f"Wrote {html}.")
    failed = {name: limit for name, limit in limits.items() if report.metrics.get(name, 0.0) < limit}
    data = (comparison or report).to_dict() | {"flaws": flaws, "failed": failed}
    brief = [f"{name}\t{float(value):.4f}" for name, value in report.metrics.items()]
    if comparison:
        out.show(data, lambda screen: eval_output.show_comparison(screen, comparison), brief)
    else:
        out.show(data, lambda screen: eval_output.show_report(screen, report, misses), brief)
    for name, limit in failed.items():
        value = report.metrics.get(name)
        result = "cannot be measured: no case has an expected result" if value is None else f"is {value:.4f}"
        out.warn(f"{name} {result}; --fail-under requires {limit:g}.")
    return ERROR if failed else OK


def _evaluate_usage(
    out: Output, name: str, misses: int, compare: object, fail_under: object, html: object, **how: Any
) -> int:
    """Evaluate without what was learned, and with what was learned from the other searches."""
    log, corpora = open_logged(out, name)
    cases = make_cases(log, {id for one in corpora for id in one.ids()})
    if not any(case.in_scope for case in cases):
        raise InputError(f"No query in the log of {name!r} has led to a document that it still has.")
    with out.progress(f"evaluating {name}") as progress:
        report = evaluate_without_lessons(corpora, cases, progress=progress, **how)
    with out.progress(f"evaluating {name} with what was learned") as progress:
        second = evaluate_with_lessons(corpora, cases, log, progress=progress, **how)
    comparison = retrieval.compare(report, second, seed=how["seed"])
    data = report.to_dict() | {"reviewed": False, "learned": comparison.to_dict()}
    brief = [f"{metric}\t{one:.4f}\t{second.metrics[metric]:.4f}" for metric, one in report.metrics.items()]
    out.show(data, lambda screen: eval_output.show_usage(screen, comparison, misses), brief)
    return OK


def _parse_limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        metric(name)
        if math.isfinite(limit := float(value)):
            return name, limit
        problem = f"{value!r} is not finite."
    except ValueError as error:
        problem = str(error) if isinstance(error, InputError) else f"{value!r} is not a number."
    raise click.UsageError(f"--fail-under must be a measure and a number, such as ndcg@10=0.6: {problem}")


def _choose_side(out: Output, corpus: Corpus, mode: Mode, name: str) -> tuple[Corpus, Mode]:
    """One side of a comparison: a mode of the corpus, or another corpus."""
    for known in get_args(Mode):
        if name == known:
            return corpus, known
    return open_corpora(out, [name])[0], mode


def _report_flaws(out: Output, corpus: Corpus, cases: Cases) -> list[dict[str, Any]]:
    """The flaws of the cases; the first few are printed."""
    flaws = validate_cases(corpus, cases)
    for flaw in flaws[:SHOWN_FLAWS]:
        out.note(f"shortlist: {flaw.says}")
    if len(flaws) > SHOWN_FLAWS:
        out.note(f"shortlist: {SHOWN_FLAWS} of {len(flaws)} cases with flaws are shown. Show all with --json.")
    return [flaw.to_dict() for flaw in flaws]


@with_cases
def eval_select(out: Output, corpus: Corpus, cases: Cases, **how: Any) -> None:
    flaws = _report_flaws(out, corpus, cases)
    with out.progress(f"evaluating {corpus.name}") as progress:
        report = selection.evaluate_selection(corpus, cases, progress=progress, **how)
    brief = [f"{name}\t{float(value):.4f}" for name, value in report.measures.items() if value is not None]
    out.show(report.to_dict() | {"flaws": flaws}, lambda screen: eval_output.show_selection(screen, report), brief)


@with_cases
def sweep_select(
    out: Output, corpus: Corpus, cases: Cases, max_k: Any, rel: Any, min_score: Any, by: str, **how: Any
) -> None:
    how |= {"max_k_grid": max_k, "rel_grid": rel, "min_score_grid": min_score}
    with out.progress(f"evaluating {corpus.name}") as progress:
        sweep = selection.sweep_selector(corpus, cases, progress=progress, **how)
    best = sweep.best(by)
    data = sweep.to_dict() | {"best": best.to_dict()}
    out.show(data, lambda screen: eval_output.show_sweep(screen, sweep, best), [f"{best.max_k}\t{best.rel:g}"])


@with_cases
def calibrate_min_score(out: Output, corpus: Corpus, cases: Cases, **how: Any) -> None:
    with out.progress(f"evaluating {corpus.name}") as progress:
        made = calibration.calibrate_min_score(corpus, cases, progress=progress, **how)
    out.show(made.to_dict(), lambda screen: eval_output.show_calibration(screen, made), [f"{made.floor:.6g}"])


@with_cases
def distractors(out: Output, corpus: Corpus, cases: Cases, **how: Any) -> None:
    with out.progress("adding distractors") as progress:
        curve = distractor_curve.distractor_robustness_curve(corpus, cases, progress=progress, **how)
    brief = [f"{point.size}\t{float(point.accuracy):.4f}" for point in curve.points]
    out.show(curve.to_dict(), lambda screen: eval_output.show_rows(screen, curve.table()), brief)


def eval_gen(out: Output, corpus: str, file: str, dry_run: bool, **how: Any) -> int:
    (opened,) = open_corpora(out, [corpus])
    if dry_run:
        prompts = [request.prompt for request in generate.plan(opened, **how)]
        shown = prompts[:SHOWN_PROMPTS] + prompts[SHOWN_PROMPTS:][-1:]  # the last is of another kind
        text = "\n\n".join([f"{count_of(len(prompts), 'prompt')} to send, such as:", *shown])
        out.show({"prompts": prompts}, text, [str(len(prompts))])
        return OK
    ask_to_confirm(out, [choose_llm().request])
    chosen = load_llm_settings()
    model = connect(chosen.llm)
    if model is None:
        advice = "Set SHORTLIST_LLM_URL and SHORTLIST_LLM_MODEL to any OpenAI-compatible endpoint"
        advice = f"{chosen.request}; or" if chosen.request else f"{advice}, or"
        raise InputError(f"eval-gen needs a language model. {advice} add --dry-run to see the prompts.")
    out.note(f"shortlist: Passages are sent to {redact(model.url)} ({chosen.origin}).")
    with out.progress("generating cases") as progress:
        made = generate.generate_cases(opened, model, **how, progress=progress)
    if made.cases:
        save_cases(made.cases, file)
    data = made.to_dict() | {"file": file if made.cases else None}
    text = "No case was generated, and no file was written."
    if made.cases:
        text = (
            f"Wrote {count_of(data['in_scope'], 'case')} with an answer and {data['out_of_scope']} without to {file}."
        )
    dropped = [f"{count} dropped: {reason}" for reason, count in data["reasons"].items()]
    out.show(data, "\n".join([text, *dropped]), [file] if made.cases else [])
    return OK if made.cases else ABSTAINED


def lint(out: Output, corpus: str, k: int, strict: bool) -> int:
    entry = None if is_known(corpus) else find_path_source(corpus)
    if entry:
        with out.progress(f"indexing {corpus}") as progress:
            opened = shortlist.build(entry.source(), in_memory=True, progress=progress)
        out.report_problems(opened.changes.failed)
    else:
        (opened,) = open_corpora(out, [corpus])
    with out.progress(f"checking {opened.name}") as progress:
        report = lint_corpus(opened, k=k, progress=progress)
    brief = [f"{one.severity}\t{one.rule}\t{','.join(one.ids)}" for one in report.findings]
    out.show(report.to_dict(), lambda screen: eval_output.show_findings(screen, report), brief)
    if not report.documents:
        return ABSTAINED
    return ERROR if report.errors or (strict and report.findings) else OK
