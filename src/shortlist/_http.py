"""JSON over HTTP for language models, embeddings, clusters and our own service: one client, one retry policy."""

from __future__ import annotations

import codecs
import contextlib
import importlib
import ipaddress
import json
import random
import re
import time
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from shortlist.errors import InputError, ShortlistError

BUSY = frozenset({429, 502, 503})
SLOW = "did not answer in time"
LONGEST_REASON = 500  # characters of what a server says
TRIES = 4  # of a request to a model or to our own service; a cluster is tried while its caller is patient
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0  # seconds

Result = TypeVar("Result")


class Unavailable(Exception):
    """A failure that may pass. `error` is raised if it does not; `wait` is the delay that the server asks for."""

    def __init__(self, error: ShortlistError, wait: float | None = None, *, is_timeout: bool = False) -> None:
        super().__init__(str(error))
        self.error, self.wait, self.is_timeout = error, wait, is_timeout


def backoff(tries: int | None = TRIES, first: float = FIRST_WAIT, longest: float = LONGEST_WAIT) -> Iterator[float]:
    """The delays between attempts, in seconds: each about twice the one before. Without `tries` they have no end."""
    number = 1
    while tries is None or number < tries:
        yield min(first * 2 ** (number - 1), longest) * random.uniform(0.75, 1.25)
        number += 1


def retry(
    attempt: Callable[[], Result],
    waits: Iterable[float],
    *,
    pause: Callable[[float], None] | None = None,
    before_wait: Callable[[Unavailable, float], None] = lambda failure, wait: None,
) -> Result:
    """The result of an attempt, made again after each `Unavailable` while there are waits and `before_wait` returns."""
    delays = iter(waits)
    while True:
        try:
            return attempt()
        except Unavailable as failure:
            delay = next_delay(failure, delays)
            before_wait(failure, delay)
            (time.sleep if pause is None else pause)(min(delay, LONGEST_WAIT))


def next_delay(failure: Unavailable, delays: Iterator[float]) -> float:
    """The seconds before the next attempt: what the server asks for, or the next delay. Without one, the failure."""
    delay = next(delays, None)
    if delay is None:
        raise failure.error from None
    return delay if failure.wait is None else failure.wait


class JsonClient:
    """Sends JSON to one server and retries what may pass. May be used by several threads.

    `fail` makes the error for what went wrong; the key never appears in it.
    """

    _kind = "Client"  # of httpx2

    def __init__(
        self,
        url: str,
        fail: Callable[[str], ShortlistError],
        *,
        key: str = "",
        timeout: float = 30.0,
        connect: float = 10.0,
        **options: Any,
    ) -> None:
        self._http = importlib.import_module("httpx2")  # slow to import, so only when a server is used
        try:
            parsed = self._http.URL(url.rstrip("/"))
        except self._http.InvalidURL as error:
            raise InputError(f"{url!r} is not a valid address: {error}.") from None
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise InputError(f"{url!r} is not a valid address: it must begin with http:// or https:// and name a host.")
        self._query = parsed.query.decode()  # such as api-version=2024-10-21, which Azure needs with every request
        self.url, self._fail, self._connect = parsed.copy_with(query=None), fail, connect
        options = {"trust_env": not is_loopback(parsed.host)} | options  # no proxy leads to this machine
        self._client = getattr(self._http, self._kind)(timeout=self._timeout(timeout), **options)
        self.set_key(key)
        if self._kind == "Client":
            self.close = weakref.finalize(self, self._client.close)

    def set_key(self, key: str) -> None:
        """Send this key with every request from now on."""
        self._key = key.strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise InputError(f"The key for {self.url.host} has characters that a request cannot carry.")
        name, value = (
            ("api-key", self._key) if "api-version=" in self._query else ("Authorization", f"Bearer {self._key}")
        )
        self._client.headers.pop(name, None)
        if self._key:
            self._client.headers[name] = value

    def error(self, reason: str) -> ShortlistError:
        return self._fail(self.hide(reason))

    def hide(self, text: str) -> str:
        """The beginning of a text, without the key."""
        return (text.replace(self._key, "***") if self._key else text)[:LONGEST_REASON]

    def request(self, method: str, path: str, body: Any = None, timeout: float | None = None) -> Any:
        """The response, whatever its status; a body of bytes is sent as lines of JSON, a string as JSON."""
        with self.unavailable():
            return self._client.request(method, self._address(path), **self._options(body, timeout))

    def _address(self, path: str) -> str:
        return f"{self.url}{path}{'?' * bool(self._query)}{self._query}"

    def _options(self, body: Any, timeout: float | None) -> dict[str, Any]:
        options: dict[str, Any] = {} if timeout is None else {"timeout": self._timeout(timeout)}
        if isinstance(body, bytes):
            options |= {"content": body, "headers": {"Content-Type": "application/x-ndjson"}}
        elif isinstance(body, str):
            options |= {"content": body, "headers": {"Content-Type": "application/json"}}
        elif body is not None:
            options["json"] = body
        return options

    def send(
        self,
        method: str,
        path: str,
        body: Any,
        waits: Iterable[float],
        *,
        busy: Container[int] = BUSY,
        after_timeout: bool = True,
    ) -> Any:
        """The response; a failed connection, a timeout and a busy server are tried again while there are waits."""

        def attempt() -> Any:
            try:
                response = self.request(method, path, body)
            except Unavailable as failure:
                if failure.is_timeout and not after_timeout:
                    raise failure.error from None
                raise
            if response.status_code in busy:
                raise Unavailable(self.error(describe(response)), retry_after(response))
            return response

        return retry(attempt, waits)

    def stream(self, path: str, body: Any, timeout: float | None = None) -> Any:
        """A context manager of the response to a POST, whose body is read as it arrives."""
        return self._client.stream("POST", self._address(path), **self._options(body, timeout))

    @contextlib.contextmanager
    def unavailable(self) -> Iterator[None]:
        """Turn failed connections and timeouts into `Unavailable`."""
        try:
            yield
        except self._http.TimeoutException as error:
            is_slow = not isinstance(error, self._http.ConnectTimeout)
            raise Unavailable(self.error(SLOW), is_timeout=is_slow) from None
        except self._http.RequestError as error:
            raise Unavailable(self.error(f"cannot be reached ({str(error) or type(error).__name__})")) from None

    def _timeout(self, seconds: float) -> Any:
        return self._http.Timeout(seconds, connect=min(seconds, self._connect))


