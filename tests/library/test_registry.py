"""Names: what is registered stays registered, what is damaged stays as it is, and no two names share a folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import CorpusNotFound, InputError, RegistryDamaged, discover, register, registered, search, unregister
from shortlist.library import opening
from shortlist.library.registry import find, names, registry_file
from tests.embedded import store_of

EXAMPLES = Path(__file__).parents[2] / "examples" / "data"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\nGreen tea is steeped for two minutes.")
    (folder / "bread.md").write_text("# Bread\nSourdough bread is baked for an hour.")
    (folder / "list.txt").write_text("Buy flour.")
    return folder


# What is kept


def test_what_is_registered_is_there_for_another_process(notes: Path) -> None:
    register("notes", "files", root=notes, pattern=r"\.md$", embedder="none")
    code = "import shortlist; print([hit.id for hit in shortlist.search('notes', 'steeped tea')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['tea.md']\n"


def test_the_file_is_plain_json_with_places_written_out(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notes.parent)
    register("notes", "files", root="notes", pattern=r"\.md$")
    assert json.loads(registry_file().read_text()) == {
        "format": 1,
        "corpora": {
            "notes": {"kind": "files", "roots": [str(notes)], "options": {"pattern": r"\.md$"}, "embedder": None}
        },
    }


def test_the_same_registration_twice_is_one_and_another_must_replace(notes: Path) -> None:
    register("notes", "files", root=notes)
    register("notes", "files", root=notes)
    with pytest.raises(InputError, match=r"already registered as files .*notes\. Choose another name.*--replace"):
        register("notes", "files", root=notes, pattern="x")
    register("notes", "files", root=notes, pattern="x", replace=True)
    assert dict(registered()["notes"].options) == {"pattern": "x"}


def test_what_is_unregistered_is_gone_and_its_data_stay(notes: Path) -> None:
    register("notes", "files", root=notes, embedder="none")
    assert search("notes", "tea")
    assert unregister("notes")
    assert not unregister("notes")
    assert registered() == {}
    assert search("notes", "tea")


def test_four_processes_register_fifteen_names_each_and_none_is_lost(notes: Path) -> None:
    code = (
        "import sys, shortlist\n"
        "for number in range(15): shortlist.register(f'{sys.argv[1]}{number}', 'files', root=sys.argv[2])"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, letter, str(notes)]) for letter in "abcd"]
    assert [process.wait(timeout=60) for process in started] == [0, 0, 0, 0]
    assert sorted(registered()) == sorted(f"{letter}{number}" for letter in "abcd" for number in range(15))


def test_threads_register_at_once(notes: Path) -> None:
    threads = [threading.Thread(target=register, args=(f"n{at}", "files", notes)) for at in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(registered()) == 12


def test_a_linked_file_stays_a_link(notes: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    register("one", "files", root=notes)
    os.replace(registry_file(), kept)
    registry_file().symlink_to(kept)
    register("two", "files", root=notes)
    assert registry_file().is_symlink()
    assert sorted(json.loads(kept.read_text())["corpora"]) == ["one", "two"]


DAMAGED = ["", "{", "[]", '{"format": 1}', '{"format": 2, "corpora": {}}', '{"format": 1, "corpora": {"a": 5}}', "\xff"]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_named_and_left_as_it_is(content: str, notes: Path) -> None:
    registry_file().parent.mkdir(parents=True)
    registry_file().write_text(content, encoding="latin-1")
    acts: list[Any] = [registered, lambda: register("a", "files", root=notes), lambda: unregister("a")]
    for act in acts:
        with pytest.raises(RegistryDamaged, match=r"corpora\.json is damaged .* Nothing was overwritten"):
            act()
    assert registry_file().read_text(encoding="latin-1") == content


def test_a_damaged_file_does_not_keep_stored_corpora_and_texts_from_being_searched() -> None:
    shortlist.build({"a": "green tea"}, name="stored", embedder="none")
    registry_file().parent.mkdir(parents=True)
    registry_file().write_text("{")
    assert search("stored", "tea")[0].id == "a"
    assert search(["green tea", "black coffee"], "tea", mode="lexical")[0].id == "0"


# Names


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "1 to 100 characters"),
        ("   ", "1 to 100 characters"),
        ("n" * 101, "1 to 100 characters"),
        ("a/b", "it contains '/'"),
        ("a\\b", "it contains"),
        ("a,b", "it contains ','"),
        ("a\nb", "it contains"),
        (" a", "spaces around it"),
        ("a.", "end with a dot"),
        ("--json", "start with -"),
        ("docs:notes", "mark paths"),
        ("tools:", "mark paths"),
        ("\udcff", "a file name cannot have"),
    ],
)
def test_a_name_that_cannot_be_says_why(name: str, says: str, notes: Path) -> None:
    with pytest.raises(InputError, match=says.replace(".", r"\.")):
        register(name, "files", root=notes)
    assert registered() == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [("Notes", "notes"), ("café", unicodedata.normalize("NFD", "café")), ("Straße", "STRASSE"), ("ﬁles", "files")],
)
def test_names_that_could_share_a_folder_are_refused(first: str, second: str, notes: Path) -> None:
    register(first, "files", root=notes)
    with pytest.raises(InputError, match="would share a folder"):
        register(second, "files", root=notes)


def test_a_name_that_could_share_a_folder_with_a_stored_or_built_in_corpus_is_refused(notes: Path) -> None:
    shortlist.build({"a": "text"}, name="stored", embedder="none")
    for name, other in (("Stored", "stored"), ("SKILLS", "skills")):
        with pytest.raises(InputError, match=f"would share a folder with '{other}'"):
            register(name, "files", root=notes)


def test_a_stored_corpus_that_is_not_registered_is_only_taken_over_if_asked(notes: Path) -> None:
    shortlist.build({"a": "text"}, name="stored", embedder="none")
    with pytest.raises(InputError, match=r"not registered is already stored as 'stored'.*--replace"):
        register("stored", "files", root=notes)
    assert "stored" not in registered()
    register("stored", "files", root=notes, replace=True)
    register("stored", "files", root=notes)
    register("skills", "skills", root=notes)


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("flies", {}, "'flies' is not a kind of source"),
        ("files", {}, "'files' needs a root. Pass .*--root PATH"),
        ("skills", {"pattern": "x"}, "'skills' has no option 'pattern'"),
        ("catalog", {"root": ["x", "y"]}, "'catalog' has one root, not 2"),
        ("functions", {"root": "x"}, "exist only in memory"),
        ("files", {"root": "x", "pattern": "("}, "not a regular expression"),
        ("list", {"root": "x"}, "exists only in memory"),
    ],
)
def test_a_registration_that_could_not_be_built_says_why(kind: str, options: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        register("name", kind, **options)


def test_options_that_are_no_plain_data_are_refused_and_nothing_is_written(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("notes", "files", root=notes)
    before = registry_file().read_bytes()
    with pytest.raises(InputError, match="plain data"):
        register("other", "files", root=notes, exclude=b"x")  # type: ignore[arg-type]
    assert registry_file().read_bytes() == before
    assert [path.name for path in registry_file().parent.iterdir() if path.suffix == ".draft"] == []


def test_an_unknown_name_is_answered_with_the_nearest(notes: Path) -> None:
    register("notebook", "files", root=notes)
    with pytest.raises(CorpusNotFound, match=r"'notbook'.* Did you mean 'notebook'\?"):
        search("notbook", "tea")
    with pytest.raises(CorpusNotFound, match=r"Did you mean 'skills'\?"):
        search("Skils", "tea")
    with pytest.raises(InputError, match=r"Did you mean 'notebook'\?"):
        shortlist.build("notebok")


# Built on first use


def test_built_in_names_need_no_registration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES / "skills", tmp_path / ".claude" / "skills")
    monkeypatch.chdir(tmp_path)
    assert discover("skills", "roll back a bad release").results[0].id == "deploy-to-production"
    assert "skills" in names()


def test_a_registration_of_a_built_in_name_takes_its_place() -> None:
    register("skills", "skills", root=EXAMPLES / "skills", embedder="none")
    assert len(shortlist.build("skills")) == 6
    assert find("skills") != find("mcp")


def test_a_path_with_docs_before_it_is_a_corpus_from_everywhere(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notes.parent)
    assert search("docs:notes", "steeped")[0].id == "tea.md"
    monkeypatch.chdir(notes)
    hit = search("docs:.", "steeped")[0]
    assert (hit.id, hit.corpus) == ("tea.md", f"docs:{notes}")
    assert names() == sorted([f"docs:{notes}", "mcp", "packages", "skills"])
    assert len(shortlist.open_corpus(f"docs:{notes}")) == 3


def test_a_very_long_path_is_a_corpus_too(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["long-folder-name" * 3] * 6)
    folder.mkdir(parents=True)
    (folder / "tea.md").write_text("green tea")
    name = f"docs:{folder}"
    assert [hit.corpus for hit in search(name, "tea")] == [name]
    stored = next(other for other in names() if "~" in other)
    assert [hit.id for hit in search(stored, "tea")] == ["tea.md"]


def test_a_registered_corpus_is_built_on_first_use_with_its_embedder_and_only_then(notes: Path) -> None:
    register("notes", "files", root=notes, embedder="light")
    seen: list[tuple[int, int | None]] = []
    assert search("notes", "tea", progress=lambda *told: seen.append(told))
    assert seen == [(3, None)]
    assert shortlist.open_corpus("notes").config.embedder == "light"
    (notes / "coffee.md").write_text("# Coffee")
    assert search("notes", "coffee", mode="lexical", progress=lambda *told: seen.append(told)) == []
    assert len(seen) == 1
    assert shortlist.build("notes").changes.added == 1


def test_a_first_build_that_was_broken_off_is_done_again(notes: Path) -> None:
    register("notes", "files", root=notes, embedder="none")

    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search("notes", "tea", progress=interrupt)
    opening._open.clear()
    assert search("notes", "tea")[0].id == "tea.md"


# Deleted


def test_a_deleted_corpus_is_gone_with_its_folder() -> None:
    corpus = shortlist.build({"a": "green tea"}, name="tea", embedder="none")
    assert corpus.path is not None
    corpus.close()
    shortlist.delete_corpus("tea")
    assert list(corpus.path.parent.iterdir()) == []
    with pytest.raises(CorpusNotFound):
        shortlist.delete_corpus("tea")


def test_a_folder_with_other_things_in_it_is_not_deleted(tmp_path: Path) -> None:
    shortlist.build({"a": "tea"}, path=tmp_path / "mine", embedder="none").close()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    with pytest.raises(shortlist.CorpusError, match=r"contains more than a corpus \(diary\.txt\)"):
        shortlist.delete_corpus(tmp_path / "mine")
    assert (tmp_path / "mine" / "corpus.db").exists()


def test_a_corpus_is_not_deleted_while_somebody_writes() -> None:
    corpus = shortlist.build({"a": "tea"}, name="tea", embedder="none")
    with store_of(corpus).writing(), pytest.raises(shortlist.CorpusBusy):
        shortlist.delete_corpus("tea")
    assert search("tea", "tea")


def test_a_damaged_corpus_can_be_deleted() -> None:
    corpus = shortlist.build({"a": "tea"}, name="tea", embedder="none")
    corpus.close()
    assert corpus.path is not None
    (corpus.path / "corpus.db").write_bytes(b"rubbish" * 1000)
    shortlist.delete_corpus("tea")
    assert not corpus.path.exists()


# Compared


def test_a_comparison_says_what_a_build_would_do_and_does_nothing(notes: Path) -> None:
    register("notes", "files", root=notes, embedder="none")
    corpus = shortlist.build("notes")
    (notes / "coffee.md").write_text("# Coffee")
    (notes / "tea.md").write_text("# Tea\nBlack tea takes four minutes.")
    (notes / "list.txt").unlink()
    entry = find("notes")
    assert entry is not None
    expected = shortlist.Changes(added=1, changed=1, unchanged=1, removed=1)
    assert corpus.compare(entry.source()) == corpus.compare(iter(entry.source())) == expected
    assert sorted(corpus.ids()) == ["bread.md", "list.txt", "tea.md"]
    assert shortlist.build("notes").changes == expected
