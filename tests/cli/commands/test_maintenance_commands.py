"""The commands config show, download, backup and restore."""

from __future__ import annotations

import json

from shortlist._paths import config_dir
from shortlist._settings import USUAL, VARIABLES
from tests.cli.conftest import Shell


def test_config_show_prints_the_path_of_the_mcp_servers(shell: Shell) -> None:
    assert shell("config", "show", "--json").json["mcp_servers"] == str(config_dir() / "mcp.json")
    assert "MCP servers" in shell("config", "show").out


def test_config_show_lists_every_variable_that_a_setting_reads(shell: Shell) -> None:
    shown = shell("config", "show", "--json").json["variables"]
    assert {*VARIABLES, *USUAL} <= {*shown}


def test_secrets_are_not_shown(shell: Shell) -> None:
    done = shell("config", "show", "--json", OPENAI_API_KEY="sk-123")
    assert done.json["variables"]["OPENAI_API_KEY"] == "***"
    assert "sk-123" not in shell("config", "show", OPENAI_API_KEY="sk-123").out


def test_a_model_that_cannot_be_fetched_is_named(shell: Shell) -> None:
    done = shell("download", "onnx:no/such-model", HF_HUB_OFFLINE="1")
    assert done.code == 1
    assert "no/such-model" in done.err
    assert shell("download", "light", "--json").json["dim"] == 512


def test_a_corpus_comes_back_from_a_backup(lamp: Shell) -> None:
    (lamp.folder / "notes").mkdir()
    (lamp.folder / "notes" / "tea.md").write_text("Tea takes four minutes.", "utf-8")
    assert lamp("build", "notes", "--root", "notes", "--embedder", "none").code == 0
    stored = lamp("backup", "all.backup", "--json").json
    assert "notes" in stored["corpora"]
    assert lamp("restore", "all.backup", "notes").code == 1
    assert lamp("rm", "notes", "--data").code == 0
    restored = lamp("restore", "all.backup", "notes")
    assert (restored.code, "Corpora: notes." in restored.out) == (0, True)
    assert "four minutes" in json.dumps(lamp("search", "notes", "tea", "--json").json)
