"""Rows as a text table with aligned columns."""

from __future__ import annotations

from typing import Any


class Table(list[dict[str, Any]]):
    """Rows with the same keys; printed, they are a table."""

    def __str__(self) -> str:
        if not self:
            return ""
        rows = [list(self[0]), *([_cell(value) for value in row.values()] for row in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
