"""A module imports its own house and lower floors only; never a neighbour on its floor, never up."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import shortlist

FLOORS = {
    "types": 0,
    "errors": 0,
    "_files": 0,
    "_paths": 0,
    "_redact": 0,
    "_text": 0,
    "sources": 1,
    "index": 1,
    "search": 2,
    "answer": 3,
    "kits": 3,
    "eval": 4,
    "serve": 5,
}
ROOT = Path(shortlist.__file__).parent
DOORS = {"__init__", "__main__", "eval_gen"}  # the public doors may open onto every floor

# `corpus.as_tool()` stands where it is looked for; what it does is of the floor above, and loaded by the call.
EXCEPTIONS = {"index/corpus.py imports search"}


def imported_houses(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [
                f"{node.module}.{alias.name}" if node.module == "shortlist" else str(node.module)
                for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "shortlist" and rest:
                yield rest.split(".")[0]


def test_imports_never_point_up_or_to_a_neighbour() -> None:
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        house = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if house in DOORS:
            continue
        for other in imported_houses(path):
            if other != house and FLOORS[other] >= FLOORS[house] and not FLOORS[other] == 0 == FLOORS[house]:
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert set(wrong) == EXCEPTIONS
    assert len(wrong) == len(EXCEPTIONS)


def test_every_house_stands_on_a_floor() -> None:
    houses = {path.name.removesuffix(".py") for path in ROOT.iterdir() if path.name != "__pycache__"} - DOORS
    assert houses - {"py.typed"} <= set(FLOORS)
