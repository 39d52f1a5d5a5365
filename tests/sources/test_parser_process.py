"""The process that reads files: its limits, its crashes, and its end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from shortlist import CorpusSource, Document
from shortlist._limits import ReadLimits, file_limits
from shortlist._settings import Limits, Settings
from shortlist.server.middleware import Guard
from shortlist.sources import parser_process
from shortlist.sources.decoding import File
from tests.sources.samples import docx, parsers_at, pdf, write

pytestmark = pytest.mark.process

# Takes the place of pypdfium2: what it does depends on the name of the file.
PARSER = """
import os, sys, time

class PdfiumError(Exception):
    pass

class PdfDocument:
    def __init__(self, path):
        print("noise")
        if path.stem == "hang":
            time.sleep(600)
        if path.stem == "spin":
            sum(range(10**12))
        if path.stem == "fill":
            self.data = [b"x" * (1 << 20) for _ in range(300)]
            time.sleep(600)
        if path.stem == "crash":
            os.abort()
        if path.stem == "exit":
            os._exit(0)
        raise RuntimeError("no such thing")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    write(tmp_path / "parsers", {"pypdfium2.py": PARSER})
    with parsers_at(tmp_path / "parsers"):
        yield tmp_path / "files"


SetLimits = Callable[[ReadLimits], object]


@pytest.fixture
def limited() -> Iterator[SetLimits]:
    """Sets the limits of the test."""
    token = file_limits.set(None)
    yield file_limits.set
    file_limits.reset(token)


def read(folder: Path, *names: str) -> dict[str, str]:
    """The content of each file or, if it is a problem, the reason."""
    write(folder, dict.fromkeys(names, pdf(["x"])))
    items = list(CorpusSource.from_files(folder))
    return {item.id: item.content if isinstance(item, Document) else item.reason for item in items}


@pytest.mark.parametrize("name", ["hang.pdf", "spin.pdf"])
def test_a_parser_that_does_not_end_is_ended_and_the_next_file_is_read(
    folder: Path, limited: SetLimits, name: str
) -> None:
    limited(ReadLimits(seconds=1))
    write(folder, {"z.html": "<p>Text"})
    found = read(folder, name)
    assert "1 seconds" in found[name]
    assert "limits.file_seconds (SHORTLIST_FILE_SECONDS)" in found[name]
    assert found["z.html"] == "Text"


def test_a_parser_that_fills_the_memory_is_ended(folder: Path, limited: SetLimits) -> None:
    limited(ReadLimits(memory_mb=200))
    write(folder, {"z.html": "<p>Text"})
    found = read(folder, "fill.pdf")
    assert "200 MB of memory" in found["fill.pdf"]
    assert "limits.file_memory_mb (SHORTLIST_FILE_MEMORY_MB)" in found["fill.pdf"]
    assert found["z.html"] == "Text"


def test_a_parser_that_crashes_is_a_problem_of_its_file(folder: Path) -> None:
    write(folder, {"b.html": "<p>Text", "z.html": "<p>More"})
    found = read(folder, "crash.pdf", "exit.pdf", "other.pdf")
    assert found["b.html"] == "Text"
    assert f"ended with status {-signal.SIGABRT}" in found["crash.pdf"]
    assert "ended with status 0" in found["exit.pdf"]
    assert found["other.pdf"] == "It cannot be read: RuntimeError: no such thing."
    assert found["z.html"] == "More"


def test_files_are_read_by_one_process_that_ends_when_it_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser_process.close_idle()
    write(tmp_path, {f"{number}.html": "<p>Text" for number in range(20)})
    assert len(list(CorpusSource.from_files(tmp_path))) == 20
    (process,) = parser_process._idle
    monkeypatch.setattr(parser_process, "IDLE_SECONDS", 0.0)
    process._child.wait(60)
    assert not parser_process._idle


