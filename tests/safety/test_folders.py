"""Files of a folder that comes from someone else: links that leave it, special files, and files without an end."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shortlist
from shortlist import CorpusSource, Document, InputError, Problem, SourceError, build, search
from shortlist._settings import collect_values, load_learning
from shortlist.cli import run
from shortlist.compat.tool_index import ToolIndex, read_tools
from shortlist.documents import Skipped
from shortlist.eval.cases import load_beir, load_cases
from shortlist.install.agent_config import AgentConfig
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp_client.config_files import PROJECT_FILES, ConfigurationFile, pending_files
from shortlist.server.llm_settings import load_llm_settings
from shortlist.sources.folder import measure_folder
from tests.safety.bounded import REASONS, UNSAFE, bounded
from tests.sources.samples import write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs special files and limits of memory")

CANARY = "the canary in the coal mine"
MCP_FILE = '{"mcpServers": {"x": {"command": "true"}}}'


@pytest.fixture(autouse=True)
def limits() -> Iterator[None]:
    with bounded():
        yield


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is a project, beside a file with a secret."""
    write(tmp_path, {"secret.md": CANARY, "cloned/.git/HEAD": "", "cloned/kept.md": "apple", "home/x": ""})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "cloned")
    return tmp_path / "cloned"


def reasons(items: Any) -> dict[str, str]:
    return {item.id: item.reason for item in items if isinstance(item, Problem)}


# Links


def add_links(root: Path) -> None:
    (root / "out.md").symlink_to("../secret.md")
    (root / "passwords.md").symlink_to("/etc/passwd")
    (root / "chain.md").symlink_to("out.md")
    (root / "folder").symlink_to("..")
    write(root, {"deep/real.md": "pear"})
    (root / "deep" / "inside.md").symlink_to("../kept.md")
    (root / "gone.md").symlink_to("../nowhere")


def test_links_that_leave_the_folder_are_reported_and_links_inside_are_read(root: Path) -> None:
    add_links(root)
    items = list(CorpusSource.from_files(root))
    assert sorted(item.id for item in items if isinstance(item, Document)) == [
        "deep/inside.md", "deep/real.md", "kept.md",
    ]  # fmt: skip
    left = f"It is a link that leaves {root}."
    assert reasons(items) == dict.fromkeys(["chain.md", "folder", "out.md", "passwords.md"], left)
    assert measure_folder(root)[0] == 3
    assert set(reasons(CorpusSource.from_md_reports(root))) == {"chain.md", "out.md", "passwords.md"}


def test_a_folder_or_file_that_the_user_names_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(root)
    (tmp_path / "linked.md").symlink_to(root / "kept.md")
    assert [item.id for item in CorpusSource.from_files(tmp_path / "linked")] == ["kept.md"]
    assert [item.id for item in CorpusSource.from_files(tmp_path / "linked.md")] == ["linked.md"]


def test_ingest_reports_links_and_removes_what_was_stored_of_them(root: Path, tmp_path: Path) -> None:
    write(root, {"later.md": "was harmless"})
    place = tmp_path / "index"
    shortlist.ingest(root, path=place, embedder="none")[0].close()
    (root / "later.md").unlink()
    (root / "later.md").symlink_to("../secret.md")
    add_links(root)
    corpus, done = shortlist.ingest(root, path=place, embedder="none")
    assert len(done.failed) == 5
    assert all("leaves" in problem.reason for problem in done.failed)
    assert not [hit for hit in search(corpus, CANARY) if CANARY in hit.text]
    assert str(root / "later.md") not in corpus.ids()
    (root / "later.md").unlink()
    write(root, {"later.md": "harmless again"})
    corpus, _ = shortlist.ingest(root, path=place)
    assert str(root / "later.md") in corpus.ids()


