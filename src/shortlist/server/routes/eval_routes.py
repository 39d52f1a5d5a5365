"""Evaluations over HTTP, by cases that are sent or by the corpus itself; nothing of them is stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from shortlist._settings import Limits
from shortlist.errors import InputError
from shortlist.eval import lint
from shortlist.eval.cases import Case, Flaw, parse_case, parse_cases, validate_cases
from shortlist.eval.reporting.study import study
from shortlist.eval.retrieval import compare, evaluate_discovery
from shortlist.index.corpus import Corpus
from shortlist.protocols import Progress
from shortlist.server.http_errors import Unfit, responses
from shortlist.server.jobs import Job, JobKind, describe_stream
from shortlist.server.routes.corpora_routes import Shelf
from shortlist.server.routes.schemas import EvalBody, LintBody

UNKNOWN_IDS = "unknown-ids"
MOST_AT_ONCE = 2  # which never wait, and take the interpreter from all others
MOST_CASES = 5_000
MOST_ERRORS = 100
REPORT_EVERY = 0.1  # seconds

# How long to wait for another evaluation; long enough for one whose caller has left to notice.
PATIENCE = 3.0

# A study asks the cases about twice as often as the evaluation that it follows.
STUDY = 2


class Turns:
    """One evaluation at a time of each corpus."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}

    @contextmanager
    def take(self, corpus: Corpus) -> Iterator[Corpus]:
        lock = self._locks.setdefault(str(corpus.path), threading.Lock())
        if not lock.acquire(timeout=PATIENCE):
            raise HTTPException(409, f"The corpus {corpus.name!r} is already being evaluated. Try again later.")
        try:
            yield corpus
        finally:
            lock.release()


class Reporter:
    """Sends the progress of a job, not too often, and ends it when the caller has left."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._last = ("", 0.0)  # the step, and when it was sent

    def part(self, name: str, at: int = 0, parts: int = 1) -> Progress:
        """Reports one part of the work."""
        return lambda done, total: self.report(name, (at + done / (total or 1)) / parts)

    def report(self, name: str, share: float) -> None:
        self._job.check()
        now = time.monotonic()
        if name != self._last[0] or now - self._last[1] >= REPORT_EVERY:
            self._last = name, now
            self._job.send("progress", {"step": name, "share": round(min(share, 1.0), 4)})


def evaluate(corpus: Corpus, body: EvalBody, job: Job) -> dict[str, Any]:
    """Everything that the cases say about a corpus."""
    cases = _read_cases(body.cases)
    flaws = validate_cases(corpus, cases)
    if body.unknown == "refuse":
        _refuse_unknown([flaw for flaw in flaws if flaw.problem == "unknown_gold"])
    how: dict[str, Any] = {"filter": body.filter, "strategy": body.strategy, "min_score": body.min_score}
    modes = [mode for mode in (body.against, body.mode) if mode]
    parts = len(modes) + STUDY
    reporter = Reporter(job)
    reports = [
        evaluate_discovery(
            corpus, cases, mode, body.k, **how, progress=reporter.part(f"Asking, mode {mode}", at, parts)
        )
        for at, mode in enumerate(modes)
    ]
    report = reports[-1]
    found = study(
        corpus,
        report,
        compare(reports[0], report) if body.against and report.in_scope else None,
        **how,
        curve=body.curve,
        tell=lambda step: reporter.report(step.name.capitalize(), (len(modes) + STUDY * step.share) / parts),
    )
    html = found.html() if body.html else None
    return {**found.to_dict(), "flaws": [flaw.to_dict() for flaw in flaws], "html": html}


def _read_cases(given: str | list[dict[str, Any]]) -> list[Case]:
    if isinstance(given, str):
        cases = parse_cases(given.removeprefix("\ufeff"))
    else:
        cases = [parse_case(row, f"Case {number}") for number, row in enumerate(given, 1)]
    if not cases:
        raise InputError('There are no cases to evaluate. A case is {"query": "...", "gold": [ids]}, one a line.')
    if len(cases) > MOST_CASES:
        raise InputError(f"At most {MOST_CASES:,} cases are evaluated at once, not {len(cases):,}. Send them in parts.")
    return cases


def _refuse_unknown(flaws: Sequence[Flaw]) -> None:
    if flaws:
        more = f" (and {len(flaws) - 1} more like this)" if len(flaws) > 1 else ""
        advice = 'Fix the cases, or send "unknown": "count" to count such gold as not found.'
        errors = [{"where": f"cases.{flaw.line or flaw.number}", "message": flaw.says} for flaw in flaws[:MOST_ERRORS]]
        raise Unfit(UNKNOWN_IDS, f"{flaws[0].says}{more} {advice}", errors)


def add_evaluation(app: FastAPI, shelf: Shelf, limits: Limits) -> JobKind:
    """Add the routes; their jobs end with the application."""
    turns = Turns()
    jobs = JobKind(MOST_AT_ONCE, limits.eval_seconds, "limits.eval_seconds")

    def describe(answer: str) -> dict[str, Any]:
        events = describe_stream(answer, progress="ProgressEvent")
        return {"tags": ["corpora"], "responses": responses(404, 409) | events}

    async def run(
        request: Request, name: str, stream: bool, evaluate: Callable[[Corpus, Job], dict[str, Any]]
    ) -> Response:
        def work(job: Job) -> dict[str, Any]:
            with turns.take(shelf.corpus(name)) as corpus:
                return evaluate(corpus, job)

        return await jobs.answer(request, work, stream=stream)

    @app.post("/v1/corpora/{name:path}/eval", **describe("Evaluation"))
    async def evaluate_corpus(name: str, body: EvalBody, request: Request) -> Response:
        """Measure how well a corpus answers the questions of cases, and tell why it misses."""
        return await run(request, name, body.stream, lambda corpus, job: evaluate(corpus, body, job))

    @app.post("/v1/corpora/{name:path}/lint", **describe("Linted"))
    async def lint_corpus(name: str, request: Request, body: LintBody | None = None) -> Response:
        """Tell what of a corpus cannot be found or told apart, and which descriptions are empty or hostile."""
        wanted = body or LintBody()

        def check(corpus: Corpus, job: Job) -> dict[str, Any]:
            return lint.lint_corpus(corpus, k=wanted.k, progress=Reporter(job).part("Reading")).to_dict()

        return await run(request, name, wanted.stream, check)

    return jobs
