"""No command runs code of the folder that it is started in, and every place that starts a process is known."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shortlist
from shortlist.install.agents import Places
from shortlist.install.plans import find_own_command
from shortlist.safety import processes
from tests.server.conftest import until
from tests.sources.samples import pdf, write
from tests.syntax import parse_file

ROOT = Path(shortlist.__file__).parent

# Modules that our processes, Python's start or a library would import from the working directory if it came first.
NAMES_OF_MODULES = """
shortlist json numpy re os pickle asyncio logging typing signal socket subprocess multiprocessing threading
yaml pydantic click rich uvicorn fastapi starlette anyio mcp mcp_types httpx2 dotenv pathspec platformdirs
pypdfium2 docx lxml openpyxl charset_normalizer onnxruntime tokenizers keyring opentelemetry watchfiles
encodings site sitecustomize usercustomize user_server
"""
HOSTILE = NAMES_OF_MODULES.split()

# Every use of what can start a process, by module: a new one must not run code of the working directory, and needs
# a command in COMMANDS or a test of its own.
STARTERS = {
    ("cli/commands/mcp_commands.py", "webbrowser.open"),  # the browser, for a sign-in that the user asked for
    ("safety/processes.py", "sys.executable"),  # our own processes: -P, and an import path without the folder
    ("safety/processes.py", "subprocess.Popen"),
    ("server/run.py", "os.execv"),  # the service, after a change of its settings
    ("server/run.py", "subprocess.run"),
    ("server/run.py", "sys.executable"),
    ("server/search_workers.py", "asyncio.create_subprocess_exec"),
    ("install/plans.py", "sys.executable"),  # only written into a configuration
    ("index/text/code_process.py", "subprocess.Popen"),
    ("index/text/code_process.py", "sys.executable"),
    ("sources/formats/ocr.py", "subprocess.Popen"),  # Tesseract, with fixed arguments
    ("sources/parser_process.py", "subprocess.Popen"),
    ("sources/parser_process.py", "subprocess.run"),  # ps
    ("sources/parser_process.py", "sys.executable"),
    ("mcp_client/stdio_transport.py", "anyio.open_process"),  # configured servers
    ("mcp_client/stdio_transport.py", "windows.create_windows_process"),
    ("mcp_client/server_watcher.py", "subprocess.Popen"),  # a shell that ends these
}
NAMES = {"Popen", "executable", "system", "popen", "fork", "forkpty", "startfile", "posix_spawn", "posix_spawnp"}
NAMES |= {"open_process", "run_process", "create_windows_process", "ProcessPoolExecutor", "getoutput", "runpy"}
MODULES = {"subprocess", "multiprocessing", "pty", "webbrowser", "runpy", "ProcessPoolExecutor"}


def find_starters(tree: ast.AST) -> Iterator[str]:
    """The uses of functions and modules that start processes, such as `subprocess.run`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, name = node.value.id, node.attr
            is_exec = owner == "os" and name.startswith(("exec", "spawn"))
            is_module = owner in MODULES and name in ("run", "call", "check_call", "check_output", "open", "Process")
            if name in NAMES or is_exec or is_module or name.startswith("create_subprocess"):
                yield f"{owner}.{name}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES | {"os"}:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name.partition(".")[0] for alias in node.names}
            yield from (f"import {name}" for name in names & {"multiprocessing", "pty", "runpy", "ProcessPoolExecutor"})


def test_every_place_that_starts_a_process_is_known() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), use)
        for path in ROOT.rglob("*.py")
        for use in find_starters(parse_file(path))
    }
    assert found == STARTERS


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.check_output(['x'])",
        "from subprocess import Popen",
        "import os\nos.spawnv(0, 'x', [])",
        "import os\nos.system('x')",
        "from os import system",
        "import multiprocessing",
        "from concurrent.futures import ProcessPoolExecutor",
        "import asyncio\nasyncio.create_subprocess_shell('x')",
        "import sys\n[sys.executable, '-m', 'x']",
    ],
)
def test_the_search_for_such_places_finds_the_usual_ways(code: str) -> None:
    assert list(find_starters(ast.parse(code)))


# Commands


