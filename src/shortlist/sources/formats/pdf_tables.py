"""Tables with ruling lines on a page of a PDF, as Markdown between the text around them."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from shortlist.sources.formats.markup import render_table

NEAR = 3.0  # points between lines that are drawn as one
SHORT = 6.0  # points; a shorter line is part of a letter or a sign
MAX_OBJECTS = 20_000  # on a page; more are a drawing
MAX_SEGMENTS = 2_000
MAX_CELLS = 5_000


class Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float

    def touches(self, other: Box) -> bool:
        return (
            self.left <= other.right + NEAR
            and other.left <= self.right + NEAR
            and self.bottom <= other.top + NEAR
            and other.bottom <= self.top + NEAR
        )


def insert_tables(pdfium: Any, page: Any, read: Callable[[Box], str]) -> str | None:
    """The text of a page with its tables; None if it has none. `read` returns the text in a box."""
    tables = []
    for lines in _group(_find_lines(pdfium, page)):
        rows = _read_grid(lines, read)
        if sum(sum(map(bool, row)) > 1 for row in rows) > 1:
            tables.append((_bound(lines), render_table(rows)))
    if not tables:
        return None
    left, bottom, right, top = page.get_bbox()
    parts = []
    for box, table in sorted(tables, key=lambda item: -item[0].top):
        if box.top > top + NEAR:  # beside the last one
            parts.append(table)
            continue
        parts.append(read(Box(left, box.top, right, top)))
        parts += [
            read(Box(left, box.bottom, box.left, box.top)),
            table,
            read(Box(box.right, box.bottom, right, box.top)),
        ]
        top = box.bottom
    return "\n\n".join(filter(None, [*parts, read(Box(left, bottom, right, top))]))


def _find_lines(pdfium: Any, page: Any) -> list[Box]:
    """The horizontal and vertical lines, and the edges of rectangles."""
    lines: list[Box] = []
    for count, item in enumerate(page.get_objects(max_depth=1), 1):
        if count > MAX_OBJECTS or len(lines) > MAX_SEGMENTS:
            return []
        if item.type == pdfium.raw.FPDF_PAGEOBJ_PATH:
            lines += _read_path(pdfium.raw, item)
    return lines


def _read_path(raw: Any, item: Any) -> Iterator[Box]:
    matrix = item.get_matrix()
    points: list[tuple[float, float]] = []
    x, y = ctypes.c_float(), ctypes.c_float()
    for at in range(min(raw.FPDFPath_CountSegments(item), MAX_SEGMENTS)):
        segment = raw.FPDFPath_GetPathSegment(item, at)
        kind = raw.FPDFPathSegment_GetType(segment)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            yield from _as_lines(points)
            points = []
        elif kind != raw.FPDF_SEGMENT_LINETO:  # a curve
            return
        points.append(point)
        if raw.FPDFPathSegment_GetClose(segment):
            points.append(points[0])
    yield from _as_lines(points)


def _as_lines(points: Sequence[tuple[float, float]]) -> Iterator[Box]:
    for (x1, y1), (x2, y2) in itertools.pairwise(points):
        box = Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        width, height = box.right - box.left, box.top - box.bottom
        if min(width, height) < 1 and max(width, height) > SHORT:
            yield box


def _group(lines: Sequence[Box]) -> list[list[Box]]:
    """The lines that touch each other, directly or through others."""
    groups: list[list[Box]] = []
    for line in lines:
        touching = [group for group in groups if any(map(line.touches, group))]
        groups = [group for group in groups if group not in touching]
        groups.append([line, *(other for group in touching for other in group)])
    return [group for group in groups if len(group) >= 4]


def _bound(lines: Sequence[Box]) -> Box:
    return Box(
        min(line.left for line in lines),
        min(line.bottom for line in lines),
        max(line.right for line in lines),
        max(line.top for line in lines),
    )


def _read_grid(lines: Sequence[Box], read: Callable[[Box], str]) -> list[list[str]]:
    """The texts between the lines; a cell that spans rows has its text in each, one that spans columns in the first."""
    upright = [line for line in lines if line.top - line.bottom > line.right - line.left]
    level = [line for line in lines if line.top - line.bottom <= line.right - line.left]
    xs, ys = _merge([line.left for line in upright]), _merge([line.bottom for line in level])[::-1]
    if min(len(xs), len(ys)) < 3 or len(xs) * len(ys) > MAX_CELLS:
        return []
    rows: list[list[str]] = []
    for top, bottom in itertools.pairwise(ys):
        middle = (top + bottom) / 2
        walls = [
            at
            for at, x in enumerate(xs)
            if any(abs(line.left - x) < NEAR and line.bottom < middle < line.top for line in upright)
        ]
        row = [""] * (len(xs) - 1)
        for start, end in itertools.pairwise(walls):
            center = (xs[start] + xs[end]) / 2
            is_open = rows and not any(
                abs(line.bottom - top) < NEAR and line.left < center < line.right for line in level
            )
            row[start] = rows[-1][start] if is_open else ""
            row[start] = row[start] or read(Box(xs[start], _floor(level, center, bottom), xs[end], top))
        rows.append(row)
    return rows


def _floor(level: Sequence[Box], center: float, bottom: float) -> float:
    """The line below a cell, which may be that of a later row."""
    below = [line.bottom for line in level if line.bottom < bottom + NEAR and line.left < center < line.right]
    return max(below, default=bottom)


def _merge(values: Sequence[float]) -> list[float]:
    """Sorted values, of which those that are near each other are one."""
    merged: list[float] = []
    for value in sorted(values):
        if not merged or value - merged[-1] > NEAR:
            merged.append(value)
    return merged
