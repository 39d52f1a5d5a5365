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
    usage = shell("info", "mcp", "--json").json["usage"]
    assert (usage["learning"], usage["searches"], usage["uses"]) == ("on", 1, 1)
    assert [case["gold"] for case in shell("cases", "export", "mcp", "--json").json["cases"]] == [["deploy"]]
    assert shell("eval", "mcp", "--from-usage", "--json").json["corpus"] == "mcp, skills"
    assert shell("forget", "mcp", "--id", "deploy").out == "1 search is deleted.\n"


@pytest.mark.parametrize("name", ["mcp:/no/project", "mcp:skills"])
@pytest.mark.parametrize("option", [(), ("--searches",)])
def test_a_log_of_the_gateway_that_does_not_exist_is_named(shell: Shell, name: str, option: tuple[str, ...]) -> None:
    done = shell("learned", name, *option)
    assert (done.code, f"no log of use named {name!r}" in done.err) == (1, True)


def test_a_damaged_log_is_reported_and_the_others_are_listed(used: Shell) -> None:
    folder = used.folder / "docs"
    with shortlist.build(shortlist.CorpusSource.from_files(folder), "other", embedder="none") as other:
        assert other.path
        (other.path / "usage.db").write_bytes(b"no database " * 100)
    done = used("learned", "--quiet")
    assert (done.code, done.out) == (0, "shop\n")
    assert "other" in used("learned").err


def test_the_logs_of_the_gateway_in_other_projects_are_listed_and_forgotten(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.folder / "first").mkdir()
    names = {}
    for name, folder in {"first": shell.folder / "first", "second": shell.folder}.items():
        monkeypatch.chdir(folder)
        home = GatewayConfig().home
        UsageLog(home / "usage.db").add(f"query of {name}", uses=[Use("weather/now", b"hash", "called")])
        names[name] = f"mcp:{home.name}"
    other = names["first"]
    assert {row["name"] for row in shell("learned", "--json").json["corpora"]} == {"mcp", other}
    (row,) = shell("learned", other, "--json").json["documents"]
    assert [one["query"] for one in row["queries"]] == ["query of first"]
    assert shell("forget", other, "--id", "weather/now").out == "1 search is deleted.\n"
    assert [one["query"] for one in shell("learned", "mcp", "--searches", "--json").json["searches"]] == [
        "query of second"
    ]


def test_the_log_of_the_skills_of_the_gateway_has_a_name_of_its_own(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.folder / "first").mkdir()
    for folder in (shell.folder / "first", shell.folder):
        monkeypatch.chdir(folder)
        GatewayConfig().record_place()
        UsageLog(GatewayConfig().home / "skills" / "usage.db").add("ship it", uses=[Use("deploy", b"hash", "read")])
    other = f"mcp:{(shell.folder / 'first').resolve()}:skills"
    assert {row["name"] for row in shell("learned", "--json").json["corpora"]} == {"mcp:skills", other}
    for name in ("mcp:skills", other):
        assert [row["id"] for row in shell("learned", name, "--json").json["documents"]] == ["deploy"]
        assert shell("forget", name, "--id", "deploy").out == "1 search is deleted.\n"
