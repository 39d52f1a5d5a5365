"""A piece has the same number by the index as among all pieces."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from shortlist.index.embedders import piece_table, tools_model
from shortlist.index.embedders.piece_table import LONGEST_PIECE, SPECIAL, PieceTable, write_index

VOCABULARY = json.loads(tools_model.PIECES.read_text("utf-8"))
NO_PIECES = ["", '"', "\\", "\ud800", "zzzzzzzzzz", "\uffff", "\0", *VOCABULARY["pieces"][:SPECIAL]]


@pytest.mark.parametrize("most", [0, 1_000_000], ids=["all", "index"])
def test_every_piece_has_its_number_and_score(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece_table, "MOST_LOOKUPS", most)
    table = PieceTable(tools_model.PIECES)
    pieces = VOCABULARY["pieces"][SPECIAL:]
    missing = [piece for piece in NO_PIECES if piece not in pieces]
    assert len(missing) > SPECIAL
    assert [table.find(piece) for piece in (*missing, *pieces)] == [
        *[None] * len(missing),
        *range(SPECIAL, SPECIAL + len(pieces)),
    ]
    assert list(table.scores) == VOCABULARY["scores"]
    assert max(map(len, pieces)) == LONGEST_PIECE


def test_the_index_is_that_of_the_vocabulary(tmp_path: Path) -> None:
    copy = tmp_path / "pieces.json"
    shutil.copy(tools_model.PIECES, copy)
    write_index(copy)
    expected = np.load(copy.with_suffix(".npy"))
    np.testing.assert_array_equal(np.load(tools_model.PIECES.with_suffix(".npy")), expected)


def test_pieces_with_escapes_are_found(tmp_path: Path) -> None:
    pieces = ["<s>", "<pad>", "</s>", "<unk>", 'a"', "a", "a\\", "é", "a\n", '",', "🙂"]
    path = tmp_path / "pieces.json"
    path.write_text(json.dumps({"pieces": pieces, "scores": [0.0] * len(pieces)}, ensure_ascii=False), "utf-8")
    write_index(path)
    assert [PieceTable(path).find(piece) for piece in pieces] == [None] * SPECIAL + list(range(SPECIAL, len(pieces)))
