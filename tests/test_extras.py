"""Extras: a missing one is reported with the line that installs it, and everything else works without them."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.offline_jobs import keep_some_tools
from tests.pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
FUNCTIONS = re.compile("import_extra|needs_extra|MissingExtra|install_line")


@pytest.fixture(scope="module")
def packages() -> dict[str, set[str]]:
    """The packages that each installed module is from."""
    return {module: set(map(canonicalize_name, names)) for module, names in packages_distributions().items()}


def find_packages(requirements: Iterable[str], extras: Iterable[str] = ("",)) -> set[str]:
    """The packages that are installed for requirements, and for theirs."""
    found: set[str] = set()
    for wanted in map(Requirement, requirements):
        if not wanted.marker or any(wanted.marker.evaluate({"extra": extra}) for extra in extras):
            name = canonicalize_name(wanted.name)
            found |= {name, *find_required(name, frozenset(wanted.extras) or frozenset([""]))}
    return found


@cache
def find_required(name: str, extras: frozenset[str]) -> set[str]:
    return find_packages(requires(name) or (), extras)


def calls() -> Iterator[tuple[str, str, set[str]]]:
    """Where the code names an extra: the place, its name, and the third-party modules that are imported there."""
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text("utf-8")
        tree = ast.parse(text if FUNCTIONS.search(text) else "")
        bodies = {id(node.items[0].context_expr): node.body for node in ast.walk(tree) if isinstance(node, ast.With)}
        for node in ast.walk(tree):
            function = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if not FUNCTIONS.fullmatch(function):
                continue
            assert isinstance(node, ast.Call)
            texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            if len(texts) == len(node.args):
                imported = [texts.pop(0)] if function == "import_extra" else []
                for line in bodies.get(id(node), ()):
                    imported += [line.module or ""] if isinstance(line, ast.ImportFrom) else []
                modules = {name.partition(".")[0] for name in map(str, imported)} - {"shortlist"}
                yield f"{path.name}:{node.lineno}", str(texts[0]), modules


def test_the_code_names_extras_that_exist_and_install_what_it_imports(packages: dict[str, set[str]]) -> None:
    found = list(calls())
    assert {"server", "mcp", "documents", "minilm"} <= {extra for _, extra, _ in found}
    for place, named, modules in found:
        wanted = [line for extra in named.split(",") for line in EXTRAS.get(extra, [f"no-extra-{extra}"])]
        installed = find_packages(wanted)
        assert all(packages[module] & installed for module in modules), f"{place} names the extra {named}"


def test_documentation_names_extras_that_exist() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    lists = re.findall(r"(?:install .*?|shortlist)\[([a-z0-9,-]+)\]|extras? `([a-z0-9-]+)`", text)
    named = {extra for pair in lists for extra in "".join(pair).split(",")}
    assert {"mcp", "documents", "server"} <= named
    assert named - set(EXTRAS) == set()


HIDE = """
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {modules} else super().find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, *context):
        return (one for one in super().find_distributions(*context) if one.name.lower().replace("_", "-") in {packages})

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder

import os
from shortlist.safety import processes

processes.make_environment = lambda: dict(os.environ)  # so that it hides the same from our own processes
"""


@pytest.fixture
def without_extras(tmp_path: Path, packages: dict[str, set[str]]) -> dict[str, str]:
    """An environment in which Python finds only what `pip install shortlist` installs."""
    installed = find_packages(PROJECT["dependencies"]) | {"shortlist"}
    hidden = {module for module, names in packages.items() if not names & installed}
    assert {"fastapi", "uvicorn", "mcp", "tokenizers", "huggingface_hub", "requests", "pypdf", "keyring"} <= hidden
    (tmp_path / "sitecustomize.py").write_text(HIDE.format(modules=hidden, packages=installed), "utf-8")
    return os.environ | {"PYTHONPATH": str(tmp_path)}


def run_without(environment: dict[str, str], *code: str) -> Any:
    command = [sys.executable, "-c", *code]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


LIBRARY = """
import importlib, json, sys
import shortlist

for name in shortlist.__all__:
    getattr(shortlist, name)
corpus = shortlist.build(shortlist.CorpusSource.from_catalog(sys.argv[1]), name="shop")
assert shortlist.discover(corpus, "refund a payment").results[0].name == "refund_payment"
assert corpus.config.embedder == "tools"

def error_of(function, *arguments):
    try:
        function(*arguments)
    except (shortlist.MissingExtra, shortlist.EmbedderError) as error:
        return str(error)

