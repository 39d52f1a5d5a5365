"""Backups: consistent while corpora change, checked when they are read, and never over what exists."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import tarfile
import threading
import zlib
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

import shortlist
from shortlist._paths import config_dir, data_dir
from shortlist.errors import InputError, SourceError
from shortlist.index.corpus_paths import corpus_folder
from shortlist.library import registry
from shortlist.library.backup import back_up, restore
from shortlist.library.uploads import Uploads, is_uploaded, upload_folder
from shortlist.server.access.named_tokens import NamedTokens, create_token
from tests.library.built import FRUIT, built, found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "all.backup"


def move_to_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("data", "config", "cache"):
        monkeypatch.setenv(f"SHORTLIST_{kind.upper()}_DIR", str(tmp_path / "other" / kind))


def test_everything_is_restored_on_another_machine(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(data_dir().parent)
    monkeypatch.setenv("SHORTLIST_DATA_DIR", str(tmp_path / "link" / data_dir().name))
    built(FRUIT, embedder="light")
    with shortlist.open_corpus("fruit") as corpus:
        corpus.learn("something crunchy", "apple")
    Uploads().save("manuals", "a.md", b"How to return shoes.")
    built("manuals", None)
    token = create_token("ci", ["staff"], None)
    report = back_up(file)
    assert (file.stat().st_mode & 0o777, report.corpora, report.in_clusters) == (0o600, ["fruit", "manuals"], [])
    move_to_another_machine(tmp_path, monkeypatch)
    assert restore(file).corpora == report.corpora
    assert found("fruit", "green pear", mode="lexical") == ["pear"]
    with shortlist.open_corpus("fruit") as corpus:
        assert corpus.verify()["status"] == "ok"
        assert [search.query for search in corpus.usage] == ["something crunchy"]
    assert is_uploaded("manuals")
    assert (upload_folder("manuals") / "a.md").read_bytes() == b"How to return shoes."
    assert built("manuals", None).changed == 1  # its path is another one
    assert NamedTokens().find(token) == ("ci", frozenset({"staff"}))
    assert not [path.name for path in data_dir().iterdir() if path.name.startswith("restore-")]


def test_links_are_followed(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(FRUIT)
    corpus_folder("fruit").rename(tmp_path / "on another disk")
    corpus_folder("fruit").symlink_to(tmp_path / "on another disk")
    (corpus_folder("fruit") / "around").symlink_to(data_dir())
    (tmp_path / "on another disk" / "itself").symlink_to(tmp_path)
    assert back_up(file).corpora == ["fruit"]
    move_to_another_machine(tmp_path, monkeypatch)
    restore(file)
    assert found("fruit", "pear") == ["pear"]


def test_one_corpus_is_restored_beside_the_others_and_nothing_is_replaced(file: Path) -> None:
    built(FRUIT)
    built({"oak": "An oak tree."}, "trees")
    (data_dir() / "mcp" / "fruit").mkdir(parents=True)
    (data_dir() / "mcp" / "fruit" / "tools.json").write_text("{}", "utf-8")  # of a server with this name
    corpus_folder("far").mkdir()
    (corpus_folder("far") / "engine.json").write_text("{}", "utf-8")
    report = back_up(file)
    assert (report.corpora, report.in_clusters) == (["fruit", "trees"], ["far"])
    with pytest.raises(InputError, match="exists"):
        back_up(file)
    with pytest.raises(InputError, match="is backed up"):
        back_up(data_dir() / "all.backup")
    for names, advice in (((), "new folders"), (("fruit",), "shortlist rm NAME --data")):
        with pytest.raises(InputError, match=f"nothing is replaced.*{advice}"):
            restore(file, names)
    with pytest.raises(InputError, match=r"no corpus 'friut'. Did you mean 'fruit'"):
        restore(file, ("friut",))
    shortlist.delete_corpus("fruit")
    assert restore(file, ("fruit",)).corpora == ["fruit"]
    assert found("fruit", "pear") == ["pear"]


def test_a_name_that_is_registered_as_something_else_is_kept(tmp_path: Path, file: Path) -> None:
    (tmp_path / "a.md").write_text("Hello.")
    registry.register("notes", "files", tmp_path)
    built("notes", None)
    back_up(file)
    shortlist.delete_corpus("notes")
    registry.register("notes", "files", tmp_path / "other", replace=True)
    with pytest.raises(InputError, match="'notes' is already registered"):
        restore(file, ("notes",))
    assert not corpus_folder("notes").exists()


def test_without_a_place_for_all_nothing_is_restored(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Uploads().save("manuals", "a.md", b"How to return shoes.")
    built("manuals", None)
    back_up(file)
    move_to_another_machine(tmp_path, monkeypatch)
    data_dir().mkdir(parents=True)
    (data_dir() / "uploads").write_text("not a folder", "utf-8")
    with pytest.raises(SourceError, match="cannot be restored"):
        restore(file, ("manuals",))
    assert "manuals" not in registry.names()


def test_a_backup_of_a_corpus_that_changes_is_one_of_its_states(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change replaces all documents, so a mixture of two states would show."""
    built({f"{number}": "state 0" for number in range(20)}, "busy")
    is_over = threading.Event()

    def change() -> None:
        with shortlist.open_corpus("busy") as corpus:
            for state in range(1, 10_000):
                corpus.sync([shortlist.Document(f"{number}", "", f"state {state}") for number in range(20)])
                if is_over.is_set():
                    return

    writer = threading.Thread(target=change)
    writer.start()
    files = [file.with_name(f"{number}.backup") for number in range(3)]
    try:
        for one in files:
            back_up(one)
    finally:
        is_over.set()
        writer.join()
    for number, one in enumerate(files):
        move_to_another_machine(tmp_path / str(number), monkeypatch)
        restore(one)
        with shortlist.open_corpus("busy") as corpus:
            assert corpus.verify()["status"] in ("ok", "repaired")
            assert len({document.content for document in corpus.browse()[0]}) == 1
            assert len(corpus) == 20


