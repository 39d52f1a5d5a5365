"""Training of the reader: its loss, and that the product loads what is exported."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.answer import judge
from shortlist.index.embedders import models, tools_model
from shortlist.index.embedders.cross_encoder import CrossEncoder
from shortlist.index.embedders.tokenization import UnigramTokenizer, WordPieceTokenizer
from training.judge import list_tokens
from training.judge.list_tokens import UnitList

pytest.importorskip("torch")
listwise = pytest.importorskip("training.judge.listwise", exc_type=ImportError)
network = pytest.importorskip("training.judge.network", exc_type=ImportError)


QUESTION = "How high is the tower?"
ROWS = [("The tower is 330 metres tall.", "Tower"), ("It was built in 1889.", "Tower")]


def make_lists() -> list[UnitList]:
    lists = [
        UnitList(QUESTION, ROWS, frozenset([0]), "does"),
        UnitList(QUESTION, ROWS[1:], frozenset(), "does, removed"),
    ]
    return lists + [
        one._replace(is_held=True, source=source) for one in lists for source in ("documentation", "squad2")
    ]


@pytest.mark.extras
def test_a_trained_reader_is_loaded_by_the_product(tmp_path: Path) -> None:
    claims = [(("It is.", "It is.", ""), float(at % 2)) for at in range(10)]
    list_tokens.write_tokens(make_lists(), claims, WordPieceTokenizer(), tmp_path / "lists.npz.xz")
    train(tmp_path, judge.MODEL, replace(listwise.Settings(), steps=1, batch=2, claims=1))
    listwise.export_model([tmp_path], judge.MODEL, tmp_path / "model.onnx")
    found = judge.Judge(CrossEncoder(tmp_path / "model.onnx", WordPieceTokenizer()))
    rated = found.rate_answers(QUESTION, ROWS)
    assert rated[0] > rated[1]


@pytest.mark.extras
def test_a_reader_of_all_languages_uses_the_words_of_the_embedder(tmp_path: Path) -> None:
    layers = 2
    shutil.copy(tools_model.MODEL, tmp_path)
    list_tokens.write_tokens(make_lists(), [], UnigramTokenizer(tools_model.PIECES), tmp_path / "lists.npz.xz")
    network.write_base(tools_model.MODEL, layers, tmp_path / "base.npz")
    reader = train(
        tmp_path, tmp_path / "base.npz", replace(listwise.Settings(), steps=4, batch=2, layers=layers, rate=1e-3)
    )
    listwise.export_model([tmp_path], tools_model.MODEL, tmp_path / "reader.onnx")
    own, words = (tmp_path / "reader.onnx").stat().st_size, len(UnigramTokenizer(tools_model.PIECES)._pieces.scores)
    assert own < words * network.model.HIDDEN / 2  # its words alone would have as many bytes
    lists = listwise.Lists(tmp_path / "lists.npz.xz", listwise.torch.device("cpu"))
    units = lists.read(np.array([0]), 8)
    parts = [("questions", lists.questions[[0, 0]]), ("rows", lists.rows[units.places])]
    expected = listwise.rate_texts(reader.judge, lists, parts, network.ANSWER_HEAD, 1).detach().numpy()
    session = models.start_session(tmp_path / "reader.onnx", 1, is_mapped=True)
    ids, mask = lists.texts(parts)
    rows = [row[is_text].numpy()[None] for row, is_text in zip(ids, mask, strict=True)]
    found = [session.run(None, {"input_ids": row})[0][0, network.ANSWER_HEAD] for row in rows]
    assert found == pytest.approx(expected, abs=0.05)


@pytest.mark.extras
def test_the_weights_of_the_embedder_are_read_as_the_product_runs_them() -> None:
    state = network.read_exported(tools_model.MODEL)
    prefix = "encoder."
    encoder = network.model.from_arrays({name.removeprefix(prefix): value for name, value in state.items()}).eval()
    embedder = tools_model.ToolsEmbedder()
    texts = ["send an e-mail to Bob", "Wie hoch ist der Turm?", "このレコードはいくらですか"]
    for text, expected in zip(texts, embedder.encode_queries(texts), strict=True):
        ids = listwise.torch.tensor([embedder._encode_tokens(f"query: {text}")])
        with listwise.torch.no_grad():
            found = encoder(ids, listwise.torch.ones_like(ids, dtype=bool))[0].numpy()
        assert found @ expected > 0.99  # onnxruntime also packs what flows between the layers into 8 bits


def train(folder: Path, base: Path, settings: Any) -> Any:
    loaded = listwise.Lists(folder / "lists.npz.xz", listwise.torch.device("cpu"))
    reader = listwise.train(loaded, base, settings, folder / "state.pt", 1.0)
    listwise.show(listwise.evaluate(reader, loaded, settings))
    listwise.save(reader, settings, folder)
    return reader
