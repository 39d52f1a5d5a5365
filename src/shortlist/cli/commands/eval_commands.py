"""How well does it work? The commands that evaluate, let cases be written, and look for flaws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from shortlist.cli.commands.search_commands import Conditions, HowToSearch, Most, Strategy, conditions, floor_given
from shortlist.cli.corpus_arguments import complete, opened
from shortlist.cli.declare import Argument, option
from shortlist.cli.output import ABSTAINED, ERROR, OK, Output, WrongUsage
from shortlist.errors import InputError
from shortlist.protocols import LLM
from shortlist.results import Mode

if TYPE_CHECKING:
    from shortlist.eval.cases import Case
    from shortlist.eval.retrieval import Comparison, DiscoveryReport
    from shortlist.index.corpus import Corpus

Where = Annotated[str, Argument(metavar="CORPUS", complete=complete)]
Qrels = Annotated[str | None, option("--qrels", help="The judgements of TREC topics.", metavar="FILE")]
Floor = Annotated[
    str | None,
    option("--min-score", help="Below this best score nothing fits; auto: as calibrated.", metavar="X|auto"),
]
Seed = Annotated[int, option("--seed", help="Where chance begins.", least=0)]


def eval(
    out: Output,
    corpus: Where,
    cases: Annotated[
        str | None, Argument(metavar="CASES", help="JSONL, a BEIR folder, or TREC topics with --qrels.")
    ] = None,
    qrels: Qrels = None,
    k: Most = 10,
    mode: HowToSearch = "auto",
    filter: Conditions = None,
    min_score: Floor = None,
    strategy: Strategy = "conservative",
    compare: Annotated[
        tuple[str, str] | None, option("--compare", help="Two modes or two corpora, side by side.", metavar="A B")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        option("--fail-under", help="End with code 1 if a measure is lower; repeat it.", metavar="MEASURE=X"),
    ] = None,
    html: Annotated[str | None, option("--html", help="Write a page with plots, too.", metavar="FILE")] = None,
    misses: Annotated[int, option("--misses", help="Show so many of what went wrong.", least=0)] = 5,
    seed: Seed = 0,
) -> int:
    """Measure how well a corpus answers the questions of a case file, and tell why it misses.

    A folder in BEIR layout holds documents and cases, so it needs no CASES.
    """
    from shortlist.cli import eval_output
    from shortlist.eval.reporting.study import study
    from shortlist.eval.retrieval import compare as compared
    from shortlist.eval.retrieval import default_metrics, evaluate_discovery

    limits = dict(_limit(text) for text in fail_under or ())
    where, asked = corpus_and_cases(out, corpus, cases, qrels)
    names = tuple(dict.fromkeys((*default_metrics(k), *limits)))
    wrong = flaws(out, where, asked)

    def evaluated(one: Corpus, how: Mode) -> DiscoveryReport:
        with out.progress(f"asking {one.name}, {how}") as progress:
            return evaluate_discovery(
                one, asked, how, k, conditions(filter), metrics=names, min_score=floor_given(min_score),
                strategy=strategy, seed=seed, progress=progress,
            )  # fmt: skip

    comparison: Comparison | None = None
    if compare:
        (first, second) = (_side(out, where, mode, name) for name in compare)
        comparison = compared(evaluated(*first), evaluated(*second), seed=seed)
        where, report = second[0], comparison.second
    else:
        report = evaluated(where, mode)
    failed = {name: limit for name, limit in limits.items() if report.metrics.get(name, 0.0) < limit}
    if html:
        with out.progress("measuring more") as progress:
            studied = study(
                where, report, comparison, filter=conditions(filter), strategy=strategy,
                min_score=floor_given(min_score), seed=seed,
                tell=progress and (lambda step: progress(step.done, step.total)),
            )  # fmt: skip
        Path(html).expanduser().write_text(studied.html(), "utf-8")
        out.note(f"The page is in {html}.")
    data = (comparison.to_dict() if comparison else report.to_dict()) | {"flaws": wrong, "failed": failed}
    brief = [f"{name}\t{float(value):.4f}" for name, value in report.metrics.items()]
    out.show(
        data,
        lambda screen: (
            eval_output.comparison(screen, comparison) if comparison else eval_output.report(screen, report, misses)
        ),
        brief,
    )
    for name, limit in failed.items():
        value = report.metrics.get(name)
        out.warn(
            f"{name} cannot be measured, since no case has gold." if value is None
            else f"{name} is {value:.4f}, which is under {limit:g}."
        )  # fmt: skip
    return ERROR if failed else OK


def _limit(text: str) -> tuple[str, float]:
    from shortlist.eval.metrics import metric

    name, _, value = text.partition("=")
    try:
        metric(name)
        limit = float(value)
        if math.isfinite(limit):
            return name, limit
        said = f"{value!r} is no limit."
    except ValueError as error:
        said = str(error) if isinstance(error, InputError) else f"{value!r} is not a number."
    raise WrongUsage(f"--fail-under takes a measure and a number, as in ndcg@10=0.6: {said}")


def _side(out: Output, corpus: Corpus, mode: Mode, name: str) -> tuple[Corpus, Mode]:
    """One side of a comparison: a mode of the corpus, or another corpus."""
    for known in get_args(Mode):
        if name == known:
            return corpus, known
    return opened(out, [name])[0], mode


def corpus_and_cases(
    out: Output, corpus: str, cases: str | None, qrels: str | None = None
) -> tuple[Corpus, list[Case]]:
    """What is asked, and of which corpus; a BEIR folder is both."""
    import shortlist
    from shortlist.eval.cases import load_beir, load_cases

    if cases is not None:
        asked = load_cases(cases, qrels)
        found = opened(out, [corpus])[0]
    elif Path(corpus).is_dir():
        documents, asked = load_beir(corpus)
        with out.progress(f"indexing {corpus}") as progress:
            found = shortlist.build(documents, Path(corpus).resolve().name, in_memory=True, progress=progress)
    else:
        raise WrongUsage("Say which cases to ask, such as: shortlist eval skills cases.jsonl.")
    if not asked:
        raise InputError(f"There are no cases in {cases or corpus}.")
    return found, asked


def flaws(out: Output, corpus: Corpus, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """What is wrong with the cases; the first few are told."""
    from shortlist.eval.cases import validate_cases

    flaws = validate_cases(corpus, cases)
    for flaw in flaws[:3]:
        out.note(f"shortlist: {flaw.says}")
    if len(flaws) > 3:
        out.note(f"shortlist: {len(flaws) - 3} more cases have flaws; --json tells all.")
    return [flaw.to_dict() for flaw in flaws]


def eval_gen(
    out: Output,
    corpus: Where,
    file: Annotated[str, Argument(metavar="FILE", help="Where the cases go, as JSONL.")],
    number: Annotated[int, option("-n", help="How many cases with an answer.", least=1)] = 50,
    per_document: Annotated[int, option("--per-document", help="Questions about one document.", least=1)] = 1,
    out_of_scope: Annotated[
        float, option("--out-of-scope", help="Questions that nothing serves, as a share of -n.", metavar="SHARE")
    ] = 0.25,
    dry_run: Annotated[bool, option("--dry-run", help="Show what the model would be asked, and ask nothing.")] = False,
    seed: Seed = 0,
) -> int:
    """Let a language model write cases about a corpus; what gives itself away is dropped."""
    from shortlist.cli import eval_output
    from shortlist.eval import cases, generate

    (found,) = opened(out, [corpus])
    options: dict[str, Any] = {"per_document": per_document, "out_of_scope": out_of_scope, "seed": seed}
    if dry_run:
        prompts = [request.prompt for request in generate.plan(found, number, **options)]
        out.show({"prompts": prompts}, lambda screen: eval_output.prompts(screen, prompts), [str(len(prompts))])
        return OK
    model = language_model()
    with out.progress("writing cases") as progress:
        made = generate.generate_cases(found, model, number, **options, progress=progress)
    if made.cases:
        cases.save_cases(made.cases, file)
    data = made.to_dict() | {"file": file if made.cases else None}
    out.show(data, lambda screen: eval_output.generated(screen, data), [file] if made.cases else [])
    return OK if made.cases else ABSTAINED


def language_model() -> LLM:
    """The model that writes cases: the one that `query` and `chat` ask."""
    from shortlist.server.llm_settings import connect, llm_settings

    model = connect(llm_settings())
    if model is None:
        raise InputError(
            "eval-gen needs a language model: set SHORTLIST_LLM_URL and SHORTLIST_LLM_MODEL (any OpenAI-compatible "
            "endpoint). --dry-run shows what it would be asked."
        )
    return model


def lint(
    out: Output,
    corpus: Annotated[str, Argument(metavar="CORPUS|PATH", complete=complete)],
    k: Annotated[int, option("-k", help="Found is what is among so many.", least=1)] = 10,
    strict: Annotated[bool, option("--strict", help="Let warnings end with code 1, too.")] = False,
) -> int:
    """Tell which things of a catalog cannot be told apart or found, and which descriptions are empty or hostile.

    A path stands for the tools of a file or the documents of a folder; nothing is kept of it.
    """
    from shortlist.cli import eval_output
    from shortlist.eval.lint import lint_corpus

    where = _corpus_or_path(out, corpus)
    with out.progress(f"reading {where.name}") as progress:
        report = lint_corpus(where, k=k, progress=progress)
    brief = [f"{one.severity}\t{one.rule}\t{','.join(one.ids)}" for one in report.findings]
    out.show(report.to_dict(), lambda screen: eval_output.findings(screen, report), brief)
    if not report.documents:
        return ABSTAINED
    return ERROR if report.errors or (strict and report.findings) else OK


def _corpus_or_path(out: Output, name: str) -> Corpus:
    import shortlist
    from shortlist.cli.commands.corpus_commands import entry_of_path
    from shortlist.library.opening import is_known

    entry = None if is_known(name) else entry_of_path(name)
    if entry is None:
        return opened(out, [name])[0]
    with out.progress(f"indexing {name}") as progress:
        corpus = shortlist.build(entry.source(), in_memory=True, progress=progress)
    out.problems(corpus.changes.failed)
    return corpus
