"""The real client, over a socket."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from shortlist import InputError, LLMError, OpenAIChat, Reply, ScriptedLLM
from shortlist.answer.llm import add_usage
from shortlist.protocols import StreamingLLM
from tests.answer.server import Scripted, completion, event, failure, serving, streamed

ASKED = [{"role": "user", "content": "What is up?"}]


CALL = {"id": "call_7", "type": "function", "function": {"name": "retrieve", "arguments": '{"query": "up"}'}}


TOOL = {"type": "function", "function": {"name": "retrieve", "parameters": {"type": "object"}}}


class Waits(list[float]):
    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def model(url: str, waits: Waits | None = None, **options: Any) -> OpenAIChat:
    return OpenAIChat(url, "small", "sk-secret", pause=Waits() if waits is None else waits, **options)


def test_a_request_carries_model_key_and_temperature_zero_and_the_reply_its_usage() -> None:
    with serving(completion("The sky.", model="small-1")) as server:
        reply = model(server.url).complete(ASKED)
    assert reply == Reply("The sky.", [], {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}, "small-1")
    assert server.asked == [{"model": "small", "messages": ASKED, "temperature": 0.0}]
    assert server.keys == ["Bearer sk-secret"]
    assert server.paths == ["/v1/chat/completions"]


def test_without_a_key_none_is_sent() -> None:
    with serving(completion("Yes.")) as server:
        OpenAIChat(f"{server.url}/", "small").complete(ASKED)
    assert server.keys == [None]
    assert server.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize("status", [429, 502, 503])
def test_what_may_pass_is_tried_again_after_growing_waits(status: int) -> None:
    waits = Waits()
    with serving(failure(status), failure(status), failure(status), completion("At last.")) as server:
        assert model(server.url, waits).complete(ASKED).text == "At last."
    assert [0.375 * 2**at <= wait <= 0.625 * 2**at for at, wait in enumerate(waits)] == [True] * 3


def test_the_server_may_say_how_long_to_wait() -> None:
    waits = Waits()
    script = [failure(429, Retry_After="7"), failure(503, Retry_After="999"), completion("Now.")]
    with serving(*script) as server:
        assert model(server.url, waits).complete(ASKED).text == "Now."
    assert waits == [7.0, 20.0]


def test_b11_a_wait_is_reported_before_it_begins() -> None:
    happened: list[str] = []
    with serving(failure(429, "busy", Retry_After="300"), failure(429, Retry_After="0"), completion("Now.")) as server:
        OpenAIChat(
            server.url, "small", pause=lambda seconds: happened.append(f"{seconds:g}"), on_wait=happened.append
        ).complete(ASKED)
    reported, *waits = happened
    assert waits == ["20", "0"]
    assert "answered 429: busy. Trying again in 20 s (try 2 of 4)." in reported


def test_b11_a_wait_is_logged_unless_the_caller_listens(caplog: pytest.LogCaptureFixture) -> None:
    with serving(failure(429, Retry_After="5"), completion("Now.")) as server:
        model(server.url).complete(ASKED)
    assert ["Trying again in 5 s" in message for message in caplog.messages] == [True]


def test_b11_the_fallback_is_asked_at_once_when_the_server_demands_a_long_wait() -> None:
    waits = Waits()
    with serving(failure(429, Retry_After="300"), completion("From the other.")) as server:
        assert model(server.url, waits, fallback="other").complete(ASKED).text == "From the other."
    assert waits == []


@pytest.mark.parametrize("script", [failure(500), failure(504), Scripted(waits=0.6)], ids=["500", "504", "timeout"])
@pytest.mark.parametrize("stream", [False, True])
def test_b11_a_failing_model_is_not_tried_again_but_the_fallback_is_asked(script: Scripted, stream: bool) -> None:
    answers = streamed("From the other.") if stream else completion("From the other.")
    with serving(script, answers) as server:
        llm = model(server.url, fallback="other", read_seconds=0.3)
        reply = llm.stream(ASKED, lambda text: None) if stream else llm.complete(ASKED)
    assert reply.text == "From the other."
    assert [asked["model"] for asked in server.asked] == ["small", "other"]


def test_a_date_to_wait_for_that_has_passed_is_no_wait() -> None:
    waits = Waits()
    with serving(failure(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), completion("Now.")) as server:
        model(server.url, waits).complete(ASKED)
    assert waits == [0.0]


def test_the_fallback_is_asked_when_the_model_stays_away() -> None:
    script = [failure(503), failure(503), completion("From the other.")]
    with serving(*script) as server:
        assert model(server.url, tries=2, fallback="other").complete(ASKED).text == "From the other."
    assert [asked["model"] for asked in server.asked] == ["small", "small", "other"]


def test_when_all_stay_away_the_error_says_what_they_said_and_hides_the_key() -> None:
    with (
        serving(*[failure(429, "sk-secret has no quota left")] * 4) as server,
        pytest.raises(LLMError, match=r"other at .* answered 429: \*\*\* has no quota left") as caught,
    ):
        model(server.url, tries=2, fallback="other").complete(ASKED)
    assert "sk-secret" not in str(caught.value)
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "refuses the key .*SHORTLIST_LLM_KEY"),
        (404, "does not know the model .*SHORTLIST_LLM_MODEL"),
        (400, "400"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(status: int, sentence: str) -> None:
    with serving(failure(status, "no")) as server, pytest.raises(LLMError, match=sentence):
        model(server.url, fallback="other").complete(ASKED)
    assert len(server.asked) == 1


def test_a_connection_that_is_lost_is_made_again() -> None:
    waits = Waits()
    with serving(Scripted(hangs_up=True), completion("Here.")) as server:
        assert model(server.url, waits).complete(ASKED).text == "Here."
    assert len(waits) == 1


def test_an_unreachable_server_is_an_error_with_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    waits = Waits()
    with pytest.raises(LLMError, match=rf"127.0.0.1:{port}/v1 cannot be reached .*SHORTLIST_LLM_URL"):
        model(f"http://127.0.0.1:{port}/v1", waits).complete(ASKED)
    assert len(waits) == 3


def test_a_model_that_takes_too_long_is_not_waited_for() -> None:
    with serving(Scripted(waits=0.6), completion("Late.")) as server, pytest.raises(LLMError, match="in time"):
        model(server.url, read_seconds=0.1).complete(ASKED)


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"choices": []}', b"[1]", b'{"choices": [{"message": 3}]}'])
def test_an_answer_that_is_no_completion_is_a_sentence(body: bytes) -> None:
    with serving(Scripted(body=[body])) as server, pytest.raises(LLMError, match="no chat completion"):
        model(server.url).complete(ASKED)


def test_tools_are_offered_and_calls_come_back() -> None:
    with serving(completion(None, [CALL])) as server:
        reply = model(server.url).complete(ASKED, [TOOL])
    assert server.asked[0]["tools"] == [TOOL]
    assert (reply.text, reply.tool_calls) == ("", [CALL])


def test_content_may_come_in_parts() -> None:
    body = b'{"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]}'
    with serving(Scripted(body=[body])) as server:
        assert model(server.url).complete(ASKED).text == "ab"


@pytest.mark.parametrize("cut", [0, 1, 3, 7, 64])
def test_a_stream_is_the_same_wherever_its_bytes_are_cut(cut: int) -> None:
    heard: list[str] = []
    with serving(streamed("Grüße ", "aus 東京", " 🗼.", cut=cut)) as server:
        reply = model(server.url).stream(ASKED, heard.append)
    assert heard == ["Grüße ", "aus 東京", " 🗼."]
    assert reply.text == "Grüße aus 東京 🗼."
    assert reply.usage == {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}
    assert server.asked[0]["stream"] is True
    assert server.asked[0]["temperature"] == 0.0


def test_tool_calls_come_in_pieces_of_a_stream() -> None:
    pieces = [
        {"index": 0, "id": "call_7", "function": {"name": "retrieve", "arguments": '{"que'}},
        {"index": 0, "function": {"arguments": 'ry": "up"}'}},
        {"index": 1, "id": "call_8", "function": {"name": "list_sources", "arguments": ""}},
    ]
    body = [event({"choices": [{"delta": {"tool_calls": [piece]}}]}) for piece in pieces]
    body.append(event({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}))
    with serving(Scripted(body=body)) as server:
        reply = model(server.url).stream(ASKED, lambda text: None, [TOOL])
    assert reply.tool_calls[0] == CALL
    assert reply.tool_calls[1]["function"] == {"name": "list_sources", "arguments": ""}


def test_a_stream_that_does_not_begin_is_tried_again() -> None:
    heard: list[str] = []
    with serving(failure(503), streamed("Now.")) as server:
        assert model(server.url).stream(ASKED, heard.append).text == "Now."
    assert heard == ["Now."]


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (streamed("Half", done=False), "broke off in the middle"),
        (Scripted(body=[event("{not json")]), "not a JSON object"),
        (Scripted(body=[event({"error": {"message": "out of memory"}})]), "broke off: out of memory"),
    ],
)
def test_a_stream_that_goes_wrong_is_a_sentence(script: Scripted, sentence: str) -> None:
    with serving(script) as server, pytest.raises(LLMError, match=sentence):
        model(server.url).stream(ASKED, lambda text: None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("localhost:8080", "m"), "localhost:8080"),
        (("http://localhost", " "), "SHORTLIST_LLM_MODEL"),
        (("http://localhost", "m", "schlüssel"), "characters"),
    ],
)
def test_arguments_that_cannot_work_are_refused_at_once(arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        OpenAIChat(*arguments)


def test_a_script_says_its_replies_in_order_and_then_that_it_has_ended() -> None:
    llm = ScriptedLLM("One.", [("retrieve", {"query": "x"})], lambda messages: messages[0]["content"], LLMError("down"))
    assert isinstance(llm, StreamingLLM)
    assert llm.complete(ASKED).text == "One."
    assert llm.complete(ASKED).tool_calls[0]["function"] == {"name": "retrieve", "arguments": '{"query": "x"}'}
    heard: list[str] = []
    assert llm.stream(ASKED, heard.append).text == "".join(heard) == "What is up?"
    for sentence in ("down", "has ended"):
        with pytest.raises(LLMError, match=sentence):
            llm.complete(ASKED)
    assert llm.heard == [ASKED] * 5


def test_usage_is_summed_over_calls() -> None:
    one = Reply("", usage={"prompt_tokens": 2, "total_tokens": 3})
    assert add_usage(add_usage({}, one), one) == {"calls": 2, "prompt_tokens": 4, "total_tokens": 6}


# The part of the address that each provider documents for its compatible endpoint, and what the guide says about it.
RECIPES = {
    "OpenAI": "/v1",
    "Anthropic": "/v1",
    "Gemini": "/v1beta/openai",
    "Azure": "/openai/deployments/small?api-version=2024-10-21",
    "Azure, without a version": "/openai/v1",
    "Ollama": "/v1",
    "vLLM": "/v1",
    "llama.cpp": "/v1",
    "LiteLLM": "/v1",
}


@pytest.mark.parametrize("provider", RECIPES)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_each_provider_of_the_guide_gets_path_key_and_body_that_its_endpoint_takes(
    provider: str, is_streamed: bool
) -> None:
    base, _, query = RECIPES[provider].partition("?")
    with serving(streamed("The sky.") if is_streamed else completion("The sky.")) as server:
        chat = model(f"{server.url.removesuffix('/v1')}{RECIPES[provider]}")
        reply = chat.stream(ASKED, lambda text: None) if is_streamed else chat.complete(ASKED)
    assert reply.text == "The sky."
    assert server.paths == [f"{base}/chat/completions{'?' * bool(query)}{query}"]
    (headers,) = server.headers
    keys = {name: headers[name] for name in ("authorization", "api-key") if name in headers}
    assert keys == ({"api-key": "sk-secret"} if query else {"authorization": "Bearer sk-secret"})
    assert headers["content-type"] == "application/json"
    body = server.asked[0]
    streaming = {"stream": True, "stream_options": {"include_usage": True}} if is_streamed else {}
    assert body == {"model": "small", "messages": ASKED, "temperature": 0.0} | streaming
