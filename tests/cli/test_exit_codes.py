"""How a command ends: failures as one sentence or one document, exit codes, and tracebacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist.cli import run
from shortlist.library import opening
from tests.cli.conftest import Shell

pytestmark = pytest.mark.process


FAILING: list[tuple[list[str], int, str]] = [
    (["search", "nowhere", "query"], 1, "'nowhere' is not a registered corpus"),
    (["search", "shop"], 2, "The corpus or the query is missing"),
    (["search"], 2, "Missing argument"),
    (["search", "shop", "query", "--mode", "best"], 2, "'--mode': 'best' is not one of 'auto', "),
    (["search", "shop", "query", "-k", "0"], 2, "-k"),
    (["search", "shop", "query", "--filter", "nonsense"], 2, "'nonsense' is neither key=value nor JSON"),
    (["search", "shop", "query", "--filter", "{"], 2, "not valid JSON"),
    (["search", "shop", "query", "--filter", '{"a": {"$like": 1}}'], 1, "Unknown filter operator '$like'"),
    (["discover", "shop", "query", "--min-relevance", "high"], 2, "'high' is not a number from 0 to 1, auto or none"),
    (["discover", "shop", "query", "--min-relevance", "2"], 2, "'2' is not a number from 0 to 1, auto or none"),
    (["discover", "shop", "query", "--min-score", "high"], 2, "'high' is not a number, auto or none"),
    (["discover", "shop", "query", "--strategy", "luck"], 2, "'--strategy': 'luck' is not one of 'adaptive', "),
    (["read", "shop", "no-such-tool"], 1, "has no document 'no-such-tool'"),
    (["build", "nowhere"], 1, "shortlist register"),
    (["build", "shop", "--pattern", "x"], 2, "need a name and --root PATH"),
    (["build", "docs", "--ocr"], 2, "shortlist build NAME --root docs"),
    (["build", "shop", "--watch"], 2, "--watch cannot be combined with --json"),
    (["info", "shpo"], 1, "Did you mean 'shop'?"),
    (["migrate", "shpo", "--to", "embedded"], 1, "Did you mean 'shop'?"),
    (["migrate", "skills", "--to", "embedded"], 1, "shortlist build skills"),
    (["register", "shop", "files", "--root", "docs"], 1, "--replace"),
    (["status", "shpo"], 1, "Did you mean 'shop'?"),
    (["register", "a/b", "files", "--root", "docs"], 1, "Invalid name"),
    (["register", "notes", "flies", "--root", "docs"], 1, "'flies'"),
    (["register", "notes", "files", "--option", "x"], 1, "--option must be timeout=SECONDS"),
    (["register", "notes", "mcp", "--option", "timeout=soon"], 1, "must be a number of seconds, not 'soon'"),
    (["search", "shop", "query", "-k", "ten"], 2, "'ten' is not a valid whole number"),
    (["backup", "nowhere/file"], 1, "nowhere does not exist"),
    (["restore", "nowhere"], 1, "nowhere does not exist"),
    (["download", "--index-dir", "nowhere"], 1, "nowhere"),
    (["import-from", "nowhere"], 1, "Give ir, aumai, or the path of a file"),
    (["eval", "docs"], 1, "docs is not a folder in BEIR layout"),
    (["eval", "shop", "cases.jsonl", "--html", "nowhere/page.html"], 1, "nowhere does not exist"),
    (["build", "docs", "--push", "handbook"], 2, "--push needs the address of a service"),
    (["manual"], 2, "List the commands with: shortlist --help"),
    (["mcp", "manual"], 2, "List the commands with: shortlist mcp --help"),
    (["rm", "nowhere"], 1, "'nowhere' is not a registered corpus"),
    (["download", "nonsense"], 1, "nonsense"),
    (["serach", "shop", "query"], 2, "No such command 'serach'"),
    (["ls", "--nonsense"], 2, "No such option"),
]


def test_a_data_folder_that_cannot_be_written_is_reported_with_the_variable_to_set(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    done = shell("build", "docs:docs", SHORTLIST_DATA_DIR=str(tmp_path / "file"))
    assert done.code == 1
    assert done.err.endswith("set SHORTLIST_DATA_DIR to another folder.\n")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(("arguments", "code", "says"), FAILING, ids=[" ".join(row[0]) for row in FAILING])
def test_a_failure_is_one_sentence_or_one_document(
    arguments: list[str],
    code: int,
    says: str,
    shop: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = shop(*arguments, "--json")
    assert (document.code, document.err) == (code, "")
    assert list(document.json) == ["error"]
    assert document.json["error"]["exit_code"] == code
    assert says in document.json["error"]["message"]
    if "--watch" in arguments:  # which is wrong only with --json
        return
    monkeypatch.chdir(shop.folder)
    assert run(arguments) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err
    assert printed.err.startswith("shortlist: ")


def test_debug_shows_where_an_error_comes_from(shell: Shell) -> None:
    for more, environment in ((["--debug"], {}), ([], {"SHORTLIST_DEBUG": "1"})):
        with pytest.raises(shortlist.CorpusNotFound):
            shell("search", "nowhere", "x", *more, **environment)
    assert "Traceback" in shell.process("search", "nowhere", "x", "--debug").err


def test_an_unexpected_error_is_one_sentence_too(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken() -> list[Any]:
        raise KeyError("oops")

    monkeypatch.setattr(opening, "describe_corpora", broken)
    assert run(["ls"]) == 1
    assert capsys.readouterr().err == (
        "shortlist: Unexpected error (KeyError: 'oops'). Add --debug to see the traceback.\n"
    )
