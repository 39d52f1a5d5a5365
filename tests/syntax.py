"""Syntax trees of source files, parsed once for all tests of a process, which takes seconds for the whole package."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def parse_file(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
