"""Imports of what other systems stored: corpora and cases of ir, the tool index of aumai-toolretrieval."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shortlist
from shortlist.cli.imports import usual_file
from tests.cli.conftest import Shell

pytestmark = pytest.mark.process

TOOLS = [
    {"tool_id": "mail", "name": "Send mail", "description": "Send an email", "tags": ["mail"], "embedding": [0.5, 0.5]},
    {"tool_id": "sql", "name": "Run SQL", "description": "Query the database"},
]


def test_corpora_of_ir_are_registered_and_built(shell: Shell) -> None:
    folder = shell.folder / "ir"
    register = (
        "import ir; ir.register('policies', 'files', root='docs', embedder='light');"
        "ir.register('skills', 'skills'); ir.register('notes', 'files', root='docs', pattern='faq');"
        "ir.register('reports', 'reports')"
    )
    environment = {**os.environ, "IR_CONFIG_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", register], check=True, cwd=shell.folder, env=environment)

    done = shell("import-from", "ir", "--json", IR_CONFIG_DIR=str(folder))
    assert done.code == 0
    actions = {row["name"]: row["action"] for row in done.json["imported"]}
    assert actions == {"policies": "registered", "skills": "ready", "notes": "registered", "reports": "skipped"}
    assert shortlist.registered()["policies"].embedder == "light"
    assert shell("build", "policies").code == 0
    with shortlist.open_corpus("policies") as corpus:
        assert all(id.endswith(".md") for id in corpus.ids())
        assert len(corpus) == 6
    assert shell("build", "notes", "--quiet").code == 0
    with shortlist.open_corpus("notes") as corpus:
        assert corpus.ids() == ["faq.txt"]


def test_a_registered_name_is_replaced_only_on_request(shell: Shell) -> None:
    (shell.folder / "corpora.json").write_text(json.dumps({"notes": {"kind": "files", "params": {"root": "docs"}}}))
    shortlist.register("notes", "files", root="elsewhere")
    refused = shell("import-from", "corpora.json", "--json")
    assert (refused.code, refused.json["imported"][0]["action"]) == (1, "skipped")
    assert shell("import-from", "corpora.json", "--replace").code == 0
    assert shortlist.registered()["notes"].options == {"pattern": r".*\.md$"}


def test_an_option_that_is_not_known_is_named(shell: Shell) -> None:
    entry = {"kind": "files", "params": {"root": "docs", "depth": 1}}
    (shell.folder / "corpora.json").write_text(json.dumps({"notes": entry}))
    done = shell("import-from", "corpora.json")
    assert (done.code, "Its option 'depth' is not known." in done.out) == (1, True)


def test_a_tool_index_of_aumai_is_searched(shell: Shell) -> None:
    (shell.folder / "index.json").write_text(json.dumps(TOOLS))
    assert shell("import-from", "index.json").code == 0
    found = shell("tools", "search", "--query", "email", "--json").json["results"]
    assert [row["tool_id"] for row in found] == ["mail"]
    refused = shell("import-from", "index.json")
    assert refused.code == 1
    assert "--replace" in refused.err
    assert shell("import-from", "index.json", "--replace").code == 0
    assert json.loads((shell.folder / "index.json").read_text()) == TOOLS


@pytest.mark.parametrize(("content", "code"), [('{"query": "q", "gold": ["a"]}\n', 0), ("{broken\n", 1), ("[1]", 1)])
def test_case_files_are_checked_and_other_files_refused(shell: Shell, content: str, code: int) -> None:
    (shell.folder / "file.jsonl").write_text(content)
    assert shell("import-from", "file.jsonl").code == code


def test_a_missing_file_is_named(shell: Shell) -> None:
    done = shell("import-from", "aumai")
    assert done.code == 1
    assert str(Path(".aumai") / "toolretrieval" / "index.json") in done.err


def test_the_folder_of_ir_is_found_as_ir_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IR_CONFIG_DIR", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "xdg")
    assert usual_file("ir") == Path("xdg/ir/corpora.json")
    monkeypatch.setenv("IR_CONFIG_DIR", "own")
    assert usual_file("ir") == Path("own/corpora.json")
