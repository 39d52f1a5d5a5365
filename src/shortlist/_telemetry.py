"""Traces and metrics: recorded if the process has set up OpenTelemetry; otherwise nothing of it is loaded.

Attributes are counts, names and outcomes, never queries, questions or texts.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from shortlist import __version__
from shortlist._environment import read_variable
from shortlist.errors import needs_extra

API, SDK = "opentelemetry.trace", "opentelemetry.sdk"  # what records is in the second, or of another vendor
NAME = "shortlist"
DURATION = "shortlist.operation.duration"
REQUEST_HEADER = "x-request-id"
CONTEXT = "shortlist.context"  # the key of `to_headers` in the scope of a request

# The id of the HTTP request that this code runs for.
current_request: ContextVar[str] = ContextVar("current_request", default="")

Params = ParamSpec("Params")
Result = TypeVar("Result")


class Span:
    """An operation: a span, and its duration in the metrics. Only if OpenTelemetry is in use."""

    def __init__(self, name: str, *, is_request: bool = False, headers: Mapping[str, str] | None = None) -> None:
        from opentelemetry import propagate, trace  # noqa: PLC0415

        self._name = name
        self._scope = trace.get_tracer(NAME).start_as_current_span(
            name,
            context=propagate.extract(headers) if headers else None,
            kind=trace.SpanKind.SERVER if is_request else trace.SpanKind.INTERNAL,
        )

    def __enter__(self) -> Span:
        self._started = time.perf_counter()
        self._span = self._scope.__enter__()
        return self

    def set(self, attributes: Mapping[str, Any], name: str = "") -> None:
        self._span.set_attributes(attributes)
        if name:
            self._span.update_name(name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        labels = {"shortlist.operation": self._name} | ({"error.type": kind.__name__} if kind else {})
        _durations().record(time.perf_counter() - self._started, labels)
        self._scope.__exit__(kind, error, traceback)


@functools.cache
def _durations() -> Any:
    from opentelemetry import metrics  # noqa: PLC0415

    meter = metrics.get_meter(NAME)
    return meter.create_histogram(DURATION, "s", "Duration of searches, answers, calls and requests.")


def is_used() -> bool:
    """Whether this process records. Libraries that could do so load the API, too."""
    trace = sys.modules.get(API)
    return trace is not None and (
        SDK in sys.modules or not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    )


def traced(
    name: str, describe: Callable[[Any], dict[str, Any]] = lambda _: {}
) -> Callable[[Callable[Params, Result]], Callable[Params, Result]]:
    """Decorator: a span for each call, with what `describe` says about its result."""

    def decorate(function: Callable[Params, Result]) -> Callable[Params, Result]:
        @functools.wraps(function)
        def call(*args: Params.args, **kwargs: Params.kwargs) -> Result:
            if not is_used():
                return function(*args, **kwargs)
            with Span(f"{NAME}.{name}") as span:
                result = function(*args, **kwargs)
                span.set({f"{NAME}.{key}": value for key, value in describe(result).items()})
                return result

        return call

    return decorate


def current_ids() -> dict[str, str]:
    """The ids of the request and of the span that this code runs for."""
    ids = {"request_id": request} if (request := current_request.get()) else {}
    if is_used():
        from opentelemetry import trace  # noqa: PLC0415

        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            ids |= {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
    return ids


def to_headers() -> dict[str, str]:
    """The current request and trace, for another process."""
    headers = {REQUEST_HEADER: current_request.get()}
    if is_used():
        from opentelemetry import propagate  # noqa: PLC0415

        propagate.inject(headers)
    return headers


def resume(headers: Mapping[str, str]) -> None:
    """Work for the request and trace of another process or task from now on."""
    current_request.set(headers[REQUEST_HEADER])
    if is_used():
        from opentelemetry import context, propagate  # noqa: PLC0415

        context.attach(propagate.extract(headers))


def export(is_enabled: bool) -> Callable[[], None]:
    """Send traces and metrics of this process to where the OTEL_ variables say; the function returned ends that."""
    if not is_enabled:
        return lambda: None
    with needs_extra("otel", "Sending traces and metrics (telemetry.enabled)"):
        from opentelemetry import metrics, trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    name = {} if read_variable("OTEL_SERVICE_NAME") else {"service.name": NAME}
    resource = Resource.create({**name, "service.version": __version__})
    traces = TracerProvider(resource=resource)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    readings = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource)
    trace.set_tracer_provider(traces)
    metrics.set_meter_provider(readings)

    def end() -> None:
        traces.shutdown()
        readings.shutdown()

    return end
