"""One real server of each kind for all processes of a test run; tests that use one have the marker `cluster`.

Tests of an unavailable server are skipped, and the summary shows the reason; those named in $SHORTLIST_TEST_MUST fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.servers import KINDS, available, shared

FIXTURES = {f"{kind}_url" for kind in KINDS}
TESTS = Path(__file__).parents[1]
# Tests that start servers, kill processes, damage files or run every documented command: minutes, not seconds. Files of
# other folders set the mark themselves.
PROCESSES = ("mcp/", "server/", "servers/")
SKIPPED = "Not tested on a real {kind}: {reason}."


@pytest.fixture(scope="session")
def opensearch_url(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an OpenSearch that other tests use too: take index names of your own."""
    yield from _one("opensearch", tmp_path_factory, request)


@pytest.fixture(scope="session")
def elasticsearch_url(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an Elasticsearch that other tests use too: take index names of your own."""
    yield from _one("elasticsearch", tmp_path_factory, request)


def need(kind: str) -> None:
    """Skip, or fail if it is required, unless this kind of server is available."""
    reason = available(kind)
    if reason is not None:
        sentence = SKIPPED.format(kind=kind, reason=reason)
        if kind in os.environ.get("SHORTLIST_TEST_MUST", "").split():
            pytest.fail(sentence)
        pytest.skip(sentence)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make test-fast` leaves out, which take seconds each, and run their files first."""
    long = set()
    for item in items:
        place = item.path.as_posix().removeprefix(f"{TESTS.as_posix()}/")
        if FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("cluster")
        if place.startswith("web/"):
            item.add_marker("browser")
        if place.startswith(PROCESSES) or place.endswith("test_docs.py"):
            item.add_marker("process")
        if any(item.get_closest_marker(name) for name in ("cluster", "browser", "process")):
            long.add(item.path)
    items.sort(key=lambda item: item.path not in long)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    start = SKIPPED.partition("{")[0]
    skipped = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    reasons = {text[2].removeprefix("Skipped: ") for text in skipped if isinstance(text, tuple)}
    for sentence in sorted(reason for reason in reasons if reason.startswith(start)):
        terminalreporter.write_line(sentence, yellow=True)


def _one(kind: str, folders: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    need(kind)
    folder = folders.getbasetemp()
    if hasattr(request.config, "workerinput"):  # all workers of pytest-xdist use one server
        folder = folder.parent
    with ExitStack() as stack:
        try:
            url = stack.enter_context(shared(kind, folder))
        except RuntimeError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        yield url