said = {name: error_of(shortlist.load_embedder, name) for name in (
    "minilm", "onnx:x/y", "model2vec:x/y", "st:x/y", "x/y"
)}
said |= {name: error_of(importlib.import_module, f"shortlist.integrations.{name}") for name in (
    "langchain", "llamaindex", "pydantic_ai", "fastmcp"
)}
said["gateway_app"] = error_of(lambda: shortlist.gateway_app(token="secret"))
said["from_mcp"] = error_of(lambda: list(shortlist.CorpusSource.from_mcp({"mcpServers": {"one": {"command": "true"}}})))
print(json.dumps(said))
"""


@pytest.mark.process
def test_the_library_works_without_extras_and_says_how_to_install_them(
    without_extras: dict[str, str], tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "data")
    keep_some_tools(tmp_path / "data", 20)
    said = run_without(without_extras, LIBRARY, str(tmp_path / "data" / "tools.yaml"))
    lines = {name: re.findall(r'pip install "shortlist\[(.*?)\]"', text or "") for name, text in said.items()}
    assert lines == {
        "minilm": ["minilm"], "onnx:x/y": ["onnx"], "model2vec:x/y": ["model2vec"],
        "st:x/y": ["sentence-transformers"], "x/y": ["sentence-transformers", "model2vec", "onnx"],
        "langchain": ["langchain"], "llamaindex": ["llamaindex"], "pydantic_ai": ["pydantic-ai"],
        "fastmcp": ["fastmcp"], "gateway_app": ["server,mcp"], "from_mcp": ["mcp"],
    }  # fmt: skip


DISCOVER = """
import json, sys
import shortlist
from shortlist.eval import load_cases

tools = list(shortlist.CorpusSource.from_catalog("examples/data/tools.yaml"))[:20]  # encoding all takes seconds
corpus = shortlist.build(tools, in_memory=True)
assert corpus.config.embedder == "tools"
cases, names = load_cases("examples/data/cases.jsonl"), {tool.id for tool in tools}
asked = [case.query for case in cases if names & {*case.gold}] + [case.query for case in cases if not case.gold][:5]
answers = {query: shortlist.discover(corpus, query) for query in asked}
assert {"wordllama", "tokenizers", "huggingface_hub", "requests", "torch"}.isdisjoint(sys.modules)
print(json.dumps({query: [(one.id, one.relevance) for one in found.results] for query, found in answers.items()}))
"""


@pytest.mark.process
def test_a_base_install_finds_the_same_as_one_with_all_extras(without_extras: dict[str, str]) -> None:
    base, everything = (run_without(environment, DISCOVER) for environment in (without_extras, dict(os.environ)))
    assert len(base) > 10
    assert sum(map(bool, base.values())) > len(base) / 2
    assert base == everything


COMMANDS = """
import contextlib, io, json, sys
from shortlist import cli

answers = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
        code = cli.run(arguments)
    answers.append((code, out.getvalue(), error.getvalue()))
print(json.dumps(answers))
"""


@pytest.mark.process
def test_the_commands_work_without_extras_and_say_how_to_install_them(
    without_extras: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "one.pdf").write_bytes(b"%PDF-1.7\n")
    commands = (
        ("doctor", "--json"),
        ("search", "docs:examples/data/docs", "who founded the company", "--quiet"),
        ("build", "scans", "--root", str(tmp_path / "scans")),
        ("serve",),
        ("mcp",),
        ("mcp", "status", "--refresh"),
        ("mcp", "login", "one"),
        ("build", "shop", "--root", "examples/data/docs", "--embedder", "minilm"),
    )
    doctor, search, scans, *others = run_without(without_extras, COMMANDS, json.dumps(commands))
    fixes = {check["name"]: check["fix"] for check in json.loads(doctor[1])["checks"]}
    extras = [extra for extra, packages in EXTRAS.items() if packages and extra != "all"]
    assert {extra: fixes[extra] for extra in extras} == {extra: f'pip install "shortlist[{extra}]"' for extra in extras}
    assert (search[0], search[1].splitlines()[0]) == (0, "employee-handbook.md")
    assert 'pip install "shortlist[documents]"' in scans[2]
    assert [(code, re.findall(r'pip install "shortlist\[(.*)\]"\n$', error)) for code, _, error in others] == [
        (1, [extra]) for extra in ("server", "mcp", "mcp", "mcp", "minilm")
    ]
