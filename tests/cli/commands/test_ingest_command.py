from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import INDEX, Shell

pytestmark = pytest.mark.process


def test_ingest_reports_what_it_did_and_what_it_could_not_read(lamp: Shell) -> None:
    (lamp.folder / "lamps" / "broken.docx").write_bytes(b"no zip")
    (lamp.folder / "lamps" / "hall.txt").write_text("The lamp in the hall is red.")
    (lamp.folder / "lamps" / "lamp.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (lamp.folder / "lamps" / "rooms.csv").unlink()
    done = lamp("ingest", "lamps", *INDEX, "--json")
    assert done.code == 0
    assert {name: done.json[name] for name in ("read", "removed", "documents", "passages")} == {
        "read": 1, "removed": 1, "documents": 1, "passages": 1
    }  # fmt: skip
    assert [Path(problem["source"]).name for problem in done.json["failed"]] == ["broken.docx"]
    again = lamp("ingest", "lamps", *INDEX)
    assert "index: 0 files read, 1 unchanged, 1 skipped, 1 failed, 1 chunk in " in again.out
    assert "broken.docx was skipped." in again.err
    for named in (done, again):
        assert "lamp.png was skipped. It is a picture" in named.err
    assert lamp("ingest", "nowhere", *INDEX).code == 1


def test_b9_chunk_size_and_overlap_can_be_set_and_changed(lamp: Shell) -> None:
    (lamp.folder / "lamps" / "long.txt").write_text("One more sentence. " * 100)
    ingest = ("ingest", "lamps", *INDEX, "--json")
    assert lamp(*ingest).json["passages"] == 6
    assert lamp(*ingest, "--chunk-size", "200", "--chunk-overlap", "0").json["passages"] > 10
    assert lamp(*ingest, SHORTLIST_CHUNK_SIZE="2000").json["passages"] == 4
    assert lamp(*ingest).json["passages"] == 4  # it keeps what it was made with
    wrong = lamp("ingest", "lamps", "--index-dir", "new", "--chunk-size", "100")
    assert (wrong.code, "chunk_overlap (120)" in wrong.err) == (1, True)
    assert lamp("query", "What lamp?", "--threshold", "7", *INDEX).code == 2


def test_a_folder_without_files_is_named(lamp: Shell) -> None:
    (lamp.folder / "empty").mkdir()
    done = lamp("ingest", "empty", *INDEX)
    assert (done.code, "No file was found in empty." in done.err) == (0, True)
