"""The seam for packages above the service: what they add to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from starlette.responses import Response

from shortlist.safety.principals import Right
from shortlist.server.jobs import Endpoints

# Runs a function of a module with the corpus of a name and these options, in a thread or in a search process, and sends
# what it returns. The last argument is the pool of threads.
RunSearch = Callable[[Callable[..., dict[str, Any]], str, dict[str, Any], str], Awaitable[Response]]


class Extension:
    """Routes in addition to those of the service, and what the service must know of them."""

    name = ""  # in `extensions` of GET /status, by which the page knows what is there
    timed: tuple[str, ...] = ()  # the routes whose latencies are recorded
    large_bodies: tuple[str, ...] = ()  # the ends of the paths whose requests may have limits.max_body_bytes
    rights: ClassVar[
        Mapping[str, Right]
    ] = {}  # that its routes need for the catalog; others need admin for every corpus
    models: tuple[Any, ...] = ()  # dataclasses of answers, and bodies that no route names by type, for OpenAPI

    def add_routes(self, endpoints: Endpoints, run_search: RunSearch) -> None:
        """Add the routes to the application of the endpoints."""

    def status(self) -> dict[str, Any]:
        """Further fields of GET /status."""
        return {}

    def changed_settings(self) -> dict[str, tuple[Any, str]]:
        """The values that were changed while the service ran, by key, each with its origin."""
        return {}
