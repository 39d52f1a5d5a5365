"""HTTP requests to a cluster: one node at a time, the next one if it does not answer.

Plain HTTP: the requests that are needed are few and the same for both kinds of server and all their versions, while
each kind's own client package refuses the other's servers and those of another major version.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shortlist._http import SLOW, JsonClient, Unavailable, backoff, retry
from shortlist.errors import CorpusMismatch, EngineError, ShortlistError
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_schema import DIALECTS, Dialect

# Answers that another node, or the same one a little later, may give differently.
BUSY, ELSEWHERE = 429, frozenset({502, 503, 504})

# What a search says of a node that went away between two of its steps; another node would answer it.
GONE = frozenset(
    f"{what}_exception"
    for what in (
        "node_disconnected",
        "node_not_connected",
        "node_closed",
        "connect_transport",
        "search_context_missing",
    )
)

# A node that did not answer is asked last for so long.
AVOIDED_SECONDS = 10.0

# For so long a change is tried again while nodes are away or have too much to do. A question is not worth as much: as
# long as it takes others to stand in for a node that is gone, and less where nobody answers at all.
PATIENCE_WRITING, PATIENCE_READING, PATIENCE_UNHEARD = 60.0, 20.0, 5.0
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
CONNECT_SECONDS = 5.0

_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"


class Reply(NamedTuple):
    """What a node answered."""

    status: int
    body: Any


class Server(NamedTuple):
    """Which server answers."""

    distribution: str
    version: str


class Search(NamedTuple):
    """One of several searches in one request."""

    body: dict[str, Any]
    by_score: bool = False  # with the statistics of all shards

    def line(self, index: str) -> bytes:
        head: dict[str, Any] = {"index": index, "allow_partial_search_results": False}
        if self.by_score:
            head["search_type"] = "dfs_query_then_fetch"
        return lines([head, self.body])


class _Away(Unavailable):
    """No node gave an answer, or `is_answer`: one answered that it cannot now."""

    def __init__(self, error: ShortlistError, is_timeout: bool = False, *, is_answer: bool = False) -> None:
        super().__init__(error, is_timeout=is_timeout)
        self.is_answer = is_answer


class Cluster:
    """The nodes of one address. May be used by many threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.dialect: Dialect = DIALECTS[address.dialect]
        self._clients: dict[str, JsonClient] = {}
        self._process = 0
        self._lock = threading.Lock()
        self._avoided: dict[str, float] = {}
        self._server: Server | None = None

    def close(self) -> None:
        if self._process == os.getpid():
            for client in self._clients.values():
                client.close()

    def server(self) -> Server:
        """The server's kind and version, which must be one that we know how to ask."""
        if self._server is None:
            reply = self._request("GET", "/", None)
            if reply.status >= 400:
                raise self._refusal(reply)
            version = reply.body.get("version") if isinstance(reply.body, dict) else None
            if not isinstance(version, dict):
                raise EngineError(f"What answers at {self.address} is neither OpenSearch nor Elasticsearch.")
            server = Server(version.get("distribution", "elasticsearch"), str(version.get("number", "?")))
            self._check(server)
            self._server = server
        return self._server

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: Sequence[int] = (),
        patience: float | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """The answer to a request that may safely be sent twice; an answer that is an error is raised unless accepted.

        A body is a mapping, or the lines of a bulk or multiple request as bytes.
        """
        self.server()
        reply = self._request(method, path, body, timeout, patience, accept)
        if reply.status >= 400 and reply.status not in accept:
            raise self._refusal(reply)
        return reply

    def ask_several(self, searches: bytes) -> list[dict[str, Any]]:
        """The answers to several searches in one request."""
        answers: list[dict[str, Any]] = self.ask("POST", "/_msearch", searches).body["responses"]
        return answers

    def _request(
        self,
        method: str,
        path: str,
        body: Any,
        timeout: float | None = None,
        patience: float | None = None,
        accept: Sequence[int] = (),
    ) -> Reply:
        began = time.monotonic()
        again = {BUSY, *ELSEWHERE}.difference(accept)

        def attempt() -> Reply:
            failure = None
            for url in self._nodes():
                try:
                    answer = self._client(url).request(method, path, body, timeout)
                except Unavailable as error:
                    if _UNTRUSTED in str(error):
                        raise self._untrusted(str(error)) from None
                    failure = failure if failure and failure.is_answer else _Away(error.error, error.is_timeout)
                    self._avoided[url] = time.monotonic() + AVOIDED_SECONDS
                    continue
                self._avoided.pop(url, None)
                reply = _as_a_whole(Reply(answer.status_code, _parsed(answer.content)))
                if reply.status not in again:
                    return reply
                failure = _Away(self._refusal(reply), is_answer=True)
                if reply.status == BUSY:
                    break
            assert failure is not None
            raise failure

        def check_patience(failure: Unavailable, wait: float) -> None:
            heard = isinstance(failure, _Away) and failure.is_answer
            most = patience or (PATIENCE_READING if heard else PATIENCE_UNHEARD)
            if time.monotonic() + wait > began + most or (failure.is_timeout and patience is None):
                raise failure.error

        return retry(attempt, backoff(first=_FIRST_WAIT, longest=_LONGEST_WAIT), before_wait=check_patience)

    def _nodes(self) -> list[str]:
        """All nodes in a random order, those that lately did not answer last."""
        now = time.monotonic()
        nodes = random.sample(self.address.urls, len(self.address.urls))
        return sorted(nodes, key=lambda url: self._avoided.get(url, 0.0) > now)

    def _client(self, url: str) -> JsonClient:
        """The connections of this process to a node: they do not survive a fork."""
        with self._lock:
            if self._process != os.getpid():
                self._clients, self._process = {}, os.getpid()
            if url not in self._clients:
                who = self.address.credentials
                self._clients[url] = JsonClient(
                    url,
                    self._unreachable,
                    timeout=self.address.timeout,
                    connect=CONNECT_SECONDS,
                    auth=(who.user, who.password) if who.user else None,
                    verify=self._trusted(who.certificate),
                    trust_env=False,
                    headers={"Accept-Encoding": "identity"},  # compressing what is mostly random takes longer
                )
            return self._clients[url]

    def _trusted(self, certificate: str) -> Any:
        if not certificate or self.address.scheme == "http":
            return True
        import ssl  # noqa: PLC0415  # only for an authority of one's own

        context = ssl.create_default_context()
        try:
            context.load_verify_locations(certificate)
        except (OSError, ssl.SSLError) as error:
            raise EngineError(f"The certificate {certificate} cannot be read: {error}.") from None
        return context

    def _check(self, server: Server) -> None:
        dialect = self.dialect
        if server.distribution != dialect.name:
            raise CorpusMismatch(
                f"At {self.address} answers {server.distribution} {server.version}, not {dialect.name}: begin the "
                f"address with {server.distribution}+{self.address.scheme}://."
            )
        try:
            version = tuple(int(part) for part in server.version.split(".")[:2])
        except ValueError:
            version = (0,)
        if version < dialect.oldest:
            oldest = ".".join(map(str, dialect.oldest))
            raise CorpusMismatch(
                f"At {self.address} answers {dialect.name} {server.version}, which is too old: at least {oldest} is "
                f"needed."
            )

    def _unreachable(self, reason: str) -> EngineError:
        if reason == SLOW:
            reason += ": see what keeps it busy, or allow more with ?timeout=SECONDS in its address"
        else:
            reason += ": see whether it runs, and whether its address is right"
        return EngineError(f"The engine {self.address} {reason}.")

    def _untrusted(self, reason: str) -> EngineError:
        return EngineError(
            f"The certificate of the engine {self.address} is not trusted ({reason}): name the file with the "
            f"certificate of its authority in SHORTLIST_ENGINE_CERTIFICATE or engine.certificate."
        )

    def lost(self, reason: str) -> EngineError:
        return EngineError(
            f"The engine {self.address} has lost shards or nodes ({reason}): see GET /_cluster/health, and wait until "
            f"it is no longer red."
        )

    def _refusal(self, reply: Reply) -> EngineError:
        status, reason = reply.status, reason_of(reply.body)
        if status in (401, 403) and "block" not in reason:
            who = self.address.credentials.user
            mend = f"the user {who!r} may not do this" if who else "no user was given"
            return EngineError(f"The engine {self.address} refuses ({status}): {mend}.")
        if status in ELSEWHERE:
            return self.lost(reason)
        if status == BUSY:
            return EngineError(f"The engine {self.address} has too much to do ({reason}). Try again later.")
        return EngineError(f"The engine {self.address} answered {status}: {reason}.")


