"""The output of a command: one JSON document, bare lines for scripts, or text for people. Exit codes."""

from __future__ import annotations

import codecs
import errno
import json
import os
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shortlist._text import escape_json, terminal_safe
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.display.progress import Bar, Meter, find_canvas

with lazy_imports():  # they import rich
    from shortlist.cli.terminal import answers, screen

if TYPE_CHECKING:
    from shortlist.documents import Problem

MOST_REASONS, MOST_IDS = 4, 3  # shown of what was skipped
# Signs that many documents have, for terminals whose encoding lacks them.
SPELLED = {
    "£": "GBP ", "€": "EUR ", "¥": "JPY ", "°": " deg", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"',
    "•": "*", "✓": "*", "·": ".", "×": "x", "→": "->", "ß": "ss", "æ": "ae", "ø": "o", "œ": "oe",
}  # fmt: skip
OK, ERROR, USAGE, ABSTAINED, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass
class Output:
    """Where a command writes its answer, in the form that its options ask for."""

    as_json: bool
    quiet: bool
    problems: list[Problem] = field(default_factory=list)  # of the corpora that the command has built

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
            problems = [problem.to_dict() for problem in self.problems]
            write(_to_json({**data, "problems": problems} if problems else data))
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
        with answers.stream_text() as add:
            yield add

    @contextmanager
    def waiting(self, title: str) -> Iterator[Callable[[], None]]:
        """A spinner on stderr if that is a terminal, until the work or the function that is yielded ends it."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda: None
            return
        with answers.show_waiting(title) as stop:
            yield stop

    def note(self, text: str) -> None:
        """Write a line to stderr unless quiet."""
        if not self.quiet:
            _write_error(text)

    def report_problems(self, problems: Iterable[Problem]) -> None:
        """Write a line for each reason why files were skipped or only partly read; of many, only the first few."""
        by_reason: dict[tuple[str, bool], list[str]] = {}
        known = len(self.problems)
        self.problems.extend(problems)
        for problem in self.problems[known:]:
            by_reason.setdefault((problem.reason, bool(problem.source)), []).append(_make_line(problem.id))
        groups = list(by_reason.items())
        for (reason, is_skipped), ids in groups[:MOST_REASONS]:
            more = f" and {len(ids) - MOST_IDS} more" if len(ids) > MOST_IDS else ""
            state = f" {'was' if len(ids) == 1 else 'were'} skipped." if is_skipped else ":"
            self.note(f"shortlist: {', '.join(ids[:MOST_IDS])}{more}{state} {reason}")
        if count := sum(len(ids) for _, ids in groups[MOST_REASONS:]):
            self.note(f"shortlist: And {count:,} more. List all with --json.")

    @staticmethod
    def warn(sentence: str) -> None:
        """Write a line to stderr even if quiet: why the command fails although it has an answer."""
        _write_error(f"shortlist: {sentence}")

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
    def progress(self, title: str, unit: str = "documents") -> Iterator[Bar | None]:
        """A bar on stderr if that is a terminal. It appears if the job takes longer than a moment."""
        canvas = None if self.quiet else find_canvas()
        if canvas is None:
            yield None
            return
        with Bar(canvas, Meter(title, unit)) as bar:
            yield bar


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
    """Write to stdout. Characters that its encoding cannot express are spelled with others."""
    encoding = sys.stdout.encoding or "utf-8"
    codecs.register_error("spell", _spell)
    sys.stdout.write(text.encode(encoding, "spell").decode(encoding))
    try:
        sys.stdout.flush()
    except OSError as error:
        if error.errno == errno.EINVAL:  # how Windows reports a pipe that no one reads
            raise BrokenPipeError from None
        raise


def _write_error(text: str) -> None:
    """Write lines to stderr, in a terminal wrapped between words."""
    text = terminal_safe(text)
    if sys.stderr.isatty():
        wrapper = textwrap.TextWrapper(_find_width(), break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrapper.fill(line) for line in text.split("\n"))
    print(text, file=sys.stderr, flush=True)


def _find_width() -> int:
    """The width of the terminal of stderr, or that in COLUMNS, as for stdout."""
    with suppress(OSError, ValueError):
        return max(int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stderr.fileno()).columns), 1)
    return 80


def _spell(error: UnicodeError) -> tuple[str, int]:
    """ASCII for a character: signs by the table, letters without their accents, others as a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return SPELLED.get(letter) or plain or "?", error.start + 1


def _make_line(text: str) -> str:
    """A name that is printed on a line of its own, also if it has line breaks."""
    return terminal_safe(text).replace("\n", "·")


def discard_output() -> None:
    """Drop what is still to be written to stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _to_json(data: Mapping[str, Any]) -> str:
    in_ascii = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    return escape_json(json.dumps(data, ensure_ascii=in_ascii, indent=2, allow_nan=False, default=str)) + "\n"
