"""The lists of the reader as texts and as token numbers."""

from __future__ import annotations

import io
import lzma
from pathlib import Path

import numpy as np

from shortlist.index.embedders.tokenization import UnigramTokenizer
from shortlist.index.embedders.tools_model import PIECES
from training.judge import list_tokens
from training.judge.list_tokens import OTHER, UnitList

LISTS = [
    UnitList("How high is it?", [("It is 330 m tall.", "Tower"), ("Built in 1889.", "Tower")], frozenset([0]), "asked"),
    UnitList("Wie hoch ist er?", [("It is 330 m tall.", "Tower")], frozenset([0]), f"asked{OTHER}", is_held=True),
]


def test_lists_are_read_as_they_were_written(tmp_path: Path) -> None:
    claims = [(("A claim.", "Its text.", ""), 1.0)]
    list_tokens.write_texts(LISTS, claims, tmp_path / "lists.jsonl.xz")
    lists, found = list_tokens.read_texts(tmp_path / "lists.jsonl.xz")
    assert lists == LISTS
    assert [(tuple(parts), label) for parts, label in found] == claims


def test_tokens_of_pieces_that_need_more_than_16_bits_are_stored(tmp_path: Path) -> None:
    tokenizer = UnigramTokenizer(PIECES)
    question = next(
        text for text in map(chr, range(0x4E00, 0x9FFF)) if max(tokenizer.encode(text, 4)) > np.iinfo(np.uint16).max
    )
    lists = [LISTS[0]._replace(question=question)]
    list_tokens.write_tokens(lists, [], tokenizer, tmp_path / "lists.npz.xz")
    stored = np.load(io.BytesIO(lzma.decompress((tmp_path / "lists.npz.xz").read_bytes())))
    assert stored["questions"].tolist() == [*tokenizer.encode(question, 4), tokenizer.separator]
    assert stored["first_token"] == tokenizer.first
