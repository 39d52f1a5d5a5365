"""The command line. What does a command that fails, is stopped or is no longer listened to leave behind?

One sentence on stderr (with --json one document on stdout), a code, and the last committed state.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from shortlist.cli import quick
from shortlist.cli.command_list import COMMANDS, GROUPED, UNTOLD
from shortlist.cli.output import ABSTAINED, ERROR, INTERRUPTED, OK, USAGE, Unheard, WrongUsage, fail, hush
from shortlist.errors import ShortlistError

__all__ = ["ABSTAINED", "ERROR", "INTERRUPTED", "OK", "USAGE", "main", "run"]


def main() -> None:
    """Run the command of this process and end it. Python's own ending takes 50 ms more to free what is freed anyway."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        hush()
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command; its exit code. Every way that it can end is turned into words here and nowhere else."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in options or _asks_for_json(options)
    try:
        _sign_in()
        arguments = _told(arguments)
        call = quick.read(arguments, COMMANDS | GROUPED) or partial(_ask_typer, arguments)
        code = call()
    except Unheard:
        return OK
    except KeyboardInterrupt:
        code = INTERRUPTED
    except WrongUsage as error:
        return fail(str(error), "usage", USAGE, as_json=as_json)
    except Exception as error:
        if "--debug" in options or os.environ.get("SHORTLIST_DEBUG", "0") not in ("", "0"):
            raise
        return fail(_sentence(error), type(error).__name__, ERROR, as_json=as_json)
    if code == INTERRUPTED:
        return fail("Stopped. What was committed before is kept.", "interrupted", code, as_json=as_json)
    return code


def _told(arguments: Sequence[str]) -> list[str]:
    """The command line of a group that is not told what to do, completed; one that asks for help is left alone."""
    group, *rest = [*arguments] or [""]
    if group in UNTOLD and (not rest or (rest[0].startswith("-") and rest[0] not in ("-h", "--help"))):
        return [group, UNTOLD[group], *rest]
    return list(arguments)


def _sign_in() -> None:
    """Ask the clusters that keep corpora as the user whom the environment names."""
    who = [os.environ.get(f"SHORTLIST_ENGINE_{name}", "").strip() for name in ("USER", "PASSWORD", "CERTIFICATE")]
    if any(who):
        from shortlist.index.engines.address import sign_in

        sign_in(*who)


def _asks_for_json(options: Sequence[str]) -> bool:
    """Whether the other way of asking for JSON is among the options."""
    return "--output-format=json" in options or ("--output-format", "json") in pairwise(options)


def _ask_typer(arguments: Sequence[str]) -> int:
    """Let typer read the command line: it knows help, completion, and what to say of a mistake."""
    import typer

    from shortlist.cli.cli_app import app

    try:
        return int(app(args=list(arguments), prog_name="shortlist", standalone_mode=False) or OK)
    except SystemExit as end:
        return int(end.code or OK)
    except typer.TyperException as error:
        if not error.format_message():  # the help was shown
            return USAGE
        raise WrongUsage(error.format_message().replace("Value error, ", "")) from None


def _sentence(error: Exception) -> str:
    if isinstance(error, ShortlistError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.strerror}: {error.filename}.{_elsewhere(error.filename)}"
            if error.filename
            else f"{error.strerror}."
        )
    return f"Something unexpected went wrong ({type(error).__name__}: {error}). --debug shows where."


def _elsewhere(file: str | bytes | int) -> str:
    """How to mend an error about a file in one of our own folders, or on the way to it."""
    from shortlist._paths import cache_dir, config_dir, data_dir

    places = {"SHORTLIST_DATA_DIR": data_dir, "SHORTLIST_CONFIG_DIR": config_dir, "SHORTLIST_CACHE_DIR": cache_dir}
    path = Path(os.fsdecode(file)) if isinstance(file, str | bytes) else Path()
    for variable, place in places.items():
        if path.is_relative_to(place()) or (path.is_absolute() and place().is_relative_to(path)):
            return f" Mend that, or let {variable} name another folder."
    return ""
