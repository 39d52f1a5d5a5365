"""Compressed texts: every reader gets the plain text, next to rows of an older format and after any kind of end."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import Changes, Corpus, CorpusDamaged, Document
from shortlist._paths import data_dir
from shortlist.index.storage import writer
from tests.index.soak import rebuilt

# A corpus of format 2: `old_documents`, one of them replaced and one removed after the first build.
OLD = Path(__file__).parents[1] / "data" / "format2"
WORDS = [f"word{number}" for number in range(300)]
EVERYTHING = "word1 word2 word3 guide naïve 東京"


def old_documents() -> list[Document]:
    draw = random.Random(2)
    texts = [" ".join(draw.choices(WORDS, k=60)) for _ in range(12)]
    return [
        *(Document(f"d{at}", f"Title {at}", text, [WORDS[at]], {"at": at}) for at, text in enumerate(texts)),
        Document("guide", "", "# Guide\n\n" + "Some words of a guide. " * 120, kind="file", source="guide.md"),
        Document(
            "tool", "Tool", "What the tool does, word2.", kind="tool", payload=json.dumps({"type": "object"}) * 20
        ),
        Document("naïve", "日本", "東京は日本の首都です。" * 20 + " naïve café 😀"),
        Document("empty", "", ""),
    ]


def many_documents(seed: int = 1) -> list[Document]:
    """Enough text for a dictionary."""
    draw = random.Random(seed)
    return [
        Document(f"n{at}", f"Title {at}", " ".join(draw.choices(WORDS, k=100)), metadata={"seed": seed})
        for at in range(600)
    ]


@contextlib.contextmanager
def sql(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path / "corpus.db", isolation_level=None)) as connection:
        yield connection


def types_of(path: Path, table: str = "documents", column: str = "content") -> dict[str, str]:
    """Whether each text is stored as text or as a blob."""
    with sql(path) as connection:
        if table == "documents":
            return dict(connection.execute(f"SELECT id, typeof({column}) FROM documents"))
        query = f"SELECT d.id || p.num, typeof(p.{column}) FROM passages p JOIN documents d ON d.num = p.document"
        return dict(connection.execute(query))


def format_of(path: Path) -> int:
    with sql(path) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def read_all(corpus: Corpus) -> dict[str, Any]:
    """What every reader says, in an order that does not depend on how the corpus came about."""
    documents = {document.id: document for document in corpus}
    with corpus.snapshot() as snapshot:
        passages = sorted((p.document_id, p.locator, p.text, p.context) for p in snapshot.walk())
    return {
        "documents": documents,
        "one by one": {id: corpus.get(id) for id in documents},
        "passages": passages,
        "found": [
            sorted((hit.id, hit.text, round(hit.score, 9)) for hit in shortlist.search(corpus, text, k=500))
            for text in EVERYTHING.split()
        ],
        "browsed": {
            text: sorted(d.id for d in corpus.browse(text)[0]) for text in ("WORD7 ", "CAFÉ", "東京", "guide", "n1")
        },
    }


@pytest.fixture
def old() -> Path:
    return Path(shutil.copytree(OLD, data_dir() / "corpora" / "old"))


def test_a_corpus_of_format_2_is_read_as_it_is(old: Path) -> None:
    with shortlist.open_corpus(old) as corpus:
        assert read_all(corpus) == read_all(rebuilt(old_documents(), analyzer=corpus.config.analyzer))
        assert corpus.sync(old_documents()) == Changes(unchanged=len(old_documents()))
    assert format_of(old) == 2
    assert set(types_of(old).values()) == {"text"}


def test_a_corpus_of_format_2_is_upgraded_by_the_first_change_that_compresses(old: Path) -> None:
    more = many_documents()
    with shortlist.open_corpus(old) as corpus:
        assert corpus.sync([*old_documents(), *more]).added == len(more)
        assert read_all(corpus) == read_all(rebuilt([*old_documents(), *more], analyzer=corpus.config.analyzer))
    assert format_of(old) == 3
    types = types_of(old)
    assert {types[document.id] for document in old_documents()} == {"text"}
    assert {types[document.id] for document in more} == {"blob"}
    with shortlist.open_corpus(old) as corpus:
        corpus.reindex()
        corpus.compact()
        assert corpus.sync([*old_documents(), *more]) == Changes(unchanged=len(old_documents()) + len(more))
        assert read_all(corpus) == read_all(rebuilt([*old_documents(), *more], analyzer=corpus.config.analyzer))


def test_the_first_new_segment_raises_the_format_with_its_transaction(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 0.1.0 reads format 2 only, and only segments with counts of four bytes."""
    monkeypatch.setattr(writer, "FLUSH_PASSAGES", 8)
    with shortlist.open_corpus(old) as corpus:
        with pytest.raises(RuntimeError):
            corpus.sync(_fail_after([Document("new", "", "word1")]))
        assert format_of(old) == 2
        shortlist.search(corpus, "word1")
        assert format_of(old) == 2
        corpus.add([Document("new", "", "word1")])
        assert format_of(old) == 3
        assert read_all(corpus)["documents"].keys() == {document.id for document in old_documents()} | {"new"}


