"""Imports that load a module when it is first used, so that help and completion start fast."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


class _LazyFinder:
    """Finds modules as usual, but delays running them until an attribute is read."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def lazy_imports() -> Iterator[None]:
    """Delay the imports inside, which must be of whole modules: `from package import module`.

    A module that is imported by one of its names is loaded at once, and so is the package of a module. The first use
    must be in one thread, since older releases of Python do not lock such a module while it loads.
    """
    sys.meta_path.insert(0, _LazyFinder)
    try:
        yield
    finally:
        sys.meta_path.remove(_LazyFinder)
