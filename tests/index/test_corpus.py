"""A corpus: its options, its thresholds, and that it is the same after saving and loading."""

from __future__ import annotations

import gc
import warnings
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
