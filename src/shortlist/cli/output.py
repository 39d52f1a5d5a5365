"""The output of a command: one JSON document, bare lines for scripts, or text for people. Exit codes."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shortlist._text import escape_json, terminal_safe
from shortlist.cli.lazy_imports import lazy_imports

with lazy_imports():  # they import rich
    from shortlist.cli.terminal import answers, screen

if TYPE_CHECKING:
    from shortlist.cli.terminal.progress_bars import Bars
    from shortlist.documents import Problem

Bar = Callable[..., None]  # (done, total or None, note)
OK, ERROR, USAGE, ABSTAINED, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass
class Output:
    """Where a command writes its answer, in the form that its options ask for."""

    as_json: bool
    quiet: bool

    def show(
        self,
        data: Mapping[str, Any],
        draw: str | Callable[[screen.Screen], None],
        brief: Sequence[str] = (),
        *,
        is_text: bool = False,
    ) -> None:
        """Write the answer: `data` as JSON, the lines of `brief` if quiet, or what `draw` is or draws.

        Control characters, such as those in names of files, are escaped in JSON and replaced elsewhere, in a pipe, too.
        Only the texts of documents and answers (`is_text`) are written to a pipe as they are.
        """
        if self.as_json:
            write(_to_json(data))
        elif self.quiet and is_text:
            write("".join(f"{terminal_safe(text) if sys.stdout.isatty() else text}\n" for text in brief))
        elif self.quiet:
            write("".join(f"{_make_line(text)}\n" for text in brief))
        elif isinstance(draw, str):
            write(f"{terminal_safe(draw)}\n")
        else:
            write(screen.render(draw))

    @staticmethod
    @contextmanager
    def stream() -> Iterator[Callable[[str], None]]:
        """A function that writes pieces of text; in a terminal, they disappear when the answer is complete."""
        if not sys.stdout.isatty():
            yield write
            return
        with answers.show_text() as add:
            yield add

    def note(self, text: str) -> None:
        """Write a line to stderr unless quiet."""
        if not self.quiet:
            print(terminal_safe(text), file=sys.stderr, flush=True)

    def report_problems(self, problems: Iterable[Problem]) -> None:
        """Write a line for each file that was skipped or only partly read."""
        for problem in problems:
            self.note(
                f"shortlist: {_make_line(problem.id)}{' was skipped.' if problem.source else ':'} {problem.reason}"
            )

    @staticmethod
    def warn(sentence: str) -> None:
        """Write a line to stderr even if quiet: why the command fails although it has an answer."""
        print(f"shortlist: {terminal_safe(sentence)}", file=sys.stderr, flush=True)

    def can_ask(self) -> bool:
        """Whether a person can answer a question."""
        return sys.stdin.isatty() and sys.stdout.isatty() and not self.as_json and not self.quiet

    @staticmethod
    def confirm(question: str) -> bool:
        """Ask a question; only yes means yes."""
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        is_yes = sys.stdin.readline().strip().lower() in ("y", "yes")
        if not is_yes:
            print("Nothing was changed.", file=sys.stderr)
        return is_yes

    @contextmanager
    def progress(self, title: str, about: int = 0) -> Iterator[Bar | None]:
        """A bar on stderr if that is a terminal. It appears at the first update; `about` is the expected total."""
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        with ExitStack() as stack:

            @functools.cache
            def start() -> Bars:
                from shortlist.cli.terminal.progress_bars import show_progress  # noqa: PLC0415  # maybe in a thread

                return stack.enter_context(show_progress(title))

            def update(done: int, total: int | None, note: str = "") -> None:
                start()(done, total or (about if done <= about else None), note)

            update.phase = lambda *phase: start().phase(*phase)  # type: ignore[attr-defined]
            yield update


def fail(sentence: str, kind: str, code: int, *, as_json: bool) -> int:
    """Report an error, and return the exit code."""
    if as_json:
        try:
            write(_to_json({"error": {"type": kind, "message": sentence, "exit_code": code}}))
            return code
        except OSError:  # stdout itself fails: the disk is full, or the reader has gone
            discard_output()
    Output.warn(sentence)
    return code


def write(text: str) -> None:
    """Write to stdout. Characters that its encoding cannot express are replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def _make_line(text: str) -> str:
    """A name that is printed on a line of its own, also if it has line breaks."""
    return terminal_safe(text).replace("\n", "·")


def discard_output() -> None:
    """Drop what is still to be written to stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _to_json(data: Mapping[str, Any]) -> str:
    in_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return escape_json(json.dumps(data, ensure_ascii=in_ascii, indent=2, allow_nan=False, default=str)) + "\n"
