"""HTTP requests to a cluster: to one node at a time, and to the next one if it does not answer.

Plain HTTP: the few requests are the same for both kinds of server and all their versions, while the client package of
each kind rejects the servers of the other kind and of other major versions.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Mapping
from typing import Any

from shortlist._http import SLOW, JsonClient, Unavailable, backoff, retry
from shortlist.errors import CorpusMismatch, EngineError
from shortlist.index.engines.address import Address
from shortlist.index.engines.cluster_schema import DIALECTS
from shortlist.index.engines.facets import Query

# Statuses after which another node, or the same one a little later, may answer.
BUSY, UNAVAILABLE = 429, frozenset({502, 503, 504})

# Error types, without "_exception", of a search that lost a node between two of its steps; another node can answer it.
_NODE_LOST = {"node_disconnected", "node_not_connected", "node_closed", "connect_transport", "search_context_missing"}

AVOIDED_SECONDS = 10.0  # during which a node that did not answer is tried last
CONNECT_SECONDS = 5.0

# Seconds for which a request is repeated: a change; a read while a cluster replaces a lost node; a read if no node
# answers at all.
PATIENCE_WRITING, PATIENCE_READING, PATIENCE_UNREACHABLE = 60.0, 20.0, 5.0


class Cluster:
    """The nodes of one address. May be used by many threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.dialect = DIALECTS[address.dialect]
        self._clients: dict[tuple[int, str], JsonClient] = {}
        self._avoided: dict[str, float] = {}
        self._server: tuple[str, str] | None = None

    def close(self) -> None:
        for (process, _), client in list(self._clients.items()):
            if process == os.getpid():
                client.close()

    def server(self) -> tuple[str, str]:
        """The distribution and the version of the server, which must be the expected ones."""
        if self._server is None:
            body: Any = self.request("GET", "/")
            version = body.get("version") if isinstance(body, dict) else None
            if not isinstance(version, dict):
                raise EngineError(f"The server at {self.address} is neither OpenSearch nor Elasticsearch.")
            name, number = version.get("distribution", "elasticsearch"), str(version.get("number", "?"))
            if name != self.dialect.name:
                raise CorpusMismatch(
                    f"The server at {self.address} is {name} {number}, not {self.dialect.name}. Begin the address with "
                    f"{name}+{self.address.scheme}://."
                )
            if tuple(map(int, re.findall(r"\d+", number)[:2])) < self.dialect.oldest:
                raise CorpusMismatch(
                    f"The server at {self.address} is {name} {number}, which is too old. At least version "
                    f"{'.'.join(map(str, self.dialect.oldest))} is required."
                )
            self._server = name, number
        return self._server

    def request(
        self, method: str, path: str, body: Any = None, accept: int = 0, patience: float = 0, timeout: float = 0
    ) -> Query:
        """The body of the answer to a request that may safely be sent twice; an error status is raised unless accepted.

        A body is a mapping, or the lines of a bulk or multiple request as bytes.
        """
        if path != "/":
            self.server()
        began = time.monotonic()
        is_answered = False

        def attempt() -> Query:
            nonlocal is_answered
            unreachable = refused = None
            for url in self._sort_nodes():
                try:
                    response = self._client(url).request(method, path, body, timeout or None)
                except Unavailable as problem:
                    if "CERTIFICATE_VERIFY_FAILED" in str(problem):
                        raise EngineError(
                            f"The certificate of the engine {self.address} is not trusted ({problem}). Set "
                            f"SHORTLIST_ENGINE_CERTIFICATE or engine.certificate to the file with the certificate of "
                            f"its authority."
                        ) from None
                    unreachable = problem
                    self._avoided[url] = time.monotonic() + AVOIDED_SECONDS
                    continue
                self._avoided.pop(url, None)
                status, answer = _check_parts(response.status_code, _parse(response.content))
                if status < 400 or status == accept:
                    return answer
                error = self._refusal(status, error_reason(answer))
                if status != BUSY and status not in UNAVAILABLE:
                    raise error
                refused = Unavailable(error)
                if status == BUSY:
                    break
            is_answered = refused is not None
            failure = refused or unreachable
            assert failure
            raise failure

        def check_patience(failure: Unavailable, wait: float) -> None:
            most = patience or (PATIENCE_READING if is_answered else PATIENCE_UNREACHABLE)
            if time.monotonic() + wait > began + most or (failure.is_timeout and not patience):
                raise failure.error

        return retry(attempt, backoff(None, first=0.1, longest=5.0), before_wait=check_patience)

    def write(self, method: str, path: str, body: Any = None, accept: int = 0) -> Query:
        """The answer to a request that changes something, which is repeated for longer than one that reads."""
        return self.request(method, path, body, accept, PATIENCE_WRITING)

    def _sort_nodes(self) -> list[str]:
        """All nodes in random order, with those that recently did not answer last."""
        now = time.monotonic()
        nodes = random.sample(self.address.urls, len(self.address.urls))
        return sorted(nodes, key=lambda url: self._avoided.get(url, 0.0) > now)

    def _client(self, url: str) -> JsonClient:
        key = os.getpid(), url  # connections do not survive a fork
        if key not in self._clients:
            credentials = self.address.credentials
            self._clients[key] = JsonClient(
                url,
                self._unreachable,
                timeout=self.address.timeout,
                connect=CONNECT_SECONDS,
                auth=(credentials.user, credentials.password) if credentials.user else None,
                verify=self._trusted_certificates(),
                trust_env=False,
                headers={"Accept-Encoding": "identity"},  # compressing mostly random data takes longer
            )
        return self._clients[key]

    def _trusted_certificates(self) -> Any:
        certificate = self.address.credentials.certificate
        if not certificate or self.address.scheme == "http":
            return True
        import ssl  # noqa: PLC0415  # needed only for a private authority

        context = ssl.create_default_context()
        try:
            context.load_verify_locations(certificate)
        except OSError as error:  # ssl.SSLError is one, too
            raise EngineError(f"The certificate {certificate} cannot be read: {error}.") from None
        return context

    def _unreachable(self, reason: str) -> EngineError:
        advice = "Check that it is running and that its address is right."
        if reason == SLOW:
            advice = "Check its load, or allow more time with ?timeout=SECONDS in its address."
        return EngineError(f"The engine {self.address} {reason}. {advice}")

    def missing_shards(self, reason: str) -> EngineError:
        return EngineError(
            f"The engine {self.address} has lost shards or nodes ({reason}). See GET /_cluster/health, and try again "
            f"when its status is no longer red."
        )

    def _refusal(self, status: int, reason: str) -> EngineError:
        if status in (401, 403) and "block" not in reason:
            user = self.address.credentials.user
            problem = f"the user {user!r} is not allowed to do this" if user else "no user was given"
            return EngineError(f"The engine {self.address} refused the request ({status}): {problem}.")
        if status in UNAVAILABLE:
            return self.missing_shards(reason)
        if status == BUSY:
            return EngineError(f"The engine {self.address} is overloaded ({reason}). Try again later.")
        return EngineError(f"The engine {self.address} answered {status}: {reason}.")


