"""Language models behind a chat completions endpoint (Ollama, llama.cpp, vLLM, hosted ones), and a scripted one."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

from shortlist._http import (
    BUSY,
    LONGEST_WAIT,
    TRIES,
    AsyncJsonClient,
    EventParser,
    JsonClient,
    Unavailable,
    backoff,
    describe,
    message_in,
    next_delay,
    read_events,
    retry,
    retry_after,
)
from shortlist.errors import InputError, LLMError
from shortlist.protocols import Messages, Reply

TEMPERATURE = 0.0
CONNECT_SECONDS, READ_SECONDS = 10.0, 120.0
REPORTED_WAIT = 1.0  # seconds from which a wait is reported
COUNTED = ("prompt_tokens", "completion_tokens", "total_tokens")
_PATH = "/chat/completions"
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}

log = logging.getLogger("shortlist.answer")
OnText = Callable[[str], None]


class _ModelFailed(LLMError):
    """A failure after which the fallback may succeed."""


class OpenAIChat:
    """A model behind an OpenAI-compatible /chat/completions endpoint.

    `url` is the part before /chat/completions, such as http://localhost:11434/v1. After 429, 502, 503 or a lost
    connection a request is retried, `tries` times in all, with growing waits of at most 20 seconds; then `fallback` is
    called. It is called at once after any other 5xx status, after a timeout, or if the server demands a longer wait.
    `on_wait` is called with a message before a wait of a second or more; by default it is logged.
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
        on_wait: OnText = log.warning,
    ) -> None:
        if not model.strip():
            raise InputError("model is empty. Pass the name of a model (SHORTLIST_LLM_MODEL on the command line).")
        self.url, self.model, self.fallback = url.rstrip("/"), model, fallback
        self._tries, self._pause, self.on_wait = max(1, tries), pause, on_wait
        self._key, self._connect_seconds, self._read_seconds = key, connect_seconds, read_seconds
        self._client = JsonClient(url, self._unreachable, key=key, timeout=read_seconds, connect=connect_seconds)

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply:
        """The reply to some messages."""
        return self._request(messages, tools, None)

    def stream(self, messages: Messages, on_text: OnText, tools: Messages = ()) -> Reply:
        """As `complete`; `on_text` is called with each piece of the text."""
        return self._request(messages, tools, on_text)

    async def acomplete(self, messages: Messages, tools: Messages = ()) -> Reply:
        """As `complete`, for asynchronous programs."""
        return await self._arequest(messages, tools, None)

    async def astream(self, messages: Messages, on_text: OnText, tools: Messages = ()) -> Reply:
        """As `stream`, for asynchronous programs."""
        return await self._arequest(messages, tools, on_text)

    def close(self) -> None:
        self._client.close()

    def _request(self, messages: Messages, tools: Messages, on_text: OnText | None) -> Reply:
        for body, report in self._make_requests(messages, tools):
            attempt = partial(self._attempt, body, on_text)
            try:
                return retry(attempt, backoff(self._tries), pause=self._pause, before_wait=report)
            except _ModelFailed as error:
                failure = error
        raise LLMError(str(failure)) from failure

    async def _arequest(self, messages: Messages, tools: Messages, on_text: OnText | None) -> Reply:
        for body, report in self._make_requests(messages, tools):
            delays = backoff(self._tries)
            try:
                while True:
                    try:
                        return await self._aattempt(body, on_text)
                    except Unavailable as unavailable:
                        delay = next_delay(unavailable, delays)
                        report(unavailable, delay)
                        await asyncio.sleep(min(delay, LONGEST_WAIT))
            except _ModelFailed as error:
                failure = error
        raise LLMError(str(failure)) from failure

    def _make_requests(
        self, messages: Messages, tools: Messages
    ) -> Iterator[tuple[dict[str, Any], Callable[[Unavailable, float], None]]]:
        """The body for each model, and what to call before a wait."""
        body = {"messages": list(messages), "temperature": TEMPERATURE} | ({"tools": list(tools)} if tools else {})
        models = list(dict.fromkeys([self.model, self.fallback or self.model]))
        for model in models:
            yield {"model": model, **body}, partial(self._before_wait, count(2), is_last=model == models[-1])

    def _before_wait(self, tries: Iterator[int], failure: Unavailable, wait: float, *, is_last: bool) -> None:
        if failure.is_timeout or (wait > LONGEST_WAIT and not is_last):
            raise failure.error
        number = next(tries)
        if wait >= REPORTED_WAIT:
            seconds = min(wait, LONGEST_WAIT)
            self.on_wait(f"{failure} Trying again in {seconds:.0f} s (try {number} of {self._tries}).")

    def _attempt(self, body: dict[str, Any], on_text: OnText | None) -> Reply:
        if on_text is not None:
            return self._attempt_stream(body, on_text)
        return self._read_reply(self._client.request("POST", _PATH, body), body["model"])

    async def _aattempt(self, body: dict[str, Any], on_text: OnText | None) -> Reply:
        # A client of its own, since connections belong to one event loop.
        client = AsyncJsonClient(
            self.url, self._unreachable, key=self._key, timeout=self._read_seconds, connect=self._connect_seconds
        )
        try:
            if on_text is None:
                return self._read_reply(await client.request("POST", _PATH, body), body["model"])
            reply = _StreamedReply(self, body["model"], on_text)
            parser = EventParser()
            with reply.failing():
                with client.unavailable():
                    async with client.stream(_PATH, body | STREAMED) as response:
                        if response.status_code != 200:
                            await response.aread()
                            self._check_status(response, body["model"])
                        async for chunk in response.aiter_bytes():
                            reply.add(data for _, data in parser.feed(chunk))
                reply.add(data for _, data in parser.feed(b"", is_last=True))
            return reply.finish()
        finally:
            await client.aclose()

    def _read_reply(self, response: Any, model: str) -> Reply:
        self._check_status(response, model)
        try:
            data = json.loads(response.text)
            message = data["choices"][0]["message"]
            calls = [dict(call) for call in message.get("tool_calls") or ()]
            usage = _read_usage(data.get("usage"))
            return Reply(_read_text(message.get("content")), calls, usage, str(data.get("model") or model))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            reason = f"answered with no chat completion but {response.text[:200]!r}"
            raise self._error(reason, model) from None

    def _attempt_stream(self, body: dict[str, Any], on_text: OnText) -> Reply:
        reply = _StreamedReply(self, body["model"], on_text)
        with reply.failing(), self._client.unavailable(), self._client.stream(_PATH, body | STREAMED) as response:
            if response.status_code != 200:
                response.read()
                self._check_status(response, body["model"])
            reply.add(read_events(response.iter_bytes()))
        return reply.finish()

    def _check_status(self, response: Any, model: str) -> None:
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
            advice = "Check SHORTLIST_LLM_MODEL and the address, which usually ends in /v1"
            raise self._error(f"does not know the model or the address ({said}). {advice}", model)
        raise self._error(describe(response), model)

    def _error(self, reason: str, model: str) -> LLMError:
        return LLMError(f"The language model {model} at {self.url} {self._client.hide(reason)}.")

    def _unreachable(self, reason: str) -> LLMError:
        return _ModelFailed(
            f"The language model at {self.url} {reason}. Is it running, and is its address right? Set it with "
            "SHORTLIST_LLM_URL or: shortlist config llm"
        )


