"""Arguments and options that several modules of commands have. Others are beside the command that they are about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import split_given_names
from shortlist.errors import ShortlistError

with lazy_imports():
    from shortlist.library import registry

Decorator = Callable[[Any], Any]


def combine(*decorators: Decorator) -> Decorator:
    """One decorator that adds several arguments and options, in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def complete_corpus(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names of corpora, for the shell."""
    with suppress(ShortlistError):
        return [name for name in registry.names() if name.startswith(incomplete)]
    return []


def corpus_option(help: str) -> Decorator:
    """--corpus, which may be repeated and may name several corpora, separated by commas."""
    return click.option(
        "--corpus",
        "-c",
        metavar="CORPUS",
        multiple=True,
        callback=split_given_names,
        shell_complete=complete_corpus,
        help=f"{help} Repeatable.",
    )


corpus_argument = click.argument("corpus", metavar="CORPUS", shell_complete=complete_corpus)
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
settings_option = click.option("--settings", metavar="PATH", help="Settings file, instead of settings.yaml.")
learn_option = click.option(
    "--learn",
    type=click.Choice(["off", "log", "on"]),
    help="Use of what is found: off stores nothing, log stores it, on also ranks by it (default: on).",
)
