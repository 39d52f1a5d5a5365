"""What the name or the path of a corpus means, and what is suggested for one that means nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shortlist
from shortlist import CorpusNotFound, InputError, open_corpus, search
from shortlist.library.corpus_names import detect_prefix, find_source, make_not_found, resolve
from shortlist.library.opening import is_known, open_named

SCHEMA = {"name": "send", "parameters": {"type": "object"}}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("Green tea is steeped for two minutes.")
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [SCHEMA]}))
    return tmp_path


def test_a_path_of_any_spelling_is_the_corpus_of_its_files(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(files))
    name = f"docs:{files / 'notes'}"
    for path in ("notes", "./notes", "notes/", "~/notes", str(files / "notes"), Path("notes")):
        assert resolve(path) == name
        assert [hit.id for hit in search(path, "tea", mode="lexical")] == ["tea.md"]
    assert resolve("tools.json") == f"tools:{files / 'tools.json'}"
    assert open_corpus("notes").name == shortlist.build("notes").name == name


def test_a_name_comes_before_a_path_of_the_same_spelling(files: Path) -> None:
    shortlist.build({"a": "black coffee"}, "notes", embedder="none").close()
    assert resolve("notes") == "notes"
    assert resolve("./notes") == resolve(Path("notes")) == f"docs:{files / 'notes'}"
    (files / "skills").mkdir()
    assert resolve("skills") == "skills"


def test_a_folder_with_an_index_is_that_index(files: Path) -> None:
    shortlist.build({"a": "black coffee"}, path=files / "index", embedder="none").close()
    assert [hit.id for hit in search("index", "coffee")] == ["a"]
    assert [hit.id for hit in search(Path("index"), "coffee")] == ["a"]


def test_a_prefix_sets_the_kind_which_stays_once_it_is_built(files: Path) -> None:
    assert search("docs:tools.json", "send", mode="lexical")[0].kind == "file"
    assert resolve("tools.json") == f"docs:{files / 'tools.json'}"
    assert search("tools:tools.json", "send", mode="lexical")[0].kind == "tool"
    assert resolve("tools.json") == f"tools:{files / 'tools.json'}"


@pytest.mark.parametrize(
    ("name", "data", "prefix"),
    [
        ("a.json", {"tools": [SCHEMA]}, "tools:"),
        ("a.json", [{"type": "function", "function": SCHEMA}], "tools:"),
        ("a.json", {"documents": [{"id": "a", "title": "b", "content": "c"}]}, "tools:"),
        ("a.yaml", {"openapi": "3.1.0", "paths": {}}, "tools:"),
        ("a.json", {"name": "left-pad", "description": "A package.", "version": "1"}, "docs:"),
        ("a.json", [{"name": "Oslo", "population": 700_000}], "docs:"),
        ("a.json", {"tools": "none"}, "docs:"),
        ("a.json", [], "docs:"),
        ("a.txt", {"tools": [SCHEMA]}, "docs:"),
        ("a.py", "def send(): ...", "docs:"),
    ],
)
def test_the_kind_of_a_file_is_that_of_its_content(tmp_path: Path, name: str, data: object, prefix: str) -> None:
    file = tmp_path / name
    file.write_text(json.dumps(data))
    assert detect_prefix(file) == prefix


def test_a_broken_file_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("tools: [")
    assert detect_prefix(tmp_path / "a.yaml") == "docs:"


def test_a_folder_of_skills_is_one_of_which_half_has_a_skill_file(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "SKILL.md").write_text("How to deploy.")
    assert detect_prefix(tmp_path) == detect_prefix(tmp_path / "one") == "skills:"
    (tmp_path / "README.md").touch()
    (tmp_path / ".hidden").touch()
    assert detect_prefix(tmp_path) == "skills:"
    (tmp_path / "other.md").touch()
    assert detect_prefix(tmp_path) == "docs:"


@pytest.mark.parametrize("name", ["nosuch", "a\0b", "x" * 5000, "y/" * 3000, "~nosuchuser/x", "", " ", "://"])
def test_what_means_nothing_stays_as_it_is(files: Path, name: str) -> None:
    assert resolve(name) == name
    assert not is_known(name)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("noets", "notes"),
        ("noets/tea.md", "notes/tea.md"),
        ("tools:tols.json", "tools:tools.json"),
        ("skils", "skills"),
    ],
)
def test_the_closest_path_or_name_is_suggested(files: Path, name: str, near: str) -> None:
    assert str(make_not_found(name)).endswith(f"Did you mean {near!r}?")


def test_advice_is_given_if_nothing_is_close(files: Path) -> None:
    assert str(make_not_found("quite-different", " Do this.")).endswith(" Do this.")
    assert "'quite/different' does not exist" in str(make_not_found("quite/different", " Do this."))


def test_an_empty_folder_and_a_missing_path_are_not_sources(files: Path) -> None:
    (files / "void").mkdir()
    for path in ("void", "./void"):
        with pytest.raises(CorpusNotFound, match=f"'{path}' is an empty folder"):
            search(path, "tea")
    with pytest.raises(CorpusNotFound, match="does not exist"):
        find_source("docs:nowhere")


def test_a_request_cannot_index_a_path(files: Path) -> None:
    for name in ("notes", "./notes", f"docs:{files / 'notes'}"):
        with pytest.raises(shortlist.ShortlistError):
            open_named(name, can_build=False)
    assert not is_known("index")


def test_a_corpus_without_a_source_is_not_said_to_be_missing(files: Path) -> None:
    shortlist.build({"a": "black coffee"}, "drinks", embedder="none").close()
    with pytest.raises(InputError, match="'drinks' is stored, but not registered"):
        shortlist.build("drinks")


def test_a_path_that_was_never_indexed_cannot_be_opened_yet(files: Path) -> None:
    with pytest.raises(CorpusNotFound, match=r"shortlist\.build\('notes'\)"):
        open_corpus("notes")
