"""The command line: runs a command and turns every way that it can end into an exit code.

A failure is one sentence on stderr, or with --json one document on stdout. Corpora keep their last committed state.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import click

import shortlist
from shortlist._paths import cache_dir, config_dir, data_dir
from shortlist.cli import completion
from shortlist.cli.app import app
from shortlist.cli.output import ABSTAINED, ERROR, INTERRUPTED, OK, USAGE, discard_output, fail, write
from shortlist.errors import ShortlistError

__all__ = ["ABSTAINED", "ERROR", "INTERRUPTED", "OK", "USAGE", "main", "run"]


def main() -> None:
    """Run the command of this process and exit at once. Python's own shutdown takes 50 ms more to free memory."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        discard_output()
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = (
        "--json" in options or "--output-format=json" in options or ("--output-format", "json") in pairwise(options)
    )
    try:
        _sign_in()
        return _invoke(arguments)
    except BrokenPipeError:  # no one reads the output any more
        discard_output()
        return OK
    except KeyboardInterrupt:
        return fail("Stopped. What was committed before is kept.", "interrupted", INTERRUPTED, as_json=as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        write(f"{error.format_message()}\n")
        return USAGE
    except click.ClickException as error:
        return fail(error.format_message(), "usage", USAGE, as_json=as_json)
    except Exception as error:
        if "--debug" in options or os.environ.get("SHORTLIST_DEBUG", "0") not in ("", "0"):
            raise
        return fail(_describe(error), type(error).__name__, ERROR, as_json=as_json)


def _invoke(arguments: Sequence[str]) -> int:
    if instruction := os.environ.get(completion.VARIABLE):
        return completion.complete(app, instruction)
    try:
        with app.make_context("shortlist", list(arguments)) as context:
            return int(app.invoke(context))
    except click.exceptions.Exit as end:
        return end.exit_code


def _sign_in() -> None:
    """Use the cluster credentials of the environment."""
    user = [os.environ.get(f"SHORTLIST_ENGINE_{name}", "").strip() for name in ("USER", "PASSWORD", "CERTIFICATE")]
    if any(user):
        shortlist.sign_in(*user)


def _describe(error: Exception) -> str:
    if isinstance(error, ShortlistError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        file = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{file}.{_advise(error.filename)}"
    return f"Something unexpected went wrong ({type(error).__name__}: {error}). --debug shows where."


def _advise(file: object) -> str:
    """How to fix an error about one of our own folders, or a folder above it."""
    path = Path(os.fsdecode(file)) if isinstance(file, str | bytes) else Path()
    for name, folder in (("DATA", data_dir()), ("CONFIG", config_dir()), ("CACHE", cache_dir())):
        if path.is_relative_to(folder) or (path.is_absolute() and folder.is_relative_to(path)):
            return f" Mend that, or let SHORTLIST_{name}_DIR name another folder."
    return ""
