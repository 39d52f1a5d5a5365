"""Tests mirror the source: a module is tested in the file of its name, and nothing here depends on benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import shortlist

SOURCE = Path(shortlist.__file__).parent
TESTS = Path(__file__).parent


def test_nine_of_ten_modules_have_a_test_file_of_their_name() -> None:
    modules = [path for path in SOURCE.rglob("*.py") if not path.stem.startswith("__")]
    missing = [path for path in modules if not find_test_file(path).is_file()]
    names = sorted(str(path.relative_to(SOURCE)) for path in missing)
    assert len(missing) <= len(modules) / 10, f"{len(missing)} of {len(modules)} modules have none: {', '.join(names)}"


def find_test_file(module: Path) -> Path:
    folder = TESTS / module.parent.relative_to(SOURCE)
    return folder / f"test_{module.stem.lstrip('_')}.py"


def test_no_test_imports_a_benchmark() -> None:
    imports = re.compile(r"^\s*(from|import) bench\b", re.MULTILINE)
    files = [path for path in TESTS.rglob("*.py") if imports.search(path.read_text("utf-8"))]
    assert files == []
