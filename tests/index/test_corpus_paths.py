"""Folders of corpora and the names in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import shortlist
from shortlist import CorpusNotFound, InputError
from shortlist.index.corpus_paths import LONGEST, corpus_dir, corpus_folder, is_stored, stored_corpora
from tests.index.samples import doc


def test_corpora_lie_in_the_data_directory_under_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path))
    for name in ("tools", "my tools", "größe", "a:b", ".."):
        with shortlist.create_corpus(name, embedder="none") as corpus:
            corpus.sync([doc("a", name)])
        with shortlist.open_corpus(name) as corpus:
            assert corpus.name == name
            assert corpus.path is not None
            assert corpus.path.parent == tmp_path / "corpora"
    assert len(os.listdir(tmp_path / "corpora")) == 5
    with pytest.raises(CorpusNotFound, match="build"):
        shortlist.open_corpus("nothing")
    with pytest.raises(InputError, match="characters"):
        shortlist.open_corpus("")


def test_a_name_with_a_slash_is_a_path_except_after_a_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path))
    assert corpus_folder("some/folder") == Path("some/folder")
    assert corpus_folder("tea", tmp_path / "x") == tmp_path / "x"
    folder = corpus_folder("docs:some/folder")
    assert folder.parent == tmp_path / "corpora"
    assert folder == corpus_folder(f"docs:{Path('some/folder').resolve()}")


@pytest.mark.parametrize("name", ["con", "NUL.txt", "COM1", "name.", "name ", "...", "x/" * 80])
def test_no_folder_has_a_name_that_a_file_system_refuses(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path))
    folder = corpus_folder(f"docs:/{name}") if "/" in name else corpus_dir(name)
    assert folder.parent == tmp_path / "corpora"
    assert not folder.name.endswith((".", " "))
    assert folder.name.lower().partition(".")[0] not in ("con", "nul", "com1")
    assert len(folder.name.encode()) <= LONGEST


def test_stored_corpora_are_listed_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path))
    assert stored_corpora() == {}
    for name in ("tea", "my: tools", "con"):
        corpus_dir(name).mkdir(parents=True)
    assert stored_corpora() == {name: corpus_dir(name) for name in ("tea", "my: tools", "con")}
    others = ("coffee", "my%3A tools", "", ".", "..", "../corpora", "/", str(corpus_dir("tea")), "~")
    assert [name for name in (*stored_corpora(), *others) if is_stored(name)] == list(stored_corpora())
