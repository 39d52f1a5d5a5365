"""The coding of texts: every text is decoded as it was, and damaged frames raise errors."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.index.kernels import library, string_loops
from tests.index.kernels import plain_strings

WORDS = [f"word{number}" for number in range(300)]
SAMPLES = {
    "words": " ".join(random.Random(5).choices(WORDS, k=5_000)).encode(),
    "Japanese": "東京は日本の首都です。".encode() * 200,
    "bytes": random.Random(5).randbytes(20_000),
    "zeros": bytes(5_000),
    "nothing": b"",
}
TABLES = {name: string_loops.make_table(sample) for name, sample in SAMPLES.items()}
a_table = st.sampled_from(list(TABLES.values()))
a_text = st.text().map(str.encode) | st.binary() | st.lists(st.sampled_from(WORDS)).map(" ".join).map(str.encode)


@given(st.lists(a_text), a_table)
def test_any_texts_are_decoded_as_they_were(texts: list[bytes], table: bytes) -> None:
    frames = string_loops.encode_many(texts, table)
    assert string_loops.decode_many(frames, table) == texts
    assert [string_loops.decode_many([frame], table) for frame in frames] == [[text] for text in texts]
    assert [plain_strings.decode(frame, table) for frame in frames] == texts


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_long_text_is_decoded_as_it_was(sample: bytes, table: bytes) -> None:
    texts = [sample * 20, b"", sample[:127], sample[:128], sample]
    frames = string_loops.encode_many(texts, table)
    assert string_loops.decode_many(frames, table) == texts
    assert all(len(frame) <= 2 * len(text) + 10 for frame, text in zip(frames, texts, strict=True))
    assert plain_strings.decode(frames[-1], table) == sample


def test_a_table_codes_its_own_sample_in_less_than_half() -> None:
    (frame,) = string_loops.encode_many([SAMPLES["words"]], TABLES["words"])
    assert len(frame) < len(SAMPLES["words"]) / 2


@given(a_text, a_table, st.data())
def test_a_cut_frame_is_an_error(text: bytes, table: bytes, data: st.DataObject) -> None:
    (frame,) = string_loops.encode_many([text], table)
    cut = frame[: data.draw(st.integers(0, len(frame) - 1))]
    for decode in (lambda: string_loops.decode_many([frame, cut], table), lambda: plain_strings.decode(cut, table)):
        with pytest.raises(ValueError, match="coded text is"):
            decode()


@given(st.binary() | st.builds(lambda size, rest: bytes([size]) + rest, st.integers(0, 40), st.binary()), a_table)
def test_any_bytes_are_decoded_as_in_python(frame: bytes, table: bytes) -> None:
    try:
        expected = plain_strings.decode(frame, table)
    except ValueError:
        with pytest.raises(ValueError, match="damaged"):
            string_loops.decode_many([frame], table)
    else:
        assert string_loops.decode_many([frame], table) == [expected]


@given(st.binary(), st.integers(0, 127), st.integers(0, 150), st.integers(0, 9))
def test_nothing_is_written_outside_of_the_room(codes: bytes, size: int, room: int, seed: int) -> None:
    draw = random.Random(seed)
    table = bytes(draw.choices(range(11), k=string_loops.SYMBOLS)) + draw.randbytes(8 * string_loops.SYMBOLS)
    frame, out = bytes([size]) + codes, np.full(room + 16, 0xAA, np.uint8)
    ends = np.array([len(frame)])
    result = library.loops().decode_many(frame, library.at(ends, np.int64), 1, table, library.at(out, np.uint8), room)
    assert result in ({size, -1} if size <= room else {-1})
    assert (out[room:] == 0xAA).all()
