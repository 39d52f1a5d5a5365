"""Counters for Prometheus, and percentiles of the last minute and the last ten minutes."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

BUCKET_SECONDS = 10
BUCKETS = 60
SAMPLES = 1_000  # of one bucket
NOW = 6  # buckets
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
PERCENTILES = (50, 95, 99)


class Metrics(Collector):
    """Requests by route, and facts that are looked up when they are asked for; each application has its own."""

    def __init__(self, facts: Callable[[], dict[str, float]]) -> None:
        self.latencies = Latencies()
        self.in_progress = 0
        self._facts = facts
        self._registry = CollectorRegistry()
        labels = ("route", "method", "status")
        requests = Counter(
            "shortlist_requests", "Requests by route, method and status.", labels, registry=self._registry
        )
        seconds = Histogram(
            "shortlist_request_seconds", "How long requests took.", ("route",), buckets=BOUNDS, registry=self._registry
        )
        self._requests, self._seconds = cache(requests.labels), cache(seconds.labels)
        self._registry.register(self)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests(route, method, str(status)).inc()
        self._seconds(route).observe(seconds)

    def exposition(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        for name, value in {**self._facts(), "requests_in_progress": self.in_progress}.items():
            yield GaugeMetricFamily(f"shortlist_{name}", f"The {name.replace('_', ' ')} now.", value)


class Latencies:
    """Samples of the last ten minutes, in buckets of ten seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: deque[tuple[int, list[int], list[float]]] = deque(maxlen=BUCKETS)  # number, [count], samples

    def add(self, seconds: float) -> None:
        number = int(self._clock() // BUCKET_SECONDS)
        with self._lock:
            if not self._buckets or self._buckets[-1][0] != number:
                self._buckets.append((number, [0], []))
            _, count, samples = self._buckets[-1]
            count[0] += 1
            if len(samples) < SAMPLES:
                samples.append(seconds)
            elif (at := random.randrange(count[0])) < SAMPLES:  # each of the bucket has the same chance
                samples[at] = seconds

    def summary(self) -> dict[str, Any]:
        """Percentiles in milliseconds of the last minute, and a row for each bucket in which something happened."""
        current = int(self._clock() // BUCKET_SECONDS)
        with self._lock:
            buckets = [(number, count[0], sorted(samples)) for number, count, samples in self._buckets]
        recent = [bucket for bucket in buckets if bucket[0] > current - NOW]
        now = sorted(sample for _, _, samples in recent for sample in samples)
        series = [
            {"time": number * BUCKET_SECONDS, "requests": count, **_percentiles(samples)}
            for number, count, samples in buckets
            if number > current - BUCKETS
        ]
        requests = sum(count for _, count, _ in recent)
        return {"requests": requests, **_percentiles(now), "bucket_seconds": BUCKET_SECONDS, "series": series}


def _percentiles(ordered: list[float]) -> dict[str, float | None]:
    """By nearest rank."""
    last = len(ordered) - 1
    return {
        f"p{percent}_ms": round(1e3 * ordered[max(0, -(-percent * len(ordered) // 100) - 1)], 3) if last >= 0 else None
        for percent in PERCENTILES
    }
