"""The output of commands: documents, pipes and full disks."""

from __future__ import annotations

import errno
import io
import sys
from pathlib import Path

import pytest

import shortlist
from shortlist import Problem
from shortlist.cli.output import Output, write
from tests.cli.conftest import Shell

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "shop", "refund"],
        ["discover", "shop", "refund", "--disclose"],
        ["read", "shop", "refund_payment"],
        ["build", "shop"],
        ["ls"],
        ["info", "shop"],
        ["status"],
        ["register", "notes", "files", "--root", "docs"],
        ["rm", "shop"],
        ["doctor"],
        ["config", "show"],
        ["download", "none"],
    ],
    ids=" ".join,
)
def test_every_command_prints_one_document(arguments: list[str], shop: Shell) -> None:
    done = shop(*arguments, "--json")
    assert (done.code, "error" in done.json) == (0, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("form", ["--json", "--quiet"])
def test_a_full_disk_is_reported_in_a_sentence(shop: Shell, form: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = shop.start("ls", form, stdout=full)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (1, "shortlist: No space left on device.\n")


def test_a_closed_pipe_is_not_an_error(shop: Shell) -> None:
    process = shop.start("search", "shop", "refund", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


def test_a_pipe_that_no_one_reads_is_the_same_error_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(BrokenPipeError):
        write("text")


def test_what_the_encoding_of_a_terminal_lacks_is_spelled_with_other_characters(shell: Shell) -> None:
    (shell.folder / "prices.txt").write_text("Express to Zürich costs £7.95 — not 日.")
    done = shell.process("read", "docs:prices.txt", "prices.txt", "--quiet", PYTHONIOENCODING="ascii")
    assert done.out == "Express to Zurich costs GBP 7.95 - not ?.\n"


def test_skipped_files_are_named_by_reason_and_all_of_them_in_json(shell: Shell) -> None:
    (shell.folder / "mixed").mkdir()
    (shell.folder / "mixed" / "a.txt").write_text("green tea")
    for at in range(5):
        (shell.folder / "mixed" / f"{at}.pdf").write_text("broken")
    (shell.folder / "mixed" / "cup.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    done = shell("search", "mixed", "tea")
    assert (done.code, done.err.count("\n")) == (0, 2)
    assert "shortlist: cup.png was skipped. It is a picture" in done.err
    assert done.err.startswith("shortlist: 0.pdf, 1.pdf, 2.pdf and 2 more were skipped. ")
    assert shell("search", "mixed", "tea").err == ""
    shell("rm", "mixed", "--data")
    found = shell("discover", "mixed", "tea", "--json").json
    assert [problem["id"] for problem in found["problems"]] == [*(f"{at}.pdf" for at in range(5)), "cup.png"]


def test_of_many_reasons_the_first_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=False, quiet=False).report_problems(Problem(f"{at}", f"Reason {at}.", "here") for at in range(9))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "shortlist: 0 was skipped. Reason 0."
    assert lines[-1] == "shortlist: And 5 more. List all with --json."
    assert len(lines) == 5


def test_messages_are_wrapped_between_words_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    sentence = "Run: shortlist register-a-long-name/with/a/path now"
    Output.warn(sentence)
    assert capsys.readouterr().err == f"shortlist: {sentence}\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Output.warn(sentence)
    assert capsys.readouterr().err == "shortlist: Run:\nshortlist\nregister-a-long-name/with/a/path\nnow\n"


def test_only_a_command_that_writes_mentions_what_it_committed(monkeypatch: pytest.MonkeyPatch, shop: Shell) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shortlist, "search", interrupt)
    monkeypatch.setattr(shortlist, "build", interrupt)
    assert shop("search", "shop", "refund").err == "shortlist: Interrupted.\n"
    assert "Committed changes" in shop("build", "shop").err