def damage(file: Path, change: str) -> None:
    data = file.read_bytes()
    if change == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif change == "packed":
        content, packer = gzip.decompress(data), zlib.compressobj(wbits=31)
        start = packer.compress(content[: content.index(b"pear")]) + packer.flush(zlib.Z_FULL_FLUSH)
        file.write_bytes(start + b"\xff" * 100)  # not the start of a block
    elif change == "other":
        file.write_text("not a backup", "utf-8")
    else:
        plain = bytearray(gzip.decompress(data))
        if change == "changed":
            at = plain.index(b"pear")
            plain[at : at + 4] = b"bear"
        else:
            added = BytesIO()
            with tarfile.open(fileobj=added, mode="w") as archive:
                entry = tarfile.TarInfo(change)
                entry.size = 1
                archive.addfile(entry, BytesIO(b"x"))
            plain[:0] = added.getvalue()[:1024]
        file.write_bytes(gzip.compress(plain))


@pytest.mark.parametrize(
    "change",
    ["cut", "packed", "other", "changed", "data/../../evil", "/etc/evil", "data/corpora/x/../../../evil", "config/new"],
)
def test_what_is_not_as_it_was_written_is_not_restored(file: Path, change: str) -> None:
    built(FRUIT)
    back_up(file)
    shortlist.delete_corpus("fruit")
    damage(file, change)
    with pytest.raises(SourceError, match="Nothing was restored"):
        restore(file)
    assert not corpus_folder("fruit").exists()
    assert not [path.name for path in (*data_dir().iterdir(), *data_dir().parent.iterdir()) if "evil" in path.name]


@pytest.mark.parametrize(
    "name",
    [
        "C:x", "x:y", "a\\..\\b", "\\b", "NUL", "nul.txt", "Con .md", "COM1", "lpt²", "a.", "a ", "a. .", "...", "",
        "a\n", "deep/con.d/x", "C:/Windows/x",
    ],
)  # fmt: skip
def test_a_name_that_windows_would_read_as_another_place_is_refused(file: Path, name: str) -> None:
    """The manifest agrees with the file, as that of an attacker would."""
    entries = {f"config/{name}": b"x", "config/fine.txt": b"x"}
    rows = {entry: {"sha256": sha256(b"x").hexdigest(), "bytes": 1, "mtime_ns": 0} for entry in entries}
    manifest = json.dumps({"format": 1, "data": "/d", "files": rows}).encode()
    with tarfile.open(file, "w:gz") as archive:
        for entry, content in (entries | {"manifest.json": manifest}).items():
            about = tarfile.TarInfo(entry)
            about.size = len(content)
            archive.addfile(about, BytesIO(content))
    with pytest.raises(
        SourceError, match=f"{re.escape(repr(f'config/{name}'))} is not a file .*safe.*Nothing was restored"
    ):
        restore(file)
    assert not (config_dir() / "fine.txt").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no file has such a name")
def test_a_file_that_no_other_system_could_restore_is_not_backed_up(file: Path) -> None:
    config_dir().mkdir(parents=True, exist_ok=True)
    (config_dir() / "notes: old").write_text("x", "utf-8")
    with pytest.raises(SourceError, match="notes: old has a name that is not safe"):
        back_up(file)
    assert not file.exists()


def test_a_damaged_database_is_not_backed_up(file: Path) -> None:
    built(FRUIT)
    database = corpus_folder("fruit") / "corpus.db"
    data = bytearray(database.read_bytes())
    data[4096:8192] = os.urandom(4096)
    database.write_bytes(data)
    with pytest.raises(SourceError, match=r"corpus\.db is damaged"):
        back_up(file)
    assert list(file.parent.glob("*.backup*")) == []
