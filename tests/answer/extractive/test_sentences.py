"""Sentence boundaries of prose."""

from __future__ import annotations

import pytest

from shortlist.answer.extractive.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Hall met J. Smith, e.g. at No. 5. He left.", ["Dr. Hall met J. Smith, e.g. at No. 5.", "He left."]),
        ("Is it so? No. For some it is.", ["Is it so?", "No.", "For some it is."]),
        ("It cost 3.5 million. (It was much.) Yes.", ["It cost 3.5 million.", "(It was much.)", "Yes."]),
        ("It is free. **Large items** are not.", ["It is free.", "**Large items** are not."]),
        ("一つ。二つ！三", ["一つ。", "二つ！", "三"]),
        ("  \n ", []),
    ],
)
def test_a_text_is_split_into_sentences(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in split_sentences(text)] == sentences
