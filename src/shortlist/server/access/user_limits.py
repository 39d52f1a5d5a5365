"""Limits of the requests of each user: how many a minute, and how many at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from starlette.types import Scope

from shortlist._settings import Limits
from shortlist.safety.principals import PRINCIPAL, Principal
from shortlist.server.access.identity import ANONYMOUS

MOST_USERS = 10_000  # whose rates are remembered
STREAM = ("GET", "/mcp")  # of a session, in which nothing may happen for hours
BUSY_SECONDS = 1.0  # after which to try again if too many requests run


class UserLimits:
    """A bucket for each user, which holds the requests of a minute and fills steadily."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_minute, self._at_once = limits.requests_per_minute, limits.concurrent_requests
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # the requests left at a time, the latest user last
        self._running: Counter[str] = Counter()

    def enter(self, user: str, *, is_stream: bool = False) -> float:
        """Begin a request; or the seconds after which the user may try again. A stream is none of those at a time."""
        if self._at_once and not is_stream and self._running[user] >= self._at_once:
            return BUSY_SECONDS
        if self._a_minute:
            now = self._clock()
            left, at = self._buckets.pop(user, (self._a_minute, now))
            left = min(self._a_minute, left + (now - at) * self._a_minute / 60)
            wait = max(0.0, (1 - left) * 60 / self._a_minute)
            self._buckets[user] = left if wait else left - 1, now
            if len(self._buckets) > MOST_USERS:
                del self._buckets[next(iter(self._buckets))]
            if wait:
                return wait
        if not is_stream:
            self._running[user] += 1
        return 0.0

    def leave(self, user: str) -> None:
        self._running[user] -= 1
        if not self._running[user]:
            del self._running[user]


def find_user(scope: Scope) -> str:
    """Whose limits count: the caller's, or those of the address of one without a name; "" for an operator."""
    caller: Principal | None = scope.get(PRINCIPAL)
    if caller is None or caller.user == ANONYMOUS:
        return (scope.get("client") or ("unknown",))[0]
    return "" if caller.is_operator else caller.user


def is_stream(scope: Scope) -> bool:
    return (scope["method"], scope["path"]) == STREAM
