"""Corpora on every engine: the embedded one, and real servers if they are available."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

import shortlist
from shortlist import Changes, Corpus, Document
from shortlist.documents import Passage, Stamp, Stamps
from shortlist.results import Hit

Make = Callable[..., Corpus]

# Every run tests on OpenSearch. Elasticsearch is tested with -m slow.
SERVERS = (
    pytest.param("opensearch", marks=pytest.mark.cluster),
    pytest.param("elasticsearch", marks=[pytest.mark.cluster, pytest.mark.slow]),
)
# One order for all tests: pytest groups tests by the index of their parameter.
PERSISTENT = ("folder", *SERVERS)
ENGINES = (*PERSISTENT, "memory")

WORDS = """
oolong sencha assam matcha darjeeling ceylon kettle cup saucer leaf garden harvest mountain river trade ship port
merchant tax price weight chest paper stamp letter house table guest morning evening winter summer rain soil root
"""


def teas(count: int) -> list[Document]:
    """Documents of several passages each, some with the same title."""
    dice, words = random.Random(9), WORDS.split()
    return [
        Document(f"d{at}", f"Tea {at % 150}", " ".join(dice.choices(words, k=dice.randint(20, 120))), kind="file")
        for at in range(count)
    ]


def long_document(id: str, word: str, passages: int) -> Document:
    """A document of at least this many passages of 200 characters."""
    return Document(id, f"About {word}", " ".join(f"{word}{at}." for at in range(passages * 40)), kind="file")


@dataclass(frozen=True)
class Place:
    """One engine to store corpora with, each under its own name."""

    engine: str
    folder: Path
    address: str = "embedded"

    @property
    def is_cluster(self) -> bool:
        return self.address != "embedded"

    def create(self, name: str = "", embedder: Any = "none", **options: Any) -> Corpus:
        """Create a corpus, or open an existing one with these options. Without a name it gets a new one."""
        if self.engine == "memory":
            return shortlist.create_corpus(name, in_memory=True, embedder=embedder, **options)
        name = name or f"c{uuid.uuid4().hex}"
        return shortlist.create_corpus(name, path=self.folder / name, engine=self.address, embedder=embedder, **options)

    def open(self, name: str, embedder: Any = None) -> Corpus:
        return shortlist.open_corpus(self.folder / name, embedder)


@pytest.fixture(scope="module", params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Every engine in turn. Use `persistent` for tests that close a corpus and open it again."""
    folder = tmp_path_factory.mktemp("corpora")
    with ExitStack() as stack:
        # Clusters are remembered in the data directory, and the one of `own_places` does not exist yet.
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("SHORTLIST_DATA_DIR", str(folder))
        if request.param in ("folder", "memory"):
            yield Place(request.param, folder)
        else:
            url = request.getfixturevalue(f"{request.param}_url")
            yield Place(request.param, folder, stack.enter_context(cluster_address(request.param, url)))


@pytest.fixture
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """An engine address with a prefix that no other test uses. Its indices are deleted afterwards."""
    with cluster_address(request.param, request.getfixturevalue(f"{request.param}_url")) as address:
        yield address


@contextmanager
def cluster_address(kind: str, url: str) -> Iterator[str]:
    """An engine address with a new prefix. Its indices are deleted afterwards."""
    prefix = f"t{uuid.uuid4().hex[:10]}"
    yield f"{kind}+{url}/{prefix}"
    with httpx2.Client(trust_env=False, timeout=30) as client:
        names = [index["index"] for index in client.get(f"{url}/_cat/indices/{prefix}-*?format=json").json()]
        for start in range(0, len(names), 50):
            client.delete(f"{url}/{','.join(names[start : start + 50])}")


@pytest.fixture
def make(address: str) -> Iterator[Make]:
    """Creates corpora at the address, and closes them after the test."""
    made: list[Corpus] = []

    def create(name: str = "shelf", embedder: Any = "none", **options: Any) -> Corpus:
        made.append(shortlist.create_corpus(name, embedder=embedder, engine=address, **options))
        return made[-1]

    yield create
    for corpus in made:
        corpus.close()


