"""The files that name servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shortlist import (
    CorpusSource,
    SourceError,
    build,
)
from shortlist._paths import config_dir
from shortlist.documents import Problem
from shortlist.mcp_client.config_files import ConfigurationFile, PendingFile, possible_files, servers_in_files
from shortlist.mcp_client.project_trust import trust
from shortlist.mcp_client.server_config import ServerConfig, outline
from tests.mcp_client.small_servers import by_hand, program, show, write

pytestmark = pytest.mark.process

CODEX = """\
model = "m"

[mcp_servers.files]
command = "npx"
args = ["-y", "@a/files"]
env_vars = ["SET", { name = "NOT_SET", source = "local" }]
startup_timeout_sec = 20
tool_timeout_sec = 90.5
enabled_tools = ["read_*"]
disabled_tools = ["read_secret"]
required = true

[mcp_servers.files.env]
A = "b"

[mcp_servers.files.tools.read_file]
approval_mode = "approve"

[mcp_servers.cloud]
url = "https://a.example/mcp"
bearer_token_env_var = "SET"
http_headers = { X-Region = "eu" }
env_http_headers = { X-Tenant = "SET" }

[mcp_servers.off]
command = "x"
enabled = false

[mcp_servers.unset]
url = "https://a.example/mcp"
bearer_token_env_var = "NOT_SET"
"""


def test_the_entry_of_shortlist_is_no_server_of_a_corpus(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    ours = {"command": "/usr/bin/shortlist", "args": ["mcp"]}
    config.write_text(json.dumps({"mcpServers": {"shortlist": ours, "files": {"command": "files", "args": []}}}))
    assert [item.name for item in servers_in_files([config]) if isinstance(item, ServerConfig)] == ["files"]


def read() -> dict[str, ServerConfig | Problem]:
    items = servers_in_files(filter(Path.is_file, possible_files()), settings_too=True)
    return {item.name if isinstance(item, ServerConfig) else item.id: item for item in items}


DEEP = '{"mcpServers": {"a": ' + "[" * 500 + "]" * 500 + "}}"
BROKEN = ["{", "[]", "{}", b"\xff", '{"mcpServers": []}', '{"mcpservers": {}}', DEEP]


def test_configurations_of_all_editors_are_read_from_files(tmp_path: Path) -> None:
    text = json.dumps({"servers": {"code": {"type": "stdio", **by_hand()}}}, indent=1)
    commented = "// servers\n" + text.replace("{", "{ /* a\nb */", 1).replace("}\n", "},\n", 1) + "\n// http://x"
    vscode = write(tmp_path / ".vscode" / "mcp.json", commented)
    claude = write(tmp_path / ".mcp.json", "\ufeff" + json.dumps({"mcpServers": {"claude": by_hand()}}))
    for path in (vscode, claude):
        trust(path, path.read_bytes())
    assert [item.id for item in CorpusSource.from_mcp(vscode)] == ["code/lone"]
    assert [item.id for item in CorpusSource.from_mcp(str(claude))] == ["claude/lone"]
    assert [item.id for item in CorpusSource.from_mcp({"bare": by_hand()})] == ["bare/lone"]


def test_a_server_runs_where_we_do_unless_it_has_a_directory_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, project = tmp_path / "work", tmp_path / "project"
    work.mkdir()
    monkeypatch.chdir(work)
    listing = show("FOLDER").replace("os.environ.get('FOLDER', \"nothing\")", "os.getcwd()")
    servers = {"here": by_hand(listing=listing), "there": by_hand(listing=listing, cwd=".")}
    path = write(project / ".cursor" / "mcp.json", {"mcpServers": servers})
    trust(path, path.read_bytes())
    assert [item.id for item in CorpusSource.from_mcp(path)] == [f"here/{work}", f"there/{project}"]


def test_without_arguments_the_usual_files_are_read_and_the_project_goes_before_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    inside = project / "inside"
    inside.mkdir(parents=True)
    (project / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.chdir(inside)
    assert list(CorpusSource.from_mcp()) == []
    write(home / ".claude.json", {"userID": "x", "mcpServers": {"user": by_hand(), "both": program("pass")}})
    write(home / ".cursor/mcp.json", {"other": "settings"})
    for path in (
        write(project / ".mcp.json", {"mcpServers": {"both": by_hand()}}),
        write(inside / ".vscode/mcp.json", {"servers": {"near": by_hand()}}),
    ):
        trust(path, path.read_bytes())
    assert [item.id for item in CorpusSource.from_mcp()] == ["near/lone", "both/lone", "user/lone"]


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: str(text)[:30])
def test_a_configuration_that_cannot_be_read_is_a_source_error_and_nothing_is_pruned(
    tmp_path: Path, text: str | bytes
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    corpus = build(["kept"], in_memory=True, embedder="none")
    with pytest.raises(SourceError, match=r"broken\.json"):
        corpus.sync(CorpusSource.from_mcp(path))
    assert corpus.ids() == ["0"]
    with pytest.raises(SourceError, match=r"missing\.json"):
        list(CorpusSource.from_mcp("missing.json"))
    with pytest.raises(SourceError, match="The configuration has no mapping 'mcpServers'"):
        list(CorpusSource.from_mcp({"tools": []}))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SET", "value")
    for variable in ("NOT_SET", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".codex").mkdir()
    (tmp_path / ".codex").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.mark.parametrize("variable", [None, "CODEX_HOME"])
def test_the_servers_of_codex_are_read(home: Path, variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "other" if variable else home / ".codex"
    if variable:
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    (folder / "config.toml").write_text(CODEX)
    found = read()
    assert found.keys() == {"files", "cloud", "unset"}
    files, cloud, unset = found["files"], found["cloud"], found["unset"]
    assert isinstance(files, ServerConfig)
    assert isinstance(cloud, ServerConfig)
    assert isinstance(unset, Problem)
    assert (files.command, files.args) == ("npx", ("-y", "@a/files"))
    assert files.env == {"SET": "value", "NOT_SET": "", "A": "b"}
    assert (files.start_seconds, files.seconds) == (20, 90.5)
    assert [tool for tool in ("read_file", "read_secret", "write") if files.offers(tool)] == ["read_file"]
    assert cloud.headers == {"X-Region": "eu", "Authorization": "Bearer value", "X-Tenant": "value"}
    assert "value" not in cloud.without_secrets("Bearer value")
    assert "NOT_SET" in unset.reason


def test_codex_servers_of_a_project_wait_for_approval(home: Path) -> None:
    file = home / "project" / ".codex" / "config.toml"
    file.write_text(CODEX)
    (pending,) = read().values()
    assert isinstance(pending, PendingFile)
    assert (pending.id, pending.servers) == (str(file), 3)
    trust(file, file.read_bytes())
    assert read().keys() == {"files", "cloud", "unset"}
    file.write_text(CODEX.replace("@a/files", "@evil/files"))
    assert [type(item) for item in read().values()] == [PendingFile]


def test_settings_of_codex_without_servers_are_no_problem(home: Path) -> None:
    (home / ".codex" / "config.toml").write_text('model = "m"\n')
    assert read() == {}


def test_what_would_run_is_shown_for_approval_however_it_is_written(home: Path) -> None:
    servers = {"a": {"command": ["sh", "-c", "evil"]}, "b": {"httpUrl": "https://evil.example"}, "c": {"cmd": "evil"}}
    path = home / "project" / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    rows = [outline(name, entry) for name, entry in ConfigurationFile(path).entries().items()]
    assert [(row["command"], row["args"], row["url"]) for row in rows] == [
        ("sh", ["-c", "evil"], ""),
        ("", [], "https://evil.example"),
        ("evil", [], ""),
    ]


def test_servers_outside_of_a_list_are_read_in_our_own_file_or_reported(home: Path) -> None:
    own = config_dir() / "mcp.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(json.dumps({"a": {"command": "x"}}))
    assert read().keys() == {"a"}
    own.write_text(json.dumps({"a": {"command": "x"}, "permissions": {}}))
    with pytest.raises(SourceError, match="no mapping 'mcpServers'"):
        read()
    own.write_text(json.dumps({"permissions": {}}))
    assert read() == {}


def test_servers_for_one_folder_are_read_there_and_go_before_those_for_all(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home / "project"
    local = {"a": {"command": "local", "args": ["${workspaceFolder}"]}, "b": {"command": "x"}, "off": {"command": "x"}}
    folders = {
        str(project): {"mcpServers": local, "disabledMcpServers": ["off"]},
        "/elsewhere": {"mcpServers": {"c": {"command": "x"}}},
        str(home): {"history": []},
    }
    file = home / ".claude.json"
    file.write_text(json.dumps({"projects": folders}))
    assert read().keys() == {"a", "b"}
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "all"}, "d": {"command": "x"}}, "projects": folders}))
    found = read()
    assert found.keys() == {"a", "b", "d"}
    servers = [found[name] for name in ("a", "d")]
    assert [(one.command, one.args, one.project) for one in servers if isinstance(one, ServerConfig)] == [
        ("local", (str(project),), project),
        ("x", (), None),
    ]
    monkeypatch.chdir(home)
    assert read().keys() == {"a", "d"}


def test_a_server_for_one_folder_may_be_a_module_there(home: Path) -> None:
    project = home / "project"
    command, code = by_hand()["command"], by_hand()["args"][1]
    (project / "small.py").write_text(code)
    servers = {"small": {"command": command, "args": ["-m", "small"]}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    assert [type(item) for item in CorpusSource.from_mcp()] == [Problem]
    (home / ".claude.json").write_text(json.dumps({"projects": {str(project): {"mcpServers": servers}}}))
    assert [item.id for item in CorpusSource.from_mcp()] == ["small/lone"]


def test_a_file_of_a_project_names_no_servers_for_folders(home: Path) -> None:
    project = home / "project"
    folders = {str(project): {"mcpServers": {"evil": {"command": "x"}}}}
    file = project / ".mcp.json"
    file.write_text(json.dumps({"projects": folders}))
    assert read() == {}
    file.write_text(json.dumps({"mcpServers": {}, "projects": folders}))
    trust(file, file.read_bytes())
    assert read() == {}
