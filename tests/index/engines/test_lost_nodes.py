"""Three nodes and one replica: killing one node during the work loses no document and no query."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import shortlist
from shortlist import Document
from shortlist.results import Mode
from tests import servers
from tests.servers import Cluster
from tests.servers.fixtures import need

DOCUMENTS = 2_000
ASKED, ASKING = 300, 3
MODES: tuple[Mode, ...] = ("lexical", "dense", "hybrid")
GREEN_SECONDS = 180

pytestmark = [pytest.mark.cluster, pytest.mark.slow]  # three servers for a minute and a half


@pytest.fixture(scope="module", params=["opensearch", "elasticsearch"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    need(request.param)
    with servers.start(request.param, nodes=3) as started:
        yield started


def address(cluster: Cluster, *nodes: int) -> str:
    hosts = ",".join(cluster.urls[node].removeprefix("http://") for node in nodes or range(len(cluster.urls)))
    return f"{cluster.kind}+http://{hosts}/survival?shards=3&replicas=1"


def word(number: int) -> str:
    """A word of its own for each number, which no analyzer splits or stems."""
    return "".join("bdfgklmnpr"[int(digit)] + "aeiou"[int(digit) % 5] for digit in f"{number:04}") + "x"


def parts(count: int) -> list[Document]:
    return [Document(f"d{n}", f"Part {n}", f"The {word(n)} fits machine {word(9000 + n % 50)}.") for n in range(count)]


def test_no_document_is_lost_when_a_node_is_killed_during_ingest(cluster: Cluster, tmp_path: Path) -> None:
    documents = parts(DOCUMENTS)

    def with_a_kill_in_the_middle() -> Iterator[Document]:
        for number, document in enumerate(documents):
            if number == DOCUMENTS // 2:
                cluster.kill(0)
            yield document

    with shortlist.create_corpus("parts", path=tmp_path / "all", embedder="none", engine=address(cluster)) as corpus:
        changes = corpus.sync(with_a_kill_in_the_middle())
        assert (changes.added, changes.failed) == (DOCUMENTS, ())
        assert list(corpus) == documents

        cluster.restart(0)
        cluster.wait("green", GREEN_SECONDS)
        again = corpus.sync(documents)
        assert (again.added, again.changed, again.unchanged) == (0, 0, DOCUMENTS)

    with shortlist.open_corpus("parts", engine=address(cluster, 0)) as through_the_one_that_returned:
        assert list(through_the_one_that_returned) == documents


def test_no_query_fails_when_a_node_is_killed_during_a_storm(cluster: Cluster, tmp_path: Path) -> None:
    with shortlist.create_corpus("storm", path=tmp_path / "all", engine=address(cluster)) as corpus:
        corpus.sync(parts(ASKED))
        cluster.wait("green", GREEN_SECONDS)
        texts = {document.id: document.content for document in parts(ASKED)}
        over, asked = threading.Event(), [0] * ASKING

        def ask(thread: int) -> list[str]:
            """Ask until it is over; every answer that was not right."""
            wrong: list[str] = []
            for number, mode in itertools.cycle(itertools.product(range(thread, ASKED, ASKING), MODES)):
                if over.wait(0.01):
                    return wrong
                hits = shortlist.search(corpus, word(number), mode=mode, k=3)
                is_right = [hit.id for hit in hits] == [f"d{number}"] if mode == "lexical" else len(hits) == 3
                if not is_right or any(hit.text != texts[hit.id] for hit in hits):
                    wrong.append(f"{mode} {number}: {hits}")
                asked[thread] += 1
            return wrong

        def many_more() -> None:
            """Wait until every thread has had many more answers, unless one has ended."""
            wanted = [count + 10 * len(MODES) for count in asked]
            while any(count < want for count, want in zip(asked, wanted, strict=True)):
                failed = [storm.exception() for storm in storms if storm.done()]
                assert failed == []
                over.wait(0.05)

        with ThreadPoolExecutor(ASKING) as pool:
            storms = [pool.submit(ask, thread) for thread in range(ASKING)]
            try:
                many_more()
                leader = cluster.leader()
                cluster.kill(leader)
                many_more()
                cluster.restart(leader)
                cluster.wait("green", GREEN_SECONDS)
                many_more()
            finally:
                over.set()
            assert [storm.result() for storm in storms] == [[]] * ASKING
