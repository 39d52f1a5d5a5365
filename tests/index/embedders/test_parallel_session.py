"""A session that runs a model on rows with all cores: each row gives the same alone and among others."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from shortlist.errors import EmbedderError
from shortlist.index.embedders import parallel_session, tools_model
from shortlist.index.embedders.parallel_session import ParallelSession

ROWS = [[101, 4633, 102], [101, 4633, 1999, 3000, 2651, 102], [101, 102], [101, 4633, 102]]


@pytest.fixture(params=[1, 2])
def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ParallelSession:
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(parallel_session, "MAX_THREADS", request.param)
    return ParallelSession(tools_model.MODEL)


def test_rows_keep_their_order_and_do_not_depend_on_each_other(session: ParallelSession) -> None:
    together = session.run(ROWS)
    assert len(together) == len(ROWS)
    for row, found in zip(ROWS, together, strict=True):
        np.testing.assert_allclose(found, session.run([row])[0], atol=1e-5)
    np.testing.assert_array_equal(together[0], together[3])
    assert not np.allclose(together[0], together[1], atol=1e-3)


def test_no_rows_give_nothing(session: ParallelSession) -> None:
    assert session.run([]) == []


def test_a_model_that_cannot_be_loaded_is_reported_when_it_is_first_used(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    session = ParallelSession(tmp_path / "model.onnx")
    with pytest.raises(EmbedderError, match=r"model\.onnx cannot be loaded"):
        session.run(ROWS)
