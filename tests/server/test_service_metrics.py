"""Latencies: percentiles by nearest rank, of the last minute and in steps of ten seconds."""

from __future__ import annotations

from shortlist.server.service_metrics import SAMPLES, Latencies


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_percentiles_are_those_of_the_nearest_rank() -> None:
    latencies = Latencies(Clock())
    for milliseconds in range(100, 0, -1):
        latencies.add(milliseconds / 1000)
    summary = latencies.summary()
    assert (summary["p50_ms"], summary["p95_ms"], summary["p99_ms"]) == (50.0, 95.0, 99.0)
    assert summary["requests"] == 100
    assert summary["series"] == [{"time": 1000, "requests": 100, "p50_ms": 50.0, "p95_ms": 95.0, "p99_ms": 99.0}]


def test_without_requests_there_are_no_percentiles() -> None:
    summary = Latencies(Clock()).summary()
    assert (summary["requests"], summary["p50_ms"], summary["series"]) == (0, None, [])


def test_now_is_the_last_minute_and_the_series_the_last_ten() -> None:
    clock = Clock()
    latencies = Latencies(clock)
    latencies.add(0.001)
    clock.now += 300
    latencies.add(0.002)
    clock.now += 30
    latencies.add(0.004)
    summary = latencies.summary()
    assert (summary["requests"], summary["p50_ms"], summary["p99_ms"]) == (2, 2.0, 4.0)
    assert [row["time"] for row in summary["series"]] == [1000, 1300, 1330]
    clock.now += 300
    summary = latencies.summary()
    assert (summary["requests"], summary["p99_ms"]) == (0, None)
    assert [row["time"] for row in summary["series"]] == [1300, 1330]


def test_many_requests_cost_no_more_memory_and_are_all_counted() -> None:
    latencies = Latencies(Clock())
    for number in range(5 * SAMPLES):
        latencies.add(0.001 if number % 2 else 0.003)
    summary = latencies.summary()
    assert summary["requests"] == 5 * SAMPLES
    assert {summary["p50_ms"], summary["p99_ms"]} <= {1.0, 3.0}
    assert sum(len(samples) for _, _, samples in latencies._buckets) == SAMPLES
