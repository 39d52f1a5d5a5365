"""The loops of `text.c`: keys and parts of words are those of the analyzer in Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shortlist.index.kernels import text_loops
from shortlist.index.text.analyzers import term_key
from shortlist.index.text.word_parts import subwords

identifiers = st.lists(st.text("abcXYZ019_", min_size=1, max_size=20).filter(lambda word: word.strip("_")), max_size=8)


def to_spans(words: list[str]) -> tuple[text_loops.Bytes, text_loops.Integers, text_loops.Integers]:
    """The words in one buffer, with a space between them, and where each begins and ends."""
    encoded = [word.encode() for word in words]
    sizes = np.array([len(word) for word in encoded], dtype=np.int64)
    ends = np.cumsum(sizes + 1) - 1 if words else np.zeros(0, np.int64)
    return np.frombuffer(b"".join(word + b" " for word in encoded), np.uint8), ends - sizes, ends


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=8))
def test_keys_are_those_of_python(words: list[str]) -> None:
    assert text_loops.hash_spans(*to_spans(words)).tolist() == [term_key(word) for word in words]


@given(identifiers)
def test_identifiers_are_split_as_in_python(words: list[str]) -> None:
    buffer, starts, ends = to_spans(words)
    counts, quoted, part_starts, part_ends = text_loops.split_words(buffer, starts.copy(), ends.copy(), 64)
    pairs = zip(part_starts.tolist(), part_ends.tolist(), strict=True)
    parts = iter([bytes(buffer[start:end]).decode() for start, end in pairs])
    found = [[next(parts) for _ in range(count)] for count in counts.tolist()]
    assert found == [subwords(word.strip("_")) for word in words]
    assert not quoted.any()


def test_a_word_that_is_too_long_is_not_split() -> None:
    buffer, starts, ends = to_spans(["getUser", "getCustomerProfile"])
    counts, *_ = text_loops.split_words(buffer, starts, ends, 10)
    assert counts.tolist() == [2, -1]


def test_spans_are_gathered_with_a_separator() -> None:
    buffer, starts, ends = to_spans(["tea", "größe", ""])
    assert bytes(text_loops.gather(buffer, starts, ends, ord("|"))).decode() == "tea|größe||"


def test_postings_count_each_word_by_passage_and_field() -> None:
    tokens = np.array([0, 1, 0, 1, 1], np.int32)  # two texts: "a b a" and "b b"
    starts, docs, tfs, lengths = text_loops.count(
        tokens, np.array([3, 2], np.int32), np.array([0, 1]), np.array([2, 0]), 2,
        np.array([0, 1, 2], np.uint32), np.array([0, 1], np.uint32), 2,
    )  # fmt: skip
    assert starts.tolist() == [0, 1, 3]
    assert docs.tolist() == [0, 0, 1]
    assert tfs.tolist() == [2, 1, 2 << 24]
    assert lengths.tolist() == [[0, 0, 3], [2, 0, 0]]