def to_lines(*rows: Mapping[str, Any] | bytes) -> bytes:
    """Rows as a bulk or multiple request takes them."""
    return b"".join(b"%b\n" % (row if isinstance(row, bytes) else json.dumps(row).encode()) for row in rows)


def error_reason(body: Any) -> str:
    """The reason in the body of an error, shortened."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        cause = (error.get("root_cause") or [error])[0]
        error = cause.get("reason") or error.get("reason") or error.get("type") or error
    return str(error)[:300] or "no reason given"


def _check_parts(status: int, body: Any) -> tuple[int, Query]:
    """The answer, or the first failure among the searches or rows in it; 503 for a node that was lost meanwhile."""
    if status == 200 and isinstance(body, dict):
        failed = [part for part in (*body.get("responses", ()), *body.get("docs", ())) if "error" in part]
        if not failed:
            return status, body
        body = failed[0]
        status = int(body.get("status", 503))  # a row without a status: its shard has no node
    error = body.get("error") if isinstance(body, dict) else None
    causes = [error, *error.get("root_cause", ())] if isinstance(error, dict) else ()
    is_lost = any(str(cause.get("type")).removesuffix("_exception") in _NODE_LOST for cause in causes)
    return 503 if status in (404, 500) and is_lost else status, body


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content) if content else {}
    except ValueError:
        return content.decode("utf-8", "replace")[:300]
