"""How does a command say what it found? As one JSON document, as bare lines, or as something to look at."""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from shortlist.index.sync import Progress
    from shortlist.serve.cli.screen import Screen

OK, ERROR, USAGE, ABSTAINED, INTERRUPTED = 0, 1, 2, 3, 130

_COMMON: dict[str, tuple[str, str]] = {
    "as_json": ("--json", "Print one JSON document."),
    "quiet": ("--quiet", "Print only what a script needs."),
    "debug": ("--debug", "Show where an error comes from."),
}


class WrongUsage(typer.TyperException):
    """A command line that parses and still makes no sense."""

    exit_code = USAGE


class Output:
    """What a command writes to, as its options ask for it."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def show(self, data: Mapping[str, Any], draw: Callable[[Screen], None], brief: Sequence[str] = ()) -> None:
        """The answer: its data as JSON, `brief` lines if quiet, or what `draw` draws."""
        if self.as_json:
            write(_json(data))
        elif self.quiet:
            write("".join(f"{line}\n" for line in brief))
        else:
            from shortlist.serve.cli.screen import Screen

            write(Screen.drawn(draw))

    def note(self, text: str) -> None:
        """A line beside the answer."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, title: str, about: int = 0) -> Iterator[Progress | None]:
        """A bar on stderr from the first news on, where somebody looks at it; nothing elsewhere.

        `about` is how many are expected where the work itself does not know.
        """
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        with ExitStack() as stack:
            bar: Progress | None = None

            def tell(done: int, total: int | None) -> None:
                nonlocal bar
                if bar is None:
                    from shortlist.serve.cli.progress import show

                    bar = stack.enter_context(show(title))
                bar(done, total or (about if done <= about else None))

            yield tell


def command(function: Callable[..., int | None]) -> Callable[..., int]:
    """Give a command the options that every one has, and hand it the Output that they ask for as its first argument."""

    @functools.wraps(function)
    def run(as_json: bool = False, quiet: bool = False, debug: bool = False, **arguments: Any) -> int:
        return function(Output(as_json=as_json, quiet=quiet), **arguments) or OK

    own = inspect.signature(function, eval_str=True)
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_flag(*described))
        for name, described in _COMMON.items()
    ]
    parameters = [value.replace(kind=inspect.Parameter.KEYWORD_ONLY) for value in own.parameters.values()][1:] + common
    run.__dict__["__signature__"] = own.replace(parameters=parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _flag(option: str, help: str) -> Any:
    return Annotated[bool, typer.Option(option, help=help)]


def fail(sentence: str, kind: str, code: int, *, as_json: bool) -> int:
    """Say what went wrong; the code to end with."""
    if as_json:
        write(_json({"error": {"type": kind, "message": sentence, "exit_code": code}}))
    else:
        print(f"shortlist: {sentence}", file=sys.stderr)
    return code


def write(text: str) -> None:
    """Write to stdout, and go quietly if nobody reads it any more."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        hush()
        raise typer.Exit(OK) from None


def hush() -> None:
    """Let what is still to be written to stdout vanish."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _json(data: Mapping[str, Any]) -> str:
    in_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return json.dumps(data, ensure_ascii=in_ascii, indent=2, allow_nan=False, default=str) + "\n"
