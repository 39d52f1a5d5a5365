"""Questions, evaluations and checks over HTTP: long-running jobs that stream their progress. Nothing is stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from shortlist._limits import check_canceled
from shortlist._settings import Answers, Settings
from shortlist.answer.agent import agent_ask
from shortlist.answer.ask import ask
from shortlist.answer.memory import Memory
from shortlist.errors import InputError
from shortlist.eval import lint
from shortlist.eval.cases import Case, parse_case, parse_cases, validate_cases
from shortlist.eval.reporting.study import study
from shortlist.eval.retrieval import compare, evaluate_discovery
from shortlist.index.corpus import Corpus
from shortlist.protocols import Messages, Progress, Reply, StreamingLLM
from shortlist.results import Answer
from shortlist.server.http_errors import InvalidBody, describe_responses
from shortlist.server.jobs import Job, JobKind, describe_stream
from shortlist.server.routes.corpora_routes import ServedCorpora
from shortlist.server.routes.schemas import AskBody, EvalBody, LintBody

MOST_QUESTIONS = 8  # at once; they mostly wait for a language model
MOST_EVALUATIONS = 2  # at once; they never wait, and slow down all other requests
MOST_CASES = 5_000
MOST_ERRORS = 100
REPORT_EVERY = 0.1  # seconds
TURN_SECONDS = 3.0  # to wait for another evaluation: enough for one whose caller disconnected to notice that
STUDY = 2  # the parts of the work that a study is: it searches about twice as often as an evaluation


class InterruptibleLLM:
    """A model that stops in the middle of a reply when the caller disconnects."""

    def __init__(self, llm: StreamingLLM) -> None:
        self._llm = llm

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply:
        return self.stream(messages, lambda _: None, tools)

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        def forward(piece: str) -> None:
            check_canceled()
            on_text(piece)

        check_canceled()
        return self._llm.stream(messages, forward, tools)


def answer_question(corpus: Corpus, body: AskBody, llm: StreamingLLM | None, job: Job, answers: Answers) -> Answer:
    memory = Memory(answers.memory_window_turns)
    for turn in body.history:
        memory.add(turn.question, turn.answer)
    options: dict[str, Any] = {
        "k": body.k or answers.top_k,
        "min_relevance": answers.min_relevance if body.least == "auto" else body.least,
        "filter": body.filter,
        "memory": memory,
        "on_evidence": lambda item: job.send("evidence", item.to_dict()),
        "on_text": lambda text: job.send("text", {"text": text}),
    }
    if body.agent and body.extractive:
        raise InputError("agent cannot be combined with extractive. Leave out one of them.")
    model = InterruptibleLLM(llm) if llm and not body.extractive else None
    if not body.agent:
        return ask(corpus, body.question, model, **options)
    if model is None:
        raise InputError(
            "An agent needs a language model, and this service has none. Set llm.url and llm.model; if settings.yaml "
            "of its folder sets them, allow the address with: shortlist trust"
        )
    options |= {"on_step": lambda step: job.send("step", dict(step)), "max_steps": answers.agent_max_steps}
    return agent_ask(corpus, body.question, model, **options)


def add_ask(app: FastAPI, corpora: ServedCorpora, llm: StreamingLLM | None, settings: Settings) -> JobKind:
    """Add the route; its jobs end with the application."""
    jobs = JobKind(MOST_QUESTIONS, settings.limits.answer_seconds, "limits.answer_seconds")
    events = describe_stream("Answer", evidence="Evidence", step="StepEvent", text="TextEvent")

    @app.post("/v1/corpora/{name:path}/ask", tags=["corpora"], responses=describe_responses(404, 409, 502) | events)
    async def ask_corpus(name: str, body: AskBody, request: Request) -> Response:
        """Answer a question from the documents alone, every claim cited and compared with what it cites, or refuse."""

        def work(job: Job) -> dict[str, Any]:
            return answer_question(corpora.corpus(name), body, llm, job, settings.answers).to_dict()

        return await jobs.answer(request, work, stream=body.stream)

    return jobs


class Turns:
    """One evaluation at a time of each corpus."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}

    @contextmanager
    def take(self, corpus: Corpus) -> Iterator[None]:
        lock = self._locks.setdefault(str(corpus.path), threading.Lock())
        if not lock.acquire(timeout=TURN_SECONDS):
            raise HTTPException(409, f"The corpus {corpus.name!r} is already being evaluated. Try again later.")
        try:
            yield
        finally:
            lock.release()


