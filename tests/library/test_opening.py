"""Opening: the corpus that a name stands for, also after it was built again or deleted."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from shortlist import (
    Changes,
    Corpus,
    CorpusNotFound,
    Document,
    InputError,
    open_corpus,
    search,
)
from shortlist.index.corpus_paths import stored_corpora
from tests.library.built import FRUIT, built, found


@pytest.mark.parametrize(
    "name", ["fruit & veg", "50%", "..", "日本語", "x" * 100, "日" * 100, "Nul", "com1.txt", "a.", "a "],
    ids=lambda name: name[:9],
)  # fmt: skip
def test_any_name_of_up_to_a_hundred_characters_is_a_name(name: str) -> None:
    assert built(FRUIT, name) == Changes(added=3)
    assert found(name, "plum") == ["plum"]
    (folder,) = stored_corpora().values()
    assert re.fullmatch(r"(?!(?i:nul|com\d)(\.|$))[^<>:\"/\\|?*]*[^. ]", folder.name), "Windows can have such a folder"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows never had such folders")
def test_a_corpus_whose_folder_an_earlier_version_named_is_found() -> None:
    built(FRUIT, "a.")
    (folder,) = stored_corpora().values()
    folder.rename(folder.with_name("a."))
    assert found("a.", "plum") == ["plum"]


@pytest.mark.parametrize("name", ["x" * 101, "   ", "\ud800"], ids=["long", "blank", "surrogate"])
def test_a_name_that_can_be_none_is_an_input_error(name: str) -> None:
    with pytest.raises(InputError):
        built(FRUIT, name)


@pytest.mark.parametrize(("before", "after"), [("light", "default"), ("none", "light"), ("default", "light")])
@pytest.mark.parametrize("by_name", [True, False])
def test_an_open_corpus_follows_a_rebuild_with_another_embedder(before: str, after: str, by_name: bool) -> None:
    built(FRUIT, embedder=before)
    with open_corpus("fruit") as opened:
        corpus: Corpus | str = "fruit" if by_name else opened
        assert [hit.id for hit in search(corpus, "green pear", k=1)] == ["pear"]
        built(FRUIT, embedder=after, rebuild=True)
        assert [hit.id for hit in search(corpus, "green pear", mode="dense", k=1)] == ["pear"]
        opened.add([Document("fig", "", "A brown fig.")])
        assert [hit.id for hit in search(corpus, "brown fig", mode="dense", k=1)] == ["fig"]


def test_a_name_follows_what_is_built_under_it() -> None:
    built(FRUIT)
    assert found("fruit", "plum") == ["plum"]
    built({"fig": "A brown fig."})
    assert (found("fruit", "plum"), found("fruit", "fig")) == ([], ["fig"])


def test_an_empty_corpus_has_a_name_too() -> None:
    built({})
    assert found("fruit", "plum") == []
    built(FRUIT)
    assert found("fruit", "plum") == ["plum"]


def test_a_name_whose_corpus_was_deleted_is_not_found_any_more(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    built(FRUIT, path=folder)
    assert found(folder, "plum") == ["plum"]
    shutil.rmtree(folder)
    with pytest.raises(CorpusNotFound):
        found(folder, "plum")


def test_a_corpus_that_was_deleted_and_built_anew_is_the_new_one(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    for at in range(4):
        built({f"d{at}": "A blue plum."}, path=folder)
        assert found(folder, "plum") == [f"d{at}"]
        shutil.rmtree(folder)


def test_a_corpus_whose_files_were_deleted_and_built_anew_is_the_new_one(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    built({"old": "A blue plum."}, path=folder)
    assert found(folder, "plum") == ["old"]
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(CorpusNotFound):
        found(folder, "plum")
    built({"new": "A blue plum."}, path=folder)
    assert found(folder, "plum") == ["new"]


def test_many_corpora_can_be_searched_by_name_in_turn() -> None:
    for at in range(20):
        built({f"d{at}": "A blue plum."}, f"corpus {at}")
    for _ in range(2):
        assert [found(f"corpus {at}", "plum") for at in range(20)] == [[f"d{at}"] for at in range(20)]
