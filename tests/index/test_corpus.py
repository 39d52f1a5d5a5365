"""A corpus: its options, its thresholds, and that it is the same after saving and loading."""

from __future__ import annotations

import gc
import math
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import CorpusMismatch, Document, InputError, Scoring
from tests.index.samples import WORDS, doc, memory, results, segment_files


def test_nothing_changes_by_saving_and_loading(tmp_path: Path) -> None:
    documents = [doc(f"d{n}", " ".join(WORDS[: n % 7 + 1]), metadata={"n": n}) for n in range(50)]
    with shortlist.create_corpus(path=tmp_path / "c", embedder="light") as corpus:
        corpus.sync(documents)
        corpus.remove("d3")
        before = {mode: results(corpus, "word1 word5", mode) for mode in ("lexical", "dense", "hybrid", "auto")}
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        assert {mode: results(corpus, "word1 word5", mode) for mode in before} == before
        assert list(corpus) == [document for document in documents if document.id != "d3"]
        assert len(corpus) == 49
        assert "d4" in corpus
        assert "d3" not in corpus


def test_a_corpus_remembers_how_it_was_made(tmp_path: Path) -> None:
    scoring = Scoring("bm25+", k1=1.2)
    options: dict[str, Any] = {"analyzer": "words-1", "scoring": scoring, "chunk_size": 300, "chunk_overlap": 50}
    shortlist.create_corpus(path=tmp_path / "c", embedder="light", **options).close()
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        config = corpus.config
        assert {name: getattr(config, name) for name in options} == options
        assert corpus.embedder is not None
        assert corpus.embedder.name == config.embedder_name
    with pytest.raises(CorpusMismatch, match="rebuild=True"):
        shortlist.create_corpus(path=tmp_path / "c", analyzer="english-1")
    with pytest.raises(CorpusMismatch, match="'none'"):
        shortlist.create_corpus(path=tmp_path / "c", embedder="none")


def test_a_rebuild_changes_embedder_and_options_and_keeps_the_documents(tmp_path: Path) -> None:
    document = doc("a", "running dogs " * 100, kind="file")
    with shortlist.create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.sync([document])
        corpus.set_threshold("lexical", 0.5)
    with shortlist.create_corpus(path=tmp_path / "c", embedder="light", chunk_size=200, rebuild=True) as corpus:
        assert corpus.get("a") == document
        assert corpus.info()["passages"] > 5
        assert corpus.info()["floors"] == {}
        assert results(corpus, "running dogs", "dense")[0][0] == "a"
        assert len(segment_files(corpus)) == 1


@pytest.mark.parametrize(
    ("mode", "threshold", "needed"),
    [("auto", 5.0, "from 0 to 1, not 5.0"), ("auto", -0.1, "from 0 to 1"), ("lexical", math.nan, "finite score")],
)
def test_a_threshold_that_nothing_can_reach_is_an_error(mode: str, threshold: float, needed: str) -> None:
    corpus = shortlist.build({"a": "green tea"}, in_memory=True, embedder="none")
    with pytest.raises(InputError, match=needed):
        corpus.set_threshold(mode, threshold)
    assert corpus.info()["floors"] == {}


def test_the_old_names_of_thresholds_still_work() -> None:
    corpus = memory()
    with pytest.deprecated_call(match="set_threshold"):
        corpus.set_floor("lexical", 0.4)
    with pytest.deprecated_call(match="threshold"):
        assert corpus.floor("lexical") == corpus.threshold("lexical") == (0.4, "")


def test_a_lexical_corpus_says_that_it_has_no_vectors() -> None:
    corpus = memory()
    corpus.sync([doc("a", "x")])
    with pytest.raises(InputError, match="mode='lexical'"):
        results(corpus, "x", "dense")
    assert [id for id, _ in results(corpus, "x", "auto")] == [id for id, _ in results(corpus, "x", "lexical")]


def test_what_is_not_a_list_of_documents_is_not_added() -> None:
    corpus = shortlist.build({"tea": "Green tea."}, in_memory=True, embedder="none")
    for given in ("black tea", {"black": "tea"}, Document("b", "Black", "tea")):
        with pytest.raises(InputError, match="takes a list of Documents"):
            corpus.add(given)  # type: ignore[arg-type]


def test_an_unknown_value_of_learning_is_refused() -> None:
    with pytest.raises(InputError, match="off, log, on, not 'yes'"):
        shortlist.build({"tea": "Green tea."}, in_memory=True, learning="yes")  # type: ignore[arg-type]


def test_a_corpus_of_a_newer_format_says_what_to_do(tmp_path: Path) -> None:
    shortlist.build({"tea": "Green tea."}, path=tmp_path / "new", embedder="none").close()
    with closing(sqlite3.connect(tmp_path / "new" / "corpus.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(CorpusMismatch, match=r"format 99, .* Update shortlist, or delete the corpus"):
        shortlist.open_corpus(tmp_path / "new")


def test_a_corpus_in_memory_needs_no_close() -> None:
    """From Python 3.13 on, a database that was not closed is reported."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        corpus = memory()
        corpus.add([Document("0", "tea", "green")])
        corpus.learn("tea", "0")
        del corpus
        gc.collect()
    assert caught == []


def test_a_repr_is_one_line_with_what_the_corpus_has(tmp_path: Path) -> None:
    with shortlist.create_corpus("shop", path=tmp_path / "shop", embedder="light") as corpus:
        assert repr(corpus) == f"Corpus('shop', empty, light, {tmp_path / 'shop'})"
        corpus.add(
            [Document("a", "", "text"), Document("b", "", "text", kind="tool"), Document("c", "", "", kind="tool")]
        )
        assert repr(corpus) == f"Corpus('shop', 2 tools, 1 document, light, {tmp_path / 'shop'})"
    assert repr(corpus) == "Corpus('shop', closed)"


def test_a_notebook_shows_what_a_corpus_has_with_its_name_escaped() -> None:
    with shortlist.create_corpus("<i>shop</i>", in_memory=True, embedder="light") as corpus:
        corpus.add([doc(str(number), "a text about lamps") for number in range(3)])
        shown = corpus._repr_html_()
        assert "&lt;i&gt;shop&lt;/i&gt;" in shown
        assert "<i>" not in shown
        assert "3 (3 documents)" in shown
    assert "closed" in corpus._repr_html_()
