"""Uploaded files are saved in the folder of their corpus, whatever their names are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import shortlist
from shortlist._paths import data_dir
from shortlist.errors import InputError
from shortlist.library.uploads import MAX_DEPTH, Uploads, is_uploaded, make_safe, remove_uploads, upload_folder


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_file_is_saved_and_its_corpus_can_be_built_again() -> None:
    uploads = Uploads()
    assert not is_uploaded("letters")
    assert uploads.save("letters", "2024/june.md", b"# June\n\nThe ferry sails at nine.") == "2024/june.md"
    assert is_uploaded("letters")
    with shortlist.build("letters", embedder="none") as corpus:
        assert corpus.ids() == ["2024/june.md"]
    uploads.save("letters", "2024/june.md", b"# June\n\nThe ferry sails at ten.")
    with shortlist.build("letters") as corpus:
        assert [document.content for document in corpus.browse()[0]] == ["# June\n\nThe ferry sails at ten."]


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("a/b.md", ("a", "b.md")),
        ("/etc/passwd", ("etc", "passwd")),
        ("C:\\Users\\x.md", ("C_", "Users", "x.md")),
        ("./a//b/./c.md", ("a", "b", "c.md")),
        (".gitignore", ("_gitignore",)),
        (".git/config", ("_git", "config")),
        ("nul", ("_nul",)),
        ("COM1.txt", ("_COM1.txt",)),
        ("com\u00b9 .txt", ("_com\u00b9 .txt",)),
        ("CONIN$", ("_CONIN$",)),
        ("a. .", ("a",)),
        ("a\x00b\n.md", ("a_b_.md",)),
        ("x\u202egnp.exe", ("x_gnp.exe",)),
        ("  b. ", ("b",)),
        ("<b>|?*.md", ("_b____.md",)),
        ("cafe\u0301.md", ("caf\u00e9.md",)),
        ("n" * 300 + ".md", ("n" * 197 + ".md",)),
        ("\u00e9" * 300 + ".md", ("\u00e9" * 98 + ".md",)),
    ],
)
def test_names_are_made_safe(given: str, parts: tuple[str, ...]) -> None:
    assert make_safe(given) == parts


@pytest.mark.parametrize(
    "given", ["", "/", ".", "..", "../x.md", "a/../../x.md", "a\\..\\x.md", "a/" * MAX_DEPTH + "x"]
)
def test_a_path_that_leaves_the_folder_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="path"):
        Uploads().save("letters", given, b"x")
    assert not upload_folder("letters").exists()


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    uploads = Uploads()
    uploads.save("letters", "a.md", b"x")
    folder = upload_folder("letters")
    (folder / "out").symlink_to(tmp_path)
    (tmp_path / "secret.md").write_text("mine")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(InputError, match="'out' is not a folder"):
        uploads.save("letters", "out/x.md", b"x")
    uploads.save("letters", "link.md", b"yours")
    assert (tmp_path / "secret.md").read_text() == "mine"
    assert not (folder / "link.md").is_symlink()
    assert files_below(tmp_path) == ["secret.md"]
    uploads.delete("letters", [str(tmp_path / "secret.md"), str(folder / "a.md"), str(folder / ".." / "x")])
    assert (tmp_path / "secret.md").exists()
    assert not (folder / "a.md").exists()


def test_a_file_in_place_of_a_folder_is_refused() -> None:
    uploads = Uploads()
    uploads.save("letters", "a/b.md", b"x")
    with pytest.raises(InputError, match="'a' is a folder"):
        uploads.save("letters", "a", b"x")
    with pytest.raises(InputError, match=r"'b\.md' is not a folder"):
        uploads.save("letters", "a/b.md/c.md", b"x")
    assert files_below(upload_folder("letters").parent) == ["files/a/b.md"]  # and no draft


def test_number_and_size_are_limited() -> None:
    Uploads().save("letters", "a.md", b"12345")
    uploads = Uploads(max_files=2, max_bytes=10)
    uploads.save("letters", "b.md", b"12345")
    with pytest.raises(InputError, match="2 files"):
        uploads.save("letters", "c.md", b"1")
    with pytest.raises(InputError, match="10 bytes"):
        uploads.save("letters", "b.md", b"123456")
    uploads.save("letters", "b.md", b"1234")
    uploads.delete("letters", [str(upload_folder("letters") / "a.md")])
    uploads.save("letters", "c.md", b"123456")


@pytest.mark.parametrize("name", ["notes", "skills"])
def test_a_corpus_with_another_source_takes_no_files(tmp_path: Path, name: str) -> None:
    if name == "notes":
        shortlist.register(name, "files", root=tmp_path)
    with pytest.raises(InputError, match="another source"):
        Uploads().save(name, "a.md", b"x")
    assert os.listdir(tmp_path) == []
    assert not upload_folder(name).exists()


def test_a_corpus_that_was_removed_leaves_no_files_to_the_next_one() -> None:
    Uploads().save("letters", "old.md", b"x")
    shortlist.unregister("letters")
    Uploads().save("letters", "new.md", b"x")
    assert files_below(upload_folder("letters")) == ["new.md"]
    remove_uploads("letters")
    assert files_below(data_dir() / "uploads") == []
