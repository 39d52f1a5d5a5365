"""Groups that import the module of a command when it is needed."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from shortlist.cli.app import app
from shortlist.cli.lazy_group import LazyCommand, LazyGroup
from tests.cli.conftest import COMMANDS, Shell

pytestmark = pytest.mark.process

HEAVY = {"numpy", "pydantic", "rich", "yaml", "mcp", "fastapi", "httpx", "tomlkit", "onnxruntime", "asyncio"}


def test_the_table_names_a_command_of_each_module() -> None:
    for path, command in COMMANDS.items():
        assert isinstance(command, click.Command)
        assert command.name == path.split()[-1]
    assert app.get_command(click.Context(app), "serach") is None


def test_no_command_loads_a_heavy_module_before_it_runs() -> None:
    code = (
        "import sys\n"
        "from importlib.util import _LazyModule\n"
        "from shortlist.cli import run\n"
        f"for path in {[path.split()[1:] for path in COMMANDS]!r}:\n"
        "    assert run([*path, '--help']) == 0\n"
        "loaded = [name for name, module in sys.modules.items() if type(module) is not _LazyModule]\n"
        "print(' '.join(loaded), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = set(done.stderr.split())
    assert loaded.isdisjoint(HEAVY)
    assert {"shortlist.cli.commands.search_commands", "shortlist.cli.commands.mcp_commands"} <= loaded
    assert not {name for name in loaded if name.startswith(("shortlist.index.", "shortlist.cli.terminal."))}


def test_listing_commands_imports_none() -> None:
    group = LazyGroup("things", "Things.", {"All": {"do": LazyCommand("no_such_module", "Do it.")}}, examples=["x do"])
    context = click.Context(group)
    assert "Do it." in group.get_help(context)
    assert [(item.value, item.help) for item in group.shell_complete(context, "")] == [("do", "Do it.")]
    with pytest.raises(ModuleNotFoundError):
        group.get_command(context, "do")


def test_a_group_with_a_default_runs_it_without_a_command(shell: Shell) -> None:
    assert shell("mcp", "--profile").code == 2
    assert "Usage: shortlist mcp [OPTIONS] COMMAND" in shell("mcp", "--help").out
    assert "No such option" in shell("tools", "--query", "x").err
