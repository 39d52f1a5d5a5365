"""A few inputs for each target of `python -m bench fuzz`, and how it notices failures."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench import fuzz
from bench.fuzz_targets import TARGETS

INPUTS = {"tool list": 40, "http": 60, "documents": 60, "docx": 15, "agent messages": 60, "upstream messages": 15}
PROCESSES = ("pdf", "docx", "xlsx", "html", "agent messages", "upstream messages")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.process if name in PROCESSES else ()) for name in TARGETS]
)
def test_no_input_causes_an_unexpected_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with TARGETS[name].open(tmp_path) as check:
        for number in range(INPUTS.get(name, 150)):
            data = fuzz.make_input(name, 0, number)
            assert fuzz.try_input(check, data) is None, (number, data)


FAILED_ONCE = [
    ("http", b"GET /no?\xfe\n\n"),
    ("agent yaml", b"{mcpServers: {a: {command: x\ty, args: []}}}\n"),
]


@pytest.mark.parametrize(("name", "data"), FAILED_ONCE, ids=[name for name, _ in FAILED_ONCE])
def test_an_input_that_failed_once_does_not_fail_again(name: str, data: bytes, tmp_path: Path) -> None:
    with TARGETS[name].open(tmp_path) as check:
        assert fuzz.try_input(check, data) is None


def test_an_input_is_the_same_each_time_and_differs_from_the_others() -> None:
    inputs = [fuzz.make_input("cases", 0, number) for number in range(50)]
    assert inputs == [fuzz.make_input("cases", 0, number) for number in range(50)]
    assert len(set(inputs)) > 40


def test_a_failure_is_found_named_and_made_smaller(tmp_path: Path) -> None:
    def check(data: bytes) -> None:
        if b"!" in data:
            raise KeyError("boom")

    data = random.Random(1).randbytes(200).replace(b"!", b"") + b"a!" + bytes(100)
    problem = fuzz.try_input(check, data)
    assert problem is not None
    assert problem[0] == "KeyError in test_fuzz.check"
    assert fuzz.shrink(check, data, problem[0]) == b"!"