class Reporter:
    """Sends the progress of a job, not too often, and ends it when the caller has disconnected."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._last = ("", 0.0)  # the last step and its time

    def part(self, name: str, at: int = 0, parts: int = 1) -> Progress:
        """Reports one part of the work."""
        return lambda done, total: self.report(name, (at + done / (total or 1)) / parts)

    def report(self, name: str, share: float) -> None:
        check_canceled()
        now = time.monotonic()
        if name != self._last[0] or now - self._last[1] >= REPORT_EVERY:
            self._last = name, now
            self._job.send("progress", {"step": name, "share": round(min(share, 1.0), 4)})


def evaluate(corpus: Corpus, body: EvalBody, job: Job) -> dict[str, Any]:
    cases = _read_cases(body.cases)
    flaws = validate_cases(corpus, cases)
    unknown = [flaw for flaw in flaws if flaw.problem == "unknown_gold"] if body.unknown == "refuse" else []
    if unknown:
        more = f" (and {len(unknown) - 1} more like this)" if len(unknown) > 1 else ""
        advice = 'Fix the cases, or send "unknown": "count" to count such documents as not found.'
        errors = [{"where": f"cases.{one.line or one.number}", "message": one.says} for one in unknown[:MOST_ERRORS]]
        raise InvalidBody("unknown-ids", f"{unknown[0].says}{more} {advice}", errors)
    options: dict[str, Any] = {"filter": body.filter, "strategy": body.strategy, "min_relevance": body.least}
    modes = [mode for mode in (body.against, body.mode) if mode]
    parts = len(modes) + STUDY
    reporter = Reporter(job)
    reports = []
    for at, mode in enumerate(modes):
        progress = reporter.part(f"Asking, mode {mode}", at, parts)
        reports.append(evaluate_discovery(corpus, cases, mode, body.k, **options, progress=progress))
    comparison = compare(reports[0], reports[-1]) if body.against and reports[-1].in_scope else None

    def report_step(step: Any) -> None:
        reporter.report(step.name.capitalize(), (len(modes) + STUDY * step.share) / parts)

    studied = study(corpus, reports[-1], comparison, **options, curve=body.curve, tell=report_step)
    html = studied.html() if body.html else None
    return {**studied.to_dict(), "flaws": [flaw.to_dict() for flaw in flaws], "html": html}


def _read_cases(given: str | list[dict[str, Any]]) -> list[Case]:
    if isinstance(given, str):
        cases = parse_cases(given.removeprefix("\ufeff"))
    else:
        cases = [parse_case(row, f"Case {number}") for number, row in enumerate(given, 1)]
    if not cases:
        raise InputError('There are no cases to evaluate. Send lines such as {"query": "...", "gold": [ids]}.')
    if len(cases) > MOST_CASES:
        raise InputError(f"A request may have up to {MOST_CASES:,} cases, not {len(cases):,}. Send them in parts.")
    return cases


def add_evaluation(app: FastAPI, corpora: ServedCorpora, settings: Settings) -> JobKind:
    """Add the routes; their jobs end with the application."""
    turns = Turns()
    jobs = JobKind(MOST_EVALUATIONS, settings.limits.eval_seconds, "limits.eval_seconds")

    def describe(answer: str) -> dict[str, Any]:
        events = describe_stream(answer, progress="ProgressEvent")
        return {"tags": ["corpora"], "responses": describe_responses(404, 409) | events}

    async def run(request: Request, name: str, stream: bool, evaluation: Callable[[Corpus, Job], Any]) -> Response:
        def work(job: Job) -> dict[str, Any]:
            corpus = corpora.corpus(name)
            with turns.take(corpus):
                result: dict[str, Any] = evaluation(corpus, job)
                return result

        return await jobs.answer(request, work, stream=stream)

    @app.post("/v1/corpora/{name:path}/eval", **describe("Evaluation"))
    async def evaluate_corpus(name: str, body: EvalBody, request: Request) -> Response:
        """Measure how well a corpus finds the expected documents of cases, and explain each miss."""
        return await run(request, name, body.stream, lambda corpus, job: evaluate(corpus, body, job))

    @app.post("/v1/corpora/{name:path}/lint", **describe("LintReport"))
    async def lint_corpus(name: str, request: Request, body: LintBody | None = None) -> Response:
        """Report documents that cannot be found or distinguished, and descriptions that are empty or hostile."""
        wanted = body or LintBody()

        def check(corpus: Corpus, job: Job) -> dict[str, Any]:
            return lint.lint_corpus(corpus, k=wanted.k, progress=Reporter(job).part("Reading")).to_dict()

        return await run(request, name, wanted.stream, check)

    return jobs
