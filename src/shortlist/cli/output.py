"""How does a command say what it found? As one JSON document, as bare lines, or as something to look at."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from shortlist.errors import ShortlistError

if TYPE_CHECKING:
    from shortlist.cli.terminal import Screen
    from shortlist.documents import Problem
    from shortlist.index.engine import Progress
    from shortlist.library.ingest import Ingested

OK, ERROR, USAGE, ABSTAINED, INTERRUPTED = 0, 1, 2, 3, 130


class WrongUsage(ShortlistError):
    """A command line that makes no sense."""


class Unheard(Exception):
    """Nobody reads what is written to stdout any more."""


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
            from shortlist.cli.terminal import Screen

            write(Screen.drawn(draw))

    def note(self, text: str) -> None:
        """A line beside the answer."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def problems(self, problems: Iterable[Problem]) -> None:
        """A line for each file that was left out, and for each part of one that could not be read as it should."""
        for problem in problems:
            left_out = " was left out." if problem.source else ":"
            self.note(f"shortlist: {problem.id}{left_out} {problem.reason}")

    def warn(self, sentence: str) -> None:
        """Why the command ends with a code that says so, although it has an answer."""
        print(f"shortlist: {sentence}", file=sys.stderr, flush=True)

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
                    from shortlist.cli.progress_bars import show

                    bar = stack.enter_context(show(title))
                bar(done, total or (about if done <= about else None))

            yield tell

    @contextmanager
    def rates(self, title: str, paths: Sequence[str]) -> Iterator[Callable[[Ingested], None] | None]:
        """A bar on stderr for files on their way in, with how many files and chunks a second."""
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        from shortlist.cli.progress_bars import show_files

        with show_files(title, paths) as tell:
            yield tell


def fail(sentence: str, kind: str, code: int, *, as_json: bool) -> int:
    """Say what went wrong; the code to end with."""
    if as_json:
        try:
            write(_json({"error": {"type": kind, "message": sentence, "exit_code": code}}))
        except Unheard:
            return code
        except OSError:  # what is wrong is stdout, such as a full disk
            hush()
        else:
            return code
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
        raise Unheard from None


def hush() -> None:
    """Let what is still to be written to stdout vanish."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _json(data: Mapping[str, Any]) -> str:
    in_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return json.dumps(data, ensure_ascii=in_ascii, indent=2, allow_nan=False, default=str) + "\n"
