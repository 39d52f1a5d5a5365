"""The stored score thresholds ("floors"), and whether the corpus has changed too much since they were set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from shortlist.index.config import Config

if TYPE_CHECKING:
    from shortlist.index.engine import Engine, State

# The share of passages added, changed or removed from which on a threshold is in doubt.
MUCH = 0.2


class Floor(NamedTuple):
    """The score below which nothing fits, if there is one, and why it may no longer be right."""

    value: float | None
    doubt: str = ""


def describe_origin(engine: Engine, config: Config) -> dict[str, Any]:
    """What a floor that is set now belongs to."""
    return {**_scoring_facts(config), **engine.mark()}


def read_floor(engine: Engine | State, config: Config, mode: str) -> Floor:
    value, then = config.floors.get(mode), config.calibrations.get(mode)
    return Floor(value, _find_doubt(engine, config, then) if value is not None and then else "")


def _find_doubt(engine: Engine | State, config: Config, then: Mapping[str, Any]) -> str:
    other = [name for name, value in _scoring_facts(config).items() if then.get(name, value) != value]
    if other:
        return f"The floor was set for another {' and '.join(other)}: calibrate it again."
    added, passages = engine.since(dict(then))
    removed = then["passages"] + added - passages
    changed = max(added, removed) / max(then["passages"], 1)
    if changed < MUCH:
        return ""
    return (
        f"The floor was set when the corpus had {then['documents']} documents, and {changed:.0%} of it has changed "
        f"since: calibrate it again."
    )


def _scoring_facts(config: Config) -> dict[str, Any]:
    """What scores depend on besides the documents, as JSON gives it back."""
    scoring = {**asdict(config.scoring), "weights": list(config.scoring.weights)}
    return {"embedder": config.embedder_name, "analyzer": config.analyzer, "scoring": scoring}