class Folder:
    """A folder of someone else whose modules leave a file behind if they run, and the user's own home."""

    def __init__(self, path: Path) -> None:
        self.path, self.canaries, self.home = path / "cloned", path / "canaries", path / "home"
        for folder in (self.path, self.canaries, self.home):
            folder.mkdir()
        for name in HOSTILE:
            canary = str(self.canaries / name)
            write(self.path, {f"{name}.py": f"open({canary!r}, 'w').close()\n"})
        write(self.path, {"a.pdf": pdf(["alpha in a PDF"]), "b.html": "<p>alpha</p>", "c.md": "# C\n\nalpha"})
        write(self.path, {"tools.yaml": "documents:\n- {id: a, title: A, content: alpha}\n"})
        write(self.path, {"settings.yaml": "server: {workers: 2, reload: true}\ndocuments: {source: tools.yaml}\n"})
        self.environment = {**os.environ, "HOME": str(self.home), "USERPROFILE": str(self.home)}
        self.environment.pop("PYTHONPATH", None)
        self.environment.pop("PYTHONSAFEPATH", None)

    @property
    def ran(self) -> list[str]:
        return sorted(canary.name for canary in self.canaries.iterdir())

    def run(self, *command: str, input: str = "") -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=self.path,
            env=self.environment,
            input=input,
            capture_output=True,
            encoding="utf-8",
            timeout=240,
        )
        assert self.ran == [], done.stderr
        return done


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


SCRIPT = find_own_command(Places())
assert len(SCRIPT) == 1, "the tests need the installed command"

pytestmark = pytest.mark.process

# Every command that starts a process; `serve`, `mcp` and `doctor` have tests of their own.
COMMANDS = {
    "ingest": ["ingest", "."],
    "build": ["build", "cloned", "--root", "."],
    "search": ["search", "docs:.", "alpha"],
    "discover": ["discover", "docs:.", "alpha"],
    "query": ["query", "What is alpha?", "--corpus", "docs:."],
    "status": ["status"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_command_runs_no_module_of_its_folder(folder: Folder, command: list[str]) -> None:
    done = folder.run(*SCRIPT, *command)
    assert done.returncode in (0, 3), done.stderr
    assert "Traceback" not in done.stderr


def test_the_modules_would_run_if_python_searched_the_folder(folder: Folder) -> None:
    """What the other tests rely on."""
    command = [sys.executable, "-c", "import shortlist, json"]
    subprocess.run(command, cwd=folder.path, env=folder.environment, check=False, capture_output=True)
    assert {"shortlist", "json"} <= set(folder.ran)


@pytest.mark.parametrize("variables", [{}, {"PYTHONPATH": os.pathsep}], ids=["-m", "PYTHONPATH"])
def test_once_started_a_command_imports_nothing_from_the_folder(folder: Folder, variables: dict[str, str]) -> None:
    """Python itself imports from it before our code runs, so only modules that we import later are tried."""
    for name in set(HOSTILE) - {"numpy", "yaml", "pathspec", "pydantic", "rich", "pypdfium2", "lxml"}:
        (folder.path / f"{name}.py").unlink()
    folder.environment |= variables
    done = folder.run(*([sys.executable, "-m", "shortlist"] if not variables else SCRIPT), "ingest", ".")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_service_its_workers_and_its_restart_run_no_module_of_the_folder(folder: Folder) -> None:
    command = [*SCRIPT, "serve", "--port", "0"]
    log = folder.home / "log"
    with log.open("wb") as errors:
        service = subprocess.Popen(
            command, cwd=folder.path, env=folder.environment, stderr=errors, stdout=errors, encoding="utf-8"
        )
    try:
        until(lambda: "startup complete" in log.read_text(), service)  # every worker has answered
        settings = folder.path / "settings.yaml"
        settings.write_text(settings.read_text().replace("workers: 2", "workers: 1"))
        until(lambda: log.read_text().count("startup complete") > 1, service)
        assert "ended with status" not in log.read_text()
        assert folder.ran == []
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(60)
    assert folder.ran == []


def initialize() -> str:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}) + "\n"


@pytest.mark.parametrize("command", [SCRIPT, [sys.executable, "-P", "-m", "shortlist"]], ids=["script", "fallback"])
def test_the_command_that_install_writes_runs_no_module_of_the_folder(folder: Folder, command: list[str]) -> None:
    done = folder.run(*command, "mcp", input=initialize())
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "shortlist"


