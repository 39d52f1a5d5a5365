"""The progress of a job as one line of text, on stderr if that is a terminal, or in a notebook."""

from __future__ import annotations

import contextvars
import os
import shutil
import sys
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from itertools import count
from typing import Any, NamedTuple, Protocol, Self

from shortlist._text import terminal_safe
from shortlist.errors import InputError

Callback = Callable[[int, int | None], None]  # `Progress`, which no module below `protocols` can name

DELAY_SECONDS = 0.5  # a shorter job shows nothing
REDRAW_SECONDS = 0.15
ESTIMATE_SECONDS = 0.5  # between two estimates, so that numbers can be read
LEAST_SECONDS = 1.5  # of work before a time left is shown
WINDOW_SECONDS, WINDOW_SHARE = 20.0, 0.25  # the rate is that of the last 20 s, or of the last quarter of a longer job
MOST_FILLED = 0.99  # a bar is full only when the job has ended
NOTEBOOK_WIDTH = 100
PHASE_WIDTH = 9  # of "embedding", so that a bar stays where it is
NARROWEST_BAR, WIDEST_BAR = 8, 40

# Of the processor time of a build of 5,000 files with the default embedder, 8 % came after the last file.
RESTS = {"reading": 0.08}
UNITS = {"embedding": "passages"}  # what the phases of a job count

_busy = 0  # jobs that show their progress, or whose caller wants none


@contextmanager
def show_progress(progress: Callback | bool | None, title: str, unit: str = "documents") -> Iterator[Callback | None]:
    """The callback for a job: the one that is given, or that of a bar if someone is watching; False means none.

    Only the main thread shows a bar, and only one at a time: a job within a job has none.
    """
    global _busy
    given = progress if callable(progress) else None
    if given is None and progress not in (None, True, False):
        raise InputError(f"progress must be a function, True or False, not {progress!r}.")
    if threading.current_thread() is not threading.main_thread():
        yield given
        return
    canvas = None if given or progress is False or _busy else find_canvas()
    _busy += 1
    try:
        if canvas is None:
            yield given
        else:
            with Bar(canvas, Meter(title, unit)) as bar:
                yield bar
    finally:
        _busy -= 1


@contextmanager
def hide_progress() -> Iterator[None]:
    """No bar, unless the caller shows one: for commands and services, which report in their own way."""
    with show_progress(False, ""):
        yield


def find_canvas() -> Canvas | None:
    """Where a bar can be shown: the notebook, stderr if it is a terminal, or nowhere."""
    if "ipykernel" in sys.modules and hasattr(sys.modules["IPython"].get_ipython(), "kernel"):
        return Notebook()
    is_terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Terminal() if is_terminal else None


class BarLine(NamedTuple):
    """A line in its parts: what is done, the bar as far as it is filled, the rest of the bar, and the numbers."""

    head: str
    filled: str
    empty: str
    numbers: str
    share: float | None  # of the job that is done

    def __str__(self) -> str:
        return " ".join(filter(None, (self.head, self.filled + self.empty, self.numbers)))


class Canvas(Protocol):
    """Where a bar is drawn."""

    is_ascii: bool

    def width(self) -> int: ...
    def draw(self, line: BarLine) -> None: ...
    def clear(self) -> None: ...


