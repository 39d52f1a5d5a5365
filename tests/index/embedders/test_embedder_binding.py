"""The embedder of a corpus: the one it was built with, or an error that says how to pass it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist.errors import EmbedderError
from tests.index.damages import CountingEmbedder
from tests.index.samples import doc, results
from tests.index.soak import version


def test_an_embedder_of_the_program_must_be_given_again(tmp_path: Path) -> None:
    def lengths(texts: list[str]) -> Any:
        return [[len(text), 1.0] for text in texts]

    with shortlist.create_corpus(path=tmp_path / "c", embedder=lengths) as corpus:
        corpus.sync([doc("a", "x"), doc("b", "xxxx")])
        before = results(corpus, "xxxx", "dense")
    with shortlist.open_corpus(tmp_path / "c") as corpus:
        assert results(corpus, "xxxx") == results(corpus, "xxxx", "lexical")
        with pytest.raises(EmbedderError, match="embedder="):
            results(corpus, "xxxx", "dense")
    with shortlist.open_corpus(tmp_path / "c", embedder=lengths) as corpus:
        assert results(corpus, "xxxx", "dense") == before


def test_documents_are_removed_where_the_embedder_is_not_given(tmp_path: Path) -> None:
    shortlist.build(version("A"), path=tmp_path, embedder=CountingEmbedder()).close()
    with shortlist.open_corpus(tmp_path) as corpus:
        assert corpus.remove([document.id for document in version("A")[1:]]) == 59
        assert corpus.ids() == ["d0"]
