"""Training of the reader: its loss, and that the product loads what is exported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shortlist.answer import judge
from training.judge import data, unit_lists
from training.judge.unit_lists import UnitList

pytest.importorskip("torch")
listwise = pytest.importorskip("training.judge.listwise", exc_type=ImportError)


@pytest.mark.extras
def test_a_trained_reader_is_loaded_by_the_product(tmp_path: Path) -> None:
    rows = [("The tower is 330 metres tall.", "Tower"), ("It was built in 1889.", "Tower")]
    lists = [
        UnitList("How high is the tower?", rows, frozenset([0]), "does"),
        UnitList("How high is the tower?", rows[1:], frozenset(), "does, removed"),
    ]
    lists += [one._replace(is_held=True, source=source) for one in lists for source in ("documentation", "squad2")]
    claims = [data.Example(0, float(at % 2), "written", -1, "", ("It is.", "It is.", "")) for at in range(10)]
    unit_lists.write(lists, claims, tmp_path / "lists.npz.xz")
    loaded = listwise.Lists(tmp_path / "lists.npz.xz", listwise.torch.device("cpu"))
    settings = replace(listwise.Settings(), steps=1, batch=2, claims=1)
    reader = listwise.train(loaded, judge.MODEL, settings, tmp_path / "state.pt", 1.0)
    listwise.show(listwise.evaluate(reader, loaded, settings))
    listwise.save(reader, settings, tmp_path)
    listwise.export_model([tmp_path], judge.MODEL, tmp_path / "model.onnx")
    found = judge.Judge(tmp_path / "model.onnx")
    rated = found.rate_answers(lists[0].question, rows)
    assert rated[0] > rated[1]
