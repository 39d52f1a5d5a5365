"""The progress of a job: the numbers of a line, where it is shown, and that it moves."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from shortlist.display import progress
from shortlist.display.progress import Bar, BarLine, Meter, Notebook, find_canvas, hide_progress, show_progress
from shortlist.errors import InputError
from tests.cli.terminals import read_terminal


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Paper:
    """A canvas that remembers what was drawn."""

    is_ascii = False

    def __init__(self) -> None:
        self.lines: list[BarLine] = []
        self.is_clear = False

    def width(self) -> int:
        return 79

    def draw(self, line: BarLine) -> None:
        self.lines.append(line)

    def clear(self) -> None:
        self.is_clear = True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Paper:
    """Let bars be drawn here, without a delay."""
    paper = Paper()
    monkeypatch.setattr(progress, "find_canvas", lambda: paper)
    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(progress, "REDRAW_SECONDS", 0.001)
    return paper


def count_up(meter: Meter, clock: Clock, *, to: int, total: int | None, seconds: int) -> None:
    """Count evenly, once per second."""
    for second in range(1, seconds + 1):
        clock.now += 1
        meter.count(to * second // seconds, total, "files")


def test_the_time_left_is_that_of_the_rest_at_the_rate_so_far(clock: Clock) -> None:
    meter = Meter("building notes", clock=clock)
    count_up(meter, clock, to=100, total=400, seconds=10)
    line = meter.line(119)
    assert line.numbers == f"100 of 400 files · {100 // 10} files/s · about {(400 - 100) // 10} s left"
    assert line.share == 100 / 400


def test_what_follows_the_last_document_is_part_of_the_time_left(clock: Clock) -> None:
    meter = Meter("building notes", clock=clock)
    meter.phase("reading")
    count_up(meter, clock, to=100, total=200, seconds=300)
    assert meter.line(119).numbers.endswith(f"about {(300 + 600 * 0.08 / 0.92) / 60:.0f} min left")
    count_up(meter, clock, to=200, total=200, seconds=1)
    assert (meter.line(119).share or 1) == pytest.approx(0.92)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("phase", ["", "embedding", "detecting the language"])
@pytest.mark.parametrize(("done", "total"), [(7, 20_000), (12_345, 20_000), (19_999, 20_000), (1_234_567, 2_000_000)])
@pytest.mark.parametrize("title", ["building big", f"building {'long-name-' * 20}", "建設中の文書"])
def test_nothing_is_cut_at_any_width(clock: Clock, width: int, phase: str, done: int, total: int, title: str) -> None:
    meter = Meter(title, clock=clock)
    meter.phase(phase)
    count_up(meter, clock, to=done, total=total, seconds=70)
    line = meter.line(width - 1)
    assert progress.measure(str(line)) < width
    assert line.head.strip() in {title, f"{title}: {phase}", phase, title.split()[0], ""}
    assert f"{done:,}" in line.numbers
    assert f"{total:,} files" in line.numbers
    assert line.numbers.endswith(" left")
    assert len(line.filled + line.empty) >= progress.NARROWEST_BAR
    if width >= 80 and phase != "detecting the language" and total < 100_000:
        assert " files/" in line.numbers


def test_a_bar_without_a_total_counts_and_says_how_long_it_takes(clock: Clock) -> None:
    meter = Meter("indexing notes", clock=clock)
    clock.now = 12
    meter.count(30, None)
    first = meter.line(80)
    assert (first.share, first.numbers.startswith("30 documents"), first.numbers.endswith("12 s so far")) == (
        None, True, True,
    )  # fmt: skip
    clock.now += 1
    assert str(meter.line(80)) != str(first)


def test_a_bar_is_not_full_before_the_end_and_never_shrinks(clock: Clock) -> None:
    meter = Meter("evaluating", "cases", clock=clock)
    meter.count(60, 60)
    line = meter.line(80)
    assert line.share == progress.MOST_FILLED
    assert line.empty
    meter.count(60, 90)
    assert meter.line(80).share == line.share


def test_a_wait_does_not_change_the_rate_until_it_is_longer_than_usual(clock: Clock) -> None:
    meter = Meter("evaluating", "cases", clock=clock)
    for at in (10, 20, 30):
        clock.now = at
        meter.count(at, 100)
    clock.now = 39
    assert "1 cases/s" in meter.line(119).numbers
    clock.now = 70
    assert f"{30 / 60 * 60:.0f} cases/min" in meter.line(119).numbers


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s left"), (12.4, "12 s left"), (33, "35 s left"), (150, "2 min left"), (7200, "2.0 h left")],
)
def test_a_time_left_is_rounded_as_an_estimate(seconds: float, text: str) -> None:
    assert progress.describe_left(seconds) == text


def test_a_bar_moves_while_the_job_does_not_report_and_goes_at_the_end(paper: Paper) -> None:
    with show_progress(None, "building notes") as report:
        assert isinstance(report, Bar)
        end = time.monotonic() + 30
        while len(set(map(str, paper.lines))) < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
    assert paper.is_clear


def test_a_job_within_a_job_has_no_bar_of_its_own(paper: Paper) -> None:
    with show_progress(True, "building notes"), show_progress(None, "indexing notes") as inner:
        assert inner is None
    with show_progress(lambda done, total: None, "building notes"), show_progress(None, "indexing") as inner:
        assert inner is None
    with hide_progress(), show_progress(None, "building notes") as report:
        assert report is None


def test_a_function_is_called_as_it_is_and_false_shows_nothing(paper: Paper) -> None:
    def given(done: int, total: int | None) -> None: ...

    with show_progress(given, "building notes") as report:
        assert report is given
    with show_progress(False, "building notes") as report:
        assert report is None
    with pytest.raises(InputError, match="'yes'"), show_progress("yes", "building notes"):  # type: ignore[arg-type]
        pass


def test_another_thread_shows_no_bar(paper: Paper) -> None:
    seen: list[Any] = []

    def work() -> None:
        with show_progress(None, "building notes") as report:
            seen.append(report)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [None]


def test_there_is_no_bar_without_a_terminal_or_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert find_canvas() is None


def test_a_notebook_shows_one_display_which_is_updated_and_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[dict[str, str], bool]] = []

    def display(data: dict[str, str], *, raw: bool, display_id: str, update: bool) -> None:
        shown.append((data, update))

    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    canvas = find_canvas()
    assert isinstance(canvas, Notebook)
    for done in (1, 2):
        meter = Meter("building <b>", "files")
        meter.count(done, 4)
        canvas.draw(meter.line(canvas.width()))
    canvas.clear()
    assert [update for _, update in shown] == [False, True, True]
    assert "building &lt;b&gt;" in shown[0][0]["text/html"]
    assert 'value="0.500"' in shown[1][0]["text/html"]
    assert set(shown[2][0].values()) == {""}


SLOW = """
import time, shortlist
def encode(texts):
    time.sleep(0.1)
    return [[len(text), 1.0] for text in texts]
documents = [shortlist.Document(str(at), "", f"text {at}") for at in range(60)]
shortlist.build(shortlist.CorpusSource.from_list(documents), "notes", in_memory=True, embedder=encode%s)
"""


@pytest.mark.process
@pytest.mark.parametrize(("option", "is_shown"), [("", True), (", progress=False", False)])
def test_python_shows_a_bar_in_a_terminal_unless_it_is_turned_off(option: str, is_shown: bool) -> None:
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"}
    process = subprocess.Popen([sys.executable, "-c", SLOW % option], stderr=theirs, env=environment)
    text = read_terminal(ours, theirs)
    assert process.wait(timeout=60) == 0
    assert (" of 60 " in text) == is_shown
    assert text.rstrip(" \r") == "" or text.endswith("\r")
    assert "\n" not in text
