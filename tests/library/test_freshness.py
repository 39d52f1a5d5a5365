"""Freshness: a corpus that is named by a path has what its files contain now."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from shortlist import CorpusSource, Document, build, open_corpus, register
from shortlist.index import location
from shortlist.index.corpus_paths import FILES_MARK
from shortlist.index.storage.database import Store
from shortlist.library import build as builds
from shortlist.library import freshness, opening
from shortlist.sources import folder as folder_module
from tests.library.built import found
from tests.sources.samples import write

CATALOG = """documents:
  - {id: mail, title: send_mail, content: Send an e-mail.}
"""


@pytest.fixture(autouse=True)
def without_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "PAUSE_SECONDS", 0)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    write(tmp_path, {"office.txt": "The office is in Bern.", "parking.txt": "Parking costs 5 francs."})
    build(tmp_path, embedder="none").close()
    return tmp_path


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that are built."""
    names: list[str] = []
    run = builds.build

    def note(source: str, **options: object) -> object:
        names.append(source)
        return run(source, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builds, "build", note)
    return names


def test_a_search_finds_files_that_were_added_changed_and_not_those_removed(notes: Path) -> None:
    write(notes, {"menu.txt": "The cafeteria serves soup."})
    assert found(notes, "soup") == ["menu.txt"]
    write(notes, {"menu.txt": "The cafeteria serves rice."})
    assert (found(notes, "soup"), found(notes, "rice")) == ([], ["menu.txt"])
    (notes / "menu.txt").unlink()
    assert found(notes, "cafeteria") == []
    assert found(notes, "office") == ["office.txt"]


def test_a_catalog_is_followed_like_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"tools.yaml": CATALOG})
    file = tmp_path / "tools.yaml"
    build(file, embedder="none").close()
    write(tmp_path, {"tools.yaml": f"{CATALOG}  - {{id: pay, title: pay_bill, content: Pay an invoice.}}\n"})
    assert found(file, "invoice") == ["pay"]
    assert found(file, "e-mail") == ["mail"]


def test_skills_are_followed_like_other_files(tmp_path: Path) -> None:
    write(tmp_path, {"mail/SKILL.md": "---\nname: mail\ndescription: Write letters.\n---\nText."})
    build(tmp_path, embedder="none").close()
    write(tmp_path, {"pay/SKILL.md": "---\nname: pay\ndescription: Pay an invoice.\n---\nText."})
    assert found(tmp_path, "invoice") == ["pay"]


def test_nothing_is_built_while_no_file_changes(notes: Path, syncs: list[str]) -> None:
    assert [found(notes, "office") for _ in range(2)] == [["office.txt"]] * 2
    assert syncs == []
    write(notes, {"menu.txt": "Soup."})
    assert [found(notes, "soup") for _ in range(2)] == [["menu.txt"]] * 2
    assert syncs == [f"docs:{notes}"]


def test_documents_that_were_added_by_hand_stay(notes: Path) -> None:
    with open_corpus(notes) as corpus:
        corpus.add([Document("memo", "", "The memo.")])
    write(notes, {"menu.txt": "Soup."})
    assert found(notes, "memo") == ["memo"]
    assert found(notes, "soup") == []


def test_documents_that_a_build_without_prune_left_stay(notes: Path) -> None:
    (notes / "parking.txt").unlink()
    build(notes, prune=False).close()
    write(notes, {"menu.txt": "Soup."})
    assert found(notes, "parking") == ["parking.txt"]


def test_a_corpus_built_from_something_else_under_the_name_of_a_path_is_left_as_it_is(notes: Path) -> None:
    build(CorpusSource.from_files(notes, "office"), name=f"docs:{notes}").close()
    write(notes, {"menu.txt": "Soup."})
    assert found(notes, "soup") == []


def test_what_was_read_before_is_searched_with_a_warning_if_the_files_cannot_be_read(notes: Path) -> None:
    write(notes, {"new/menu.txt": "Soup."})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder_module, "MAX_DEPTH", 0)
        with pytest.warns(UserWarning, match=f"docs:{notes} has changed.*nested more than 0 deep"):
            assert found(notes, "office") == ["office.txt"]
    assert found(notes, "soup") == ["new/menu.txt"]


def test_what_was_read_before_is_searched_with_a_warning_while_another_process_writes(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "WAIT_SECONDS", 0)
    write(notes, {"menu.txt": "Soup."})
    with open_corpus(notes) as corpus:
        assert corpus.path is not None
        store = Store.open(corpus.path)
    with store.writing(), pytest.warns(UserWarning, match="has changed.*locked by another writer"):
        assert found(notes, "office") == ["office.txt"]
    store.close()
    assert found(notes, "soup") == ["menu.txt"]


def test_a_path_that_is_gone_is_searched_as_it_was(notes: Path) -> None:
    notes.rename(notes.with_name(f"{notes.name} moved"))
    with warnings.catch_warnings(action="error"):
        assert found(f"docs:{notes}", "office") == ["office.txt"]


def test_a_folder_with_too_many_files_is_not_followed(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "MOST_FILES", 2)
    write(notes, {"menu.txt": "Soup."})
    assert found(notes, "soup") == ["menu.txt"]
    write(notes, {"drinks.txt": "Tea."})
    assert found(notes, "tea") == []


def test_files_are_not_looked_at_again_within_the_pause(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "PAUSE_SECONDS", 1e9)
    assert found(notes, "soup") == []
    write(notes, {"menu.txt": "Soup."})
    assert found(notes, "soup") == []
    monkeypatch.setattr(freshness, "PAUSE_SECONDS", 0)
    assert found(notes, "soup") == ["menu.txt"]


def test_a_registered_name_is_built_only_on_request(notes: Path) -> None:
    register("notes", "files", root=notes, embedder="none")
    build("notes").close()
    write(notes, {"menu.txt": "Soup."})
    assert found("notes", "soup") == []


def test_a_deleted_corpus_leaves_no_mark(notes: Path) -> None:
    with open_corpus(notes) as corpus:
        folder = corpus.path
    assert folder is not None
    assert (folder / FILES_MARK).is_file()
    location.delete_corpus(f"docs:{notes}")
    assert not folder.exists()