def test_a_repair_of_a_corpus_of_format_2_raises_the_format(old: Path) -> None:
    for file in (old / "segments").iterdir():
        file.write_bytes(b"")
    with shortlist.open_corpus(old) as corpus:
        assert read_all(corpus) == read_all(rebuilt(old_documents(), analyzer=corpus.config.analyzer))
    assert format_of(old) == 3


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A corpus with compressed texts, among them payloads and parts of files."""
    path = tmp_path / "built"
    shortlist.build([*many_documents(), *old_documents()], path=path, embedder="none").close()
    return path


def test_all_readers_get_the_plain_text(built: Path) -> None:
    assert types_of(built)["n1"] == types_of(built)["naïve"] == "blob"
    assert types_of(built)["empty"] == "text"  # too short
    assert types_of(built, column="payload")["tool"] == "blob"
    assert types_of(built, column="payload")["n1"] == "null"
    assert "blob" in types_of(built, "passages", "text").values()
    with shortlist.open_corpus(built) as corpus:
        assert read_all(corpus) == read_all(
            rebuilt([*many_documents(), *old_documents()], analyzer=corpus.config.analyzer)
        )
        shutil.rmtree(built / "segments")
        corpus.add([Document("last", "", "word1")])
    with shortlist.open_corpus(built) as corpus:  # rebuilds the segments
        corpus.remove(["last"])
        assert read_all(corpus) == read_all(
            rebuilt([*many_documents(), *old_documents()], analyzer=corpus.config.analyzer)
        )


def test_a_document_with_more_passages_than_are_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "FLUSH_ROWS", 100)
    text = " ".join(random.Random(3).choices(WORDS, k=30_000))
    with shortlist.build([Document("long", "", text, kind="file")], path=tmp_path, embedder="none") as corpus:
        assert corpus.info()["passages"] > 200
        with corpus.snapshot() as snapshot:
            passages = list(snapshot.walk())
    with rebuilt([Document("long", "", text, kind="file")]) as other, other.snapshot() as snapshot:
        assert passages == list(snapshot.walk())


def test_a_small_corpus_and_one_in_memory_stay_plain(tmp_path: Path) -> None:
    shortlist.build(old_documents(), path=tmp_path / "small", embedder="none").close()
    assert set(types_of(tmp_path / "small").values()) == {"text"}
    with rebuilt(many_documents()) as corpus, corpus._engine.store.reading() as connection:  # type: ignore[attr-defined]
        assert connection.execute("SELECT DISTINCT typeof(content) FROM documents").fetchall() == [("text",)]


def test_compressing_saves_space(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LEARN_FROM", 1 << 60)
    plain = tmp_path / "plain"
    shortlist.build([*many_documents(), *old_documents()], path=plain, embedder="none").close()
    assert (built / "corpus.db").stat().st_size < 0.8 * (plain / "corpus.db").stat().st_size


@pytest.mark.parametrize("text", ["\0" * 200, "ß" * 64, "\U0001f600" * 300, "a" * 63 + "\n", "\ud800 " * 90, " " * 100])
def test_unusual_texts_are_read_as_they_were_given(built: Path, text: str) -> None:
    with shortlist.open_corpus(built) as corpus:
        corpus.add([Document("new", "", text, payload=text)])
        with rebuilt([Document("new", "", text, payload=text)]) as other:
            assert corpus.get("new") == other.get("new")
    assert types_of(built)["new"] == "blob"


DAMAGES = {
    "cut": "UPDATE documents SET content = substr(content, 1, length(content) / 2) WHERE id = 'n7'",
    "no frame": "UPDATE documents SET content = CAST('no frame' AS BLOB) WHERE id = 'n7'",
    "empty": "UPDATE documents SET content = x'' WHERE id = 'n7'",
    "of another": "UPDATE documents SET content = (SELECT content FROM documents WHERE id = 'n8') WHERE id = 'n7'",
    "with a wrong length": "UPDATE documents SET content = CAST(x'01' || substr(content, 2) AS BLOB) WHERE id = 'n7'",
    "without its dictionary": "DELETE FROM meta WHERE key = 'dictionary'",
    "with another dictionary": "UPDATE meta SET value = randomblob(1000) WHERE key = 'dictionary'",
    "with a text for a dictionary": "UPDATE meta SET value = 'text' WHERE key = 'dictionary'",
    "with a short dictionary": f"UPDATE meta SET value = x'{zlib.compress(bytes(10)).hex()}' WHERE key = 'dictionary'",
}

READERS: dict[str, Callable[[Corpus], object]] = {
    "get": lambda corpus: corpus.get("n7"),
    "search": lambda corpus: shortlist.search(corpus, "Title 7", k=500),
    "scan": list,
    "browse": lambda corpus: corpus.browse("title 7"),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_text_that_cannot_be_read_is_damage(damage: str, reader: Callable[[Corpus], object], built: Path) -> None:
    with sql(built) as connection:
        connection.execute(damage)
    with shortlist.open_corpus(built) as corpus, pytest.raises(CorpusDamaged, match=r"corpus\.db"):
        reader(corpus)


def test_a_segment_is_not_rebuilt_from_texts_that_cannot_be_read(built: Path) -> None:
    with sql(built) as connection:
        connection.execute(DAMAGES["cut"])
    shutil.rmtree(built / "segments")
    with shortlist.open_corpus(built) as corpus, pytest.raises(CorpusDamaged, match="a coded text is damaged"):
        shortlist.search(corpus, "word1")


def test_a_change_that_fails_takes_its_dictionary_with_it(tmp_path: Path) -> None:
    with shortlist.build(old_documents(), path=tmp_path, embedder="none") as corpus:
        with pytest.raises(RuntimeError, match="gone"):
            corpus.sync(_fail_after(many_documents(1)))
        assert corpus.add(many_documents(2)).added == len(many_documents(2))
        wanted = read_all(rebuilt([*old_documents(), *many_documents(2)], analyzer=corpus.config.analyzer))
        assert read_all(corpus) == wanted
    with shortlist.open_corpus(tmp_path) as corpus:
        assert read_all(corpus) == wanted


def _fail_after(documents: list[Document]) -> Iterator[Document]:
    yield from documents
    yield from (Document(f"more{at}", "", "text " * 40) for at in range(1_200))
    raise RuntimeError("The source is gone.")


def test_another_process_may_compress_first(tmp_path: Path) -> None:
    code = (
        "import sys, shortlist\nfrom tests.index.storage.test_stored_text import many_documents\n"
        "with shortlist.open_corpus(sys.argv[1]) as corpus: corpus.add(many_documents())"
    )
    with shortlist.build(old_documents(), path=tmp_path, embedder="none") as corpus:
        assert read_all(corpus) == read_all(rebuilt(old_documents(), analyzer=corpus.config.analyzer))
        subprocess.run([sys.executable, "-c", code, tmp_path], check=True, timeout=120)
        assert read_all(corpus) == read_all(
            rebuilt([*old_documents(), *many_documents()], analyzer=corpus.config.analyzer)
        )
        corpus.add([Document("last", "", "word1 " * 40)])
        assert types_of(tmp_path)["last"] == "blob"
        assert corpus.get("last") == Document("last", "", "word1 " * 40)
