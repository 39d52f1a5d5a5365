"""Arguments and options that several commands share, and the corpora and thresholds that they mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from shortlist.cli.output import Output
from shortlist.errors import ShortlistError
from shortlist.index.corpus import Corpus
from shortlist.library import opening, registry
from shortlist.results import Level, Mode
from shortlist.sources.mcp_servers.mcp_config import pending_files

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

MODES, LEVELS = click.Choice(get_args(Mode)), click.Choice(get_args(Level))
STRATEGIES = ("conservative", "top_k", "rel_threshold", "abs_threshold", "score_gap", "softmax")


def combine(*decorators: Callable[[Any], Any]) -> Decorator[Any]:
    """One decorator for several options, which the help lists in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def repeatable(*flags: str, metavar: str, help: str) -> Decorator[Any]:
    return click.option(*flags, multiple=True, metavar=metavar, help=f"{help} Repeatable.")


def count(*flags: str, least: int = 1, default: int | None = None, help: str) -> Decorator[Any]:
    return click.option(*flags, type=click.IntRange(min=least), default=default, show_default=True, help=help)


def flag(*names: str, help: str) -> Decorator[Any]:
    return click.option(*names, is_flag=True, help=help)


def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The corpus names that start so, for the shell."""
    with suppress(ShortlistError):
        return [name for name in registry.names() if name.startswith(incomplete)]
    return []


def parse_filter(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> dict[str, Any] | None:
    """The filter that key=value pairs and JSON conditions make together."""
    parts = [_parse_condition(text) for text in given]
    return parts[0] if len(parts) == 1 else {"$and": parts} if parts else None


def _parse_condition(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise click.UsageError(f"The filter {text!r} is not valid JSON: {error}.") from None
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise click.UsageError(
            f"""A filter is key=value or JSON such as '{{"year": {{"$gte": 2020}}}}', not {text!r}."""
        )
    try:
        return {key.strip(): {"$in": [json.loads(value), value]}}  # a number may be stored as text
    except ValueError:
        return {key.strip(): value}


def parse_threshold(ctx: click.Context | None, param: click.Parameter | None, given: str | None) -> Any:
    if given is None or given == "auto":
        return given
    if given == "none":
        return None
    try:
        return float(given)
    except ValueError:
        raise click.UsageError(f"--min-score is a number, auto or none, not {given!r}.") from None


def split_names(texts: Sequence[str]) -> list[str]:
    """The names in texts that may each have several, separated by commas."""
    return list(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))


def open_corpora(out: Output, names: Sequence[str]) -> list[Corpus]:
    """Open corpora by name; one that was never built is built, with a progress bar."""
    corpora = []
    for name in names:
        for pending in pending_files() if name == "mcp" else ():
            out.note(f"shortlist: {pending.reason}")
        with out.progress(f"building {name}") as progress:
            corpora.append(opening.open_named(name, progress))
    return corpora


def find_path_source(path: str) -> registry.Registration | None:
    """The source that a path alone means: the documents of a folder, the tools of a file."""
    place = Path(path).expanduser()
    if place.is_dir():
        return registry.find(f"docs:{path}")
    return registry.find(f"tools:{path}") if place.is_file() else None


corpus_argument = click.argument("corpus", shell_complete=complete)
name_argument = click.argument("name", shell_complete=complete)
k_option = count("-k", default=10, help="Number of candidates to retrieve.")
mode_option = click.option("--mode", type=MODES, default="auto", show_default=True, help="How to rank.")
filter_option = click.option(
    "--filter", multiple=True, metavar="IF", callback=parse_filter,
    help="Condition on metadata: key=value or JSON. Repeatable.",
)  # fmt: skip
retrieval_options = combine(k_option, mode_option, filter_option)
strategy_option = click.option(
    "--strategy", type=click.Choice(STRATEGIES), default="conservative", show_default=True, help="How to select."
)
seed_option = count("--seed", least=0, default=0, help="Random seed.")
max_k_option = count("--max-k", default=3, help="Maximum number of results to select.")


def min_score_option(default: str | None) -> Decorator[Any]:
    return click.option(
        "--min-score", metavar="X|auto|none", default=default, show_default=True, callback=parse_threshold,
        help="Abstain if the top score is below this; auto: the calibrated or built-in threshold; none: never abstain.",
    )  # fmt: skip
