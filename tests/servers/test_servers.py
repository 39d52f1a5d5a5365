"""The servers of the tests are real: they index and search, and never run longer than whoever started them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import httpx2
import pytest

from tests.servers.fixtures import need
from tests.servers.shared import ROOT


def index_and_search(url: str, name: str) -> list[str]:
    """The ids that are found for one word, after two documents were indexed."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
        for number, text in enumerate(["a hen lays eggs", "a cow gives milk"]):
            client.put(f"/{name}/_doc/{number}", params={"refresh": "true"}, json={"text": text}).raise_for_status()
        found = client.post(f"/{name}/_search", json={"query": {"match": {"text": "milk"}}}).raise_for_status().json()
        return [hit["_id"] for hit in found["hits"]["hits"]]


def refuses(url: str) -> bool:
    """Whether nobody listens there."""
    try:
        httpx2.get(url, trust_env=False)
    except httpx2.TransportError as error:
        return isinstance(error, httpx2.ConnectError)
    return False


def within(seconds: float, happens: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_a_real_opensearch_finds_what_was_indexed(opensearch_url: str) -> None:
    assert httpx2.get(opensearch_url, trust_env=False).json()["version"]["distribution"] == "opensearch"
    assert index_and_search(opensearch_url, "farm") == ["1"]


@pytest.mark.slow
def test_a_real_elasticsearch_finds_what_was_indexed(elasticsearch_url: str) -> None:
    assert httpx2.get(elasticsearch_url, trust_env=False).json()["version"]["number"] == "8.12.2"
    assert index_and_search(elasticsearch_url, "farm") == ["1"]


@pytest.mark.cluster
@pytest.mark.slow
def test_a_server_does_not_outlive_the_process_that_started_it() -> None:
    need("opensearch")
    program = (
        "from tests import servers; c = servers.start('opensearch'); print(c.urls[0], c.folder, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        url, folder = owner.stdout.readline().split()
        assert httpx2.get(url, trust_env=False).is_success
        os.kill(owner.pid, signal.SIGKILL)
    assert within(30, lambda: refuses(url))
    shutil.rmtree(folder)
