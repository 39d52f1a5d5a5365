"""The logs of use that commands name."""

from __future__ import annotations

import pytest

import shortlist
from shortlist.index.storage.usage_log import UsageLog, Use
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from tests.cli.conftest import Shell


def test_the_log_of_the_gateway_is_named_mcp(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shell.folder)
    skill = shell.folder / ".claude" / "skills" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: deploy\ndescription: Deploy the shop.\n---\nRun it.\n")
    log = UsageLog(GatewayConfig().home / "usage.db")
    log.add("ship it", uses=[Use("deploy", b"hash", "read")])
    assert [row["name"] for row in shell("learned", "--json").json["corpora"]] == ["mcp"]
    (row,) = shell("learned", "mcp", "--json").json["documents"]
    assert (row["id"], row["state"]) == ("deploy", "changed")
    assert [case["gold"] for case in shell("cases", "export", "mcp", "--json").json["cases"]] == [["deploy"]]
    assert shell("eval", "mcp", "--from-usage", "--json").json["corpus"] == "mcp, skills"
    assert shell("forget", "mcp", "--id", "deploy").out == "1 search is deleted.\n"


def test_a_damaged_log_is_reported_and_the_others_are_listed(used: Shell) -> None:
    folder = used.folder / "docs"
    with shortlist.build(shortlist.CorpusSource.from_files(folder), "other", embedder="none") as other:
        assert other.path
        (other.path / "usage.db").write_bytes(b"no database " * 100)
    done = used("learned", "--quiet")
    assert (done.code, done.out) == (0, "shop\n")
    assert "other" in used("learned").err