class Meter:
    """How far a job is: what it counts, the rate, the time that is left, and the current phase."""

    def __init__(self, title: str, unit: str = "documents", clock: Callable[[], float] = time.monotonic) -> None:
        self._title = terminal_safe(title).replace("\n", " ")
        self._unit = unit
        self._rest = 0.0  # the share of the time of the job that is needed after everything is counted
        self._clock = clock
        self._began = clock()
        self._done = 0.0
        self._total: int | None = None
        self._counted_at = self._began
        self.note = ""  # shown if there is room for it
        self._phase = ""
        self._phase_done = 0
        self._phase_total: int | None = None
        self._phase_began = self._began
        self._samples = deque([(self._began, 0.0)])  # times, and what was done
        self._shown = 0.0  # the share of the bar that is filled, which never decreases
        self._estimated_at = -ESTIMATE_SECONDS
        self._rate = 0.0
        self._left: float | None = None

    def count(self, done: float, total: int | None, unit: str = "") -> None:
        """Set how much of the whole job is done. What is less than before belongs to a new job."""
        now = self._clock()
        if done < self._done:
            self._samples, self._shown = deque([(now, done)]), 0.0
        elif now - self._samples[-1][0] > ESTIMATE_SECONDS / 2 and done > self._samples[-1][1]:
            self._samples.append((now, done))
            window = max(WINDOW_SECONDS, WINDOW_SHARE * (now - self._began))
            while len(self._samples) > 2 and self._samples[1][0] < now - window:
                self._samples.popleft()
        self._done, self._total, self._unit = done, total, unit or self._unit
        self._counted_at = now

    def phase(self, name: str, done: int = 0, total: int | None = None) -> None:
        """Set what is being done now, and how much of it."""
        if name != self._phase:
            self._phase, self._phase_began = name, self._clock()
            self._rest = RESTS.get(name, self._rest)
        self._phase_done, self._phase_total = done, total

    @property
    def _is_counted(self) -> bool:
        return self._total is not None and self._done >= self._total

    def _estimate(self, now: float) -> None:
        """Set the rate, and the seconds that are left if they can be known."""
        if now - self._estimated_at < ESTIMATE_SECONDS:
            return
        self._estimated_at = now
        (first, before), (last, done) = self._samples[0], self._samples[-1]
        usual_gap = (last - first) / max(len(self._samples) - 1, 1)  # between two reports, in which the rate stays
        seconds = max(last - first, now - first - usual_gap)
        self._rate = (done - before) / seconds if last > first else 0.0
        self._left = None
        if self._is_counted:
            if self._phase_total and self._phase_done:
                pace = (now - self._phase_began) / self._phase_done
                self._left = pace * (self._phase_total - self._phase_done)
            elif (after := self._rest * (self._counted_at - self._began) - (now - self._counted_at)) >= 1:
                self._left = after
        elif self._total and self._rate and seconds > LEAST_SECONDS:
            counted = (self._total - self._done) / self._rate
            self._left = counted + (now - self._began + counted) * self._rest / (1 - self._rest)

    def _share(self) -> float | None:
        if not self._total:
            return None
        share = min(self._done / self._total, 1.0) * (1 - self._rest)
        if self._is_counted and self._phase_total:
            share += self._rest * min(self._phase_done / self._phase_total, 1.0)
        self._shown = max(self._shown, min(share, MOST_FILLED))
        return self._shown

    def line(self, width: int, *, is_ascii: bool = False) -> BarLine:
        """The line for a width in columns. First the numbers become shorter, then they are left out; none is cut."""
        now = self._clock()
        self._estimate(now)
        phase = self._phase.ljust(PHASE_WIDTH)
        title, brief = (f"{self._title}: {phase}", phase) if self._phase else (self._title, self._title.split()[0])
        share = self._share()
        counted, rate, short_counted, short_rate = self._describe_counts()
        time_left = describe_elapsed(now - self._began) if self._left is None else describe_left(self._left)
        about = time_left if self._left is None else f"about {time_left}"
        for head, numbers in (
            (title, (counted, self.note, rate, about)),
            (brief, (counted, self.note, rate, about)),
            (brief, (counted, rate, about)),
            (brief, (short_counted, short_rate, time_left)),
            (brief, (short_counted, time_left)),
            ("", (short_counted, time_left)),
            ("", (time_left,)),
        ):
            text = (", " if is_ascii else " · ").join(filter(None, numbers))
            room = width - measure(head) - len(text) - bool(head) - 1
            if room >= NARROWEST_BAR:
                return BarLine(head, *self._draw(min(room, WIDEST_BAR), share, now, is_ascii=is_ascii), text, share)
        return BarLine("", "", "", "", share)

    def _describe_counts(self) -> tuple[str, str, str, str]:
        """What is counted and its rate, and both in short."""
        done, total, unit, rate = self._done, self._total, self._unit, self._rate
        if self._is_counted and self._phase in UNITS and self._phase_total:
            done, total, unit, rate = self._phase_done, self._phase_total, UNITS[self._phase], 0.0
        if not done and not total:
            return "", "", "", ""
        if unit == "%":
            return f"{done:.0f} %", "", f"{done:.0f} %", ""
        noun = unit.removesuffix("s") if (total or done) == 1 else unit
        counted = f"{int(done):,} {noun}"
        short = counted
        if total:
            shown = f"{int(done):,}".rjust(len(f"{total:,}"))
            counted, short = f"{shown} of {total:,} {noun}", f"{shown}/{total:,} {noun}"
        pace, per = (rate, "s") if rate >= 1 else (60 * rate, "min")
        if self._is_counted or pace < 1:
            return counted, "", short, ""
        return counted, f"{pace:,.0f} {unit}/{per}", short, f"{pace:,.0f}/{per}"

    def _draw(self, width: int, share: float | None, now: float, *, is_ascii: bool) -> tuple[str, str]:
        full, empty = ("#", "-") if is_ascii else ("━", "─")
        if share is not None:
            filled = int(share * width)
            return full * filled, empty * (width - filled)
        at = int((now - self._began) * 8) % (2 * width)  # a mark that moves to and fro
        at = min(at, 2 * width - 1 - at)
        return "", empty * at + full + empty * (width - at - 1)


