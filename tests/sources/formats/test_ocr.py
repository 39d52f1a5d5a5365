"""Text in pictures and scanned pages, read by Tesseract."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from shortlist import CorpusSource, Document, Problem, build
from shortlist.errors import SourceError
from shortlist.sources.formats import ocr, pdf
from tests.sources.samples import IMAGE, write
from tests.sources.samples import pdf as make_pdf


def render(text: str) -> bytes:
    """A picture of a page with a text, in PNM."""
    import io

    import pypdfium2

    return pdf._render(pypdfium2.PdfDocument(io.BytesIO(make_pdf([text])))[0])


@pytest.mark.skipif(not shutil.which("tesseract"), reason="tesseract is not installed")
def test_tesseract_reads_a_picture() -> None:
    assert ocr.recognize(render("Replace the seal")) == "Replace the seal"
    with pytest.raises(SourceError, match="Tesseract cannot read it"):
        ocr.recognize(b"\x89PNG\r\n\x1a\n no picture")


@pytest.mark.skipif(not shutil.which("tesseract"), reason="tesseract is not installed")
def test_a_picture_that_is_a_list_of_files_shows_none_of_them(tmp_path: Path) -> None:
    private = tmp_path / "private.pnm"
    private.write_bytes(render("Secret"))
    with pytest.raises(SourceError, match="not a picture"):
        ocr.recognize(f"{private}\n".encode())


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are set on Linux")
def test_tesseract_has_a_limit_of_memory_and_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"tesseract": "#!/bin/sh\ncat >/dev/null\nulimit -v\nulimit -t\n"})
    (tmp_path / "tesseract").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert ocr.recognize(ocr.FORMATS[0]).split()[-2:] == [str(ocr.MEMORY >> 10), str(ocr.SECONDS)]


def test_pictures_and_scanned_pages_are_only_read_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bin = tmp_path / "bin"
    write(bin, {"tesseract": "#!/bin/sh\ncat >/dev/null\necho Seal kit\n"})
    (bin / "tesseract").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}:/bin:/usr/bin")
    folder = write(tmp_path / "docs", {"a.pdf": make_pdf([IMAGE, "Two."]), "b.png": ocr.FORMATS[0] + b"\0"})
    from shortlist.sources import parser_process

    parser_process.close_idle()
    plain = list(CorpusSource.from_files(folder))
    assert [(type(item), item.id) for item in plain] == [(Document, "a.pdf#page=2"), (Problem, "a.pdf#page=1")]
    found = list(CorpusSource.from_files(folder, ocr=True))
    parser_process.close_idle()
    assert [(item.id, item.content) for item in found if isinstance(item, Document)] == [
        ("a.pdf#page=1", "Seal kit"),
        ("a.pdf#page=2", "Two."),
        ("b.png", "Seal kit"),
    ]


def test_a_skipped_file_is_named_with_what_it_is_also_if_it_is_unchanged(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.txt": "Text.",
        "b.png": b"\x89PNG\0",
        "c.mp3": b"ID3\0",
        "d.txt": "",
        "e": b"\0\1",
    }
    folder = write(tmp_path, files)
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    source = CorpusSource.from_files(folder)
    corpus = build(source, in_memory=True, embedder="none")
    for changes in (corpus.changes, corpus.sync(source)):
        named = {problem.id: problem.reason for problem in changes.skipped_files}
        assert (list(named), changes.skipped) == (["b.png", "c.mp3", "d.txt", "e"], 4)
        assert "a picture" in named["b.png"]
        assert "ocr=True" in named["b.png"]
        assert "audio" in named["c.mp3"]
        assert "empty" in named["d.txt"]


def test_a_missing_tesseract_is_reported_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceError, match="tesseract-ocr"):
        ocr.recognize(ocr.FORMATS[0])


def test_a_slow_tesseract_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"tesseract": "#!/bin/sh\nexec sleep 600\n"})
    (tmp_path / "tesseract").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(ocr, "SECONDS", 1)
    with pytest.raises(SourceError, match="1 seconds"):
        ocr.recognize(ocr.FORMATS[0])
