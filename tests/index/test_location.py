"""Where a corpus is stored, and the errors if it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

import shortlist
from shortlist import CorpusError, CorpusMismatch, CorpusNotFound
from shortlist.index.location import delete_corpus, find_corpus_file, find_location
from tests.index.soak import version


def test_a_missing_path_is_not_found_and_not_made(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(CorpusNotFound) as caught:
            shortlist.open_corpus(path)
        assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_that_cannot_be_created_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CorpusError, match=r"corpus\.db cannot be created: (Not a directory|File exists)"):
        shortlist.build(version("A"), path=tmp_path / "file" / "corpus", embedder="none")


def test_a_corpus_is_found_until_it_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "tea"
    assert find_corpus_file(folder) is None
    shortlist.build(version("A"), path=folder, embedder="none").close()
    assert find_corpus_file(folder) == folder / "corpus.db"
    delete_corpus(folder)
    assert find_corpus_file(folder) is None
    with pytest.raises(CorpusNotFound, match="tea"):
        delete_corpus(folder)


def test_a_corpus_on_this_machine_is_not_opened_in_a_cluster(tmp_path: Path) -> None:
    address = "opensearch+http://127.0.0.1:9/p"
    assert find_location(tmp_path, "tea", address).engine == address
    shortlist.build(version("A"), path=tmp_path, embedder="none").close()
    assert find_location(tmp_path, "tea").engine == "embedded"
    with pytest.raises(CorpusMismatch, match="shortlist migrate tea --to opensearch"):
        find_location(tmp_path, "tea", address)


def test_a_folder_that_points_to_a_cluster_is_not_opened_here(tmp_path: Path) -> None:
    location = find_location(tmp_path, "tea", "opensearch+http://127.0.0.1:9/p")
    location.write_pointer()
    assert find_corpus_file(tmp_path) == tmp_path / "engine.json"
    assert find_location(tmp_path, "other").name == "tea"
    with pytest.raises(CorpusMismatch, match="--to embedded"):
        find_location(tmp_path, "tea", "embedded")
