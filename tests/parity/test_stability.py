"""docs/reference/stability.md: every name in its tables exists, and the names of the seeds are among them."""

from __future__ import annotations

import inspect
import re
from functools import reduce
from pathlib import Path
from typing import Any

import click
import pytest

import shortlist
from shortlist.cli.app import app
from shortlist.compat.retriever_service import create_app
from shortlist.compat.retriever_settings import KEYS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/stability.md").read_text("utf-8")


def names_in(heading: str) -> list[str]:
    """The names in the first column of the table below a heading."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def find(name: str) -> Any:
    embedder = shortlist.SimpleEmbedder()
    root: Any = embedder if name.startswith("SimpleEmbedder._") else shortlist
    return reduce(
        getattr, name.removeprefix("SimpleEmbedder.").split(".") if root is embedder else name.split("."), root
    )


@pytest.mark.parametrize("name", names_in("Python"))
def test_python_names_exist(name: str) -> None:
    assert find(name) is not None


@pytest.mark.parametrize("name", names_in("Parameters"))
def test_parameters_exist(name: str) -> None:
    function, parameter = re.fullmatch(r"([\w.]+)\((\w+)\)", name).groups()  # type: ignore[union-attr]
    assert parameter in inspect.signature(find(function)).parameters


def test_document_fields_exist() -> None:
    assert names_in("Document fields") == list(shortlist.Document("a", "b", "c").copy())


@pytest.mark.parametrize("name", names_in("Commands"))
def test_commands_exist(name: str) -> None:
    command: Any = app
    for word in name.split():
        command = command.get_command(click.Context(command), word)
        assert command is not None


def test_routes_exist() -> None:
    paths = create_app().openapi()["paths"]
    known = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert set(names_in("HTTP")) <= known, known


def test_settings_and_variables_exist() -> None:
    assert set(names_in("Settings and variables")) <= {*KEYS.fields, *KEYS.variables}


def test_the_names_of_the_seed_are_stable() -> None:
    named = {name.rpartition("(")[2].rstrip(")") for name in names_in("Parameters")}
    assert named >= {"query", "temperature", "ignore_zero", "llm_tools_cutoff"}
    assert set(names_in("Python")) >= {"BM25SRetriever", "ToolIndex", "InMemoryDocs", "discover", "ask"}


def test_the_page_is_in_the_navigation() -> None:
    assert "reference/stability.md" in (ROOT / "website/mkdocs.yml").read_text("utf-8")
