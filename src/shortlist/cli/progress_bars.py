"""How far is it? A bar with rate and time left; without an end in sight, what was done and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from shortlist.index.engine import Progress
from shortlist.library.ingest import Ingested
from shortlist.sources.folder import count_files


class _Count(ProgressColumn):
    def render(self, task: Task) -> Text:
        of = f" of {task.total:,.0f}" if task.total is not None else ""
        rate = f", {task.speed:,.0f} a second" if task.speed else ""
        return Text(f"{task.completed:,.0f}{of}{rate}", style="dim")


class _Time(ProgressColumn):
    """Time left where the end is known, time taken elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self._left, self._taken = TimeRemainingColumn(), TimeElapsedColumn()

    def render(self, task: Task) -> Text:
        return (self._taken if task.total is None else self._left).render(task)


@contextmanager
def show(title: str) -> Iterator[Progress]:
    """A bar that is gone when the work is done."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), _Count(), _Time())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


@contextmanager
def show_files(title: str, paths: Sequence[str]) -> Iterator[Callable[[Ingested], None]]:
    """A bar over files, with pages and chunks and how many of them a second."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[said]}"), _Time())
    total = sum(count_files(Path(path).expanduser()) for path in paths)
    began = time.monotonic()
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=total, said="")

        def tell(done: Ingested) -> None:
            seconds = max(time.monotonic() - began, 0.001)
            said = (
                f"{done.files:,} of {total:,} files, {done.files / seconds:,.0f} a second · "
                f"{done.pages:,} pages · {done.chunks:,} chunks, {done.chunks / seconds:,.0f} a second"
            )
            bars.update(task, completed=done.files, said=said)

        yield tell
