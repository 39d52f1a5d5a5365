"""The former import paths: they work, and warn with the new one."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import shortlist.compat


@pytest.mark.parametrize("name", ["retriever", "tool_index", "in_memory_docs"])
def test_the_modules_of_kits_are_those_of_compat(name: str) -> None:
    program = (
        f"import warnings, importlib\nwith warnings.catch_warnings(record=True) as caught:\n"
        f"    warnings.simplefilter('always')\n    import shortlist.kits.{name} as former\n"
        f"assert former is importlib.import_module('shortlist.compat.{name}')\n"
        f"from shortlist.kits import {name}\nassert {name} is former\n"
        f"assert [str(one.message) for one in caught if one.category is DeprecationWarning] == "
        f"['shortlist.kits is now shortlist.compat. Change the import.']\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_the_client_has_its_former_path() -> None:
    former = importlib.import_module("shortlist.server.client")
    with pytest.warns(DeprecationWarning, match=r"shortlist\.compat\.retriever_client\.BM25SClient"):
        assert former.BM25SClient is shortlist.compat.BM25SClient
