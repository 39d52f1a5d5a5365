"""Write the page of modules from the first lines of their docstrings: `python -m website.module_list`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "shortlist"
PAGE = ROOT / "docs" / "explanation" / "modules.md"
LIST = re.compile(r"(?<=^```\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
ORDER = [
    "safety",
    "display",
    "client",
    "mcp_client",
    "index",
    "sources",
    "library",
    "retrieval",
    "integrations",
    "answer",
    "eval",
    "install",
    "mcp",
    "server",
    "compat",
    "kits",
    "cli",
]
COLUMN = 27


def describe(path: Path) -> str:
    """The first line of a module's docstring, without the period."""
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return docstring.partition("\n")[0].rstrip(".")


def list_folder(folder: Path, depth: int = 0) -> list[str]:
    lines = []
    for path in sorted(folder.glob("*.py")):
        if not path.name.startswith("__"):
            lines.append(f"{'  ' * depth + path.name:{COLUMN}}{describe(path)}")
    folders = [path.parent for path in folder.glob("*/__init__.py")]
    for inner in sorted(folders, key=lambda path: ORDER.index(path.name) if depth == 0 else path.name):
        title = f"{'  ' * depth + inner.name + '/':{COLUMN}}{describe(inner / '__init__.py')}"
        lines += [title.rstrip(), *list_folder(inner, depth + 1)]
    return lines


def replace_list(page: str) -> str:
    modules = "\n".join(list_folder(PACKAGE)) + "\n"
    return LIST.sub(lambda _: modules, page)


if __name__ == "__main__":
    PAGE.write_text(replace_list(PAGE.read_text("utf-8")), "utf-8")
