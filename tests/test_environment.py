"""Environment variables are declared in one place and read in one module."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import shortlist
from shortlist import _environment
from shortlist.compat.retriever_settings import KEYS
from tests.syntax import parse_file

SOURCE = Path(shortlist.__file__).parent
# What is left: variables of other programs, of children and of libraries, and variables that the user's files name.
OTHERS = {
    "__init__.py",
    "_paths.py",
    "cli/completion.py",
    "cli/imports.py",
    "cli/output.py",
    "cli/terminal/screen.py",
    "display/progress.py",
    "index/embedders/models.py",
    "index/kernels/numpy_threads.py",
    "install/agent_check.py",
    "install/agents.py",
    "mcp_client/config_files.py",
    "mcp_client/server_config.py",
    "safety/processes.py",
    "server/llm_settings.py",
    "server/stored_llm.py",
}


def test_a_value_has_no_spaces_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_environment.LEARN, " log\n")
    assert _environment.read_variable(_environment.LEARN) == "log"
    monkeypatch.delenv(_environment.LEARN)
    assert _environment.read_variable(_environment.LEARN) == ""


def test_another_environment_replaces_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_environment.LEARN, "off")
    assert _environment.read_variable(_environment.LEARN, {_environment.LEARN: "on"}) == "on"
    assert _environment.read_variable(_environment.LEARN, {}) == ""


def test_variables_are_listed_by_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BM25S_ZZ", "1")
    monkeypatch.setenv("BM25S_AA", "")
    names = _environment.list_variables("BM25S_")
    assert names == sorted(names)
    assert {"BM25S_AA", "BM25S_ZZ"} <= {*names}


def test_every_variable_of_ours_is_declared_with_its_meaning() -> None:
    declared = {*_environment.MEANINGS, *KEYS.variables, _environment.GATEWAY}
    names = {value for name, value in vars(_environment).items() if name.isupper() and isinstance(value, str)}
    assert names <= declared
    for path in SOURCE.rglob("*.py"):
        literals = (node.value for node in ast.walk(parse_file(path)) if isinstance(node, ast.Constant))
        for literal in literals:
            if isinstance(literal, str) and re.fullmatch(r"(SHORTLIST|BM25S)_[A-Z][A-Z_]*[A-Z]", literal):
                assert literal in declared, f"{path.relative_to(SOURCE)} reads {literal}, which nothing declares"


def test_one_module_reads_the_environment() -> None:
    reads = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if _reads_environment(path)}
    assert reads - OTHERS == {"_environment.py"}


def _reads_environment(path: Path) -> bool:
    nodes = ast.walk(parse_file(path))
    return any(isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv") for node in nodes)


def test_it_imports_next_to_nothing() -> None:
    nodes = ast.walk(parse_file(SOURCE / "_environment.py"))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {ast.unparse(node).split()[1] for node in imports} == {"__future__", "os", "collections.abc"}
