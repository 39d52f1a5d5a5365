"""The root command: reading command lines, the version, and what starting imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import shortlist
from shortlist.cli import run
from tests.cli.conftest import Shell

pytestmark = pytest.mark.process


def test_version_and_help(shell: Shell) -> None:
    assert (shell("--version").code, shell("--version").out) == (0, f"shortlist {shortlist.__version__}\n")
    assert "discover" in shell("--help").out


READ: list[tuple[str, dict[str, Any]]] = [
    ("search shop a query", {"words": ("shop", "a", "query"), "corpus": (), "k": 10, "mode": "auto", "filter": None}),
    ("search shop query -k3 --mode lexical --filter a=b", {"k": 3, "mode": "lexical", "filter": {"a": "b"}}),
    ("search -c a,b --corpus c --quiet query -- --json", {"corpus": ("a", "b", "c"), "quiet": True, "as_json": False}),
    ("search shop -", {"words": ("shop", "-")}),
    ("discover shop query --min-relevance .3 --max-k 2 --strategy=top_k", {"min_relevance": 0.3, "max_k": 2}),
    ("discover shop query", {"min_relevance": "auto", "strategy": "adaptive", "level": None, "max_k": None}),
    ("discover shop query --min-relevance none", {"min_relevance": None}),
    ("read shop one two --level=metadata", {"corpus": "shop", "ids": ("one", "two"), "level": "metadata"}),
    ("build shop --root a --root b --watch --option a=b", {"root": ("a", "b"), "follow": True, "others": ("a=b",)}),
    ("register a files --embedder light --embedder none", {"embedder": "none", "root": (), "replace": False}),
    (
        "eval shop cases.jsonl --compare lexical dense",
        {"compare": ("lexical", "dense"), "min_relevance": "auto", "misses": 5},
    ),
    ("sweep-select a b --max-k 1,2", {"max_k": [1, 2], "rel": [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1]}),
    ("eval-gen shop made.jsonl -n 5", {"n": 5, "out_of_scope": 0.25, "per_document": 1, "seed": 0}),
    ("query What now -k 3", {"question": ("What", "now"), "top_k": 3, "min_relevance": None}),
    ("download", {"model": None}),
    ("mcp approve one/tool other --all", {"names": ("one/tool", "other"), "everything": True}),
    ("mcp --config a.json --config b.json -c x", {"config": ("a.json", "b.json"), "corpus": ("x",)}),
    ("mcp", {"config": (), "corpus": ()}),
]


@pytest.mark.parametrize(("line", "values"), READ, ids=[line for line, _ in READ])
def test_command_lines_are_read_with_their_defaults(
    line: str, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[str, Any] = {}

    def invoke(command: click.Command, context: click.Context) -> int:
        read.update(context.params)
        return 0

    monkeypatch.setattr(click.Command, "invoke", invoke)
    assert run(line.split()) == 0
    assert {key: read[key] for key in values} == values


@pytest.mark.parametrize(
    "line",
    [
        "search shop query -k", "search shop query -k many", "search shop query --json=yes", "search shop query --js",
        "eval-select shop cases.jsonl --rel much", "info", "info a b", "ls a", "config shwo", "tools", "config",
        "eval a b --compare one", "migrate shop", "mcp deny", "mcp stat",
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_a_usage_error(line: str, shell: Shell) -> None:
    done = shell(*line.split())
    assert (done.code, bool(done.out + done.err)) == (2, True)


def test_a_search_loads_neither_rich_nor_numba(shop: Shell) -> None:
    code = (
        "import sys\n"
        "from shortlist import cli\n"
        "assert cli.run(['search', 'shop', 'refund', '--json']) == 0\n"
        "print(' '.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stderr.split()).isdisjoint({"rich", "pydantic", "numba", "numpy.ma", "yaml", "wordllama"})


def test_help_loads_no_numpy() -> None:
    code = (
        "import sys\n"
        "from shortlist import cli\n"
        "assert cli.run(['--version']) == 0\n"
        "assert cli.run(['--help']) == 0\n"
        "print([name for name in sys.modules if 'commands' in name or name in ('numpy', 'rich')], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "['shortlist.cli.commands']\n" or done.stderr == "[]\n"


def test_the_command_is_installed_under_its_name() -> None:
    script = Path(sys.executable).with_name("shortlist")
    done = subprocess.run([str(script), "ls", "--json"], capture_output=True, text=True, check=True)
    assert "corpora" in json.loads(done.stdout)