class AsyncJsonClient(JsonClient):
    """Sends JSON to one server from one event loop. `stream` is an asynchronous context manager."""

    _kind = "AsyncClient"

    async def request(self, method: str, path: str, body: Any = None, timeout: float | None = None) -> Any:
        """The response, whatever its status."""
        with self.unavailable():
            return await self._client.request(method, self._address(path), **self._options(body, timeout))

    async def aclose(self) -> None:
        await self._client.aclose()


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def describe(response: Any) -> str:
    """What a server says went wrong, with the status."""
    return f"answered {response.status_code}: {message_in(response.text)}"


def message_in(text: str) -> str:
    """The error message in the body of a response."""
    try:
        said = json.loads(text)
        error = said.get("error", said)
        return str(error.get("message", error) if isinstance(error, Mapping) else error)
    except (ValueError, AttributeError):
        return text.strip() or "no message"


def retry_after(response: Any) -> float | None:
    """The seconds that a response asks to wait, given as a number or a date."""
    said = response.headers.get("retry-after") or ""
    with contextlib.suppress(ValueError):
        return max(0.0, float(said))
    import email.utils  # noqa: PLC0415  # slow to import, rarely needed

    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    return None


_LINE_END = re.compile(r"\r\n|\n|\r")


def read_events(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of each server-sent event, wherever the bytes are cut; an event without its blank line is dropped."""
    parser = EventParser()
    for chunk in chunks:
        for _, data in parser.feed(chunk):
            yield data
    for _, data in parser.feed(b"", is_last=True):
        yield data


class EventParser:
    """Server-sent events from bytes, wherever they are cut."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest, self._name = "", ""
        self._data: list[str] = []

    def feed(self, chunk: bytes, *, is_last: bool = False) -> Iterator[tuple[str, str]]:
        """The name and data of each event that these bytes complete."""
        for line in self._lines(chunk, is_last):
            field, colon, value = line.partition(":")
            value = value.removeprefix(" ") if colon else ""
            if not line:
                if self._data:
                    yield self._name, "\n".join(self._data)
                self._name, self._data = "", []
            elif field == "data":
                self._data.append(value)
            elif field == "event":
                self._name = value

    def _lines(self, chunk: bytes, is_last: bool) -> Iterator[str]:
        self._rest += self._decoder.decode(chunk)
        start = 0
        for end in _LINE_END.finditer(self._rest):
            if end.group() == "\r" and end.end() == len(self._rest) and not is_last:
                break  # its \n may be still to come
            yield self._rest[start : end.start()]
            start = end.end()
        self._rest = self._rest[start:]
