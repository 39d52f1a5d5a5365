"""Is a floor still right? What the corpus was when it was set, and what has changed since."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from shortlist.index.store import Config, read_last_numbers, read_segments

# From this share of passages on that came, changed or went, scores are no longer those that a floor was set for.
MUCH = 0.2


class Floor(NamedTuple):
    """The score below which nothing fits, if there is one, and why it may no longer be right."""

    value: float | None
    doubt: str = ""


def origin(connection: sqlite3.Connection, config: Config) -> dict[str, Any]:
    """What a floor that is set now belongs to."""
    (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    return {
        **_made_of(config),
        "documents": documents,
        "passages": _live(connection),
        "last_passage": read_last_numbers(connection)[1],
    }


def floor_of(connection: sqlite3.Connection, config: Config, mode: str) -> Floor:
    value, then = config.floors.get(mode), config.calibrations.get(mode)
    return Floor(value, _doubt(connection, config, then) if value is not None and then else "")


def _doubt(connection: sqlite3.Connection, config: Config, then: Mapping[str, Any]) -> str:
    other = [name for name, value in _made_of(config).items() if then.get(name, value) != value]
    if other:
        return f"The floor was set for another {' and '.join(other)}: calibrate it again."
    added = read_last_numbers(connection)[1] - then["last_passage"]
    removed = then["passages"] + added - _live(connection)
    changed = max(added, removed) / max(then["passages"], 1)
    if changed < MUCH:
        return ""
    return (
        f"The floor was set when the corpus had {then['documents']} documents, and {changed:.0%} of it has changed "
        f"since: calibrate it again."
    )


def _made_of(config: Config) -> dict[str, Any]:
    """What scores depend on besides the documents, as JSON gives it back."""
    scoring = {**asdict(config.scoring), "weights": list(config.scoring.weights)}
    return {"embedder": config.embedder_name, "analyzer": config.analyzer, "scoring": scoring}


def _live(connection: sqlite3.Connection) -> int:
    """How many passages there are, without a walk over all of them."""
    (dead,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    return sum(row.size for row in read_segments(connection)) - int(dead)
