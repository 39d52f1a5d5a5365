"""Language models behind a chat completions endpoint: Ollama, llama.cpp, vLLM, hosted ones; and a scripted one."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from shortlist._http import (
    BUSY,
    LONGEST_WAIT,
    JsonClient,
    Unavailable,
    backoff,
    describe,
    message_in,
    read_events,
    retry,
    retry_after,
)
from shortlist.errors import InputError, LLMError
from shortlist.protocols import Messages, Reply

TEMPERATURE = 0.0
CONNECT_SECONDS, READ_SECONDS = 10.0, 120.0
TRIES = 4
REPORTED_WAIT = 1.0  # seconds from which a wait is worth a line
_PATH = "/chat/completions"
COUNTED = ("prompt_tokens", "completion_tokens", "total_tokens")

log = logging.getLogger("shortlist.answer")


class _ModelFailed(LLMError):
    """Another model may answer."""


class OpenAIChat:
    """A model behind an OpenAI-compatible /chat/completions endpoint.

    `url` is what stands before /chat/completions, such as http://localhost:11434/v1. A request that meets 429, 502, 503
    or no connection is made again, `tries` times in all, each time after a longer wait of at most 20 seconds; then
    `fallback` is asked. It is asked at once after any other 5xx status, after a timeout, or if the server demands a
    longer wait. `on_wait` is called with a message before a wait of a second or more; by default it is logged.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        fallback: str = "",
        *,
        connect_seconds: float = CONNECT_SECONDS,
        read_seconds: float = READ_SECONDS,
        tries: int = TRIES,
        pause: Callable[[float], None] = time.sleep,
        on_wait: Callable[[str], None] = log.warning,
    ) -> None:
        if not model.strip():
            raise InputError("Name the model to use (SHORTLIST_LLM_MODEL on the command line).")
        self.url, self.model, self.fallback = url.rstrip("/"), model, fallback
        self._tries, self._pause, self.on_wait = max(1, tries), pause, on_wait
        self._client = JsonClient(url, self._unreachable, key=key, timeout=read_seconds, connect=connect_seconds)

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply:
        """The reply to some messages; what went wrong is a sentence."""
        return self._ask(messages, tools, None)

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        """As `complete`; `on_text` is called with each further piece of the text."""
        return self._ask(messages, tools, on_text)

    def close(self) -> None:
        self._client.close()

    def _ask(self, messages: Messages, tools: Messages, on_text: Callable[[str], None] | None) -> Reply:
        models = list(dict.fromkeys([self.model, self.fallback or self.model]))
        for model in models:
            attempt = partial(self._attempt, model, _body(model, messages, tools), on_text)
            report = partial(self._before_wait, count(2), is_last=model == models[-1])
            try:
                return retry(attempt, backoff(self._tries), pause=self._pause, before_wait=report)
            except _ModelFailed as error:
                failure = error
        raise LLMError(str(failure)) from failure

    def _before_wait(self, tries: Iterator[int], failure: Unavailable, wait: float, *, is_last: bool) -> None:
        if failure.is_timeout or (wait > LONGEST_WAIT and not is_last):
            raise failure.error
        number = next(tries)
        if wait >= REPORTED_WAIT:
            seconds = min(wait, LONGEST_WAIT)
            self.on_wait(f"{failure} Trying again in {seconds:.0f} s (try {number} of {self._tries}).")

    def _attempt(self, model: str, body: dict[str, Any], on_text: Callable[[str], None] | None) -> Reply:
        if on_text is not None:
            return self._stream(model, body, on_text)
        response = self._client.request("POST", _PATH, body)
        self._check(response, model)
        try:
            data = json.loads(response.text)
            return _reply(data["choices"][0]["message"], data, model)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise self._error(f"answered with no chat completion but {response.text[:200]!r}", model) from None

    def _stream(self, model: str, body: dict[str, Any], on_text: Callable[[str], None]) -> Reply:
        body = body | {"stream": True, "stream_options": {"include_usage": True}}
        pieces = _Pieces(on_text)
        try:
            with self._client.unavailable(), self._client.stream(_PATH, body) as response:
                if response.status_code != 200:
                    response.read()
                    self._check(response, model)
                for event in self._parse_events(response.iter_bytes(), model):
                    pieces.take(event)
        except Unavailable as failure:
            if pieces.text:  # what was shown cannot be taken back
                raise LLMError(str(failure)) from failure
            raise
        if not pieces.ended:
            raise self._error("broke off in the middle of its reply", model)
        return pieces.reply(model)

    def _parse_events(self, chunks: Iterable[bytes], model: str) -> Iterator[dict[str, Any]]:
        for data in read_events(chunks):
            if data == "[DONE]":
                return
            try:
                event = json.loads(data)
                if not isinstance(event, dict):
                    raise ValueError("no object")
            except ValueError:
                raise self._error(f"sent an event that is no JSON object: {data[:200]!r}", model) from None
            if event.get("error"):
                raise self._error(f"broke off: {message_in(json.dumps(event))}", model)
            yield event

    def _check(self, response: Any, model: str) -> None:
        status = response.status_code
        if status == 200:
            return
        said = self._client.hide(message_in(response.text))
        if status in BUSY or status >= 500:
            error = _ModelFailed(str(self._error(describe(response), model)))
            raise Unavailable(error, retry_after(response)) if status in BUSY else error
        if status in (401, 403):
            raise self._error(f"refuses the key ({status}: {said}). Set SHORTLIST_LLM_KEY or OPENAI_API_KEY", model)
        if status == 404:
            raise self._error(
                f"does not know the model or the address ({said}). Look at SHORTLIST_LLM_MODEL and at the address, "
                f"which usually ends in /v1",
                model,
            )
        raise self._error(describe(response), model)

    def _error(self, reason: str, model: str) -> LLMError:
        return LLMError(f"The language model {model} at {self.url} {self._client.hide(reason)}.")

    def _unreachable(self, reason: str) -> LLMError:
        return _ModelFailed(
            f"The language model at {self.url} {reason}. Is it running, and is SHORTLIST_LLM_URL right?"
        )