def lines(rows: Sequence[Mapping[str, Any] | bytes]) -> bytes:
    """Rows as a bulk or multiple request takes them."""
    return b"".join(b"%b\n" % (row if isinstance(row, bytes) else json.dumps(row).encode()) for row in rows)


def reason_of(body: Any) -> str:
    """What the server says went wrong, in short."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        causes = error.get("root_cause") or [error]
        cause = causes[0] if isinstance(causes[0], dict) else error
        error = cause.get("reason") or error.get("reason") or error.get("type") or error
        if isinstance(error, dict):
            error = error.get("reason", error)
    return str(error)[:300] or "no reason given"


def _as_a_whole(reply: Reply) -> Reply:
    """What an answer comes to that holds several: the first failure, if there is one."""
    status, body = reply
    if status == 200 and isinstance(body, dict):
        failed = [part for part in (*body.get("responses", ()), *body.get("docs", ())) if "error" in part]
        if not failed:
            return reply
        body = failed[0]
        status = int(body.get("status", 503))  # of rows nothing is said but that their shard has no node
    return Reply(503 if status in (404, 500) and _is_gone(body) else status, body)


def _is_gone(body: Any) -> bool:
    """Whether a node went away in the middle: it had begun to answer, so no other could take over."""
    error = body.get("error") if isinstance(body, dict) else None
    causes = [error, *error.get("root_cause", ())] if isinstance(error, dict) else ()
    return any(cause.get("type") in GONE for cause in causes)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content) if content else {}
    except ValueError:
        return content.decode("utf-8", "replace")[:300]
