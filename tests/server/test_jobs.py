"""Work in threads and jobs: canceled when the caller disconnects, limited in time and number, streamed on request."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shortlist._limits import check_canceled
from shortlist.server.jobs import Job, JobKind, describe_stream, to_json
from shortlist.server.middleware import EXTEND


def make_request(accept: str = "", *, disconnects: bool = False) -> Request:
    async def receive() -> dict[str, Any]:
        if not disconnects:
            await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    headers = [(b"accept", accept.encode())]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": headers, EXTEND: lambda _: None}, receive)


async def read_stream(response: Response) -> list[tuple[str, Any]]:
    assert isinstance(response, StreamingResponse)
    body: AsyncIterator[Any] = response.body_iterator.__aiter__()
    text = "".join([piece.decode() async for piece in body])
    events = [event.split("\n") for event in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in events]


def work(job: Job) -> dict[str, Any]:
    job.send("progress", {"share": 0.5})
    return {"done": True}


def test_the_answer_is_json_or_the_last_event_of_a_stream() -> None:
    async def run() -> None:
        jobs = JobKind(1, 60, "limits.x")
        answer = await jobs.answer(make_request(), work, stream=False)
        assert json.loads(bytes(answer.body)) == {"done": True}
        expected = [("progress", {"share": 0.5}), ("answer", {"done": True})]
        for request, stream in ((make_request(), True), (make_request("text/event-stream"), False)):
            assert await read_stream(await jobs.answer(request, work, stream=stream)) == expected
        await jobs.close()

    asyncio.run(run())


def test_a_failure_is_raised_before_the_first_event_and_else_an_event() -> None:
    def fail(job: Job) -> dict[str, Any]:
        raise HTTPException(409, "busy")

    def fail_late(job: Job) -> dict[str, Any]:
        job.send("progress", {})
        raise HTTPException(409, "busy")

    async def run() -> None:
        jobs = JobKind(1, 60, "limits.x")
        with pytest.raises(HTTPException, match="busy"):
            await jobs.answer(make_request(), fail, stream=True)
        events = await read_stream(await jobs.answer(make_request(), fail_late, stream=True))
        assert [(name, data.get("detail")) for name, data in events] == [("progress", None), ("error", "busy")]

    asyncio.run(run())


@pytest.mark.parametrize("seconds", [60.0, 0.05])
def test_work_ends_when_the_caller_disconnects_or_the_time_is_over(seconds: float) -> None:
    ended = threading.Event()

    def search_forever(job: Job) -> dict[str, Any]:
        try:
            while True:
                check_canceled()
        finally:
            ended.set()

    async def run() -> None:
        jobs = JobKind(1, seconds, "limits.x")
        answer = jobs.answer(make_request(disconnects=seconds > 1), search_forever, stream=False)
        if seconds > 1:
            assert (await answer).status_code == 499
        else:
            with pytest.raises(HTTPException, match=r"limits\.x"):
                await answer
        assert await asyncio.to_thread(ended.wait, 60)
        await jobs.close()

    asyncio.run(run())


def test_json_has_no_numbers_that_are_not_finite() -> None:
    assert to_json({"a": "é"}) == b'{"a":"\xc3\xa9"}'
    with pytest.raises(ValueError, match="JSON"):
        to_json({"a": float("nan")})
    assert to_json({"a": "NaN \ud800", "b": [1, 0.5, None]}) == b'{"a":"NaN ?","b":[1,0.5,null]}'


def test_the_events_of_a_stream_are_described() -> None:
    described = describe_stream("Answer", text="TextEvent")[200]["content"]
    assert described["application/json"] == {"schema": {"$ref": "#/components/schemas/Answer"}}
    events = described["text/event-stream"]["itemSchema"]["oneOf"]
    assert [event["properties"]["event"]["const"] for event in events] == ["text", "answer", "error"]
