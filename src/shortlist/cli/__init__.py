"""The command line: runs a command and turns every way that it can end into an exit code.

A failure is one sentence on stderr, or with --json one document on stdout. Corpora keep their last committed state.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Sequence
from itertools import pairwise

import click
from click.shell_completion import shell_complete

import shortlist
from shortlist import _environment as env
from shortlist._paths import describe_os_error
from shortlist.cli.app import app
from shortlist.cli.completion import COMPLETION_VARIABLE
from shortlist.cli.output import ABSTAINED, ERROR, INTERRUPTED, OK, USAGE, discard_output, fail, write
from shortlist.display.progress import hide_progress
from shortlist.errors import QueryTooLong, ShortlistError
from shortlist.safety.processes import find_import_path

__all__ = ["ABSTAINED", "ERROR", "INTERRUPTED", "OK", "USAGE", "main", "run"]

OBJECTS_BEFORE_COLLECTION = 50_000  # that may be garbage; with Python's 700, a start collects for 30 ms what stays
CREDENTIALS = (env.ENGINE_USER, env.ENGINE_PASSWORD, env.ENGINE_CERTIFICATE)
# Keyword arguments in the advice of library errors, which are options here.
_KEYWORD = re.compile(
    r"\b(rebuild|replace|delete_old|embedder|engine|mode|chunk_\w+)=(?:True|(['\"]?)([\w:/@.-]*\w)\2)(?:, --\1)?"
)


def main() -> None:
    """Run the command of this process and exit at once. Python's own shutdown takes 50 ms more to free memory.

    From here on, nothing is imported from the working directory, which `python -m` and an empty entry of PYTHONPATH put
    on the import path: it may be a repository of someone else.
    """
    sys.path[:] = find_import_path()
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
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
    as_json = not {"--json", "--output-format=json"}.isdisjoint([*options, *map("=".join, pairwise(options))])
    try:
        if any(credentials := [env.read_variable(name) for name in CREDENTIALS]):
            shortlist.sign_in(*credentials)
        if instruction := env.read_variable(COMPLETION_VARIABLE):
            return shell_complete(app, {}, "shortlist", COMPLETION_VARIABLE, instruction)
        with hide_progress(), app.make_context("shortlist", list(arguments)) as context:
            return int(app.invoke(context))
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:  # the reader of the output has gone
        discard_output()
        return OK
    except KeyboardInterrupt as interrupt:
        return fail(f"Interrupted. {interrupt}".rstrip(), "interrupted", INTERRUPTED, as_json=as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        write(f"{error.format_message()}\n")
        return USAGE
    except click.ClickException as error:
        return fail(error.format_message(), "usage", USAGE, as_json=as_json)
    except QueryTooLong as error:
        return fail(str(error), "usage", USAGE, as_json=as_json)
    except Exception as error:
        if "--debug" in options or env.read_variable(env.DEBUG) not in ("", "0"):
            raise
        return fail(_describe(error), type(error).__name__, ERROR, as_json=as_json)


def _describe(error: Exception) -> str:
    if isinstance(error, ShortlistError):
        return _KEYWORD.sub(lambda match: f"--{match[1].replace('_', '-')} {match[3] or ''}".rstrip(), str(error))
    if not isinstance(error, OSError) or not error.strerror:
        return f"Unexpected error ({type(error).__name__}: {error}). Add --debug to see the traceback."
    return describe_os_error(error)
