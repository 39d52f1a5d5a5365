"""A framework that is not installed is an error that says how to install it."""

from __future__ import annotations

import importlib
import sys

import pytest

from shortlist import MissingExtra


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llamaindex", "llama_index", "llamaindex"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("fastmcp", "fastmcp", "fastmcp"),
    ],
)
def test_a_missing_package_is_an_error_with_the_line_that_installs_it(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"shortlist.integrations.{module}", raising=False)
    with pytest.raises(MissingExtra, match=rf'pip install "shortlist\[{extra}\]"'):
        importlib.import_module(f"shortlist.integrations.{module}")
