"""Damage to the database of a corpus is reported, and the database is never changed."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import shortlist
from shortlist import Changes, Corpus, CorpusDamaged, CorpusMismatch, Document
from shortlist.index.storage import writer
from tests.index import soak
from tests.index.copies import copy_own
from tests.index.damages import DATABASE_DAMAGES, PAGE, PATIENCE, Make, files_of, garbage
from tests.index.soak import found, rebuilt, version

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in soak.SMALL.items():
        monkeypatch.setattr(writer, name, value)


@pytest.mark.parametrize("damage", DATABASE_DAMAGES.values(), ids=DATABASE_DAMAGES)
def test_a_damaged_database_is_named_and_never_touched(
    damage: Callable[[bytes], bytes], tmp_path: Path, make: Make
) -> None:
    make()
    file = tmp_path / "corpus.db"
    damaged = damage(file.read_bytes())
    file.write_bytes(damaged)
    attempts: list[Callable[[], object]] = [
        lambda: shortlist.open_corpus(tmp_path),
        lambda: shortlist.create_corpus(path=tmp_path, embedder="none"),
        lambda: shortlist.create_corpus(path=tmp_path, embedder="none", rebuild=True),
        lambda: shortlist.build(version("A"), path=tmp_path, embedder="none"),
        lambda: shortlist.build(version("A"), path=tmp_path, embedder="light", rebuild=True),
        lambda: shortlist.search(tmp_path, "word1"),
    ]
    segments = {file.name: file.read_bytes() for file in files_of(tmp_path)}
    for attempt in attempts:
        with pytest.raises(CorpusDamaged) as caught:
            attempt()
        assert str(file) in str(caught.value)
        assert file.read_bytes() == damaged
    assert {file.name: file.read_bytes() for file in files_of(tmp_path)} == segments


def test_a_database_that_is_damaged_while_open_is_named(tmp_path: Path, make: Make) -> None:
    make()
    with shortlist.open_corpus(tmp_path) as corpus:
        (tmp_path / "corpus.db").write_bytes(garbage(100_000))
        with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
            list(corpus)
        with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
            corpus.sync(version("A"))
        with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
            found(corpus)


PAGE_DAMAGES = {"noise": garbage(PAGE), "zeros": bytes(PAGE), "ones": b"\xff" * PAGE, "text": b"garbage " * (PAGE // 8)}


@pytest.mark.parametrize("kind", PAGE_DAMAGES)
def test_garbage_over_a_page_is_noticed_or_harmless(kind: str, tmp_path: Path) -> None:
    """Short rows and long ones, which go on over several pages."""
    long = [Document(f"l{n}", "", f"word{n} " * 900, [], {"even": 1}, payload=f"pay{n} " * 1000) for n in range(3)]
    documents = [*version("B")[::3], *long]
    shortlist.build(documents, path=tmp_path / "whole", embedder="none").close()
    pages = (tmp_path / "whole" / "corpus.db").stat().st_size // PAGE
    whole, other = rebuilt(documents), rebuilt(version("A"))
    by_id = {document.id: document for document in documents}
    answers, texts, passages = found(whole), _texts(whole), whole.info()["passages"]
    answers_after = found(other)
    checks: list[Callable[[Corpus], tuple[object, object]]] = [
        lambda corpus: (found(corpus), answers),
        lambda corpus: (_texts(corpus), texts),
        lambda corpus: ({document.id: document for document in corpus}, by_id),
        lambda corpus: ({id: corpus.get(id) for id in by_id}, by_id),
        lambda corpus: (corpus.ids(), list(by_id)),
        lambda corpus: (len(corpus), len(by_id)),
        lambda corpus: (corpus.info()["passages"], passages),
        lambda corpus: (corpus.sync(documents), Changes(unchanged=len(documents))),
        lambda corpus: (corpus.sync(version("A")).to_dict() and found(corpus), answers_after),
    ]
    noticed = Counter[bool]()
    for page in range(1, pages):
        path = tmp_path / str(page)
        copy_own(tmp_path / "whole", path)
        with (path / "corpus.db").open("r+b") as file:
            file.seek(page * PAGE)
            file.write(PAGE_DAMAGES[kind])
        # what is done nevertheless must be right
        messages = [message for check in checks if (message := _find_damage(path, check))]
        assert all(str(path) in message for message in messages)
        noticed[bool(messages)] += 1
    assert noticed.total() == pages - 1
    assert noticed[True] > noticed[False]


def _find_damage(path: Path, check: Callable[[Corpus], tuple[object, object]]) -> str:
    try:
        with shortlist.open_corpus(path) as corpus:
            given, right = check(corpus)
            assert given == right
    except CorpusDamaged as error:
        return str(error)
    return ""


def _texts(corpus: Corpus) -> list[str]:
    return [hit.text for hit in shortlist.search(corpus, "word1 word2", k=100, filter={"even": 1})]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE meta SET value = substr(value, 9) WHERE key = 'config'",
        "UPDATE meta SET value = 'g' WHERE key = 'generation'",
        "DELETE FROM meta",
    ],
)
def test_a_database_without_its_configuration_is_damaged(damage: str, tmp_path: Path, make: Make) -> None:
    make()
    database = sqlite3.connect(tmp_path / "corpus.db", isolation_level=None)
    with contextlib.closing(database):
        database.execute(damage)
    with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
        shortlist.search(tmp_path, "word1")
    with pytest.raises(CorpusDamaged, match=r"corpus\.db"):
        shortlist.build(version("A"), path=tmp_path, embedder="none")


def test_another_format_is_a_mismatch(tmp_path: Path, make: Make) -> None:
    make()
    database = sqlite3.connect(tmp_path / "corpus.db")
    with contextlib.closing(database):
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(CorpusMismatch, match="format 99") as caught:
        shortlist.open_corpus(tmp_path)
    assert str(tmp_path / "corpus.db") in str(caught.value)
    with pytest.raises(CorpusMismatch, match="format 99"):
        shortlist.build(version("A"), path=tmp_path, embedder="none")


READ_ONLY = """
import sys, shortlist
with shortlist.open_corpus(sys.argv[1]) as corpus:
    for _ in range(2):
        print([hit.id for hit in shortlist.search(corpus, "pear")])
    try:
        corpus.add([shortlist.Document("b", "", "plum")])
    except shortlist.CorpusError as error:
        print(error)
"""


@pytest.mark.process
def test_a_corpus_on_a_read_only_file_system_is_searched(tmp_path: Path) -> None:
    """As in a container. SQLite alone cannot open such a database, since it has no log and cannot create one."""
    folder = tmp_path / "disk"
    shortlist.build([Document("a", "", "pear")], path=folder / "corpus", embedder="none").close()
    mount = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && exec "
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*command, f"{mount} true"], capture_output=True).returncode:
        pytest.skip("File systems cannot be mounted here.")
    program = f"{mount} {sys.executable} -W error -c '{READ_ONLY}' {folder / 'corpus'}"
    done = subprocess.run([*command, program], capture_output=True, text=True, timeout=PATIENCE, check=False)
    first, second, refused = done.stdout.splitlines()
    assert (first, second, done.stderr) == ("['a']", "['a']", "")
    assert refused.endswith("corpus.db cannot be used: attempt to write a readonly database.")
