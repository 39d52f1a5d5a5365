"""Commands made from functions."""

from __future__ import annotations

import click
import pytest

from shortlist.cli.command import TERMS, command
from shortlist.cli.output import ABSTAINED, OK, Output


@command(examples=["shortlist grow-trees oak"], exclusive=[("--fast", "--slow", "--json")])
@click.argument("name", metavar="CORPUS")
@click.option("--fast", is_flag=True, help="Grow fast.")
@click.option("--slow", is_flag=True, help="Grow slowly.")
def grow_trees(out: Output, name: str, fast: bool, slow: bool) -> int | None:
    """Grow trees. They need
    water."""
    grown.append((out, name, fast, slow))
    return ABSTAINED if name == "none" else None


grown: list[tuple[Output, str, bool, bool]] = []


def run(*arguments: str) -> int:
    grown.clear()
    with grow_trees.make_context("grow-trees", list(arguments)) as context:
        code: int = grow_trees.invoke(context)
    return code


def test_a_command_gets_its_name_help_and_examples_from_the_function() -> None:
    assert grow_trees.name == "grow-trees"
    assert grow_trees.help == f"Grow trees. They need water.\n\n{TERMS['CORPUS']}"
    assert grow_trees.epilog == "\b\nExamples:\n  shortlist grow-trees oak"
    options = [param.opts[0] for param in grow_trees.params]
    assert options == ["name", "--fast", "--slow", "--json", "--quiet", "--debug"]


def test_the_function_is_called_with_an_output_and_values_and_returns_the_exit_code() -> None:
    assert run("oak", "--fast", "--quiet") == OK
    assert grown == [(Output(as_json=False, quiet=True), "oak", True, False)]
    assert run("none", "--json") == ABSTAINED


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slow", "--fast"], "--fast cannot be combined with --slow."),
        (["--fast", "--json"], "--fast cannot be combined with --json."),
    ],
)
def test_options_of_one_group_exclude_each_other(arguments: list[str], message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        run("oak", *arguments)
    assert caught.value.message == message
    assert grown == []
