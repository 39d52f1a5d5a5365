"""Import names of the seeds' packages as aliases of ours, so that their documented examples run verbatim."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

import pytest

import shortlist
from shortlist.compat import tool_index

ALIASES: dict[str, ModuleType] = {
    "bm25s_retriever": shortlist,
    "aumai_toolretrieval": shortlist,
    "aumai_toolretrieval.models": tool_index,
    "aumai_toolretrieval.core": tool_index,
}


@pytest.fixture
def seed_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in ALIASES.items():
        monkeypatch.setitem(sys.modules, name, module)


def run(code: str, **names: Any) -> dict[str, Any]:
    """Run an example with these names defined; all names that it defines."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"shortlist\.\w+ is deprecated", DeprecationWarning)
        exec(compile(code, "<example>", "exec"), names)
    return names
