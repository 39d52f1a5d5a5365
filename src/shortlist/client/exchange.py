"""One exchange with a service, without sending anything: requests, answers, their errors, and when to try again.

An operation is a generator. It yields a `ServiceRequest`, or the seconds to wait, and gets the `ServiceResponse`; a
transport raises `Unavailable` in it for a failed connection.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from shortlist._http import BUSY, LONGEST_WAIT, EventParser, Unavailable, backoff, next_delay, retry_after
from shortlist.errors import (
    CorpusBusy,
    CorpusDamaged,
    CorpusMismatch,
    CorpusNotFound,
    EmbedderError,
    EngineError,
    InputError,
    LLMError,
    RegistryDamaged,
    ServiceError,
    ShortlistError,
    SourceError,
)

TRIES, FIRST_WAIT_SECONDS = 4, 0.1  # of a request that is safe to repeat
EVENTS = "text/event-stream"
LAST = "answer"  # the event after which nothing comes
PROBLEM = "urn:shortlist:"  # how the types of the service's problems begin

# The error for the type of a problem or, if that says no more than its status, for the status.
BY_TYPE: dict[str, type[ShortlistError]] = {
    "corpus-busy": CorpusBusy,
    "corpus-damaged": CorpusDamaged,
    "corpus-mismatch": CorpusMismatch,
    "embedder-error": EmbedderError,
    "missing-extra": EmbedderError,
    "engine-error": EngineError,
    "llm-error": LLMError,
    "registry-damaged": RegistryDamaged,
    "source-error": SourceError,
}
BY_STATUS: dict[int, type[ShortlistError]] = {404: CorpusNotFound, 409: CorpusBusy, 422: InputError, 502: LLMError}

OnEvent = Callable[[str, dict[str, Any]], None]
Result = TypeVar("Result")
Steps = Generator["ServiceRequest | float", "ServiceResponse", Result]


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """What is sent. With `on_event`, the answer is requested as a stream, and each event before it is passed on."""

    method: str
    path: str
    body: dict[str, Any] | str | bytes | None = None
    is_read: bool = False
    """Whether it changes nothing and is cheap, so that it may be repeated."""
    timeout: float | None = None
    on_event: OnEvent | None = None


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """What came back: the status, the JSON or None, the address, and the seconds that the service asks to wait."""

    status: int
    data: Any
    url: str
    wait_seconds: float | None = None

    @classmethod
    def read(cls, response: Any) -> ServiceResponse:
        """From a complete response of httpx."""
        try:
            data = response.json()
        except ValueError:
            data = None
        return cls(response.status_code, data, str(response.url), retry_after(response))

    @property
    def is_problem(self) -> bool:
        """Whether a service of ours says what is wrong."""
        return isinstance(self.data, Mapping) and str(self.data.get("type")).startswith(PROBLEM)

    def to_error(self) -> ShortlistError:
        """The error of the library for what the service says."""
        if not self.is_problem or not self.data.get("detail"):
            return ServiceError(f"{self.url} answered {self.status}, but it is not a shortlist service.", self.status)
        kind = str(self.data["type"]).removeprefix(PROBLEM)
        error = BY_TYPE.get(kind) or BY_STATUS.get(self.status)
        detail = str(self.data["detail"])
        return error(detail) if error else ServiceError(detail, self.status)


def exchange(request: ServiceRequest) -> Steps[dict[str, Any]]:
    """Send a request, again while the service is busy and it is safe to repeat, and return the answer."""
    delays, request = backoff(TRIES, FIRST_WAIT_SECONDS), _encode(request)
    while True:
        try:
            response = yield request
            # a service or proxy that says when to come back has not carried it out
            if response.status in BUSY and (request.is_read or response.wait_seconds is not None):
                raise Unavailable(response.to_error(), response.wait_seconds)
        except Unavailable as failure:
            if failure.is_timeout or (failure.wait is None and not request.is_read):
                raise failure.error from None
            yield min(next_delay(failure, delays), LONGEST_WAIT)
            continue
        if response.status != 200 or not isinstance(response.data, dict):
            raise response.to_error()
        return response.data


def _encode(request: ServiceRequest) -> ServiceRequest:
    """The request with its body as JSON text."""
    try:
        return (
            request
            if isinstance(request.body, bytes | None)
            else replace(request, body=json.dumps(request.body, allow_nan=False))
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"The request to {request.path} cannot be sent as JSON: {error}.") from None


@dataclass(slots=True)
class EventStream:
    """The events of one answer, from bytes as they arrive."""

    request: ServiceRequest
    url: str
    has_begun: bool = False
    _parser: EventParser = field(default_factory=EventParser)

    def feed(self, chunk: bytes) -> ServiceResponse | None:
        """Pass on the events that these bytes complete; the answer, or the problem, if it is among them."""
        self.has_begun = True
        for name, text in self._parser.feed(chunk):
            try:
                data = json.loads(text)
            except ValueError:
                data = None
            if name == LAST:
                return ServiceResponse(200, data, self.url)
            if name == "error":
                return ServiceResponse(int(data["status"]) if isinstance(data, dict) else 500, data, self.url)
            if self.request.on_event and isinstance(data, dict):
                self.request.on_event(name, data)
        return None

    def lost(self) -> ServiceError:
        """The error for a stream that ended without an answer."""
        return ServiceError(f"{self.url} ended the connection before the answer was complete. Try again.")
