"""Loads numpy without the threads of its linear algebra, which spin when they start: 30 ms of CPU for each core.

Only for processes of ours. What is loaded or started later, such as torch or a server, sees the environment as it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

VARIABLE = "OPENBLAS_NUM_THREADS"


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        os.environ[VARIABLE] = "1"
        try:
            super().exec_module(module)
        finally:
            del os.environ[VARIABLE]


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "numpy":
            return None
        sys.meta_path.remove(_Finder)
        spec = PathFinder.find_spec(name, path, target)
        if spec and isinstance(spec.loader, SourceFileLoader) and VARIABLE not in os.environ:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def limit_threads() -> None:
    """Let numpy have one thread when it is imported, unless the user has set their number."""
    if "numpy" not in sys.modules:
        sys.meta_path.insert(0, _Finder)
