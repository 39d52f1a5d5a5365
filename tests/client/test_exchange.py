"""Requests and answers without a network: errors of the service, and what is tried again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shortlist import (
    CorpusBusy,
    CorpusDamaged,
    CorpusNotFound,
    EngineError,
    InputError,
    LLMError,
    ServiceError,
    SourceError,
)
from shortlist._http import LONGEST_WAIT, Unavailable
from shortlist.client.exchange import TRIES, EventStream, ServiceRequest, ServiceResponse, exchange
from shortlist.errors import EmbedderError, ShortlistError

READ, WRITE = ServiceRequest("GET", "/x", is_read=True), ServiceRequest("POST", "/x", {"a": 1})
FINE = ServiceResponse(200, {"fine": True}, "http://host/x")


def problem(status: int, kind: str = "", wait: float | None = None) -> ServiceResponse:
    data = {"type": f"urn:shortlist:{kind or 'title'}", "status": status, "detail": f"Sentence {status}."}
    return ServiceResponse(status, data, "http://host/x", wait)


def play(request: ServiceRequest, *answers: ServiceResponse | Unavailable) -> tuple[Any, list[float]]:
    """Answer an exchange in turn; its result and the waits."""
    steps, waits, left = exchange(request), list[float](), list(answers)
    try:
        step = next(steps)
        while True:
            if isinstance(step, float):
                waits.append(step)
                step = next(steps)
                continue
            answer = left.pop(0)
            step = steps.throw(answer) if isinstance(answer, Unavailable) else steps.send(answer)
    except StopIteration as end:
        assert left == []
        return end.value, waits


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (problem(404), CorpusNotFound),
        (problem(422), InputError),
        (problem(422, "unknown-ids"), InputError),
        (problem(502), LLMError),
        (problem(409), CorpusBusy),
        (problem(409, "source-error"), SourceError),
        (problem(503, "corpus-busy"), CorpusBusy),
        (problem(503, "corpus-damaged"), CorpusDamaged),
        (problem(503, "engine-error"), EngineError),
        (problem(503, "missing-extra"), EmbedderError),
        (problem(503), ServiceError),
        (problem(401), ServiceError),
        (problem(413), ServiceError),
    ],
)
def test_a_problem_becomes_the_error_of_the_library(response: ServiceResponse, error: type[ShortlistError]) -> None:
    with pytest.raises(error, match=f"Sentence {response.status}") as raised:
        play(WRITE, response)
    assert type(raised.value) is error
    assert getattr(raised.value, "status", response.status) == response.status


@pytest.mark.parametrize("data", [None, [], "text", {"detail": "Not Found"}, {"type": "about:blank", "detail": "x"}])
def test_what_is_not_from_a_service_of_ours_is_named(data: Any) -> None:
    with pytest.raises(ServiceError, match=r"http://host/x answered 404, but it is not a shortlist service"):
        play(WRITE, ServiceResponse(404, data, "http://host/x"))


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_read_is_repeated_while_the_service_is_busy(status: int) -> None:
    data, waits = play(READ, problem(status), problem(status, wait=3.0), FINE)
    assert data == FINE.data
    assert waits == [pytest.approx(0.1, rel=0.3), 3.0]
    with pytest.raises(ShortlistError, match=f"Sentence {status}"):
        play(READ, *[problem(status)] * TRIES)


def test_a_read_is_repeated_after_a_lost_connection_but_not_after_a_timeout() -> None:
    lost = Unavailable(ServiceError("lost"))
    assert play(READ, lost, FINE)[0] == FINE.data
    with pytest.raises(ServiceError, match="late"):
        play(READ, Unavailable(ServiceError("late"), is_timeout=True))


def test_a_write_is_repeated_only_if_the_service_says_when() -> None:
    for failure in (problem(503), problem(429), Unavailable(ServiceError("Sentence"))):
        with pytest.raises(ServiceError, match="Sentence"):
            play(WRITE, failure)
    assert play(WRITE, problem(429, wait=1.0), FINE) == (FINE.data, [1.0])
    assert play(READ, problem(503, wait=9_999.0), FINE)[1] == [LONGEST_WAIT]


def test_a_body_that_is_not_json_is_an_error_of_the_input() -> None:
    for body in ({"a": object()}, {"a": float("nan")}):
        with pytest.raises(InputError, match="/x cannot be sent as JSON"):
            play(ServiceRequest("POST", "/x", body))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_events_are_passed_on_until_the_answer(size: int) -> None:
    seen: list[tuple[str, Any]] = []
    stream = EventStream(ServiceRequest("POST", "/x", on_event=lambda name, data: seen.append((name, data))), "url")
    text = 'event: text\ndata: {"text": "é"}\n\n: waiting\n\nevent: answer\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'.encode()
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    answers = [answer for part in parts if (answer := stream.feed(part))]
    assert [answer.data for answer in answers] == [{"a": 1}]
    assert seen == [("text", {"text": "é"})]


def test_an_error_in_the_middle_of_a_stream_is_a_response_with_its_status() -> None:
    stream = EventStream(WRITE, "url")
    answer = stream.feed(b"event: error\ndata: " + json.dumps(problem(502).data).encode() + b"\n\n")
    assert answer is not None
    assert isinstance(answer.to_error(), LLMError)
    assert EventStream(WRITE, "url").feed(b"event: text\ndata: {") is None
