"""The commands of the tool registry."""

from __future__ import annotations

import json
from pathlib import Path

from shortlist._paths import data_dir
from tests.cli.conftest import Shell


def test_a_folder_is_indexed_and_searched(shell: Shell) -> None:
    done = shell("tools", "index", "registry")
    assert (done.code, done.out, done.err) == (0, "3 tools are indexed.\n", "")
    assert (data_dir() / "tool-index.json").exists()
    done = shell("tools", "search", "--query", "write to customers")
    first, second, *_ = done.out.splitlines()
    assert done.code == 0
    assert first.startswith("[1] Send Email (score=0.")
    assert second == "    Write a message to one or more customers and send it from the shop's address"


def test_json_is_the_same_either_way_it_is_asked_for(shell: Shell) -> None:
    shell("tools", "index", "registry", "--quiet")
    asked = ("tools", "search", "--query", "the shop", "--top-k", "1", "--tag", "DATABASE", "--tag", "none")
    done = shell(*asked, "--output-format", "json")
    assert done.json == shell(*asked, "--json").json == shell(*asked, "--output-format=json").json
    (row,) = done.json["results"]
    assert (row["rank"], row["tool_id"], row["tags"]) == (1, "run_sql", ["database", "reporting"])
    assert "embedding" not in row
    assert shell(*asked, "--quiet").out == "run_sql\n"


def test_no_match_has_its_exit_code(shell: Shell) -> None:
    shell("tools", "index", "registry")
    assert shell("tools", "search", "--query", "zebra").code == 3
    done = shell("tools", "search", "--query", "zebra", "--output-format", "json")
    assert (done.code, done.json) == (3, {"query": "zebra", "results": []})


def test_a_broken_file_is_named_and_the_others_go_in(shell: Shell) -> None:
    (shell.folder / "registry" / "broken.json").write_text("{")
    done = shell("tools", "index", "registry", "--json")
    assert done.json["tools"] == 3
    assert len(done.json["failed"]) == 1
    assert "broken.json is not a tool" in done.err
    assert "web" in shell("tools", "search", "--query", "facts on the web", "--quiet").out


def test_without_an_index_or_a_tool_an_error_says_what_to_do(shell: Shell) -> None:
    done = shell("tools", "search", "--query", "x", "--output-format", "json")
    assert done.code == 1
    assert "shortlist tools index PATH" in done.json["error"]["message"]
    assert shell("tools", "search", "--output-format", "json").json["error"]["exit_code"] == 2
    assert shell("tools", "search", "--query", "x", "--top-k", "0").code == 2
    Path(shell.folder, "empty").mkdir()
    shell("tools", "index", "registry")
    done = shell("tools", "index", "empty")
    assert done.code == 1
    assert "No tool was found in empty, and the index is unchanged." in done.err
    assert shell("tools", "search", "--query", "shop").code == 0
    assert shell("tools", "index", "nowhere").code == 1


def test_an_index_may_be_kept_elsewhere(shell: Shell) -> None:
    assert shell("tools", "index", "registry", "--index-file", "here/index.json").code == 0
    saved = json.loads(Path(shell.folder, "here", "index.json").read_text("utf-8"))
    assert len(saved["tools"]) == 3
    assert shell("tools", "search", "--query", "shop", "--index-file", "here/index.json").code == 0
    assert shell("tools", "search", "--query", "shop").code == 1
    Path(shell.folder, "here", "index.json").write_text("{}", encoding="utf-8")
    done = shell("tools", "search", "--query", "shop", "--index-file", "here/index.json")
    assert (done.code, "is damaged" in done.err) == (1, True)


def test_c5_a_folder_may_be_named_by_an_option_and_one_tool_is_singular(shell: Shell) -> None:
    folder = Path(shell.folder, "one")
    folder.mkdir()
    (folder / "a.json").write_text('{"tool_id": "a", "name": "A", "description": "Adds numbers"}', "utf-8")
    done = shell("tools", "index", "--tools-dir", "one")
    assert (done.code, done.out, done.err) == (0, "1 tool is indexed.\n", "")
    assert shell("tools", "index", "registry", "--tools-dir=one").out == "4 tools are indexed.\n"
    done = shell("tools", "index")
    assert done.code == 2
    assert "shortlist tools index PATH" in done.err