def test_install_falls_back_to_a_command_that_ignores_the_folder(tmp_path: Path) -> None:
    python = str(tmp_path / "bin" / "python")
    assert find_own_command(Places(), python) == [python, "-P", "-m", "shortlist"]


def test_doctor_runs_no_module_of_the_folder_for_any_entry(folder: Folder) -> None:
    """The entry of an earlier version has no -P."""
    entries = {"shortlist": {"command": sys.executable, "args": ["-m", "shortlist", "mcp"]}}
    write(folder.home, {".cursor/mcp.json": json.dumps({"mcpServers": entries})})
    entries = {"shortlist": {"command": SCRIPT[0], "args": ["mcp"]}}
    write(folder.home, {".claude.json": json.dumps({"mcpServers": entries})})
    checks = {check["name"]: check for check in json.loads(folder.run(*SCRIPT, "doctor", "--json").stdout)["checks"]}
    assert checks["Claude Code"]["state"] == "ok"
    assert (checks["Cursor"]["state"], checks["Cursor"]["fix"]) == ("broken", "shortlist install --agent cursor")
    assert "without -P" in checks["Cursor"]["says"]


def test_a_server_for_all_projects_that_python_runs_as_a_module_is_not_taken_from_the_folder(folder: Folder) -> None:
    servers = {"time": {"command": sys.executable, "args": ["-m", "user_server"]}}
    write(folder.home, {".cursor/mcp.json": json.dumps({"mcpServers": servers})})
    done = folder.run(*SCRIPT, "mcp", "status", "--refresh", "--json")
    (row,) = json.loads(done.stdout)["servers"]
    assert "No module named user_server" in row["problem"]


# How Python is started


@pytest.mark.parametrize("variable", ["", ".", os.pathsep, f"{os.pathsep}/nowhere"])
def test_no_entry_of_pythonpath_is_the_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv("PYTHONPATH", variable)
    monkeypatch.chdir(folder.path)
    monkeypatch.setattr(sys, "path", ["", ".", str(folder.path), *sys.path])
    command = processes.make_command("shortlist.sources.parser_process")
    done = subprocess.run(command, env=processes.make_environment(), stdin=subprocess.DEVNULL, capture_output=True)
    assert (done.stdout, done.returncode, folder.ran) == (b"ready\n", 0, [])


def test_the_folder_that_this_package_is_in_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(processes.OWN_FOLDER)
    monkeypatch.setattr(sys, "path", [str(processes.OWN_FOLDER), "", "/lib"])
    assert processes.find_import_path() == [str(processes.OWN_FOLDER), "/lib"]


@pytest.mark.parametrize(("module", "flags"), [("shortlist.__main__", ["-P"]), ("app", [])])
def test_a_restart_of_our_module_ignores_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, flags: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", type("Spec", (), {"name": module}), raising=False)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "x", "serve"])
    assert processes.make_restart_command() == [sys.executable, *flags, "-m", "x", "serve"]


def test_a_command_of_a_server_is_not_looked_for_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here/tool.exe", "bin/tool.exe", "here/other.exe"):
        (write(tmp_path, {name: ""}) / name).chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", str(tmp_path / "bin")]))
    assert processes.find_on_path("tool.exe") == str(tmp_path / "bin" / "tool.exe")
    assert processes.find_on_path("./other.exe") == "./other.exe"
    with pytest.raises(FileNotFoundError):
        processes.find_on_path("other.exe")


def test_records_are_imported_from_the_folder_that_they_were_registered_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = write(tmp_path / "own", {"rows_of_mine.py": "ROWS = ['apple']\n"})
    foreign = write(tmp_path / "foreign", {"rows_of_mine.py": "ROWS = ['pear']\n", "not_installed.py": ""})
    monkeypatch.chdir(own)
    entry = shortlist.register("rows", "records", "rows_of_mine:ROWS")
    monkeypatch.chdir(foreign)
    path = list(sys.path)
    try:
        assert [document.content for document in entry.source().scope.values()] == ["apple"]
    finally:
        sys.modules.pop("rows_of_mine", None)
    assert sys.path == path
