"""Decoding of texts in Python, slow and plain: what tests compare `strings.c` with."""

from __future__ import annotations

from shortlist.index.kernels.string_loops import LONGEST, SHORT, SYMBOLS

MOST_SHIFT = 42  # of the bits of a length


def decode(frame: bytes, table: bytes) -> bytes:
    """The text of a frame. A damaged frame raises ValueError."""
    codes, parts, size, shift = iter(frame), [], 0, 0
    try:
        while (byte := next(codes)) >= 0x80 and shift < MOST_SHIFT:
            size |= (byte & 0x7F) << shift
            shift += 7
        size |= byte << shift
        for code in codes:
            number = code if code < SHORT else SHORT + (code - SHORT) * 256 + next(codes)
            start = SYMBOLS + LONGEST * number
            parts.append(table[start : start + table[number]])
    except StopIteration:
        raise ValueError("a coded text is truncated") from None
    text = b"".join(parts)
    if not all(parts) or len(text) != size:
        raise ValueError("a coded text is damaged")
    return text
