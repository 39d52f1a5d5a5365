"""The structure of the package: layers, no import circles at any level, and small folders."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import shortlist
from tests.syntax import parse_file
from website import module_list

ROOT = Path(shortlist.__file__).parent
LAYERS: dict[str, int] = {
    "documents": 0,
    "results": 0,
    "protocols": 0,
    "errors": 0,
    "_environment": 0,
    "_files": 0,
    "_http": 0,
    "_limits": 0,
    "_paths": 0,
    "_plain": 0,
    "_projects": 0,
    "_redact": 0,
    "_settings": 0,
    "_telemetry": 0,
    "_text": 0,
    "display": 0,
    "safety": 0,
    "client": 1,
    "mcp_client": 1,
    "sources": 2,
    "index": 2,
    "library": 3,
    "retrieval": 4,
    "answer": 5,
    "integrations": 5,
    "eval": 6,
    "install": 7,
    "mcp": 7,
    "server": 8,
    "compat": 9,
    "cli": 10,
}
PUBLIC = {"__init__", "__main__", "eval_gen", "kits"}  # the public entry points import from every layer

MODULES: dict[str, Path] = {}
for _path in sorted(ROOT.rglob("*.py")):
    _parts = _path.relative_to(ROOT).with_suffix("").parts
    MODULES[".".join(_parts[:-1] if _parts[-1] == "__init__" and len(_parts) > 1 else _parts)] = _path


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """The modules of the package that a file imports, and the line if that is inside a function, else 0."""
    tree = parse_file(path)
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        prefix = ""
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            prefix = f"{node.module}."
        for name in (prefix + alias.name for alias in node.names):
            package, _, rest = name.partition(".")
            if package == "shortlist":
                module = rest if rest in MODULES else rest.rpartition(".")[0]
                if module in MODULES:
                    yield module, node.lineno if id(node) in inside else 0


@cache
def all_imports() -> dict[str, list[tuple[str, int]]]:
    return {name: list(imports_of(path)) for name, path in MODULES.items() if name not in PUBLIC}


def test_a_package_imports_itself_and_lower_layers_only() -> None:
    wrong = []
    for name, imported in all_imports().items():
        own = name.split(".")[0]
        for other in {module.split(".")[0] for module, _ in imported} - {own}:
            if LAYERS[other] >= LAYERS[own] and not LAYERS[other] == 0 == LAYERS[own]:
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_only_the_edges_and_one_method_use_the_public_names() -> None:
    """`import shortlist` reaches every layer; `Corpus.as_tool` is the one place below that may, as a shorthand."""
    users = {
        name
        for name, path in MODULES.items()
        if name not in PUBLIC and "\nimport shortlist\n" in path.read_text("utf-8")
    }
    assert {name for name in users if LAYERS[name.split(".")[0]] < LAYERS["mcp"]} == {"index.corpus"}


@pytest.mark.parametrize("package", ["", *sorted({".".join(name.split(".")[:-1]) for name in MODULES} - {""})])
def test_modules_and_subfolders_of_a_package_have_no_import_circle(package: str) -> None:
    depth = len(package.split(".")) if package else 0

    def child(name: str) -> str | None:
        parts = name.split(".")
        return (
            parts[depth] if parts[:depth] == package.split(".")[:depth] * bool(package) and len(parts) > depth else None
        )

    graph: dict[str, set[str]] = {}
    for name, imported in all_imports().items():
        if (own := child(name)) is not None:
            others = {child(module) for module, _ in imported} - {None, own}
            graph.setdefault(own, set()).update(other for other in others if other)
    TopologicalSorter(graph).prepare()


def test_few_imports_are_inside_functions() -> None:
    lines = {(name, line) for name, imported in all_imports().items() for _, line in imported if line}
    inside = Counter(name for name, _ in lines)
    assert inside.total() <= 25, inside


def test_folders_are_small_and_module_names_unique() -> None:
    folders = Counter(path.parent for path in MODULES.values() if not path.stem.startswith("__"))
    assert max(folders.values()) <= 16, folders.most_common(3)
    stems = Counter(path.stem for path in MODULES.values() if path.stem != "__init__")
    assert [name for name, count in stems.items() if count > 1] == []


def test_a_class_name_has_one_meaning() -> None:
    adapters = {"ShortlistRetriever", "ToolSearch"}  # each framework has one of this name
    names = Counter(
        node.name for path in MODULES.values() for node in ast.walk(parse_file(path)) if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} <= adapters


def test_every_package_has_a_layer() -> None:
    assert {name.split(".")[0] for name in MODULES} - PUBLIC <= set(LAYERS)


def test_the_page_of_modules_lists_every_module() -> None:
    page = module_list.PAGE.read_text("utf-8")
    assert module_list.replace_list(page) == page, "run: python -m website.module_list"
