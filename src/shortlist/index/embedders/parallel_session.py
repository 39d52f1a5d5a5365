"""A model that runs on rows of token numbers with all cores."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.index.embedders import models
from shortlist.safety.processes import count_cores

if TYPE_CHECKING:
    from shortlist.results import Vectors

MAX_THREADS = 4


class ParallelSession:
    """All cores work on a single row, so that it is fast; of many rows each core takes one, longest first.

    The latter costs a fifth less.
    """

    def __init__(self, model: Path) -> None:
        self._model, self._threads = model.resolve(), min(MAX_THREADS, count_cores())

    @cached_property
    def whole(self) -> Any:
        return models.start_session(self._model, self._threads, is_mapped=True)

    @cached_property
    def _single_threaded(self) -> Any:
        return models.start_session(self._model, 1, is_mapped=True) if self._threads > 1 else self.whole

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says of its model."""
        found: dict[str, str] = self._single_threaded.get_modelmeta().custom_metadata_map
        return found

    def run(self, rows: Sequence[Sequence[int]]) -> list[Vectors]:
        """The first output of the model for each row."""
        if len(rows) == 1:
            return [_run(self.whole, rows[0])]
        order = sorted(range(len(rows)), key=lambda at: -len(rows[at]))
        session = self._single_threaded
        with ThreadPoolExecutor(self._threads) as pool:
            found = dict(zip(order, pool.map(lambda at: _run(session, rows[at]), order), strict=True))
        return [found[at] for at in range(len(rows))]


def _run(session: Any, row: Sequence[int]) -> Vectors:
    output: Vectors = session.run(None, {"input_ids": np.array([row], dtype=np.int64)})[0][0]
    return output
