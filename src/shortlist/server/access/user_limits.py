"""Limits of the requests of each user, a minute and at a time, and of the wrong tokens of each address."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.types import Scope

from shortlist._settings import Limits
from shortlist.safety.principals import PRINCIPAL, Principal
from shortlist.server.access.identity import ANONYMOUS
from shortlist.server.access.named_tokens import hash_token

MOST_KEYS = 10_000  # users and addresses whose rates are remembered, and right tokens
STREAM = ("GET", "/mcp")  # of a session, in which nothing may happen for hours
BUSY_SECONDS = 1.0  # after which to try again if too many requests run


class Rate:
    """A bucket for each user or address, which holds what is granted in a minute and fills steadily."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_minute, self._clock = a_minute, clock
        self._buckets: dict[str, tuple[float, float]] = {}  # what was left at a time, the latest key last

    def find_wait(self, key: str) -> float:
        """The seconds until something is granted; 0 without a limit."""
        return max(0.0, (1 - self._find_left(key)) * 60 / self._a_minute) if self._a_minute else 0.0

    def take(self, key: str) -> None:
        if not self._a_minute:
            return
        _remember(self._buckets, key, (self._find_left(key) - 1, self._clock()))

    def _find_left(self, key: str) -> float:
        left, at = self._buckets.get(key, (self._a_minute, self._clock()))
        return min(self._a_minute, left + (self._clock() - at) * self._a_minute / 60)


class WrongTokens:
    """The wrong tokens of each address. One that was right before is no guess, so that is not held back."""

    def __init__(self, a_minute: int) -> None:
        self._rate = Rate(a_minute)
        self._right: dict[str, None] = {}  # hashes, the latest last

    def find_wait(self, address: str, token: str) -> float:
        """The seconds until the address may send this token."""
        return 0.0 if hash_token(token) in self._right else self._rate.find_wait(address)

    def add(self, address: str) -> None:
        self._rate.take(address)

    def accept(self, token: str) -> None:
        _remember(self._right, hash_token(token), None)


def _remember(known: dict[str, Any], key: str, value: Any) -> None:
    """Put a key last, and forget the first one if there are too many."""
    known.pop(key, None)
    known[key] = value
    if len(known) > MOST_KEYS:
        del known[next(iter(known))]


class UserLimits:
    """The requests of each user: how many a minute, and how many at a time."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._at_once, self._rate = limits.concurrent_requests, Rate(limits.requests_per_minute, clock)
        self._running: Counter[str] = Counter()

    def enter(self, user: str, *, is_stream: bool = False) -> float:
        """Begin a request; or the seconds after which the user may try again. A stream is none of those at a time."""
        if self._at_once and not is_stream and self._running[user] >= self._at_once:
            return BUSY_SECONDS
        if wait := self._rate.find_wait(user):
            return wait
        self._rate.take(user)
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
        return find_address(scope)
    return "" if caller.is_operator else caller.user


def find_address(scope: Scope) -> str:
    return (scope.get("client") or ("unknown",))[0]


def is_stream(scope: Scope) -> bool:
    return (scope["method"], scope["path"]) == STREAM