def test_the_time_of_a_slow_caller_does_not_count(tmp_path: Path, limited: SetLimits) -> None:
    limited(ReadLimits(seconds=2))
    pages = [f"Page {number} {'x' * 4000}" for number in range(50)]  # more than a pipe holds
    stream = iter(CorpusSource.from_files(write(tmp_path, {"a.pdf": pdf(pages), "b.html": "<p>Text"})))
    first = next(stream)
    time.sleep(2.5)
    assert [first.id, *(item.id for item in stream)] == [*(f"a.pdf#page={n}" for n in range(1, 51)), "b.html"]


def test_files_of_any_name_can_be_read(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \n\"'.html")
    (item,) = CorpusSource.from_files(write(tmp_path, {name: "<p>Text"}))
    assert item.id == name


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[2])
from shortlist import CorpusSource
for item in CorpusSource.from_files(sys.argv[1]):
    print(item.id, flush=True)
"""


def test_a_script_without_a_guard_reads_files(tmp_path: Path) -> None:
    write(tmp_path, {"files/a.html": "<p>Text", "script.py": SCRIPT, "json.py": "raise SystemExit('not this one')"})
    command = [sys.executable, "-P", "script.py", "files", str(tmp_path / "none")]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("a.html\n", "")


def test_no_process_is_left_when_the_reading_one_is_killed(tmp_path: Path) -> None:
    parser = PARSER.replace("time.sleep(600)", "open('pid', 'w').write(f'{os.getpid()}\\n'); time.sleep(3)", 1)
    write(tmp_path, {"parsers/pypdfium2.py": parser, "files/hang.pdf": pdf(["x"]), "script.py": SCRIPT})
    script = subprocess.Popen([sys.executable, "script.py", "files", str(tmp_path / "parsers")], cwd=tmp_path)
    try:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().endswith("\n"):
            assert script.poll() is None
            time.sleep(0.05)
    finally:
        script.kill()
        script.wait()
    pid = int((tmp_path / "pid").read_text())
    for _ in range(1200):
        if not is_running(pid):
            return
        time.sleep(0.05)
    raise AssertionError("the process is still there")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_limits_come_from_the_environment_the_settings_or_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, limited: SetLimits
) -> None:
    monkeypatch.chdir(tmp_path)
    known = Limits()
    assert ReadLimits(known.file_seconds, known.file_memory_mb) == ReadLimits()
    cases = [
        ({}, ReadLimits()),
        ({"SHORTLIST_FILE_SECONDS": "7"}, ReadLimits(7)),
        ({"SHORTLIST_FILE_SECONDS": "no"}, ReadLimits()),
    ]
    for environment, expected in cases:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert parser_process.find_limits() == expected
    assert "limits.file_seconds must be a number" in caplog.text
    monkeypatch.delenv("SHORTLIST_FILE_SECONDS")
    write(tmp_path, {"settings.yaml": "limits: {file_memory_mb: 500}"})
    assert parser_process.find_limits() == ReadLimits(memory_mb=500)
    limited(ReadLimits(5))
    assert parser_process.find_limits() == ReadLimits(5)


def test_each_service_has_its_own_limits() -> None:
    """Two applications in one process: a request to one is read with the limits of that one."""
    found = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found.append(await asyncio.to_thread(parser_process.find_limits))

    guards = [Guard(app, Settings(limits=Limits(file_seconds=seconds))) for seconds in (5, 9)]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")], "query_string": b""}
    for guard in (*guards, guards[0]):
        asyncio.run(guard({**scope}, cast("Any", None), cast("Any", None)))
    assert found == [ReadLimits(5), ReadLimits(9), ReadLimits(5)]


def test_a_small_file_that_unpacks_to_an_endless_text_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser_process, "MAX_CHARACTERS", 100)
    for name, length in (("a.docx", 100), ("b.docx", 101)):
        (tmp_path / name).write_bytes(docx(["x" * length]))
    (documents, error, _), (none, excess, _) = (
        message
        for name in ("a.docx", "b.docx")
        for message in parser_process._answer(File(tmp_path / name, name, name))
    )
    assert (len(documents), error, none) == (1, "", [])
    assert "more than 100 characters" in excess