class _StreamedReply:
    """A reply that is put together from server-sent events."""

    def __init__(self, chat: OpenAIChat, model: str, on_text: OnText) -> None:
        self._chat, self._asked, self._on_text = chat, model, on_text
        self._texts: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._usage: dict[str, int] = {}
        self._model = model
        self._is_complete = self._is_over = False

    def add(self, events: Iterable[str]) -> None:
        for data in events:
            self._is_over = self._is_over or data == "[DONE]"
            if self._is_over:
                return
            event = self._parse(data)
            self._usage = _read_usage(event.get("usage")) or self._usage
            self._model = str(event.get("model") or self._model)
            for choice in event.get("choices") or ():
                delta = choice.get("delta") or {}
                if text := _read_text(delta.get("content")):
                    self._texts.append(text)
                    self._on_text(text)
                for piece in delta.get("tool_calls") or ():
                    _add_call_piece(self._calls, piece)
                self._is_complete = self._is_complete or bool(choice.get("finish_reason"))

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Do not let a request be retried once text was passed on: the caller would get it twice."""
        try:
            yield
        except Unavailable as failure:
            if self._texts:
                raise LLMError(str(failure)) from failure
            raise

    def finish(self) -> Reply:
        if not self._is_complete:
            raise self._chat._error("broke off in the middle of its reply", self._asked)
        calls = [self._calls[at] for at in sorted(self._calls)]
        return Reply("".join(self._texts), calls, self._usage, self._model)

    def _parse(self, data: str) -> dict[str, Any]:
        try:
            event = json.loads(data)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise self._chat._error(f"sent an event that is not a JSON object: {data[:200]!r}", self._asked)
        if event.get("error"):
            raise self._chat._error(f"broke off: {message_in(json.dumps(event))}", self._asked)
        return event


def _read_text(content: Any) -> str:
    """Content is a text, a list of parts, or nothing."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


def _read_usage(given: Any) -> dict[str, int]:
    usage = given if isinstance(given, dict) else {}
    return {name: int(usage[name]) for name in COUNTED if isinstance(usage.get(name), int)}


def _add_call_piece(calls: dict[int, dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """Add a piece of a streamed tool call, whose arguments come in pieces as well."""
    function = piece.get("function") or {}
    call = calls.setdefault(
        int(piece.get("index") or 0), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    )
    call["id"] = piece.get("id") or call["id"]
    for name in call["function"]:
        call["function"][name] += function.get(name) or ""


def add_usage(total: Mapping[str, int], reply: Reply) -> dict[str, int]:
    """The usage so far plus that of a reply."""
    names = sorted({*total, *reply.usage} - {"calls"})
    return {
        "calls": total.get("calls", 0) + 1,
        **{name: total.get(name, 0) + reply.usage.get(name, 0) for name in names},
    }


class ScriptedLLM:
    """A model that gives scripted replies one by one, for tests and examples. `heard` are the messages of each call.

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
            raise LLMError("The script of this ScriptedLLM has ended. Pass one more reply.")
        reply = self._replies.pop(0)
        reply = reply(messages) if callable(reply) else reply
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Reply):
            return reply
        if isinstance(reply, str):
            return Reply(reply, usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
        calls = []
        for at, (name, arguments) in enumerate(reply):
            written = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
            function = {"name": name, "arguments": written}
            calls.append({"id": f"call_{at}", "type": "function", "function": function})
        return Reply("", calls)

    def stream(self, messages: Messages, on_text: OnText, tools: Messages = ()) -> Reply:
        reply = self.complete(messages, tools)
        for at in range(0, len(reply.text), 7):
            on_text(reply.text[at : at + 7])
        return reply
