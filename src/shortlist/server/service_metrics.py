"""Metrics of requests: counters for Prometheus, and latency percentiles of the last minute and the last ten minutes."""

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
SAMPLES = 1_000  # per bucket
RECENT = 6  # buckets
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
PERCENTILES = (50, 95, 99)


class Metrics(Collector):
    """Requests by route, and gauges that are read when they are requested; each application has its own."""

    def __init__(self, read_gauges: Callable[[], dict[str, float]]) -> None:
        self.latencies = Latencies()
        self.in_progress = 0
        self._read_gauges = read_gauges
        self._registry = registry = CollectorRegistry()
        labels = ("route", "method", "status")
        requests = Counter("shortlist_requests", "Requests by route, method and status.", labels, registry=registry)
        seconds = Histogram(
            "shortlist_request_seconds", "Duration of requests.", ("route",), buckets=BOUNDS, registry=registry
        )
        self._requests, self._seconds = cache(requests.labels), cache(seconds.labels)
        registry.register(self)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests(route, method, str(status)).inc()
        self._seconds(route).observe(seconds)

    def exposition(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        for name, value in {**self._read_gauges(), "requests_in_progress": self.in_progress}.items():
            yield GaugeMetricFamily(f"shortlist_{name}", f"Current {name.replace('_', ' ')}.", value)


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
            elif (at := random.randrange(count[0])) < SAMPLES:  # reservoir sampling: each has the same chance
                samples[at] = seconds

    def summary(self) -> dict[str, Any]:
        """Percentiles of the last minute in milliseconds, and a row for each bucket with requests."""
        current = int(self._clock() // BUCKET_SECONDS)
        with self._lock:
            buckets = [(number, count[0], [*samples]) for number, count, samples in self._buckets]
        recent = [bucket for bucket in buckets if bucket[0] > current - RECENT]
        series = [
            {"time": number * BUCKET_SECONDS, "requests": count, **_percentiles(samples)}
            for number, count, samples in buckets
            if number > current - BUCKETS
        ]
        now = _percentiles([sample for _, _, samples in recent for sample in samples])
        requests = sum(count for _, count, _ in recent)
        return {"requests": requests, **now, "bucket_seconds": BUCKET_SECONDS, "series": series}


def _percentiles(samples: list[float]) -> dict[str, float | None]:
    """By nearest rank."""
    ordered = [round(1e3 * sample, 3) for sample in sorted(samples)]
    ranks = {percent: max(0, -(-percent * len(ordered) // 100) - 1) for percent in PERCENTILES}
    return {f"p{percent}_ms": ordered[rank] if ordered else None for percent, rank in ranks.items()}