@contextmanager
def listening(server: ThreadingHTTPServer) -> Iterator[int]:
    """A server that answers in a thread of its own; its port."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def persistent(function: Any) -> Any:
    """Run a test on every engine that stores corpora outside this process."""
    return pytest.mark.parametrize("place", PERSISTENT, indirect=True)(function)


def on_servers(function: Any) -> Any:
    """Run a test on every cluster engine."""
    return pytest.mark.parametrize("address", SERVERS, indirect=True)(function)


CHUNKS: dict[str, Any] = {"chunk_size": 200, "chunk_overlap": 20}


MIXED = [
    Document("send_email", "send_email", "Send a message to a person.", ["mail", "smtp"], {"access": "write", "n": 1},
             kind="tool", payload='{"name": "send_email"}'),
    Document("read_email", "read_email", "Read the newest message.", ["mail"], {"access": "read", "n": 2},
             kind="tool", payload='{"name": "read_email"}'),
    Document("id/with #?", "Größe ü", "Zeile\n\ttwo \0 日本語 🫖 Ωμέγα", ["a b", "ü"],
             {"n": 1.5, "deep": {"list": [1, 2.5, None, True]}}, source="s/x y.md", locator="row=3"),
    Document("flags", "Flags", "True is not 1.", metadata={"n": True, "tags": ["red", "green"], "deep": {"list": []}}),
    *(Document(f"book.pdf#{page}", "Book", f"Page {page} about kettles. " * 30, source="/shelf/book.pdf",
               locator=f"page={page}", kind="page") for page in (1, 2)),
    *(Document(f"twin{at}", "Twins", "The very same words.") for at in range(4)),
    Document("blank", " ", "\n"),
    Document("empty", "", ""),
]  # fmt: skip


LIBRARY = [*teas(240), *MIXED]


@pytest.fixture(scope="module")
def library(place: Place) -> Iterator[Corpus]:
    """Many documents, with vectors. For reading only."""
    with place.create(embedder="light", **CHUNKS) as corpus:
        assert corpus.sync(LIBRARY) == Changes(added=len(LIBRARY))
        yield corpus


@pytest.fixture(scope="module")
def reference() -> Iterator[Corpus]:
    """The same documents in memory, for comparing engines."""
    with shortlist.create_corpus(in_memory=True, embedder="light", **CHUNKS) as corpus:
        corpus.sync(LIBRARY)
        yield corpus


@pytest.fixture(scope="module")
def shared_shelf(place: Place) -> Iterator[Corpus]:
    with place.create(**CHUNKS) as corpus:
        yield corpus


@pytest.fixture
def shelf(shared_shelf: Corpus) -> Corpus:
    """An empty corpus without vectors."""
    shared_shelf.sync([])
    assert (len(shared_shelf), shared_shelf.stamps()) == (0, {})
    return shared_shelf


def notes(*numbers: int, word: str = "tea") -> list[Document]:
    return [Document(f"n{number}", "", f"{word} number {number}") for number in numbers]


def passages_of(corpus: Corpus) -> list[Passage]:
    with corpus.snapshot() as state:
        return list(state.walk())


def ids_of(hits: Iterable[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def assert_same_hits(found: list[Hit], expected: list[Hit], tolerance: float = 1e-6) -> None:
    assert [hit.passage for hit in found] == [hit.passage for hit in expected]
    for hit, other in zip(found, expected, strict=True):
        assert hit.score == pytest.approx(other.score, abs=tolerance)
        assert hit.signals == pytest.approx(other.signals, abs=1e-6)
        assert hit.relevance == pytest.approx(other.relevance, abs=1e-6)


class Stamped(list[Document]):
    """A source with one file, and a stamp that tells whether the file has changed."""

    def __init__(self, value: str, *documents: Document) -> None:
        super().__init__(documents)
        self.stamp = Stamp("f", "f.txt", value)

    def since(self, known: Stamps) -> list[Any]:
        return [self.stamp] if known.get("f") == self.stamp else [*self, self.stamp]