class Bar:
    """A callback that shows the progress of one job on a canvas while it is entered."""

    def __init__(self, canvas: Canvas, meter: Meter) -> None:
        self._canvas, self.meter = canvas, meter
        self.count, self.phase = meter.count, meter.phase
        self._ended = threading.Event()
        self._thread = threading.Thread(target=contextvars.copy_context().run, args=(self._redraw,), daemon=True)

    def __call__(self, done: int, total: int | None) -> None:
        self.count(done, total)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._canvas.clear()

    def _redraw(self) -> None:
        """Draw again and again, so that a bar moves even while the job does not report."""
        pause = DELAY_SECONDS
        while not self._ended.wait(pause):
            pause = REDRAW_SECONDS
            try:
                self._canvas.draw(self.meter.line(self._canvas.width(), is_ascii=self._canvas.is_ascii))
            except Exception:  # stderr is closed, or its encoding or the notebook cannot show the line
                return


class Terminal:
    """Stderr as a canvas: one line, which is overwritten, and removed at the end."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._last = 0  # columns that are written
        self.is_ascii = (self._stream.encoding or "").lower().replace("-", "") != "utf8"
        is_old = os.name == "nt" and not {"WT_SESSION", "ANSICON", "TERM"}.intersection(os.environ)
        self._colors = ("", "", "") if os.environ.get("NO_COLOR") or is_old else ("\x1b[32m", "\x1b[2m", "\x1b[0m")

    def width(self) -> int:
        try:
            columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            columns = shutil.get_terminal_size().columns
        return columns - 1  # a terminal may break the line after its last column

    def draw(self, line: BarLine) -> None:
        filled, dim, end = self._colors
        bar = f"{filled}{line.filled}{end}{dim}{line.empty}{end}"
        text = " ".join(filter(None, (line.head, bar if line.filled + line.empty else "", line.numbers)))
        columns = measure(str(line))
        blank = " " * (min(self._last, self.width()) - columns)
        self._last = columns
        # the cursor stays in the first column, so that a warning overwrites the line
        self._stream.write(f"\r{text}{blank}\r")
        self._stream.flush()

    def clear(self) -> None:
        if self._last:
            blank = " " * min(self._last, self.width())
            try:
                self._stream.write(f"\r{blank}\r")
                self._stream.flush()
            except (OSError, ValueError):
                return
            self._last = 0


class Notebook:
    """The output of a cell as a canvas: one display, which is updated, and emptied at the end."""

    is_ascii = False
    _numbers = count()

    def __init__(self) -> None:
        self._id = f"shortlist-{os.getpid()}-{next(self._numbers)}"
        self._is_shown = False

    def width(self) -> int:
        return NOTEBOOK_WIDTH

    def draw(self, line: BarLine) -> None:
        value = "" if line.share is None else f' value="{line.share:.3f}"'
        parts = [
            escape(line.head.strip()),
            f'<progress{value} style="width:16em;margin:0 .6em;vertical-align:middle"></progress>',
            escape(line.numbers),
        ]
        shown = f'<div style="font-variant-numeric:tabular-nums">{"".join(parts)}</div>'
        self._show({"text/plain": str(line), "text/html": shown})

    def clear(self) -> None:
        if self._is_shown:
            self._show({"text/plain": "", "text/html": ""})

    def _show(self, data: dict[str, Any]) -> None:
        display: Any = sys.modules["IPython.display"]
        display.display(data, raw=True, display_id=self._id, update=self._is_shown)
        self._is_shown = True


def describe_left(seconds: float) -> str:
    """The time that is left, rounded as an estimate is; "1 s left" at least."""
    return f"{_describe(max(seconds, 1.0), 5)} left"


def describe_elapsed(seconds: float) -> str:
    return f"{_describe(seconds, 1)} so far"


def _describe(seconds: float, step: int) -> str:
    if seconds < 60:
        return f"{round(seconds) if seconds < 20 else step * round(seconds / step):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def measure(text: str) -> int:
    """The columns of a text in a terminal."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )
