"""The servers of the tests are real: they index and search, and never outlive the process that started them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.servers.archive import RELEASES
from tests.servers.fixtures import need
from tests.servers.shared import ROOT, shared


def index_and_search(url: str, name: str) -> list[str]:
    """The ids that are found for one word, after two documents were indexed."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
        for number, text in enumerate(["a hen lays eggs", "a cow gives milk"]):
            client.put(f"/{name}/_doc/{number}", params={"refresh": "true"}, json={"text": text}).raise_for_status()
        found = client.post(f"/{name}/_search", json={"query": {"match": {"text": "milk"}}}).raise_for_status().json()
        return [hit["_id"] for hit in found["hits"]["hits"]]


def refuses(url: str) -> bool:
    """Whether no server listens there."""
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


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="servers are started with setpriv")
def test_a_server_that_does_not_start_is_tried_once_and_its_log_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as place:  # where the user that servers run as may read and write
        program = Path(place) / f"opensearch-{RELEASES['opensearch'].version}" / "bin" / "opensearch"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho x >> {place}/starts\necho No space left on device\nexit 3\n")
        for path in (Path(place), program):
            path.chmod(0o777)
        monkeypatch.setenv("SHORTLIST_TEST_SERVERS", place)
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"opensearch server .* did not start: .*\nNo space left on device"):
                shared("opensearch", tmp_path).__enter__()
        assert (Path(place) / "starts").read_text() == "x\n"


def test_all_processes_of_a_test_run_share_one_server(
    opensearch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.getbasetemp()
    folder = next(folder for folder in (base, base.parent) if (folder / "opensearch.url").exists())
    program = "import sys, pathlib; from tests.servers import shared; "
    program += "print(shared('opensearch', pathlib.Path(sys.argv[1])).__enter__())"
    done = subprocess.run([sys.executable, "-c", program, str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == opensearch_url, done.stderr


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