def test_build_removes_what_was_stored_of_a_file_that_became_a_link(root: Path) -> None:
    write(root, {"later.md": "was harmless"})
    source = CorpusSource.from_files(root)
    corpus = build(source, in_memory=True, embedder="none")
    (root / "later.md").unlink()
    (root / "later.md").symlink_to("../secret.md")
    changes = corpus.sync(source)
    assert (changes.removed, corpus.ids()) == (1, ["kept.md"])
    assert set(reasons(changes.failed)) == {"later.md"}


def test_folders_of_tools_report_links_and_special_files(root: Path, tmp_path: Path) -> None:
    tool = {"tool_id": "t", "name": "secret_tool", "description": CANARY}
    write(tmp_path, {"tool.json": json.dumps(tool)})
    (root / "tool.json").symlink_to("../tool.json")
    UNSAFE["pipe"](root / "pipe.json")
    items = list(CorpusSource.from_tools(root))
    assert set(reasons(items)) == {"tool.json", "pipe.json"}
    assert len(items) == 2
    tools, problems = read_tools(root)
    assert tools == []
    assert len(problems) == 2


def test_packages_of_a_folder_are_not_read_through_links(root: Path, tmp_path: Path) -> None:
    write(root, {"good-1.dist-info/METADATA": "Name: good\nSummary: fine\n"})
    write(root, {"bad-1.dist-info/RECORD": "", "worse-1.dist-info/METADATA": "Name: worse\n"})
    write(tmp_path, {"METADATA": f"Name: bad\nSummary: {CANARY}\n", "away/METADATA": f"Name: away\nSummary: {CANARY}"})
    (root / "bad-1.dist-info" / "METADATA").symlink_to("../../METADATA")
    (root / "worse-1.dist-info" / "RECORD").symlink_to("/dev/zero")
    (root / "away-1.dist-info").symlink_to("../away")
    items = list(CorpusSource.from_packages(root))
    assert [item.id for item in items if isinstance(item, Document)] == ["good"]
    assert len(reasons(items)) == 3
    assert CANARY not in str(items)


def test_cases_of_a_folder_are_not_read_through_links(root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"queries.jsonl": '{"_id": "q", "text": "x"}\n'})
    write(root, {"corpus.jsonl": '{"_id": "d", "text": "x"}\n', "qrels/test.tsv": "q\td\t1\n"})
    (root / "queries.jsonl").symlink_to("../queries.jsonl")
    with pytest.raises(InputError, match=r"queries\.jsonl.*leaves"):
        load_beir(root)


# Special files


def test_pipes_sockets_and_devices_are_reported(root: Path) -> None:
    UNSAFE["pipe"](root / "pipe.md")
    (root / "null.md").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        items = list(CorpusSource.from_files(root))
    assert [item.id for item in items if isinstance(item, Document)] == ["kept.md"]
    assert set(reasons(items)) == {"pipe.md", "null.md", "socket.md"}
    assert all(isinstance(item, Skipped) for item in items if isinstance(item, Problem))


@pytest.mark.parametrize("name", ["pipe.md", "pipe.csv", "pipe.json", "pipe.pdf"])
def test_a_pipe_that_the_user_names_is_reported(root: Path, name: str) -> None:
    UNSAFE["pipe"](root / name)
    (found,) = CorpusSource.from_files(root / name)
    assert found == Skipped(name, "It is not a regular file.", str(root / name))


# Files without an end


@pytest.fixture(params=UNSAFE)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_rules_of_gitignore(root: Path, kind: str) -> None:
    write(root, {"sub/a.md": "pear"})
    UNSAFE[kind](root / "sub" / ".gitignore")
    items = list(CorpusSource.from_files(root))
    assert sorted(item.id for item in items if isinstance(item, Document)) == ["kept.md", "sub/a.md"]
    (reason,) = reasons(items).values()
    assert REASONS[kind] in reason
    assert "rules are not applied" in reason


