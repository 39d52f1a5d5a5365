"""A model whose weights stay in its file returns what it returns as a whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shortlist.answer import judge
from shortlist.errors import EmbedderError
from shortlist.index.embedders import models, tools_model
from shortlist.index.embedders.mapped_weights import refer_to_weights
from shortlist.index.embedders.parallel_session import ParallelSession

ROWS = [[0, 2], [0, 41, 1332, 12, 5322, 1221, 93, 9332, 2], list(range(0, 2_000, 11))]


@pytest.mark.parametrize("model", [tools_model.MODEL, judge.MODEL], ids=["tools", "judge"])
def test_mapped_weights_change_no_output(model: Path) -> None:
    pytest.importorskip("onnxruntime")
    mapped, whole = (models.start_session(model, 1, is_mapped=is_mapped) for is_mapped in (True, False))
    for row in ROWS:
        feed = {"input_ids": np.array([row], dtype=np.int64)}
        np.testing.assert_array_equal(mapped.run(None, feed)[0], whole.run(None, feed)[0])


def test_most_weights_are_not_read() -> None:
    assert len(refer_to_weights(tools_model.MODEL)) < tools_model.MODEL.stat().st_size / 8


def test_a_model_behind_a_link_is_mapped(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    link = tmp_path / "linked.onnx"
    link.symlink_to(tools_model.MODEL)
    found, expected = (ParallelSession(model).run(ROWS[:1])[0] for model in (link, tools_model.MODEL))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("content", [b"", b"\x3a", b"\x3a\xff\xff\xff\xff\x0f", b"\x07", b"\x3a\x03\x2a\x80\x80"])
def test_a_file_that_is_no_model_is_reported(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(EmbedderError, match=r"model\.onnx cannot be loaded"):
        models.start_session(tmp_path / "model.onnx", 1, is_mapped=True)
