"""Plots as SVG text; the page that shows them sets the colors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from shortlist._plain import Plain

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 66, WIDTH - 16, 14, HEIGHT - 44  # the edges of the area of the data
BARS = 30
MOST_DOTS = 60  # that are larger than the line
HEADROOM = 18  # above the bars, for the label of a line


@dataclass(frozen=True, slots=True)
class Series:
    """Points joined by a line, with a name for the legend; `band` is the interval around each y."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] = ()
    joined: bool = True
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Figure(Plain):
    """A plot as SVG; the n-th of `names` is drawn with the class sn, which the page gives a color."""

    title: str
    svg: str
    names: tuple[str, ...]

    def html(self) -> str:
        keys = "".join(
            f'<span class="key"><i class="s{at}"></i>{escape(name)}</span>' for at, name in enumerate(self.names, 1)
        )
        caption = f"<figcaption>{escape(self.title)}</figcaption>"
        return f'<figure>{caption}{self.svg}<div class="keys">{keys}</div></figure>'


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps values to coordinates along one axis."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (math.log10(each) if self.logarithmic else each for each in (self.low, self.high, value))
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Four to eight round values, or those of a logarithmic axis."""
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
            return [value for value in values if self.low <= value <= self.high]
        span, step = self.high - self.low, 1.0
        if span > 0:
            power = 10.0 ** math.floor(math.log10(span / 4))
            step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= 8)
        first = math.ceil(self.low / step - 1e-9)
        return [round(step * number, 10) for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def lines(title: str, across: str, up: str, series: Sequence[Series], *, logarithmic: bool = False) -> Figure | None:
    """Lines with dots, whose values show on hover, from 0 to 1; None without any point."""
    xs = [x for one in series for x, _ in one.points]
    if not xs:
        return None
    x = _Scale(min(xs), max(xs), LEFT, RIGHT, logarithmic and min(xs) > 0)
    y = _Scale(0.0, 1.0, BOTTOM, TOP)

    def place(points: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{x(a)},{y(b)}" for a, b in points)

    parts = list(_draw_axes(x, y, across, up))
    summary = []
    for number, one in enumerate(series, 1):
        if one.band:
            upper = [(at, high) for (at, _), (_, high) in zip(one.points, one.band, strict=True)]
            lower = [(at, low) for (at, _), (low, _) in zip(one.points, one.band, strict=True)]
            parts.append(_draw("polygon", class_=f"band s{number}", points=place([*upper, *lower[::-1]])))
        if one.joined:
            parts.append(_draw("polyline", class_=f"line s{number}", points=place(one.points)))
        labels = one.labels or [f"{one.name}: {across} {_number(a)}, {up} {_number(b)}" for a, b in one.points]
        radius = 3 if len(one.points) <= MOST_DOTS else 1  # within the line
        parts += [
            _draw("circle", title=label, class_=f"dot s{number}", cx=x(a), cy=y(b), r=radius)
            for (a, b), label in zip(one.points, labels, strict=True)
        ]
        if one.points:
            (start, first), (end, last) = one.points[0], one.points[-1]
            until = f", {_number(last)} at {_number(end)}" if len(one.points) > 1 else ""
            summary.append(f"{one.name}: {up} {_number(first)} at {across} {_number(start)}{until}")
    return _make_figure(title, parts, [one.name for one in series], summary)


def histogram(
    title: str, across: str, groups: Sequence[tuple[str, Sequence[float]]], mark: tuple[str, float] | None = None
) -> Figure | None:
    """The distribution of the values of each group, as shares of the group, with a line at `mark`."""
    values = [value for _, group in groups for value in group]
    if not values:
        return None
    marks = [mark[1]] if mark else []
    low, high = min(values + marks), max(values + marks)
    width = (high - low) / BARS or 1.0
    shares = []
    for _, group in groups:
        counts = [0] * BARS
        for value in group:
            counts[min(BARS - 1, int((value - low) / width))] += 1
        shares.append([count / max(len(group), 1) for count in counts])
    x = _Scale(low, low + BARS * width, LEFT, RIGHT)
    y = _Scale(0.0, max(max(group) for group in shares), BOTTOM, TOP + (HEADROOM if mark else 0))
    parts = list(_draw_axes(x, y, across, "share"))
    for number, ((name, _), heights) in enumerate(zip(groups, shares, strict=True), 1):
        for at, share in enumerate(heights):
            start, end = low + at * width, low + (at + 1) * width
            size = {"width": f"{max(x(end) - x(start) - 1, 0.5):.1f}", "height": f"{y(0.0) - y(share):.1f}"}
            label = f"{name}: {share:.1%} from {_number(start)} to {_number(end)}"
            if share:
                parts.append(_draw("rect", title=label, class_=f"column s{number}", x=x(start), y=y(share), **size))
    summary = [f"{name}: {across} {_number(min(group))} to {_number(max(group))}" for name, group in groups if group]
    if mark:
        place, label = x(mark[1]), f"{mark[0]} {_number(mark[1])}"
        anchor, offset = ("end", -5) if place > WIDTH / 2 else ("start", 5)
        parts.append(_draw("line", class_="mark", x1=place, x2=place, y1=TOP, y2=BOTTOM))
        parts.append(_draw("text", label, x=place + offset, y=TOP + 10, text_anchor=anchor))
        summary.append(label)
    return _make_figure(title, parts, [name for name, _ in groups], summary)


def _draw(tag: str, text: str = "", *, title: str = "", **attributes: Any) -> str:
    """An SVG element with a text or with a title, which shows on hover."""
    written = "".join(f' {name.rstrip("_").replace("_", "-")}="{value}"' for name, value in attributes.items())
    content = f"<title>{escape(title)}</title>" if title else escape(text)
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _draw_axes(x: _Scale, y: _Scale, across: str, up: str) -> Iterator[str]:
    for tick in y.ticks():
        yield _draw("line", class_="grid", x1=LEFT, x2=RIGHT, y1=y(tick), y2=y(tick))
        yield _draw("text", _number(tick), x=LEFT - 7, y=y(tick) + 4, text_anchor="end")
    for tick in x.ticks():
        yield _draw("text", _number(tick), x=x(tick), y=BOTTOM + 17, text_anchor="middle")
    yield _draw("line", class_="base", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=BOTTOM)
    yield _draw("text", across, x=f"{(LEFT + RIGHT) / 2:.0f}", y=HEIGHT - 8, text_anchor="middle")
    turn = f"translate(13 {(TOP + BOTTOM) / 2:.0f}) rotate(-90)"
    yield _draw("text", up, transform=turn, text_anchor="middle")


def _make_figure(title: str, parts: Sequence[str], names: Sequence[str], summary: Sequence[str]) -> Figure:
    label = escape(". ".join([title, *summary]))  # for screen readers
    svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return Figure(title, svg, tuple(names))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
