"""Source code is cut in a process of its own, with limits."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from shortlist import Document
from shortlist.index.text import code_process
from shortlist.index.text.chunking import split
from shortlist.index.text.code_process import request_sections
from shortlist.index.text.source_code import find_sections
from shortlist.safety import processes

CODE = "def a(): ...\ndef b(): ...\n"
HANGS = "<<a " * 30_000  # the grammar of bash


@pytest.fixture(autouse=True)
def _new_process() -> Iterator[None]:
    code_process.close()
    yield
    code_process.close()


def find_pid() -> int:
    assert code_process._child
    return code_process._child.pid


def test_the_sections_are_those_of_the_parser_and_one_process_finds_all() -> None:
    assert request_sections(CODE, ".py", 1) == find_sections(CODE, ".py", 1) != []
    pid = find_pid()
    assert request_sections(CODE * 2, ".py", 1) == find_sections(CODE * 2, ".py", 1)
    assert find_pid() == pid


def test_a_process_that_ended_is_replaced() -> None:
    request_sections(CODE, ".py", 1)
    os.kill(find_pid(), signal.SIGTERM)
    assert len(request_sections(CODE, ".py", 1)) == 2


def test_code_on_which_a_grammar_hangs_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    make_command = processes.make_command
    limit = f"import {code_process.__name__} as one; one.SECONDS = 1; "
    monkeypatch.setattr(
        processes,
        "make_command",
        lambda name: [*(command := make_command(name))[:-1], command[-1].replace("main()", limit + "main()")],
    )
    pieces = split(Document("a.sh", "a.sh", HANGS, kind="file", source="a.sh"))
    assert len(pieces) > 100
    assert pieces[0].context == ""
    assert len(request_sections(CODE, ".py", 1)) == 2


def test_code_that_is_nested_too_deep_is_text_and_ends_no_build() -> None:
    assert request_sections("#if 1\n" * 20_000, ".cpp", 1) in ([], [(0, 120_000, "")])


def test_other_files_start_no_process() -> None:
    assert request_sections("Text.", ".txt", 1) == []
    assert code_process._child is None
