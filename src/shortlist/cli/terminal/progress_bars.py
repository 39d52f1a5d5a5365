"""Progress bars on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def show_progress(title: str) -> Iterator[Bars]:
    """Bars on stderr that disappear when the work is done."""
    title_column, text = TextColumn("{task.description}"), TextColumn("{task.fields[text]}", style="dim")
    columns = (title_column, BarColumn(bar_width=24), text, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield Bars(bars, title)


class Bars:
    """A bar for the work, and one for each of its phases that counts other items; a `Progress` with phases."""

    def __init__(self, bars: Progress, title: str) -> None:
        self._bars, self._title = bars, title
        self._tasks: dict[str, Task] = {}

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        self.phase(self._title, done, total, note)

    def phase(self, name: str, done: int, total: int | None, note: str = "") -> None:
        if name not in self._tasks:
            number = self._bars.add_task(name, total=None, text="")
            self._tasks[name] = next(task for task in self._bars.tasks if task.id == number)
        task = self._tasks[name]
        of = f" of {total:,}" if total else ""
        rate = f", {task.speed:,.0f} per second" if task.speed else ""
        text = f"{done:,}{of}{rate}{note}" if done or total else note
        self._bars.update(task.id, completed=done, total=total, text=text)
