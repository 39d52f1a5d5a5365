"""An ONNX model whose weights stay in its file: onnxruntime maps them, which takes half the time of copying them.

A model is a message of protobuf. Its fields, and the ways in which they are encoded, are those of onnx.proto.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

FOLDER_OPTION = "session.model_external_initializers_file_folder_path"  # where onnxruntime looks for the file
SMALLEST = 4_096  # bytes of a tensor that is worth mapping

_GRAPH = 7  # field of a model
_INITIALIZER = 5  # field of a graph
_TYPE, _RAW_DATA, _EXTERNAL_DATA, _LOCATION = 2, 9, 13, 14  # fields of a tensor
_EXTERNAL = 1  # a value of the last one
_BYTES_OR_LESS = {2, 3, 21, 22, 25, 26}  # types of 8, 4 and 2 bits, which need no alignment

_NUMBER, _EIGHT_BYTES, _CONTENT, _FOUR_BYTES = 0, 1, 2, 5  # encodings of a field

Field = tuple[int, int, int, int]  # its number, and where it, its content and the next one start


def refer_to_weights(model: Path) -> bytes:
    """A model that has references to its own file in place of large weights."""
    with model.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        parts = []
        for number, start, content, end in _read_fields(data, 0, len(data)):
            is_graph = number == _GRAPH
            parts += (
                _make_field(_GRAPH, _refer_in_graph(data, content, end, model.name)) if is_graph else [data[start:end]]
            )
        return b"".join(parts)


def _refer_in_graph(data: mmap.mmap, at: int, end: int, file: str) -> list[bytes]:
    parts = []
    for number, start, content, after in _read_fields(data, at, end):
        if number == _INITIALIZER and after - content >= SMALLEST:
            parts += _make_field(_INITIALIZER, _refer_in_tensor(data, content, after, file))
        else:
            parts.append(data[start:after])
    return parts


def _refer_in_tensor(data: mmap.mmap, at: int, end: int, file: str) -> list[bytes]:
    fields = list(_read_fields(data, at, end))
    places = [(content, after) for number, _, content, after in fields if number == _RAW_DATA]
    if len(places) != 1 or not any(number == _TYPE and data[at] in _BYTES_OR_LESS for number, _, at, _ in fields):
        return [data[at:end]]
    ((raw, raw_end),) = places
    entries = {"location": file, "offset": str(raw), "length": str(raw_end - raw)}
    parts = [data[start:after] for number, start, _, after in fields if number != _RAW_DATA]
    for key, value in entries.items():
        entry = [*_make_field(1, [key.encode()]), *_make_field(2, [value.encode()])]
        parts += _make_field(_EXTERNAL_DATA, entry)
    return [*parts, bytes([_LOCATION << 3 | _NUMBER, _EXTERNAL])]


def _read_fields(data: mmap.mmap, at: int, end: int) -> Iterator[Field]:
    while at < end:
        start = at
        key, at = _read_number(data, at)
        content, encoding = at, key & 7
        if encoding == _CONTENT:
            size, content = _read_number(data, at)
            at = content + size
        elif encoding == _NUMBER:
            _, at = _read_number(data, at)
        elif encoding in (_EIGHT_BYTES, _FOUR_BYTES):
            at += 8 if encoding == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"byte {start} does not start a field")
        yield key >> 3, start, content, at


def _read_number(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number of seven bits per byte, the lowest first, and where it ends."""
    number = shift = 0
    while (byte := data[at]) > 127:
        number |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
    return number | byte << shift, at + 1


def _make_field(number: int, parts: list[bytes]) -> list[bytes]:
    """A field of which the parts are the content."""
    size, head = sum(map(len, parts)), bytearray([number << 3 | _CONTENT])
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return [bytes(head), *parts]