def _body(model: str, messages: Messages, tools: Messages) -> dict[str, Any]:
    body = {"model": model, "messages": list(messages), "temperature": TEMPERATURE}
    return body | {"tools": list(tools)} if tools else body


def _reply(message: Mapping[str, Any], data: Mapping[str, Any], model: str) -> Reply:
    calls = [dict(call) for call in message.get("tool_calls") or ()]
    return Reply(_text(message.get("content")), calls, _usage(data.get("usage")), str(data.get("model") or model))


def _text(content: Any) -> str:
    """Content is a text, a list of parts, or nothing."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


def _usage(given: Any) -> dict[str, int]:
    usage = given if isinstance(given, dict) else {}
    return {name: int(usage[name]) for name in COUNTED if isinstance(usage.get(name), int)}


class _Pieces:
    """A reply that comes in pieces."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._texts: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._usage: dict[str, int] = {}
        self._model = ""
        self.ended = False

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def take(self, event: Mapping[str, Any]) -> None:
        self._usage = _usage(event.get("usage")) or self._usage
        self._model = str(event.get("model") or self._model)
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            if text := _text(delta.get("content")):
                self._texts.append(text)
                self._on_text(text)
            for call in delta.get("tool_calls") or ():
                self._take_call(call)
            self.ended = self.ended or bool(choice.get("finish_reason"))

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        """The arguments of a call come in pieces as well."""
        index = int(piece.get("index") or 0)
        call = self._calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""

    def reply(self, model: str) -> Reply:
        return Reply(self.text, [self._calls[at] for at in sorted(self._calls)], self._usage, self._model or model)


def add_usage(total: dict[str, int], reply: Reply) -> dict[str, int]:
    """What was spent so far and by this reply."""
    counts = {name: total.get(name, 0) + reply.usage.get(name, 0) for name in {*total, *reply.usage} - {"calls"}}
    return {"calls": total.get("calls", 0) + 1, **{name: counts[name] for name in sorted(counts)}}


class ScriptedLLM:
    """A model that says what it was told to, in order; for tests and examples. `heard` holds what it was asked.

    A reply is a text, a Reply, a list of (tool, arguments) to call, an exception to raise, or a function of the
    messages that returns one of these.
    """

    def __init__(self, *replies: Any) -> None:
        self._replies = list(replies)
        self.heard: list[list[dict[str, Any]]] = []
        self.offered: list[list[dict[str, Any]]] = []

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply:
        self.heard.append([dict(message) for message in messages])
        self.offered.append([dict(tool) for tool in tools])
        if not self._replies:
            raise LLMError("The script of this ScriptedLLM has ended: give it one more reply.")
        reply = self._replies.pop(0)
        reply = reply(messages) if callable(reply) else reply
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Reply):
            return reply
        if isinstance(reply, str):
            return Reply(reply, usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
        return Reply("", [_scripted_call(at, *call) for at, call in enumerate(reply)])

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        reply = self.complete(messages, tools)
        for word in _pieces(reply.text):
            on_text(word)
        return reply


def _scripted_call(at: int, name: str, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
    return {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": written}}


def _pieces(text: str) -> Sequence[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]