def test_skills(root: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(root, {".claude/skills/good/SKILL.md": "---\nname: good\n---\nBake bread.\n", ".claude/skills/bad/x": ""})
    UNSAFE[kind](root / ".claude/skills/bad/SKILL.md")
    items = list(CorpusSource.from_skills())
    assert [item.id for item in items if isinstance(item, Document)] == ["good"]
    assert ("leaves" if kind == "endless" else REASONS[kind]) in reasons(items)["bad"]
    run(["doctor", "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert any(check["name"] == "skills" and "was skipped" in check["says"] for check in checks)


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_configurations_of_mcp_servers(root: Path, kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(root, {f"{name}.folder": ""})
    UNSAFE[kind](root / name)
    with pytest.raises(SourceError, match=REASONS[kind]):
        ConfigurationFile(root / name)
    assert pending_files() == []
    (problem,) = GatewayConfig().read().problems
    assert REASONS[kind] in problem.reason
    (reason,) = reasons(CorpusSource.from_mcp()).values()
    assert REASONS[kind] in reason
    with pytest.raises(OSError, match=REASONS[kind]):
        AgentConfig(root / name, "mcpServers")
    run(["doctor", "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert any(str(root / name) in check["says"] and REASONS[kind] in check["says"] for check in checks)
    if name == PROJECT_FILES[0]:
        assert run(["mcp", "trust", "--yes"]) == 1
        assert REASONS[kind] in capsys.readouterr().err


def test_a_large_configuration_of_the_user_is_read(root: Path, tmp_path: Path) -> None:
    """Claude Code stores the history of conversations in it."""
    history = json.dumps({"history": "x" * (5 << 20), **json.loads(MCP_FILE)})
    write(tmp_path / "home", {".claude.json": history})
    write(root, {".mcp.json": history})
    assert ConfigurationFile(tmp_path / "home" / ".claude.json").names_servers
    with pytest.raises(SourceError, match="is larger than"):
        ConfigurationFile(root / ".mcp.json")


def test_settings(root: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    UNSAFE[kind](root / "settings.yaml")
    for read in (collect_values, load_llm_settings):
        with pytest.raises(InputError, match=f"settings.yaml cannot be read.*{REASONS[kind]}"):
            read()
    assert load_learning() == "off"
    assert REASONS[kind] in caplog.text


def test_variables(root: Path, kind: str) -> None:
    UNSAFE[kind](root / ".env")
    with pytest.raises(InputError, match=rf"\.env cannot be read.*{REASONS[kind]}"):
        load_llm_settings()
    load_llm_settings(files=False)  # the file is not read


def test_cases(root: Path, kind: str) -> None:
    UNSAFE[kind](root / "cases.jsonl")
    write(root, {"qrels": "q 0 d 1\n", "topics": "q\tx\n"})
    for given in (("cases.jsonl",), ("cases.jsonl", "qrels"), ("topics", "cases.jsonl")):
        with pytest.raises(InputError, match=rf"cases\.jsonl cannot be read.*{REASONS[kind]}"):
            load_cases(*given)


def test_catalogs(root: Path, kind: str) -> None:
    UNSAFE[kind](root / "tools.json")
    for source in (CorpusSource.from_catalog, CorpusSource.from_openapi, CorpusSource.from_tools):
        with pytest.raises(SourceError, match=rf"tools\.json cannot be read.*{REASONS[kind]}"):
            list(source(root / "tools.json"))
    with pytest.raises(SourceError, match=rf"tools\.json cannot be read.*{REASONS[kind]}"):
        ToolIndex.load(root / "tools.json")


def test_documents_that_are_shown(root: Path, kind: str) -> None:
    source = CorpusSource.from_files(root)
    corpus = build(source, in_memory=True, embedder="none")
    (root / "kept.md").unlink()
    UNSAFE[kind](root / "kept.md")
    (shown,) = shortlist.disclose(search(corpus, "apple")[:1], "body")
    assert shown.body == "apple"
    assert REASONS[kind] in shown.note
