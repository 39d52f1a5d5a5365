"""How is a corpus judged over HTTP? By cases that are sent, or by itself; nothing of it is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from shortlist.errors import InputError
from shortlist.index.corpus import Corpus
from shortlist.index.engine import Progress
from shortlist.server.http_errors import Unfit, responses
from shortlist.server.jobs import Underway, answered, streamed
from shortlist.server.routes import eval_schemas as shapes
from shortlist.server.routes.corpora_routes import Shelf
from shortlist.server.routes.schemas import ProgressEvent
from shortlist.server.service_settings import Limits
from shortlist.server.workers import Workers

if TYPE_CHECKING:
    from shortlist.eval.cases import Case, Flaw

EVAL = "/v1/corpora/{name:path}/eval"
LINT = "/v1/corpora/{name:path}/lint"
UNKNOWN_IDS = "unknown-ids"

MOST_CASES = 5_000
MOST_ERRORS = 100
TELL_EVERY = 0.1  # seconds

# How long somebody else's turn may last; long enough for what nobody waits for any more to notice.
PATIENCE = 3.0

# A study asks the cases about twice as often as the evaluation that it follows.
STUDY = 2


class Turns:
    """Of each corpus one judgement at a time."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}

    @contextmanager
    def one(self, corpus: Corpus) -> Iterator[Corpus]:
        lock = self._locks.setdefault(str(corpus.path), threading.Lock())
        if not lock.acquire(timeout=PATIENCE):
            raise HTTPException(
                409, f"The corpus {corpus.name!r} is being evaluated for somebody else. Try again when that is done."
            )
        try:
            yield corpus
        finally:
            lock.release()


class Teller:
    """Tells how far some work is, not too often, and ends it when nobody listens."""

    def __init__(self, underway: Underway) -> None:
        self._underway = underway
        self._last = ("", 0.0)  # what was told, and when

    def part(self, name: str, at: int = 0, parts: int = 1) -> Progress:
        """Tells of one part of the work."""
        return lambda done, total: self.tell(name, (at + done / (total or 1)) / parts)

    def tell(self, name: str, share: float) -> None:
        self._underway.check()
        now = time.monotonic()
        if name != self._last[0] or now - self._last[1] >= TELL_EVERY:
            self._last = name, now
            self._underway.tell("progress", {"step": name, "share": round(min(share, 1.0), 4)})


def evaluated(corpus: Corpus, body: shapes.EvalBody, underway: Underway) -> dict[str, Any]:
    """All that the cases say about a corpus."""
    from shortlist.eval.cases import validate_cases  # noqa: PLC0415  # numpy's random numbers: only where they serve
    from shortlist.eval.reporting.study import study  # noqa: PLC0415
    from shortlist.eval.retrieval import compare, evaluate_discovery  # noqa: PLC0415

    cases = _cases(body.cases)
    flaws = validate_cases(corpus, cases)
    if body.unknown == "refuse":
        _refuse_unknown([flaw for flaw in flaws if flaw.problem == "unknown_gold"])
    how: dict[str, Any] = {"filter": body.filter, "strategy": body.strategy, "min_score": body.min_score}
    modes = [mode for mode in (body.against, body.mode) if mode]
    parts = len(modes) + STUDY
    teller = Teller(underway)
    reports = [
        evaluate_discovery(corpus, cases, mode, body.k, **how, progress=teller.part(f"Asking, mode {mode}", at, parts))
        for at, mode in enumerate(modes)
    ]
    report = reports[-1]
    found = study(
        corpus,
        report,
        compare(reports[0], report) if body.against and report.in_scope else None,
        **how,
        curve=body.curve,
        tell=lambda step: teller.tell(step.name.capitalize(), (len(modes) + STUDY * step.share) / parts),
    )
    html = found.html() if body.html else None
    return {**found.to_dict(), "flaws": [flaw.to_dict() for flaw in flaws], "html": html}


def _cases(given: str | list[dict[str, Any]]) -> list[Case]:
    from shortlist.eval.cases import case_of, parse_cases  # noqa: PLC0415

    if isinstance(given, str):
        cases = parse_cases(given.removeprefix("\ufeff"))
    else:
        cases = [case_of(row, f"Case {number}") for number, row in enumerate(given, 1)]
    if not cases:
        raise InputError('There are no cases to evaluate. A case is {"query": "...", "gold": [ids]}, one a line.')
    if len(cases) > MOST_CASES:
        raise InputError(f"At most {MOST_CASES:,} cases are evaluated at once, not {len(cases):,}. Send them in parts.")
    return cases


def _refuse_unknown(flaws: Sequence[Flaw]) -> None:
    if not flaws:
        return
    more = f" (and {len(flaws) - 1} more like this)" if len(flaws) > 1 else ""
    advice = 'Mend the cases, or send "unknown": "count" to count such gold as not found.'
    errors = [{"where": f"cases.{flaw.line or flaw.number}", "message": flaw.says} for flaw in flaws[:MOST_ERRORS]]
    raise Unfit(UNKNOWN_IDS, f"{flaws[0].says}{more} {advice}", errors)


def linted(corpus: Corpus, body: shapes.LintBody, underway: Underway) -> dict[str, Any]:
    from shortlist.eval.lint import lint_corpus  # noqa: PLC0415

    return lint_corpus(corpus, k=body.k, progress=Teller(underway).part("Reading")).to_dict()


def add_judging(app: FastAPI, shelf: Shelf, workers: Workers, limits: Limits) -> None:
    turns = Turns()

    def described(answer: type[BaseModel]) -> dict[str, Any]:
        events = streamed(answer, progress=ProgressEvent)
        return {"response_model": answer, "tags": ["corpora"], "responses": responses(404, 409) | events}

    async def judged(
        request: Request, name: str, stream: bool, judge: Callable[[Corpus, Underway], dict[str, Any]]
    ) -> Response:
        def work(underway: Underway) -> dict[str, Any]:
            with turns.one(shelf.corpus(name)) as corpus:
                return judge(corpus, underway)

        seconds = limits.eval_seconds
        return await answered(
            request, workers.judge, work, stream=stream, seconds=seconds, limit_of="limits.eval_seconds"
        )

    @app.post(EVAL, **described(shapes.Evaluation))
    async def evaluate_corpus(name: str, body: shapes.EvalBody, request: Request) -> Response:
        """Measure how well a corpus answers the questions of cases, and tell why it misses."""
        return await judged(request, name, body.stream, lambda corpus, it: evaluated(corpus, body, it))

    @app.post(LINT, **described(shapes.Linted))
    async def lint_corpus(name: str, request: Request, body: shapes.LintBody | None = None) -> Response:
        """Tell what of a corpus cannot be found or told apart, and which descriptions are empty or hostile."""
        wanted = body or shapes.LintBody()
        return await judged(request, name, wanted.stream, lambda corpus, it: linted(corpus, wanted, it))
