"""How is a language model asked? Any endpoint that speaks chat completions: Ollama, llama.cpp, vLLM, hosted ones."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import random
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from shortlist.answer.events import events
from shortlist.errors import InputError, LLMError
from shortlist.protocols import Messages, Reply

TEMPERATURE = 0.0
CONNECT_SECONDS, READ_SECONDS = 10.0, 120.0
TRIES = 4
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0  # seconds
REPORTED_WAIT = 1.0  # seconds from which a wait is worth a line
AGAIN = frozenset({429, 502, 503})
COUNTED = ("prompt_tokens", "completion_tokens", "total_tokens")

log = logging.getLogger("shortlist.answer")


class _Unavailable(LLMError):
    """Another model may answer and, if `again`, the same one after a while."""

    def __init__(self, message: str, wait: float | None = None, *, again: bool = True) -> None:
        super().__init__(message)
        self.wait, self.again = wait, again


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
        if not url.startswith(("http://", "https://")):
            raise InputError(
                f"The address of a language model begins with http:// or https://, which {url!r} does not."
            )
        if not model.strip():
            raise InputError("Say which model to ask (SHORTLIST_LLM_MODEL on the command line).")
        if not (key.isascii() and key.isprintable()):
            raise InputError("The key of the language model holds characters that a request cannot carry.")
        self.url, self.model, self.fallback = url.rstrip("/"), model, fallback
        self._key = key.strip()
        self._tries = max(1, tries)
        self._pause = pause
        self.on_wait = on_wait
        self._http = importlib.import_module("httpx2")  # 0.1 s: only where a model is asked
        timeout = self._http.Timeout(read_seconds, connect=connect_seconds)
        try:
            self._client = self._http.Client(timeout=timeout, headers=self._headers())
            self._http.URL(self.url)
        except self._http.InvalidURL as error:
            raise InputError(f"{url!r} is not an address: {error}.") from None
        weakref.finalize(self, self._client.close)

    def complete(self, messages: Messages, tools: Messages = ()) -> Reply:
        """The reply to some messages; what went wrong is a sentence."""
        return self._ask(messages, tools, None)

    def stream(self, messages: Messages, on_text: Callable[[str], None], tools: Messages = ()) -> Reply:
        """As `complete`; `on_text` is called with each further piece of the text."""
        return self._ask(messages, tools, on_text)

    def close(self) -> None:
        self._client.close()

    def _ask(self, messages: Messages, tools: Messages, on_text: Callable[[str], None] | None) -> Reply:
        models = [self.model, *([self.fallback] if self.fallback and self.fallback != self.model else [])]
        for model in models:
            try:
                return self._persist(model, messages, tools, on_text, is_last=model == models[-1])
            except _Unavailable as error:
                failure = error
        raise LLMError(str(failure)) from failure

    def _persist(
        self,
        model: str,
        messages: Messages,
        tools: Messages,
        on_text: Callable[[str], None] | None,
        *,
        is_last: bool,
    ) -> Reply:
        for attempt in range(1, self._tries + 1):
            try:
                if on_text is None:
                    return self._complete(model, messages, tools)
                return self._stream(model, messages, tools, on_text)
            except _Unavailable as error:
                wait = FIRST_WAIT * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)  # jitter
                wait = wait if error.wait is None else error.wait
                if attempt == self._tries or not error.again or (wait > LONGEST_WAIT and not is_last):
                    raise
                wait = min(wait, LONGEST_WAIT)
                if wait >= REPORTED_WAIT:
                    self.on_wait(f"{error} Trying again in {wait:.0f} s (try {attempt + 1} of {self._tries}).")
                self._pause(wait)
        raise AssertionError("unreachable")

    def _complete(self, model: str, messages: Messages, tools: Messages) -> Reply:
        with self._failures(model):
            response = self._client.post(self._address, json=_body(model, messages, tools))
            self._check(response.status_code, response.headers, response.text, model)
        try:
            data = json.loads(response.text)
            return _reply(data["choices"][0]["message"], data, model)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise self._error(f"answered with no chat completion but {response.text[:200]!r}", model) from None

    def _stream(self, model: str, messages: Messages, tools: Messages, on_text: Callable[[str], None]) -> Reply:
        body = _body(model, messages, tools) | {"stream": True, "stream_options": {"include_usage": True}}
        told = _Pieces(on_text)
        try:
            with self._failures(model), self._client.stream("POST", self._address, json=body) as response:
                if response.status_code != 200:
                    response.read()
                    self._check(response.status_code, response.headers, response.text, model)
                for event in self._parsed(response.iter_bytes(), model):
                    told.take(event)
        except _Unavailable as error:
            if told.text:  # said once, it cannot be unsaid
                raise LLMError(str(error)) from error
            raise
        if not told.ended:
            raise self._error("broke off in the middle of its reply", model)
        return told.reply(model)

    def _parsed(self, chunks: Iterable[bytes], model: str) -> Iterator[dict[str, Any]]:
        for data in events(chunks):
            if data == "[DONE]":
                return
            try:
                event = json.loads(data)
                if not isinstance(event, dict):
                    raise ValueError("no object")
            except ValueError:
                raise self._error(f"sent an event that is no JSON object: {data[:200]!r}", model) from None
            if event.get("error"):
                raise self._error(f"broke off: {_message(json.dumps(event))}", model)
            yield event

    @contextlib.contextmanager
    def _failures(self, model: str) -> Iterator[None]:
        """What can go wrong on the way, as errors of ours; what may pass is worth another try."""
        http = self._http
        try:
            yield
        except http.ReadTimeout:
            message = str(self._error("did not answer in time. Ask for less, or allow more seconds", model))
            raise _Unavailable(message, again=False) from None
        except http.RequestError as error:
            reason = str(error) or type(error).__name__
            raise _Unavailable(
                f"The language model at {self.url} is not reachable ({self._hidden(reason)}). Is it running, and is "
                f"SHORTLIST_LLM_URL right?"
            ) from None

    def _check(self, status: int, headers: Mapping[str, str], text: str, model: str) -> None:
        if status == 200:
            return
        said = _message(text)[:300]
        if status in AGAIN or status >= 500:
            message = str(self._error(f"answered {status}: {said}", model))
            raise _Unavailable(message, _retry_after(headers.get("retry-after")), again=status in AGAIN)
        if status in (401, 403):
            raise self._error(f"refuses the key ({status}: {said}). Set SHORTLIST_LLM_KEY or OPENAI_API_KEY", model)
        if status == 404:
            raise self._error(
                f"does not know the model or the address ({said}). Look at SHORTLIST_LLM_MODEL and at the address, "
                f"which usually ends in /v1",
                model,
            )
        raise self._error(f"answered {status}: {said}", model)

    def _error(self, what: str, model: str) -> LLMError:
        return LLMError(f"The language model {model} at {self.url} {self._hidden(what)}.")

    def _hidden(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text

    @property
    def _address(self) -> str:
        return f"{self.url}/chat/completions"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}


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


def _message(text: str) -> str:
    """What the server says went wrong."""
    try:
        said = json.loads(text)
        error = said.get("error", said)
        return str(error.get("message", error) if isinstance(error, dict) else error)
    except (ValueError, AttributeError):
        return text.strip() or "no message"


def _retry_after(said: str | None) -> float | None:
    """Seconds to wait, from a number or a date."""
    with contextlib.suppress(ValueError):
        return max(0.0, float(said or ""))
    import email.utils  # noqa: PLC0415  # slow to import, rarely needed

    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(said or "").timestamp() - time.time())
    return None


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
