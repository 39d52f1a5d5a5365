"""Plots as SVG text; the page that shows them sets the colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from shortlist._plain import Plain

WIDTH, HEIGHT = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 14, 44
BARS = 30


@dataclass(frozen=True, slots=True)
class Series:
    """Points joined by a line, with a name for the legend; `band` is the interval around each y."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] = ()
    joined: bool = True
    labels: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class Figure(Plain):
    """A plot as SVG; the n-th of `names` is drawn in the classes sn, which whoever shows it gives a colour."""

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
    """From values to places along one side."""

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
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            found = [step * 10.0**power for power in powers for step in (1, 2, 5)]
            return [tick for tick in found if self.low <= tick <= self.high]
        step = _step(self.high - self.low)
        first = math.ceil(self.low / step - 1e-9)
        return [round(step * number, 10) for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _step(span: float) -> float:
    """A round distance that makes four to eight ticks."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= 8)


def lines(
    title: str,
    across: str,
    up: str,
    series: Sequence[Series],
    *,
    logarithmic: bool = False,
    y_range: tuple[float, float] | None = (0.0, 1.0),
) -> Figure | None:
    """Lines with dots; a dot tells its values when it is pointed at. Without any point there is nothing to draw."""
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points]
    if not xs:
        return None
    x = _Scale(min(xs), max(xs), _LEFT, WIDTH - _RIGHT, logarithmic and min(xs) > 0)
    low, high = y_range or (min(ys), max(ys))
    y = _Scale(low, high, HEIGHT - _BOTTOM, _TOP)
    parts = [_axes(x, y, across, up)]
    for number, one in enumerate(series, 1):
        if one.band:
            there = [f"{x(at)},{y(above)}" for (at, _), (_, above) in zip(one.points, one.band, strict=True)]
            back = [f"{x(at)},{y(below)}" for (at, _), (below, _) in zip(one.points, one.band, strict=True)]
            parts.append(f'<polygon class="band s{number}" points="{" ".join([*there, *reversed(back)])}"/>')
        if one.joined:
            places = " ".join(f"{x(a)},{y(b)}" for a, b in one.points)
            parts.append(f'<polyline class="line s{number}" points="{places}"/>')
        labels = one.labels or [f"{one.name}: {across} {_number(a)}, {up} {_number(b)}" for a, b in one.points]
        if len(one.points) <= 60:
            parts += [
                f'<circle class="dot s{number}" cx="{x(a)}" cy="{y(b)}" r="3"><title>{escape(label)}</title></circle>'
                for (a, b), label in zip(one.points, labels, strict=True)
            ]
    told = [f"{one.name}: {_course(one, across, up)}" for one in series if one.points]
    return _figure(title, parts, [one.name for one in series], told)


def histogram(
    title: str, across: str, groups: Sequence[tuple[str, Sequence[float]]], mark: tuple[str, float] | None = None
) -> Figure | None:
    """How the values of each group are spread, as shares of the group, with a line where something is marked."""
    values = [value for _, group in groups for value in group]
    if not values:
        return None
    low = min([*values, *([mark[1]] if mark else [])])
    high = max([*values, *([mark[1]] if mark else [])])
    width = (high - low) / BARS or 1.0
    shares = []
    for _, group in groups:
        counts = [0] * BARS
        for value in group:
            counts[min(BARS - 1, int((value - low) / width))] += 1
        shares.append([count / max(len(group), 1) for count in counts])
    x = _Scale(low, low + BARS * width, _LEFT, WIDTH - _RIGHT)
    y = _Scale(0.0, max(max(group) for group in shares), HEIGHT - _BOTTOM, _TOP)
    parts = [_axes(x, y, across, "share")]
    for number, ((name, _), heights) in enumerate(zip(groups, shares, strict=True), 1):
        for at, share in enumerate(heights):
            if share:
                left, right = x(low + at * width), x(low + (at + 1) * width)
                wide = max(right - left - 1, 0.5)
                label = f"{name}: {share:.1%} from {_number(low + at * width)} to {_number(low + (at + 1) * width)}"
                parts.append(
                    f'<rect class="column s{number}" x="{left}" y="{y(share)}" width="{wide:.1f}" '
                    f'height="{y(0.0) - y(share):.1f}"><title>{escape(label)}</title></rect>'
                )
    if mark:
        place = x(mark[1])
        parts.append(f'<line class="mark" x1="{place}" x2="{place}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"/>')
        anchor, side = ("end", -5) if place > WIDTH / 2 else ("start", 5)
        label = escape(f"{mark[0]} {_number(mark[1])}")
        parts.append(f'<text x="{place + side}" y="{_TOP + 10}" text-anchor="{anchor}">{label}</text>')
    told = [f"{name}: {across} {_number(min(group))} to {_number(max(group))}" for name, group in groups if group]
    return _figure(
        title, parts, [name for name, _ in groups], [*told, *([f"{mark[0]} {_number(mark[1])}"] if mark else [])]
    )


def bars(title: str, values: Sequence[tuple[str, float]], ours: Sequence[str] = ()) -> str:
    """Lying bars, each with its name and value; `ours` stand out. It stands alone: white, and without styles."""
    longest = max((value for _, value in values), default=1.0)
    parts = []
    for number, (name, value) in enumerate(values):
        top, width = 34 + 26 * number, max(2.0, 420 * value / longest)
        colour = "#0b7285" if name in ours else "#adb5bd"
        parts.append(
            f'<text x="150" y="{top + 14}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="158" y="{top}" width="{width:.1f}" height="18" fill="{colour}"/>'
            f'<text x="{164 + width:.1f}" y="{top + 14}">{value:g}</text>'
        )
    height = 44 + 26 * len(values)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 {height}" font-family="sans-serif" font-size="13">'
        f'<rect width="660" height="{height}" fill="white"/>'
        f'<text x="12" y="20" font-weight="bold">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )


def _axes(x: _Scale, y: _Scale, across: str, up: str) -> str:
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    parts = []
    for tick in y.ticks():
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y(tick)}" y2="{y(tick)}"/>')
        parts.append(f'<text x="{_LEFT - 7}" y="{y(tick) + 4}" text-anchor="end">{_number(tick)}</text>')
    for tick in x.ticks():
        parts.append(f'<text x="{x(tick)}" y="{bottom + 17}" text-anchor="middle">{_number(tick)}</text>')
    parts.append(f'<line class="base" x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    parts.append(f'<text x="{(_LEFT + right) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>')
    middle = (bottom + _TOP) / 2
    parts.append(f'<text transform="translate(13 {middle:.0f}) rotate(-90)" text-anchor="middle">{escape(up)}</text>')
    return "".join(parts)


def _course(series: Series, across: str, up: str) -> str:
    """A line in words, for those who do not see it."""
    (start, first), (end, last) = series.points[0], series.points[-1]
    if len(series.points) == 1:
        return f"{up} {_number(first)} at {across} {_number(start)}"
    return f"{up} {_number(first)} at {across} {_number(start)}, {_number(last)} at {_number(end)}"


def _figure(title: str, parts: Sequence[str], names: Sequence[str], told: Sequence[str]) -> Figure:
    label = escape(". ".join([title, *told]))
    svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return Figure(title, svg, tuple(names))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
