"""Arguments and options that several modules of commands have. Others are beside the command that they are about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click
from click.core import ParameterSource

from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.option_values import split_corpora
from shortlist.cli.output import Output
from shortlist.errors import ShortlistError

with lazy_imports():
    from shortlist.library import corpus_names, registry

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


def resolve_corpus(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """The name of the corpus that a name or path means."""
    return name and str(corpus_names.resolve(name))


def corpus_option(help: str) -> Decorator:
    """--corpus, which may be repeated and may have several names or paths, separated by commas."""
    return click.option(
        "--corpus",
        "-c",
        metavar="CORPUS",
        multiple=True,
        callback=lambda ctx, param, given: split_corpora(given),
        shell_complete=complete_corpus,
        help=f"{help} Repeatable.",
    )


def relevance_option(former: str, parse_former: Callable[[str], Any], **option: Any) -> Decorator:
    """--min-relevance, and its former name, which help does not show and whose use is noted on stderr."""
    name, key = "--min-relevance", f"shortlist.{former}"

    def accept_former(ctx: click.Context, param: click.Parameter, given: Any) -> None:
        if param.name is not None and ctx.get_parameter_source(param.name) is not ParameterSource.DEFAULT:
            ctx.meta[key] = given
            note = f"shortlist: {former} is deprecated. Use {name}, a number from 0 to 1."
            ctx.call_on_close(lambda: Output(as_json=False, quiet=ctx.params.get("quiet", False)).note(note))

    def choose(ctx: click.Context, param: click.Parameter, given: Any) -> Any:
        if key in ctx.meta and given != option.get("default"):
            raise click.UsageError(f"{former} cannot be combined with {name}. Leave out {former}.")
        return ctx.meta.get(key, given)

    return combine(
        click.option(name, metavar="X", callback=choose, **option),
        click.option(former, type=parse_former, hidden=True, is_eager=True, expose_value=False, callback=accept_former),
    )


corpus_argument = click.argument("corpus", metavar="CORPUS", shell_complete=complete_corpus)
stored_argument = click.argument("name", metavar="CORPUS", callback=resolve_corpus, shell_complete=complete_corpus)
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
settings_option = click.option("--settings", metavar="PATH", help="Settings file, instead of settings.yaml.")
learn_option = click.option(
    "--learn",
    type=click.Choice(["off", "log", "on"]),
    help="Use of what is found: off stores nothing, log stores it, on also ranks by it (default: on).",
)
