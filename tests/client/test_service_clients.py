"""Both clients against services that are slow, closed, busy or gone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import shortlist
from shortlist import AsyncClient, Client, CorpusNotFound, InputError, ServiceError
from shortlist._limits import Canceled, cancelable
from tests.client.conftest import make_caller, serve
from tests.server.conftest import until

HITS = {"query": "x", "mode": "auto", "note": "", "hits": []}
EVENT = b'event: text\ndata: {"text": "Yes."}\n\n'


@contextlib.contextmanager
def answer_with(*chunks: bytes, then_wait: threading.Event | None = None) -> Iterator[tuple[str, threading.Event]]:
    """A server that sends these bytes to its first caller, waits, and closes the connection.

    Yields its address, and an event that is set once the caller has closed the connection.
    """
    is_closed = threading.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)

    def respond() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(head + body if chunks else b"")
            if then_wait:
                connection.settimeout(60)
                with contextlib.suppress(OSError):
                    connection.recv(1)  # returns once the caller closes it
                is_closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=respond, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", is_closed
        thread.join(60)


def test_the_token_is_sent_and_a_wrong_one_is_an_error(
    kind: str, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(places, server__token="right-token-0123456789") as url:
        assert make_caller(kind, url, token="right-token-0123456789")("search", "handbook", "money")
        for token in ("wrong", None):
            with pytest.raises(ServiceError, match="The token is missing or wrong") as error:
                make_caller(kind, url, token=token)("search", "handbook", "money")
            assert error.value.status == 401
        monkeypatch.setenv("SHORTLIST_TOKEN", "right-token-0123456789")
        assert make_caller(kind, url)("search", "handbook", "money")
        assert len(shortlist.open_corpus(f"{url}/handbook")) == 4
        with pytest.raises(ServiceError, match="The token is missing or wrong"):
            shortlist.open_corpus(f"{url}/handbook", token="wrong")


def test_a_missing_corpus_and_an_invalid_query_have_the_sentences_of_the_service(kind: str, url: str) -> None:
    call = make_caller(kind, url)
    with pytest.raises(CorpusNotFound, match=r"'handbok' is not served\. Did you mean 'handbook'"):
        call("search", "handbok", "money")
    with pytest.raises(InputError, match=r"body\.mode"):
        call("search", "handbook", "money", "fast")
    with pytest.raises(InputError, match="by its name"):
        call("search", "", "money")


@pytest.mark.parametrize(("status", "headers"), [(503, {}), (429, {"Retry-After": "0"}), (502, {})])
def test_a_search_is_repeated_while_the_service_is_busy_and_feedback_is_not(
    kind: str, tmp_path: Path, status: int, headers: dict[str, str]
) -> None:
    seen: list[str] = []

    async def respond(request: Request) -> Response:
        seen.append(request.url.path.rpartition("/")[2])
        data = {"type": "urn:shortlist:busy", "detail": "Busy.", "status": status}
        return JSONResponse(HITS) if seen.count("search") == 3 else JSONResponse(data, status, headers)

    app = Starlette(routes=[Route("/{path:path}", respond, methods=["POST"])])
    with serve(tmp_path, app) as url:
        call = make_caller(kind, url)
        assert call("search", "handbook", "x") == []
        assert seen == ["search"] * 3
        seen.clear()
        with pytest.raises(shortlist.ShortlistError, match="Busy"):
            call("feedback", "handbook", "x", "id")
        assert len(seen) == (4 if headers else 1)


def test_a_slow_service_is_an_error_after_the_time_limit_of_the_call(kind: str) -> None:
    with answer_with(then_wait=threading.Event()) as (url, is_closed):
        with pytest.raises(ServiceError, match="did not answer in time"):
            make_caller(kind, url)("search", "handbook", "money", timeout=0.2)
        assert is_closed.wait(60)


def test_a_slow_stream_is_an_error_after_the_time_limit_of_the_client(kind: str) -> None:
    with answer_with(EVENT, then_wait=threading.Event()) as (url, is_closed):
        texts: list[str] = []
        with pytest.raises(ServiceError, match="before the answer was complete"):
            make_caller(kind, url, timeout=0.3)("ask", "handbook", "Really?", on_text=texts.append)
        assert texts == ["Yes."]
        assert is_closed.wait(60)


@pytest.mark.parametrize("chunks", [(EVENT,), (EVENT, b"event: answer\ndata: {")])
def test_a_connection_lost_in_the_middle_of_a_stream_is_an_error(kind: str, chunks: tuple[bytes, ...]) -> None:
    texts: list[str] = []
    with answer_with(*chunks) as (url, _), pytest.raises(ServiceError, match="before the answer was complete"):
        make_caller(kind, url)("ask", "handbook", "Really?", on_text=texts.append)
    assert texts == ["Yes."]


def test_a_failure_in_the_middle_of_a_stream_has_the_sentence_of_the_service(kind: str) -> None:
    problem = {"type": "urn:shortlist:bad-gateway", "status": 502, "detail": "The model is gone."}
    event = b"event: error\ndata: " + json.dumps(problem).encode() + b"\n\n"
    with answer_with(EVENT, event) as (url, _), pytest.raises(shortlist.LLMError, match="The model is gone"):
        make_caller(kind, url)("ask", "handbook", "Really?")


def test_what_is_not_a_service_is_named(kind: str) -> None:
    with (
        answer_with(b'event: answer\ndata: {"text": 1}\n\n') as (url, _),
        pytest.raises(ServiceError, match="unexpected data"),
    ):
        make_caller(kind, url)("ask", "handbook", "Really?")
    with pytest.raises(ServiceError, match=r"cannot be reached.*shortlist serve") as error:
        make_caller(kind, "http://127.0.0.1:9")("feedback", "handbook", "x", "y")
    assert error.value.status is None


def test_an_error_of_the_caller_ends_the_stream(kind: str) -> None:
    def stop(text: str) -> None:
        raise ZeroDivisionError(text)

    with answer_with(EVENT, then_wait=threading.Event()) as (url, is_closed):
        with pytest.raises(ZeroDivisionError, match="Yes"):
            make_caller(kind, url)("ask", "handbook", "Really?", on_text=stop)
        assert is_closed.wait(60)


def test_a_canceled_task_closes_the_connection() -> None:
    async def ask(url: str) -> None:
        async with AsyncClient(url) as client:
            begun = asyncio.Event()
            task = asyncio.ensure_future(client.ask("handbook", "Really?", on_text=lambda text: begun.set()))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with answer_with(EVENT, then_wait=threading.Event()) as (url, is_closed):
        asyncio.run(ask(url))
        assert is_closed.wait(60)


def test_the_blocking_client_ends_at_the_next_event_once_its_caller_is_gone() -> None:
    is_over = threading.Event()
    with answer_with(EVENT, b": waiting\n\n", b": waiting\n\n", then_wait=threading.Event()) as (url, is_closed):
        with cancelable(is_over), Client(url) as client, pytest.raises(Canceled):
            client.ask("handbook", "Really?", on_text=lambda text: is_over.set(), timeout=0.3)
        assert is_closed.wait(60)


def test_threads_share_a_client(url: str) -> None:
    expected = shortlist.search("handbook", "money")
    found: list[Any] = []
    with Client(url) as client:
        threads = [threading.Thread(target=lambda: found.append(client.search("handbook", "money"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        until(lambda: len(found) == 8)
    assert found == [expected] * 8
    assert repr(client) == f"Client({url!r})"
